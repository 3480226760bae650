"""Step decays eta_t, one class per theorem, and the default for each pair (estimator, convexity).

Every decay is clipped to 1: 2/(rho (t+2)) exceeds 1 at t = 0 when rho < 1, and with it the reverted step
x + eta (s - x) would leave C. A decay is a frozen dataclass of plain numbers, so that its class name and
`dataclasses.asdict` are all a checkpoint needs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np

from ._arrays import positive, positive_int
from ._refusals import Refusing, refusing
from .theory import anytime_nu, fraction, piecewise_d


@dataclass(frozen=True)
class Decay(Refusing, ABC):
    """eta_t: from the iteration t = 0, 1, ... to a number in ]0, 1]. O(1).

    An implementer provides `unclipped` and is a frozen dataclass of plain numbers.
    """

    @abstractmethod
    def unclipped(self, t: Any) -> Any:
        """The formula of the theorem, positive, before the clip to 1; of a number or, elementwise, of an array."""

    def __call__(self, t: int) -> float:
        return min(1.0, float(self.unclipped(t)))

    def _store(self, name: str, value: float) -> None:
        """Set a checked field of the frozen dataclass."""
        object.__setattr__(self, name, value)


def _at_least_two(value: Any, name: str, formula: str) -> float:
    number = positive(value, name)
    if number < 2:
        raise ValueError(f"{name} = {formula} is at least 2 because rho1 and rho2 are at most 1, got {value!r}.")
    return number


@dataclass(frozen=True)
class QuasarConvexDecay(Decay):
    """eta_t = 2/(rho (t+2)): exact gradient, quasar-convex f (Thm det_quasar); any time, O(1/t).

    Parameters
    ----------
    rho : float
        Quasar-convexity parameter in ]0, 1]; 1 for a convex f.
    """

    rho: float = 1.0

    def __post_init__(self) -> None:
        self._store("rho", fraction(self.rho, "rho"))

    def unclipped(self, t: Any) -> Any:
        return 2.0 / (self.rho * (t + 2))


@dataclass(frozen=True)
class InverseSqrtDecay(Decay):
    """eta_t = 1/sqrt(t+1): nonconvex f, any time.

    Exact gradient (Thm det_nonconvex) or stochastic estimator (Thm stoch_anytime_non_convex).
    """

    def unclipped(self, t: Any) -> Any:
        return 1.0 / np.sqrt(t + 1)


@dataclass(frozen=True)
class DeterministicHorizonDecay(Decay):
    """eta = 1/sqrt(T+1): exact gradient, nonconvex f (Thm det_ncv_fixed_horizon).

    Parameters
    ----------
    horizon : int
        T, the number of iterations planned.
    """

    horizon: int

    def __post_init__(self) -> None:
        self._store("horizon", positive_int(self.horizon, "horizon"))

    def unclipped(self, t: Any) -> Any:
        return 1.0 / math.sqrt(self.horizon + 1)


@dataclass(frozen=True)
class StochasticHorizonDecay(Decay):
    """eta = 1/sqrt(T): stochastic estimator, nonconvex f (Thm stoch_fixed_horizon_nonconvex).

    Parameters
    ----------
    horizon : int
        T, the number of iterations planned.
    """

    horizon: int

    def __post_init__(self) -> None:
        self._store("horizon", positive_int(self.horizon, "horizon"))

    def unclipped(self, t: Any) -> Any:
        return 1.0 / math.sqrt(self.horizon)


@dataclass(frozen=True)
class AnytimeDecay(Decay):
    """eta_t = 2/(rho (t+nu)): stochastic estimator, quasar-convex f (Thm stoch_quasar_convex_param_ag); any time.

    Parameters
    ----------
    nu : float
        max(2, 4/min(rho1, rho2)) with the estimator's rho1, rho2; see `from_rates`.
    rho : float
        Quasar-convexity parameter in ]0, 1].
    """

    nu: float
    rho: float = 1.0

    def __post_init__(self) -> None:
        self._store("nu", _at_least_two(self.nu, "nu", "max(2, 4/min(rho1, rho2))"))
        self._store("rho", fraction(self.rho, "rho"))

    @classmethod
    def from_rates(cls, rho1: float, rho2: float, rho: float = 1.0) -> Self:
        """The decay for an estimator with these rho1, rho2 (Assumption est)."""
        return cls(anytime_nu(rho1, rho2), rho)

    def unclipped(self, t: Any) -> Any:
        return 2.0 / (self.rho * (t + self.nu))


@dataclass(frozen=True)
class PiecewiseDecay(Decay):
    """1/(rho d) while T <= d or t < t0, then 2/(rho (2d + t - t0)), t0 = floor(T/2).

    Stochastic estimator, quasar-convex f (Thm stoch_fixed_horizon_quasar_convex, the formal statement of the appendix;
    at t = t0 both pieces agree).

    Parameters
    ----------
    horizon : int
        T, the number of iterations planned.
    d : float
        2/min(rho1, rho2) with the estimator's rho1, rho2; see `from_rates`.
    rho : float
        Quasar-convexity parameter in ]0, 1].
    """

    horizon: int
    d: float
    rho: float = 1.0

    def __post_init__(self) -> None:
        self._store("horizon", positive_int(self.horizon, "horizon"))
        self._store("d", _at_least_two(self.d, "d", "2/min(rho1, rho2)"))
        self._store("rho", fraction(self.rho, "rho"))

    @classmethod
    def from_rates(cls, horizon: int, rho1: float, rho2: float, rho: float = 1.0) -> Self:
        """The decay for an estimator with these rho1, rho2 (Assumption est)."""
        return cls(horizon, piecewise_d(rho1, rho2), rho)

    def unclipped(self, t: Any) -> Any:
        t0 = self.horizon // 2
        early = (t < t0) | (self.horizon <= self.d)
        return np.where(early, 1.0 / (self.rho * self.d), 2.0 / (self.rho * (2.0 * self.d + np.maximum(t, t0) - t0)))


@dataclass(frozen=True)
class HeavyBallConvexDecay(Decay):
    """eta_t = 2/(rho (t+9)): Heavy Ball, quasar-convex f (Thm convergence heavy ball quasar convex); any time.

    Parameters
    ----------
    rho : float
        Quasar-convexity parameter in ]0, 1].
    """

    rho: float = 1.0

    def __post_init__(self) -> None:
        self._store("rho", fraction(self.rho, "rho"))

    def unclipped(self, t: Any) -> Any:
        return 2.0 / (self.rho * (t + 9))


@dataclass(frozen=True)
class HeavyBallNonconvexDecay(Decay):
    """eta_t = (t+2)^(-3/4): Heavy Ball, nonconvex f (Thm convergence heavy ball non convex); any time."""

    def unclipped(self, t: Any) -> Any:
        return (t + 2) ** -0.75


@dataclass(frozen=True)
class OpenLoopDecay(Decay):
    """eta_t = power/(t+power): exact gradient, convex f; any time. Not the paper's, whose Thm det_quasar has power 2.

    A larger power can be faster where f grows away from its minimiser (Wirth, Kerdreux and Pokutta, 2023, Acceleration
    of Frank-Wolfe algorithms with open-loop step-sizes, AISTATS).

    Parameters
    ----------
    power : float
        l, at least 1.
    """

    power: float = 4.0

    def __post_init__(self) -> None:
        if not positive(self.power, "power") >= 1.0:
            raise ValueError(f"power (l of l / (t + l)) must be at least 1, got {self.power!r}.")
        self._store("power", float(self.power))

    def unclipped(self, t: Any) -> Any:
        return self.power / (t + self.power)


@dataclass(frozen=True)
class LogOpenLoopDecay(Decay):
    """eta_t = l/(t+l) with l = 2 + log(t+1), which grows on its own: exact gradient, convex f; any time.

    Not of the paper, whose Thm det_quasar has l = 2; the agnostic rule of FrankWolfe.jl.
    """

    def unclipped(self, t: Any) -> Any:
        power = 2.0 + np.log1p(t)
        return power / (t + power)


DECAYS: dict[str, type[Decay]] = {
    "quasar-convex": QuasarConvexDecay,
    "inverse-sqrt": InverseSqrtDecay,
    "deterministic-horizon": DeterministicHorizonDecay,
    "stochastic-horizon": StochasticHorizonDecay,
    "anytime": AnytimeDecay,
    "piecewise": PiecewiseDecay,
    "heavy-ball-convex": HeavyBallConvexDecay,
    "heavy-ball-nonconvex": HeavyBallNonconvexDecay,
    "open-loop": OpenLoopDecay,
    "log-open-loop": LogOpenLoopDecay,
}

# family of the estimator -> default for a quasar-convex f, default for any other f
_BOOSTED = {
    "deterministic": ("quasar-convex", "inverse-sqrt"),
    "variance-reduced": ("anytime", "inverse-sqrt"),
    "heavy-ball": ("heavy-ball-convex", "heavy-ball-nonconvex"),
}
_VANILLA = {
    "open-loop": ("quasar-convex", "inverse-sqrt"),
    "piecewise": ("piecewise", "stochastic-horizon"),
    "heavy-ball": ("heavy-ball-convex", "heavy-ball-nonconvex"),
}


class _Families(Protocol):
    """What an estimator says of itself: a key of `_BOOSTED` and a key of `_VANILLA`."""

    @property
    def decay_family(self) -> str: ...

    @property
    def vanilla_family(self) -> str: ...


class _Rates(Protocol):
    @property
    def rho1(self) -> float: ...

    @property
    def rho2(self) -> float: ...


@refusing
def choose_decay(
    name: str,
    *,
    estimator: _Families,
    constants: _Rates,
    quasar_rho: float | None,
    horizon: int | None,
    vanilla: bool,
) -> Decay:
    """The decay called `name`, with the parameters of this run filled in.

    Parameters
    ----------
    name : str
        A key of `DECAYS`, taken as it is whatever f is; or "auto": the decay of the theorem for this pair (estimator,
        convexity), and in a vanilla run (K = 1) the step of the baseline's own paper: 2/(rho (t+2)) and 1/sqrt(t+1) for
        the exact gradient and SAG, the piecewise decay and 1/sqrt(T) for the other estimators, Heavy Ball its own two.
    estimator : object
        With `decay_family` ("deterministic", "variance-reduced", "heavy-ball") and `vanilla_family` ("open-loop",
        "piecewise", "heavy-ball").
    constants : object
        With the estimator's `rho1`, `rho2` (Assumption est).
    quasar_rho : float or None
        rho of a quasar-convex f (1 for a convex one); None if f is just nonconvex, and rho is then read as 1.
    horizon : int or None
        T, the number of iterations planned, if that is known.
    vanilla : bool
        Whether the run does not boost (K = 1).

    Returns
    -------
    Decay
    """
    if name == "auto":
        names = _VANILLA[estimator.vanilla_family] if vanilla else _BOOSTED[estimator.decay_family]
        name = names[0] if quasar_rho is not None else names[1]
    if name not in DECAYS:
        known = ", ".join(repr(known) for known in ("auto", *DECAYS))
        raise ValueError(f"There is no decay {name!r}; known are {known}.")
    rho1, rho2 = constants.rho1, constants.rho2
    values = {
        "rho": 1.0 if quasar_rho is None else quasar_rho,
        "horizon": horizon,
        "nu": anytime_nu(rho1, rho2),
        "d": piecewise_d(rho1, rho2),
        "power": OpenLoopDecay.power,
    }
    wanted = [field.name for field in fields(DECAYS[name])]
    if "horizon" in wanted and horizon is None:
        raise ValueError(
            f"The decay {name!r} is planned for a number of iterations that is not known: give max_iter, "
            "or choose an any-time decay."
        )
    return DECAYS[name](**{key: values[key] for key in wanted})
