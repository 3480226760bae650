"""Checkpoints: a run on disk, from which `resume` goes on to the same bits. One .npz file, no pickle, written whole."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import decays
from ._arrays import converted, host, is_foreign, kind
from ._files import atomic_write, locked, read_npz
from ._refusals import refusing
from ._sampling import rng_from_state, rng_state
from .constraints.base import Constraint
from .decays import Decay
from .engines import engine_type
from .estimators import ESTIMATORS, Estimator
from .objectives.base import Counts, Objective
from .phases import Check, Switch
from .recorder import Callback
from .results import Result, Trace
from .solver import Solver
from .state import Limits, Schedule, State
from .steps import STEPS, Step

FORMAT = "bsfw checkpoint 4"
_PLAIN = ("iteration", "lmo_calls", "boosted_steps", "seconds", "check_lmo_calls", "check_seconds")
_OWN: dict[str, dict[str, type]] = {
    "estimator": {kind.__name__: kind for kind in ESTIMATORS.values()},
    "decay": {kind.__name__: kind for kind in decays.DECAYS.values()},
    "step": {kind.__name__: kind for kind in STEPS.values()},
}
"""Parts that `resume` can make again by itself; a user's own must be given to it."""


def describe(solver: Solver) -> dict[str, Any]:
    """What a checkpoint says of a solver's plan, as plain JSON values."""
    plan = solver.plan
    return {
        "estimator": _described(plan.estimator),
        "decay": _described(plan.decay),
        "step": _described(plan.step),
        "max_rounds": plan.max_rounds,
        "min_gain": plan.min_gain,
        "method": plan.method,
        "lazy": plan.lazy,
        "end_phase": None if solver.end is None else solver.end.method,
        "shape": list(plan.shape),
    }


def _described(part: Any) -> dict[str, Any]:
    """An estimator, decay or step: its type, and its settings where they can be written down."""
    fields = dataclasses.asdict(part) if dataclasses.is_dataclass(part) and not isinstance(part, type) else {}
    plain = (bool, int, float, str, type(None))
    settings = {name: value for name, value in fields.items() if isinstance(value, plain)}
    return {"type": getattr(part, "__name__", type(part).__name__), "settings": settings}


class Saver:
    """Writes the state of one run to one path; settings and fingerprints are taken once, before the first iteration."""

    def __init__(self, path: str | os.PathLike[str], solver: Solver, limits: Limits, schedule: Schedule) -> None:
        self.path, plan = Path(path), solver.plan
        if self.path.suffix != ".npz":
            raise ValueError(f"a checkpoint is an .npz file, got {self.path.name!r}.")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"the folder {self.path.parent} of the checkpoint does not exist; create it first.")
        self.settings = {
            "format": FORMAT,
            "objective": {"fingerprint": plan.objective.fingerprint(), "shown": type(plan.objective).__name__},
            "constraint": {"fingerprint": plan.constraint.fingerprint(), "shown": repr(plan.constraint)},
            "plan": describe(solver),
            "limits": dataclasses.asdict(limits),
            "schedule": dataclasses.asdict(schedule),
        }

    def __call__(self, state: State, arrays: dict[str, Any]) -> None:
        meta = {
            **self.settings,
            "state": {name: getattr(state, name) for name in _PLAIN},
            "counts": dataclasses.asdict(state.counts),
            "check_counts": dataclasses.asdict(state.check_counts),
            "rng": rng_state(state.rng),
            "engine": state.engine_name,
            "checks": state.checks,
            "switch": None if state.switch is None else dataclasses.asdict(state.switch),
            "kind": kind(state.x),
        }
        contents = {name: host(value) for name, value in arrays.items()}
        contents |= {f"trace.{name}": column for name, column in state.trace.columns().items()}
        with atomic_write(self.path) as file:
            np.savez(file, meta=np.array(json.dumps(meta)), **contents)  # type: ignore[arg-type]  # stubs miss the keywords


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and arrays of the checkpoint at `path`, or one sentence why it is none."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint at {path}.")
    contents: dict[str, Any] = read_npz(path)
    try:
        meta = json.loads(str(contents.pop("meta")))
        known = meta["format"] == FORMAT
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(f"{path} is not a bsfw checkpoint, or it is damaged.") from None
    if not known:
        raise ValueError(f"{path} has the format {meta['format']!r}; this version of bsfw reads {FORMAT!r}.")
    return meta, contents


