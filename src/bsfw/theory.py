"""The constants and the proved bounds of the paper's theorems, to be plotted beside a run.

Each bound takes the iteration (a number or an array, so that a whole curve costs one call) and plain numbers:

- ``F0``: F_0 = f(x^0) - min f over C, the suboptimality of the start (its mean, if x^0 is random);
- ``L``: Lipschitz constant of the gradient on C; ``D``: diameter of C (for SAG with `bsfw.ImageStep`, whose analysis
  lives in the image of the data matrix, both are taken there, and so is the error of the estimate; see below);
- ``rho``: quasar-convexity parameter in ]0, 1], 1 for a convex f;
- ``constants``: rho1, rho2, A, B, C, E of the estimator (Assumption est);
- ``error0``: E||Delta^0||^2 = E||m^0 - grad f(x^0)||^2; ``sigma0``: E sigma_0^2. Both are 0 for an estimator that
  starts with a full gradient.

"Horizon" bounds hold for the last iterate (or the best gap) of a run that was planned for T iterations: an array of T
means as many runs. Where a statement of the paper and its proof differ, the docstring says so and the value is the
proved one.

Proved, and claimed. The stochastic bounds are proved for every estimator of Assumption est with the Euclidean step rule
(`bsfw.PaperStep`), SAG included. SAG's default is the paper's rule in the image of the data (`bsfw.ImageStep`), and for
it the bounds are the paper's claim only: the lemma on alignments is Euclidean, so that the descent lemma behind the
SAG theorems does not follow for a length measured in the image. With the exact gradient 766 of 7,500 steps broke that
lemma (worst: bound -0.012, actual change +0.546), and 0 of 2,500 with the Euclidean rule; no final bound was seen
broken in 400 runs.

The decays of `bsfw.decays` are clipped to 1, which the paper leaves out. The bounds survive: where eta_t = 1,
smoothness alone (f(y) >= f(x) + <grad f(x), y - x> - L D^2 / 2) gives F_{t+1} <= L D^2 plus the noise terms, which
is below what the bounds allow at those t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Floats, positive
from ._refusals import Refusing, refusing

__all__ = [
    "EstimatorConstants",
    "anytime_nu",
    "deterministic_descent",
    "deterministic_nonconvex",
    "deterministic_nonconvex_horizon",
    "deterministic_quasar_convex",
    "heavy_ball_error_nonconvex",
    "heavy_ball_error_quasar_convex",
    "heavy_ball_nonconvex",
    "heavy_ball_quasar_convex",
    "iterate_distance",
    "piecewise_d",
    "stochastic_nonconvex_anytime",
    "stochastic_nonconvex_horizon",
    "stochastic_quasar_convex_anytime",
    "stochastic_quasar_convex_horizon",
]


def fraction(value: Any, name: str) -> float:
    """`value` as a float in ]0, 1], or a ValueError that names it."""
    number = positive(value, name)
    if number > 1:
        raise ValueError(f"{name} must be at most 1, got {value!r}.")
    return number


def _require_nonnegative(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")


def _iterations(t: npt.ArrayLike, first: int) -> Floats:
    numbers = np.asarray(t, dtype=np.float64)
    if not np.all(np.isfinite(numbers) & (numbers >= first)):
        raise ValueError(
            f"This bound holds from iteration {first} on; the iterations given go below or are not finite."
        )
    return numbers


@dataclass(frozen=True)
class EstimatorConstants(Refusing):
    """The constants of Assumption est (arguments in the order of the paper; the defaults are the exact gradient's).

    For all t >= 1::

        E||Delta^t||^2 <= (1 - rho1) ||Delta^{t-1}||^2 + A sigma_{t-1}^2 + B eta_{t-1}^2 D^2 + C
        E sigma_t^2    <= (1 - rho2) sigma_{t-1}^2 + E eta_{t-1}^2 D^2

    Parameters
    ----------
    rho1, rho2 : float
        Contraction of the error and of its companion sigma, in ]0, 1].
    A, B, C, E : float
        At least 0. A floor C > 0 (ZOJA's finite differences) stays in every bound.
    """

    rho1: float = 1.0
    rho2: float = 1.0
    A: float = 0.0
    B: float = 0.0
    C: float = 0.0
    E: float = 0.0

    def __post_init__(self) -> None:
        fraction(self.rho1, "rho1")
        fraction(self.rho2, "rho2")
        _require_nonnegative(A=self.A, B=self.B, C=self.C, E=self.E)
        for field in fields(self):  # a NumPy scalar would not survive a round trip through a checkpoint
            object.__setattr__(self, field.name, float(getattr(self, field.name)))


@refusing
def anytime_nu(rho1: float, rho2: float) -> float:
    """nu = max(2, 4 / min(rho1, rho2)), the offset of the any-time decay (Thm stoch_quasar_convex_param_ag)."""
    return max(2.0, 4.0 / min(fraction(rho1, "rho1"), fraction(rho2, "rho2")))


@refusing
def piecewise_d(rho1: float, rho2: float) -> float:
    """d = 2 / min(rho1, rho2), the length scale of the piecewise decay (Thm stoch_fixed_horizon_quasar_convex)."""
    return 2.0 / min(fraction(rho1, "rho1"), fraction(rho2, "rho2"))


# One step


@refusing
def deterministic_descent(eta: npt.ArrayLike, gap: npt.ArrayLike, L: float, distance: npt.ArrayLike) -> Floats:
    """Bound on f(x^{t+1}) - f(x^t) for the exact gradient (Lemma recursion_det_base).

    -eta gap + L eta^2 ||s - x||^2 / 2

    Parameters
    ----------
    eta : float or array
        Decay eta_t in ]0, 1].
    gap : float or array
        Frank-Wolfe gap <grad f(x^t), x^t - s^t>.
    L : float
        Smoothness constant.
    distance : float or array
        ||s^t - x^t||, at most D.
    """
    _require_nonnegative(L=L)
    step: Floats = np.asarray(eta, dtype=np.float64)
    return -step * np.asarray(gap, dtype=np.float64) + 0.5 * L * (step * np.asarray(distance, dtype=np.float64)) ** 2


@refusing
def iterate_distance(eta: npt.ArrayLike, D: float) -> Floats:
    """Bound on ||x^{t+1} - x^t||: eta_t D (Lemma BSFW_iter_bound), boosted or not.

    With SAG's step rule it holds in the norm ||A .|| of the image, D being the diameter there.
    """
    _require_nonnegative(D=D)
    return np.asarray(eta, dtype=np.float64) * D


# The exact gradient


@refusing
def deterministic_quasar_convex(t: npt.ArrayLike, *, F0: float, L: float, D: float, rho: float = 1.0) -> Floats:
    """Bound on F_t for eta_t = 2/(rho (t+2)): max{F_0, 2 L D^2 / rho^2} / (t+1) (Thm det_quasar).

    Parameters
    ----------
    t : int or array, at least 0
    F0, L, D, rho : float
        See the head of this module.
    """
    _require_nonnegative(F0=F0, L=L, D=D)
    rho = fraction(rho, "rho")
    return max(F0, 2.0 * L * D**2 / rho**2) / (_iterations(t, 0) + 1.0)


@refusing
def deterministic_nonconvex(t: npt.ArrayLike, *, F0: float, L: float, D: float) -> Floats:
    """Bound on min_{i <= t} gap(x^i) for eta_t = 1/sqrt(t+1) (Thm det_nonconvex).

    (max{F_0, L D^2} + L D^2) / sqrt(t+1)

    Parameters
    ----------
    t : int or array, at least 0
    F0, L, D : float
        See the head of this module.

    Notes
    -----
    The theorem prints F_0 where this has max{F_0, L D^2}. Its proof bounds sum_i sqrt(i+1) (f(x^i) - f(x^{i+1})) by
    sqrt(t+1) F_0, which needs f to decrease at every step, and it need not. Summation by parts gives
    sqrt(t+1) max_i F_i instead, and F_i <= gap(x^i) + L D^2 / 2 with the descent lemma gives
    F_{i+1} <= (1 - eta) F_i + (eta + eta^2) L D^2 / 2, hence F_i <= max{F_0, L D^2} for all i.
    """
    _require_nonnegative(F0=F0, L=L, D=D)
    return (max(F0, L * D**2) + L * D**2) / np.sqrt(_iterations(t, 0) + 1.0)


@refusing
def deterministic_nonconvex_horizon(T: npt.ArrayLike, *, F0: float, L: float, D: float) -> Floats:
    """Bound on min_{i <= T} gap(x^i) for eta = 1/sqrt(T+1): (F_0 + L D^2 / 2) / sqrt(T+1) (Thm det_ncv_fixed_horizon).

    Parameters
    ----------
    T : int or array, at least 0
        Horizon; the T + 1 points x^0, ..., x^T count.
    F0, L, D : float
        See the head of this module.
    """
    _require_nonnegative(F0=F0, L=L, D=D)
    return (F0 + 0.5 * L * D**2) / np.sqrt(_iterations(T, 0) + 1.0)


# Estimators under Assumption est


def _at_best_alpha(weight: Floats, F0: float, start_slope: float, u: Floats, v: Floats) -> Floats:
    """weight E[r_0] + u a + v/a at a = alpha*/L = sqrt(v/u), where E[r_0] = F_0 + start_slope a.

    The proofs hold for every alpha > 0; the theorems take alpha* = sqrt(v/u), which is infinite for a noiseless
    estimator (u = 0). Then only the initial error limits alpha, and a = sqrt(v / (weight start_slope)) is the best
    one; without initial error either, the terms in alpha tend to 0.
    """
    price = np.where(u > 0, u, weight * start_slope)
    a = np.sqrt(v / np.where(price > 0, price, np.inf))
    return weight * F0 + a * (u + weight * start_slope) + np.sqrt(v * price)


@refusing
def stochastic_quasar_convex_horizon(
    T: npt.ArrayLike,
    *,
    constants: EstimatorConstants,
    F0: float,
    L: float,
    D: float,
    rho: float = 1.0,
    error0: float = 0.0,
    sigma0: float = 0.0,
) -> Floats:
    """Bound on E[F_T] for the piecewise decay (Thm stoch_fixed_horizon_quasar_convex, formal statement).

    With d = 2 / min(rho1, rho2) and N = rho^2 (T + d)::

        e exp(-T/(2d)) E[r_0] + 16 D^2 L / N
        + 2 sqrt( (32 D^2 / N) (64 D^2 B / (N rho1) + 128 D^2 A E / (N rho1 rho2) + 2 C T / rho1) )

    r_0 = F_0 + (2 alpha*/(rho1 L)) ||Delta^0||^2 + (4 alpha* A/(rho1 rho2 L)) sigma_0^2, alpha* = sqrt(v/u).
    The statement lacks the factor 2 before the root, which the proof has (2 sqrt(u v)).

    Parameters
    ----------
    T : int or array, at least 1
        Horizon of the run.
    constants : EstimatorConstants
    F0, L, D, rho, error0, sigma0 : float
        See the head of this module.
    """
    _require_nonnegative(F0=F0, L=L, D=D, error0=error0, sigma0=sigma0)
    rho, steps = fraction(rho, "rho"), _iterations(T, 1)
    k, d = constants, piecewise_d(constants.rho1, constants.rho2)
    scale = D**2 / (rho**2 * (steps + d))
    u = (64.0 * scale * k.B + 128.0 * scale * k.A * k.E / k.rho2 + 2.0 * k.C * steps) / k.rho1
    start_slope = (2.0 * error0 + 4.0 * k.A * sigma0 / k.rho2) / k.rho1
    return 16.0 * L * scale + _at_best_alpha(np.exp(1.0 - steps / (2.0 * d)), F0, start_slope, u, 32.0 * scale)


@refusing
def stochastic_quasar_convex_anytime(
    t: npt.ArrayLike,
    *,
    constants: EstimatorConstants,
    F0: float,
    L: float,
    D: float,
    rho: float = 1.0,
    error0: float = 0.0,
    sigma0: float = 0.0,
) -> Floats:
    """Bound on E[F_t] for eta_t = 2/(rho (t+nu)) (Thm stoch_quasar_convex_param_ag).

    With nu = max(2, 4 / min(rho1, rho2)) and N = rho^2 (t + nu)::

        4 nu^2 E[r_0] / (t+nu)^2 + 8 D^2 L / N
        + sqrt( (64 D^2 / N) (32 D^2 B / (N rho1) + 64 D^2 A E / (N rho1 rho2) + 2 C t / rho1) )

    r_0 as in `stochastic_quasar_convex_horizon`, with this theorem's alpha*. The statement prints 16 D^2 / N under
    the root; its proof ends with 64 D^2 / N.

    Parameters
    ----------
    t : int or array, at least 0
    constants : EstimatorConstants
    F0, L, D, rho, error0, sigma0 : float
        See the head of this module.
    """
    _require_nonnegative(F0=F0, L=L, D=D, error0=error0, sigma0=sigma0)
    rho, steps = fraction(rho, "rho"), _iterations(t, 0)
    k, nu = constants, anytime_nu(constants.rho1, constants.rho2)
    scale = D**2 / (rho**2 * (steps + nu))
    u = (32.0 * scale * k.B + 64.0 * scale * k.A * k.E / k.rho2 + 2.0 * k.C * steps) / k.rho1
    start_slope = (2.0 * error0 + 4.0 * k.A * sigma0 / k.rho2) / k.rho1
    return 8.0 * L * scale + _at_best_alpha(4.0 * (nu / (steps + nu)) ** 2, F0, start_slope, u, 16.0 * scale)


@refusing
def stochastic_nonconvex_horizon(
    T: npt.ArrayLike,
    *,
    constants: EstimatorConstants,
    F0: float,
    L: float,
    D: float,
    error0: float = 0.0,
    sigma0: float = 0.0,
) -> Floats:
    """Bound on E[min_{t < T} gap(x^t)] for eta = 1/sqrt(T) (Thm stoch_fixed_horizon_nonconvex, formal statement).

    ::

        E[r_0]/sqrt(T) + D^2 L/(2 sqrt(T)) + 2 D sqrt( (D^2/(rho1 T)) (B + A E/rho2) + C/rho1 )

    r_0 = F_0 + (alpha*/(L rho1)) ||Delta^0||^2 + (alpha* A/(L rho1 rho2)) sigma_0^2, alpha* = sqrt(v/u).
    The statement and the last line of the proof lose the 2 of 2 sqrt(u v) that the line has on its left.

    Parameters
    ----------
    T : int or array, at least 1
        Horizon of the run.
    constants : EstimatorConstants
    F0, L, D, error0, sigma0 : float
        See the head of this module.
    """
    _require_nonnegative(F0=F0, L=L, D=D, error0=error0, sigma0=sigma0)
    k, root = constants, np.sqrt(_iterations(T, 1))
    u = (D**2 * (k.B + k.A * k.E / k.rho2) / root + k.C * root) / k.rho1
    start_slope = (error0 + k.A * sigma0 / k.rho2) / k.rho1
    return L * D**2 / (2.0 * root) + _at_best_alpha(1.0 / root, F0, start_slope, u, D**2 / root)


@refusing
def stochastic_nonconvex_anytime(
    T: npt.ArrayLike,
    *,
    constants: EstimatorConstants,
    F0: float,
    L: float,
    D: float,
    error0: float = 0.0,
    sigma0: float = 0.0,
) -> Floats:
    """Bound on E[min_{t < T} gap(x^t)] for eta_t = 1/sqrt(t+1), O(ln(T)/sqrt(T)) (Thm stoch_anytime_non_convex).

    With q = sqrt(T+1) - 1 and l = 1 + ln(T)::

        E[r_0]/(2q) + L D^2 l/(4q)
        + D sqrt( 2 B D^2 l^2/(rho1 q^2) + A E D^2 l^2/(rho1 rho2 q^2) + C (q + 2) l/(rho1 q) )

    r_0 as in `stochastic_nonconvex_horizon`, with alpha* = sqrt(v/u) of this proof. Statement and proof agree, the
    factor 2 of 2 sqrt(u v) included; the proof drops a 1/2 before B on its way, so that 2 B could be B.

    Parameters
    ----------
    T : int or array, at least 1
        Iterations made so far.
    constants : EstimatorConstants
    F0, L, D, error0, sigma0 : float
        See the head of this module.
    """
    _require_nonnegative(F0=F0, L=L, D=D, error0=error0, sigma0=sigma0)
    k, steps = constants, _iterations(T, 1)
    q, log = np.sqrt(steps + 1.0) - 1.0, 1.0 + np.log(steps)
    scale = D**2 * log / q
    u = (scale * (k.B + k.A * k.E / (2.0 * k.rho2)) + 0.5 * k.C * (q + 2.0)) / k.rho1
    start_slope = (error0 + k.A * sigma0 / k.rho2) / k.rho1
    return 0.25 * L * scale + _at_best_alpha(0.5 / q, F0, start_slope, u, 0.5 * scale)


# Heavy Ball, which has its own analysis


def _quasar_convex_Q(L: float, D: float, variance: float, error0: float | None, rho: float) -> float:
    error0 = variance if error0 is None else error0
    _require_nonnegative(L=L, D=D, variance=variance, error0=error0)
    rho = fraction(rho, "rho")
    return max(float(9.0 ** (2.0 / 3.0)) * error0, (16.0 * variance + 2.0 * (L * D) ** 2) / rho**2)


def _nonconvex_M(L: float, D: float, variance: float, error0: float | None) -> float:
    error0 = variance if error0 is None else error0
    _require_nonnegative(L=L, D=D, variance=variance, error0=error0)
    return max(error0, 24.0 * (variance + 2.0 * (L * D) ** 2))


@refusing
def heavy_ball_error_quasar_convex(
    t: npt.ArrayLike, *, L: float, D: float, variance: float, error0: float | None = None, rho: float = 1.0
) -> Floats:
    """Bound on E||Delta^t||^2 (Lemma heavy ball error bounds quasar convex).

    For r_t = 4/(t+8)^(2/3) and eta_t = 2/(rho (t+9)): Q / (t+9)^(2/3), where
    Q = max{9^(2/3) ||Delta^0||^2, (16 sigma^2 + 2 L^2 D^2) / rho^2}.

    Parameters
    ----------
    t : int or array, at least 0
    L, D, rho : float
        See the head of this module.
    variance : float
        sigma^2, a bound on the variance of the batch gradient over C.
    error0 : float, optional
        E||Delta^0||^2; by default `variance`, as m^0 is a batch gradient.
    """
    return _quasar_convex_Q(L, D, variance, error0, rho) / (_iterations(t, 0) + 9.0) ** (2.0 / 3.0)


@refusing
def heavy_ball_quasar_convex(
    t: npt.ArrayLike, *, F0: float, L: float, D: float, variance: float, error0: float | None = None, rho: float = 1.0
) -> Floats:
    """Bound on E[F_t] with Heavy Ball (Thm convergence heavy ball quasar convex).

    For r_t = 4/(t+8)^(2/3) and eta_t = 2/(rho (t+9)): Q' / (t+9)^(1/3), where
    Q' = max{9^(1/3) F_0, 4 D sqrt(Q)/rho + L D^2/(2 rho^2)} and Q of
    `heavy_ball_error_quasar_convex`. The proof prints (r+9)^(2/3) for (r+9)^(4/3) in its last step; the claim stands.

    Parameters
    ----------
    t : int or array, at least 0
    F0, L, D, variance, error0, rho
        As for `heavy_ball_error_quasar_convex`, and F0 of the head of this module.
    """
    _require_nonnegative(F0=F0)
    Q = _quasar_convex_Q(L, D, variance, error0, rho)
    Q_prime = max(float(9.0 ** (1.0 / 3.0)) * F0, 4.0 * D * math.sqrt(Q) / rho + L * D**2 / (2.0 * rho**2))
    return Q_prime / (_iterations(t, 0) + 9.0) ** (1.0 / 3.0)


@refusing
def heavy_ball_error_nonconvex(
    t: npt.ArrayLike, *, L: float, D: float, variance: float, error0: float | None = None
) -> Floats:
    """Bound on E||Delta^t||^2 (Lemma heavy ball error bounds non convex).

    For r_t = 1/sqrt(t+1) and eta_t = (t+2)^(-3/4): M_h / sqrt(t+1), where
    M_h = max{||Delta^0||^2, 24 (sigma^2 + 2 L^2 D^2)}.

    Parameters
    ----------
    t : int or array, at least 0
    L, D, variance, error0
        As for `heavy_ball_error_quasar_convex`.
    """
    return _nonconvex_M(L, D, variance, error0) / np.sqrt(_iterations(t, 0) + 1.0)


@refusing
def heavy_ball_nonconvex(
    T: npt.ArrayLike, *, F0: float, L: float, D: float, variance: float, error0: float | None = None
) -> Floats:
    """Bound on E[min_{t < T} gap(x^t)] with Heavy Ball (Thm convergence heavy ball non convex).

    For r_t = 1/sqrt(t+1) and eta_t = (t+2)^(-3/4):
    (F_0 + 2 D sqrt(M_h) (1 + ln T) + L D^2) / (4 ((T+2)^(1/4) - 2^(1/4))), with M_h of `heavy_ball_error_nonconvex`.
    Statement and proof agree.

    Parameters
    ----------
    T : int or array, at least 1
        Iterations made so far.
    F0, L, D, variance, error0
        As for `heavy_ball_quasar_convex`.
    """
    _require_nonnegative(F0=F0)
    M_h, steps = _nonconvex_M(L, D, variance, error0), _iterations(T, 1)
    summed_eta: Floats = 4.0 * ((steps + 2.0) ** 0.25 - 2.0**0.25)  # at most eta_0 + ... + eta_{T-1}
    return (F0 + 2.0 * D * math.sqrt(M_h) * (1.0 + np.log(steps)) + L * D**2) / summed_eta
