"""Error bars: the fit repeated on counts drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, positive_int
from .._extras import extra
from .._minimize import minimize
from .._refusals import Refusing, refusing
from .states import StateTomography
from .tomography import ProcessTomography

Problem = ProcessTomography | StateTomography
Quantity = Callable[[Any, Any], Any]
"""Of problem and x: a number or an array."""

KINDS = ("parametric", "nonparametric")


@dataclass(frozen=True)
class Bootstrap(Refusing):
    """What came out, by the name of the quantity.

    Attributes
    ----------
    estimates : dict
        Of the fit itself.
    samples : dict
        Of the fits to counts drawn anew, stacked along the first axis.
    kind : str
    """

    estimates: dict[str, Any]
    samples: dict[str, Array]
    kind: str

    def error(self, name: str) -> Any:
        """The standard error; of complex numbers that of real and imaginary part, as a complex number."""
        drawn = self.samples[name]
        if np.iscomplexobj(drawn):
            return drawn.real.std(axis=0, ddof=1) + 1j * drawn.imag.std(axis=0, ddof=1)
        return drawn.std(axis=0, ddof=1)

    def bias(self, name: str) -> Any:
        """How far the fits lie from what their counts were drawn from, on average."""
        return self.samples[name].mean(axis=0) - self.estimates[name]

    def interval(self, name: str, level: float = 0.68) -> tuple[Any, Any]:
        """The basic bootstrap interval, entry by entry: the quantiles of the errors, taken from the estimate.

        The estimate is off by what its own fits are off: where noise lowers the fidelity of every fit, the interval
        lies above the estimate. It is not cut to what is possible, such as a fidelity of at most 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        drawn, estimate = self.samples[name], np.asarray(self.estimates[name])
        lower, upper = (_quantile(drawn, q) for q in ((1 + level) / 2, (1 - level) / 2))
        return 2 * estimate - lower, 2 * estimate - upper

    def __str__(self) -> str:
        numbers = {name: value for name, value in self.estimates.items() if np.ndim(value) == 0}
        shown = (f"{name} {value:.4f} +- {self.error(name):.4f}" for name, value in numbers.items())
        return f"{', '.join(shown)} ({self.kind}, {len(next(iter(self.samples.values())))} fits)"


@refusing
def bootstrap(
    problem: Problem,
    x: Any,
    *,
    samples: int = 100,
    kind: str = "parametric",
    quantities: Mapping[str, Quantity] | None = None,
    rng: np.random.Generator | int | None = None,
    n_jobs: int = 1,
    progress: bool = False,
    **settings: Any,
) -> Bootstrap:
    """Standard errors and intervals of a fit to counts, by drawing counts anew and fitting again from x.

    Parameters
    ----------
    problem : ProcessTomography or StateTomography
        Made from counts.
    x : array
        Its fit.
    samples : int
        Number of fits.
    kind : {"parametric", "nonparametric"}
        Counts are drawn from the probabilities of the fit, or from the frequencies that were counted. The latter add
        the noise of the data to that of the draw: where eigenvalues are near zero the first is the better one.
    quantities : dict of callables, optional
        What is wanted, each a function of (problem, x). Default: "matrix", the Choi matrix divided by d or the density
        matrix, and, if the problem knows its truth, "fidelity".
    rng : numpy.random.Generator, int or None
    n_jobs : int
        Processes, by joblib; -1 for all cores.
    progress : bool
        Show a bar on stderr.
    **settings
        For `bsfw.minimize`, such as max_iter.
    """
    joblib, tqdm = (extra(name, "quantum.bootstrap") for name in ("joblib", "tqdm"))
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    shots = _shots(problem)
    wanted = _default_quantities(problem) if quantities is None else dict(quantities)
    probabilities = problem.fitted(x) if kind == "parametric" else problem.observed()
    generator = np.random.default_rng(rng)
    drawn = (draw(probabilities, shots, generator) for _ in range(positive_int(samples, "samples")))
    jobs = (joblib.delayed(_refit)(problem, counts, x, wanted, settings) for counts in drawn)
    found = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    rows = list(tqdm.tqdm(found, total=samples, disable=not progress, desc="bootstrap"))
    stacked = {name: np.stack([np.asarray(row[name]) for row in rows]) for name in wanted}
    return Bootstrap({name: ask(problem, x) for name, ask in wanted.items()}, stacked, kind)


def draw(probabilities: Array, shots: Array, generator: np.random.Generator) -> Array:
    """Multinomial counts (inputs, settings, outcomes) of so many shots each."""
    total = probabilities.sum(axis=-1, keepdims=True)
    sure = np.where(total > 0, probabilities / np.maximum(total, 1e-300), 1.0 / probabilities.shape[-1])
    return generator.multinomial(shots, sure)


def _quantile(drawn: Array, q: float) -> Array:
    """Of each entry, real and imaginary part apart. The k-th of B numbers is the k / (B + 1) quantile, on average."""
    if np.iscomplexobj(drawn):
        return _quantile(drawn.real, q) + 1j * _quantile(drawn.imag, q)
    return np.asarray(np.quantile(drawn, q, axis=0, method="weibull"))


def _refit(
    problem: Problem, counts: Array, x: Any, wanted: dict[str, Quantity], settings: dict[str, Any]
) -> dict[str, Any]:
    again = problem.with_counts(counts)
    # A fit that ends early stays near x, and would make the errors too small.
    result = minimize(again, **{"x0": x, "callback": again.settled(share=1e-4)} | settings)
    return {name: ask(again, result.x) for name, ask in wanted.items()}


def _shots(problem: Problem) -> Array:
    shots = problem.shots
    if shots is None:
        raise ValueError("a bootstrap draws counts anew, but the problem was not made from counts; use from_counts.")
    return shots


def _matrix(problem: Problem, x: Any) -> Array:
    return problem.matrix(x)


def _fidelity(problem: Problem, x: Any) -> float:
    return problem.fidelity(x)


def _default_quantities(problem: Problem) -> dict[str, Quantity]:
    known: dict[str, Quantity] = {} if problem.truth is None else {"fidelity": _fidelity}
    return known | {"matrix": _matrix}
