"""Checkpoints: a run on disk, from which `resume` goes on to the same bits. One .npz file, no pickle, written whole."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from . import decays
from ._arrays import converted, host, is_foreign, kind
from ._files import atomic_write
from ._sampling import rng_from_state, rng_state
from .constraints.base import Constraint
from .estimators import ESTIMATORS
from .lowrank import LowRank
from .objectives.base import Counts, Objective
from .phases import Check, Switch
from .results import Result, Trace
from .solver import Callback, Solver
from .state import Limits, Schedule, State
from .steps import STEPS

FORMAT = "bsfw checkpoint 3"
READABLE = ("bsfw checkpoint 2", FORMAT)
"""Format 2 knew no end phase, and at first no method but the boosted one."""
_PLAIN = ("iteration", "lmo_calls", "boosted_steps", "seconds", "check_lmo_calls", "check_seconds")


def describe(solver: Solver) -> dict[str, Any]:
    """The solver's settings as plain JSON values, or a ValueError if one of them cannot be written down."""
    if not isinstance(solver.decay, decays.Decay):
        raise ValueError("a checkpoint cannot hold a decay that is a function; use a name or a Decay object.")
    if type(solver.estimator) is not ESTIMATORS.get(solver.estimator.name):
        raise ValueError(f"a checkpoint can hold bsfw's own estimators only, not {type(solver.estimator).__name__}.")
    return {
        "estimator": [solver.estimator.name, dataclasses.asdict(solver.estimator)],
        "decay": [type(solver.decay).__name__, dataclasses.asdict(solver.decay)],
        "step": [solver.step_rule.name, dataclasses.asdict(solver.step_rule)],
        "max_rounds": solver.max_rounds,
        "min_gain": solver.min_gain,
        "method": solver.method,
        "end_phase": solver.end_phase,
        "shape": list(solver.shape),
    }


class Saver:
    """Writes the state of one run to one path; settings and fingerprints are taken once, before the first iteration."""

    def __init__(self, path: str | os.PathLike[str], solver: Solver, limits: Limits, schedule: Schedule) -> None:
        self.path = Path(path)
        if self.path.suffix != ".npz":
            raise ValueError(f"a checkpoint is an .npz file, got {self.path.name!r}.")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"the folder {self.path.parent} of the checkpoint does not exist; create it first.")
        self.settings = {
            "format": FORMAT,
            "objective": solver.objective.fingerprint(),
            "constraint": solver.constraint.fingerprint(),
            "solver": describe(solver),
            "limits": dataclasses.asdict(limits),
            "schedule": dataclasses.asdict(schedule),
        }

    def __call__(self, state: State) -> None:
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
        arrays = {"x": state.x, "x_previous": state.x_previous, "m": state.m}
        contents: dict[str, Any] = {name: array for name, array in arrays.items() if array is not None}
        if isinstance(state.x, LowRank):
            del contents["x"]
            contents |= {f"x.{name}": part for name, part in state.x.parts().items()}
        contents |= {f"memory.{name}": table for name, table in state.memory.items()}
        contents = {name: host(value) for name, value in contents.items()}
        contents |= {f"trace.{name}": column for name, column in state.trace.columns().items()}
        with atomic_write(self.path) as file:
            np.savez(file, meta=np.array(json.dumps(meta)), **contents)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and arrays of the checkpoint at `path`, or one sentence why it is none."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint at {path}.")
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            contents = {name: file[name] for name in file.files}
        meta = json.loads(str(contents.pop("meta")))
        known = meta["format"] in READABLE
    except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path} is not a bsfw checkpoint, or it is damaged.") from None
    if not known:
        raise ValueError(f"{path} has the format {meta['format']!r}; this version of bsfw reads {FORMAT!r}.")
    meta["solver"] = {"method": "boosted", "end_phase": None} | meta["solver"]
    return {"checks": [], "switch": None} | meta, contents


def _group(contents: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): contents[name] for name in contents if name.startswith(prefix)}


def _solver(meta: dict[str, Any], objective: Objective, constraint: Constraint) -> Solver:
    settings = meta["solver"]
    (estimator, estimator_fields), (decay, decay_fields), (step, step_fields) = (
        settings[name] for name in ("estimator", "decay", "step")
    )
    decay_types = {kind.__name__: kind for kind in decays.Decay.__subclasses__()}
    return Solver(
        objective,
        constraint,
        ESTIMATORS[estimator](**estimator_fields),
        max_rounds=settings["max_rounds"],
        min_gain=settings["min_gain"],
        decay=decay_types[decay](**decay_fields),
        step=STEPS[step](**step_fields),
        shape=tuple(settings["shape"]),
        method=settings["method"],
        end_phase=settings["end_phase"],
    )


def _in_kind_of(objective: Objective, meta: dict[str, Any], contents: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a run, all NumPy's on disk, as the objective takes them: on another device than before, if need be.

    A run goes on to the same bits on the same kind of array only.
    """
    if objective.like is None and meta.get("kind", "numpy") != "numpy":
        raise ValueError(
            f"the checkpoint holds a run on arrays of {meta['kind']}; say which arrays the functions take, with "
            "Function(..., like=array)."
        )
    if not is_foreign(objective.like):
        return contents
    return {
        name: value if name.startswith("trace.") or value.ndim == 0 else converted(value, value.dtype, objective.like)
        for name, value in contents.items()
    }


def resume(
    path: str | os.PathLike[str],
    objective: Objective,
    constraint: Constraint,
    *,
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
    for name, part in (("objective", objective), ("constraint", constraint)):
        if meta[name] != part.fingerprint():
            raise ValueError(
                f"the checkpoint {path} was written for another {name}: its data or parameters differ from the given "
                f"{type(part).__name__}."
            )
    contents = _in_kind_of(objective, meta, contents)
    solver = _solver(meta, objective, constraint)
    limits = Limits(**meta["limits"])
    if max_iter is not None:
        limits = dataclasses.replace(limits, max_iter=max_iter)
    schedule = Schedule(**meta["schedule"])
    state = State(
        x=contents["x"] if "x" in contents else LowRank.from_parts(_group(contents, "x.")),
        rng=rng_from_state(meta["rng"]),
        x_previous=contents.get("x_previous"),
        m=contents.get("m"),
        memory=_group(contents, "memory."),
        counts=Counts(**meta["counts"]),
        check_counts=Counts(**meta["check_counts"]),
        trace=Trace(_group(contents, "trace.")),
        engine_name=meta["engine"],
        checks=[Check(*check) for check in meta["checks"]],
        switch=None if meta["switch"] is None else Switch(**meta["switch"]),
        **meta["state"],
    )
    saver = Saver(path, solver, limits, schedule)
    return solver.run(state, limits, schedule, callback=callback, verbose=verbose, save=saver)