def _part(role: str, saved: dict[str, Any], given: Any) -> Any:
    """The estimator, decay or step of the run: made anew if it is one of bsfw's, else the `given` one, compared."""
    if given is not None:
        if _described(given) != saved:
            raise ValueError(
                f"the checkpoint was written with {role} {shown(saved)}, but {shown(_described(given))} is given."
            )
        return given
    if saved["type"] not in _OWN[role]:
        raise ValueError(
            f"the checkpoint was written with {role} {shown(saved)}, which is not one of bsfw's; give it again: "
            f"bsfw.resume(..., {role}=...)."
        )
    return _OWN[role][saved["type"]](**saved["settings"])


def shown(part: dict[str, Any]) -> str:
    """An estimator, decay or step of a checkpoint, for sentences: SAGA(batch_size=404)."""
    return f"{part['type']}({', '.join(f'{name}={value!r}' for name, value in part['settings'].items())})"


def check_problem(path: Path, meta: dict[str, Any], objective: Objective, constraint: Constraint) -> None:
    """Refuse a problem that is not the checkpoint's, and say in what it differs."""
    _check_same(path, "constraint", meta["constraint"], constraint, repr(constraint))
    _check_same(path, "objective", meta["objective"], objective, type(objective).__name__)


def _check_same(path: Path, role: str, saved: dict[str, Any], part: Objective | Constraint, name: str) -> None:
    if saved["fingerprint"] != part.fingerprint():
        differ = f"it has {saved['shown']}, given is {name}" if saved["shown"] != name else "data or parameters differ"
        raise ValueError(f"the checkpoint {path} was written for another {role}: {differ}.")


def _in_kind_of(objective: Objective, meta: dict[str, Any], contents: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a run, all NumPy's on disk, as the objective takes them: on another device than before, if need be.

    A run goes on to the same bits on the same kind of array only.
    """
    if objective.like is None and meta["kind"] != "numpy":
        raise ValueError(
            f"the checkpoint holds a run on arrays of {meta['kind']}; say which arrays the functions take, with "
            "Function(..., like=array)."
        )
    if not is_foreign(objective.like):
        return contents
    return {
        name: value if value.ndim == 0 else converted(value, value.dtype, objective.like)
        for name, value in contents.items()
    }


@refusing
def resume(
    path: str | os.PathLike[str],
    objective: Objective,
    constraint: Constraint,
    *,
    estimator: Estimator | None = None,
    decay: Decay | Callable[[int], float] | None = None,
    step: Step | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Result:
    """Go on with the run that `minimize(..., checkpoint=path)` left; it ends in the same bits as one never interrupted.

    Parameters
    ----------
    path : path
        The checkpoint, an .npz file; the run goes on to write there.
    objective, constraint
        The same problem. They are recognised by a hash of data and parameters; another problem is refused.
    estimator, decay, step
        Those of the run where they are a user's own; bsfw's are made again from the file. What can be compared, the
        name of the type and the settings of a dataclass, must be the same.
    max_iter : int, optional
        A new limit, e.g. to prolong a run that reached its own. The step decay keeps the horizon it was made for.
    callback, verbose
        As in `minimize`.

    Returns
    -------
    Result
    """
    path = Path(path)
    meta, contents = read_checkpoint(path)
    check_problem(path, meta, objective, constraint)
    trace = {name.removeprefix("trace."): contents.pop(name) for name in list(contents) if name.startswith("trace.")}
    settings, given = meta["plan"], {"estimator": estimator, "decay": decay, "step": step}
    solver = Solver(
        objective,
        constraint,
        **{role: _part(role, settings[role], part) for role, part in given.items()},
        max_rounds=settings["max_rounds"],
        min_gain=settings["min_gain"],
        shape=tuple(settings["shape"]),
        method=settings["method"],
        lazy=settings.get("lazy", False),
        end_phase=settings["end_phase"],
    )
    switch = None if meta["switch"] is None else Switch(**meta["switch"])
    plan = solver.plan if switch is None or solver.end is None else solver.end
    state = State(
        **engine_type(plan, meta["engine"] or "auto").restore(plan, _in_kind_of(objective, meta, contents)),
        rng=rng_from_state(meta["rng"]),
        counts=Counts(**meta["counts"]),
        check_counts=Counts(**meta["check_counts"]),
        trace=Trace(trace),
        engine_name=meta["engine"],
        checks=[Check(*check) for check in meta["checks"]],
        switch=switch,
        **meta["state"],
    )
    limits, schedule = Limits(**meta["limits"]), Schedule(**meta["schedule"])
    if max_iter is not None:
        limits = dataclasses.replace(limits, max_iter=max_iter)
    saver = Saver(path, solver, limits, schedule)
    with locked(path):
        return solver.run(state, limits, schedule, callback=callback, verbose=verbose, save=saver)
