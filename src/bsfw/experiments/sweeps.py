"""Which tasks a panel consists of: `SWEEPS` maps each kind of task to the keys of a specification that it reads, and to
the settings they expand to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from .._arrays import positive_int
from . import _checks as check
from .problems import Table

METHODS = ("boosted", "vanilla")

RECORDED = 200
"""Rows of a trace, about: enough for a smooth curve."""


@dataclass(frozen=True)
class Sweep:
    """A kind of task.

    Attributes
    ----------
    keys : tuple of str
        What a specification may say about it: names in `KEYS`.
    settings : callable
        From the resolved problem and the values of the keys to the settings of the tasks, in the order they are run.
    """

    keys: tuple[str, ...]
    settings: Callable[[Table, Table], Iterator[Table]]


@dataclass(frozen=True)
class Key:
    """A key of a specification: its value where nothing is said, and what checks a value that is."""

    default: Any
    check: Callable[[Any], Any]


def _min_gain(value: Any) -> list[float]:
    gains = [check.as_number(item, "min_gain (delta)") for item in check.as_list(value)]
    if not gains or max(gains) > 1:
        raise ValueError(f"min_gain (delta) must lie in ]0, 1], got {value!r}.")
    return gains


def _size(name: str) -> Callable[[Any], int | float]:
    def checked(value: Any) -> int | float:
        if isinstance(value, float):
            if not 0 < value <= 1:
                raise ValueError(f"{name} as a fraction must lie in ]0, 1], got {value!r}; for a count write no point.")
            return value
        return positive_int(value, name)

    return checked


def _estimators(value: Any) -> list[str]:
    from ..estimators import ESTIMATORS

    return check.as_names(value, ESTIMATORS, "estimators")


HORIZON = "horizon"
"""In `decays`: 1/sqrt(T) (Theorem stoch_fixed_horizon_nonconvex), but for Heavy Ball its own, as in the paper."""


def _decays(value: Any) -> list[str]:
    from ..decays import DECAYS

    return check.as_names(value, ("auto", HORIZON, *DECAYS), "decays")


def _step(value: Any) -> str:
    from ..steps import STEPS

    return check.as_name(value, ("auto", *STEPS), "step")


KEYS: dict[str, Key] = {
    "runs": Key(10, lambda value: positive_int(value, "runs")),
    "iterations": Key(1000, lambda value: positive_int(value, "iterations")),
    "record_every": Key(None, lambda value: positive_int(value, "record_every")),
    "estimators": Key(["full"], _estimators),
    "batch_size": Key(None, _size("batch_size")),
    "coordinates": Key(None, _size("coordinates")),
    "methods": Key(list(METHODS), lambda value: check.as_names(value, METHODS, "methods")),
    "max_rounds": Key([10_000], lambda value: check.as_counts(value, "max_rounds")),
    "min_gain": Key([1e-4], _min_gain),
    "decays": Key(["auto"], _decays),
    "step": Key("auto", _step),
    "repeats": Key(50, lambda value: positive_int(value, "repeats")),
}
"""What a specification may say, at the top, in a panel or in a quick table; the paper's values are the defaults."""


def samplings(values: Table) -> dict[str, Table]:
    """For each estimator how much it draws: batch_size or coordinates, as given or by its default."""
    from ..estimators import ESTIMATORS

    given = {name: values[name] for name in ("batch_size", "coordinates") if values[name] is not None}
    drawn: dict[str, Table] = {}
    for estimator in values["estimators"]:
        defaults = {field.name: field.default for field in fields(ESTIMATORS[estimator])}
        drawn[estimator] = {
            name: given.get(name, defaults[name]) for name in ("batch_size", "coordinates") if name in defaults
        }
    for name in given:
        if not any(name in sampling for sampling in drawn.values()):
            raise ValueError(f"{name} means nothing to the estimators {', '.join(drawn)}; leave it out.")
    return drawn


def _methods(values: Table) -> Iterator[Table]:
    """Boosted with every tolerance, number of rounds and decay; vanilla once, with the step of the baseline's paper."""
    if "boosted" in values["methods"]:
        for max_rounds in values["max_rounds"]:
            for min_gain in values["min_gain"]:
                for decay in values["decays"]:
                    yield {"max_rounds": max_rounds, "min_gain": min_gain, "decay": decay, "step": values["step"]}
    if "vanilla" in values["methods"]:
        # The tolerance has no meaning with one round: always the same, so that sweeps over it share these runs.
        yield {"max_rounds": 1, "min_gain": 1e-4, "decay": "auto", "step": values["step"]}


def _of_estimator(decay: str, estimator: str) -> str:
    if decay != HORIZON:
        return decay
    return "auto" if estimator == "heavy-ball" else "stochastic-horizon"


def _solve(problem: Table, values: Table) -> Iterator[Table]:
    drawn = samplings(values)
    # Seeds outermost: a sweep that is interrupted has all methods in the runs it made.
    for seed in range(values["runs"]):
        for estimator, sampling in drawn.items():
            for method in _methods(values):
                yield {
                    "problem": problem,
                    "estimator": estimator,
                    "sampling": sampling,
                    **method,
                    "decay": _of_estimator(method["decay"], estimator),
                    "iterations": values["iterations"],
                    "record_every": values["record_every"] or max(1, values["iterations"] // RECORDED),
                    "seed": seed,
                }


def _trajectory(problem: Table, values: Table) -> Iterator[Table]:
    for method in _methods(values):
        yield {"problem": problem, **method, "iterations": values["iterations"], "seed": 0}


def _boosting_step(problem: Table, values: Table) -> Iterator[Table]:
    for estimator, sampling in samplings(values).items():
        for method in _methods({**values, "methods": ["boosted"]}):
            yield {
                "problem": problem,
                "estimator": estimator,
                "sampling": sampling,
                **method,
                "iterations": values["iterations"],
                "seed": 0,
            }


def _cost(problem: Table, values: Table) -> Iterator[Table]:
    sampling = {name: values[name] for name in ("batch_size", "coordinates") if values[name] is not None}
    yield {"problem": problem, "sampling": sampling, "repeats": values["repeats"], "seed": 0}


def _facts(problem: Table, values: Table) -> Iterator[Table]:
    yield {"problem": problem, "batch_size": values["batch_size"], "coordinates": values["coordinates"]}


def _constants(problem: Table, values: Table) -> Iterator[Table]:
    yield {"problem": problem, "estimators": samplings(values), "iterations": values["iterations"]}


_METHOD_KEYS = ("max_rounds", "min_gain", "decays", "step")
_SAMPLING_KEYS = ("estimators", "batch_size", "coordinates")

SWEEPS: dict[str, Sweep] = {
    "solve": Sweep(("runs", "iterations", "record_every", *_SAMPLING_KEYS, "methods", *_METHOD_KEYS), _solve),
    "trajectory": Sweep(("iterations", "methods", *_METHOD_KEYS), _trajectory),
    "boosting-step": Sweep(("iterations", *_SAMPLING_KEYS, *_METHOD_KEYS), _boosting_step),
    "cost": Sweep(("batch_size", "coordinates", "repeats"), _cost),
    "facts": Sweep(("batch_size", "coordinates"), _facts),
    "constants": Sweep(("iterations", *_SAMPLING_KEYS), _constants),
}
"""By the name in ``task = "..."``, as `bsfw.experiments.tasks.TASKS`."""
