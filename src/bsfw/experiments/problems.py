"""The problems of experiments: from a ``[panel.problem]`` table to objective, set, start, label and facts.

================  =====================================================================================================
linear-model      (the default) ``data``: a name of `bsfw.datasets`, a LIBSVM file, or "rcv1", the published file if it
                  is here and else a synthetic stand-in; ``objective``; ``set``; ``radius``; ``intercept`` (false)
least-squares     ``samples`` Gaussian ones of a variable of ``shape`` [n] or [rows, columns]; ``set``; ``radius``
plane             a quadratic over the polygon with these ``corners``, in order; ``target``: where its minimum would be
                  without them; ``curvature`` ([1, 1]); ``start``; and for a finite sum ``samples`` with targets that
                  scatter by ``spread`` (1)
tomography        a Haar-random unitary on ``qubits`` (3), measured with Gaussian ``noise``; ``radius`` of the spectral
                  ball; ``penalty`` (0.05); ``reduction`` ("sum" or "mean")
completion        ``data``: ratings of `bsfw.datasets`, or "movielens", which is ml-100k if its file is here and else a
                  synthetic stand-in; ``loss`` ("bounded"); ``radius`` of the nuclear ball
================  =====================================================================================================

`PROBLEMS` holds the kinds of problem by the name in ``kind = "..."``. A kind says which keys its table has and checks
them while the experiment is planned (`Kind.resolve`, which reads no data), and makes the problem when a run needs it
(`Kind.build`). Whoever brings a further problem adds a `Kind`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, positive_int
from .._names import LOSSES, SETS
from . import _checks as check

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..objectives import Objective

Table = dict[str, Any]

STAND_IN = "rcv1-like"
"""The seeded synthetic set that takes the place of rcv1 where the published file is not here."""

RATINGS_STAND_IN = "ml-100k-like"
"""The seeded synthetic ratings that take the place of ml-100k where the published file is not here."""

STAND_INS = {"rcv1": STAND_IN, "movielens": RATINGS_STAND_IN}
"""What stands in for the data of a built-in experiment."""

LABELS = {
    "rcv1_train.binary": "rcv1",
    RATINGS_STAND_IN: "ml-100k-like (synthetic)",
    STAND_IN: "rcv1-like (synthetic)",
    "news20-halves": "news20 (two halves)",
}
"""Data sets that titles call by another name than `bsfw.datasets` does."""


@dataclass(frozen=True, eq=False)
class Problem:
    """min f over C, ready to be solved.

    Attributes
    ----------
    objective : Objective
    constraint : Constraint
    label : str
        The name of the data in titles and tables.
    facts : dict
        "n", "m" and "nonzeros", as far as they have a meaning.
    start : callable, optional
        From the generator of the start to x^0; default: the algorithm's own start.
    metrics : dict of callables
        What is recorded of x beside f, e.g. a fidelity; off the clock.
    """

    objective: Objective
    constraint: Constraint
    label: str
    facts: dict[str, int]
    start: Callable[[np.random.Generator], Array] | None = None
    metrics: dict[str, Callable[[Array], float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of problem.

    Attributes
    ----------
    resolve : callable
        From the table as written and the folder of its file to the table that the runs are keyed by: checked, with
        defaults filled in and the data that is meant. ValueError for what is not known.
    label : callable
        From the resolved table to the name of the data in titles.
    build : callable
        From the resolved table and the generator of the problem to the `Problem`.
    random : bool
        Whether `build` draws from its generator, so that each seed has a problem of its own.
    """

    resolve: Callable[[Table, Path], Table]
    label: Callable[[Table], str]
    build: Callable[[Table, np.random.Generator], Problem]
    random: bool = False


def resolve(table: Table, folder: Path) -> Table:
    """The problem that a table means, as plain values that determine it; ValueError for anything not known."""
    kind = check.as_name(table.get("kind", "linear-model"), PROBLEMS, "kind of problem")
    return {"kind": kind, **PROBLEMS[kind].resolve({key: table[key] for key in table if key != "kind"}, folder)}


def label(table: Table) -> str:
    """What a resolved problem is called in titles."""
    return PROBLEMS[table["kind"]].label(table)


def build(table: Table, seed: int) -> Problem:
    """The problem of a resolved table; the last few are kept, since the runs of a sweep share them."""
    text = json.dumps(table, sort_keys=True)
    return _build(text, seed if PROBLEMS[table["kind"]].random else 0, threading.get_ident())


@lru_cache(maxsize=4)
def _build(text: str, seed: int, thread: int) -> Problem:
    # One for each thread, as some backends of joblib run several: an objective counts what it is asked in itself.
    table = json.loads(text)
    return PROBLEMS[table["kind"]].build(table, streams(seed)["problem"])


def streams(seed: int) -> dict[str, np.random.Generator]:
    """Separate generators for problem, start and batches: boosted and vanilla runs of a seed share all three."""
    names = ("problem", "start", "batches")
    children = np.random.SeedSequence([seed]).spawn(len(names))
    return {name: np.random.default_rng(child) for name, child in zip(names, children, strict=True)}


def to_download(table: Table) -> str | None:
    """The data set of a resolved problem if it is not on this machine."""
    from ..datasets import available

    missing = {known.name for known in available() if known.place == "download"}
    return table["data"] if table.get("data") in missing else None


# Linear models on data sets: the experiments of the paper's section on sparse logistic regression.


def _resolve_linear_model(table: Table, folder: Path) -> Table:
    check.only_keys(table, ("kind", "data", "objective", "set", "radius", "intercept"), "[panel.problem]")
    _require(table, ("data", "objective", "set", "radius"))
    intercept = table.get("intercept", False)
    if not isinstance(intercept, bool):
        raise ValueError(f"intercept must be true or false, got {intercept!r}.")
    return {
        **_resolve_data(check.as_text(table["data"], "data"), folder),
        "objective": check.as_name(table["objective"], LOSSES, "objective"),
        **_resolve_set(table),
        "intercept": intercept,
    }


def _resolve_data(name: str, folder: Path) -> Table:
    from ..datasets import available
    from ..datasets.registry import ENTRIES

    if name == "rcv1":
        places = {known.name: known.place for known in available()}
        return {"data": STAND_IN if places["rcv1_train.binary"] == "download" else "rcv1_train.binary"}
    matrices = [entry.name for entry in ENTRIES.values() if entry.kind != "ratings"]
    if name in matrices or name == STAND_IN:
        return {"data": name}
    path = (folder / name).expanduser()
    if not path.is_file():
        raise ValueError(
            f"data {name!r} is neither a LIBSVM file nor a known data set; known are "
            f"{', '.join(['rcv1', *matrices, STAND_IN])}."
        )
    # The content is part of the key: another file of the same name is another experiment.
    return {"data": str(path.resolve()), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _linear_model_label(table: Table) -> str:
    data: str = table["data"]
    return Path(data).stem if "sha256" in table else LABELS.get(data, data)


def _build_linear_model(table: Table, rng: np.random.Generator) -> Problem:
    from scipy.sparse import csr_array

    from .. import objectives

    A, y = _load(table)
    # One format for all data: the compiled engine then compiles once.
    A = csr_array(A)
    objective = getattr(objectives, LOSSES[table["objective"]])(A, y, intercept=table["intercept"])
    facts = {"n": int(A.shape[1]), "m": int(A.shape[0]), "nonzeros": int(A.nnz)}
    return Problem(objective, _set(table), label(table), facts)


def _load(table: Table) -> Any:
    from ..datasets import load, read_libsvm
    from ..datasets.synthetic import rcv1_like

    data = table["data"]
    if "sha256" in table:
        content = Path(data).read_bytes()
        if hashlib.sha256(content).hexdigest() != table["sha256"]:
            raise ValueError(f"{data} has changed since the experiment was planned; start it again.")
        return read_libsvm(content)
    return rcv1_like() if data == STAND_IN else load(data)


# Least squares on Gaussian samples, for vectors and matrices: the setting of the paper's "When to Boost?".


def _resolve_least_squares(table: Table, folder: Path) -> Table:
    check.only_keys(table, ("kind", "samples", "shape", "set", "radius"), "[panel.problem]")
    _require(table, ("samples", "shape", "set", "radius"))
    shape = table["shape"]
    if not isinstance(shape, list) or len(shape) not in (1, 2):
        raise ValueError(f"shape must be [n] for a vector or [rows, columns] for a matrix, got {shape!r}.")
    return {
        "samples": positive_int(table["samples"], "samples"),
        "shape": [positive_int(side, "shape") for side in shape],
        **_resolve_set(table),
    }


def _least_squares_label(table: Table) -> str:
    return f"least squares, {table['samples']:,} samples, {' x '.join(f'{side:,}' for side in table['shape'])}"


def _build_least_squares(table: Table, rng: np.random.Generator) -> Problem:
    from ..objectives import Function, LeastSquares

    samples, shape = table["samples"], tuple(table["shape"])
    size = int(np.prod(shape))
    A = rng.standard_normal((samples, size))
    flat = LeastSquares(A, A @ rng.standard_normal(size) / np.sqrt(size) + rng.standard_normal(samples))
    objective: Objective = flat
    if len(shape) == 2:
        objective = Function(
            lambda x: flat.value(x.ravel()),
            lambda x: flat.gradient(x.ravel()).reshape(shape),
            shape=shape,
            n_samples=samples,
            batch_jac=lambda x, batch: flat.batch_gradient(x.ravel(), batch).reshape(shape),
            quasar_rho=1.0,
        )
    return Problem(objective, _set(table), label(table), {"n": size, "m": samples, "nonzeros": A.size})


# A quadratic over a polygon: what can be drawn.


def _resolve_plane(table: Table, folder: Path) -> Table:
    check.only_keys(table, ("kind", "corners", "target", "curvature", "start", "samples", "spread"), "[panel.problem]")
    _require(table, ("corners", "target"))
    corners = table["corners"]
    if not isinstance(corners, list) or len(corners) < 3:
        raise ValueError(
            f"corners must be a list of at least three points in the order of the outline, got {corners!r}."
        )
    curvature = check.as_point(table.get("curvature", [1.0, 1.0]), "curvature")
    if min(curvature) <= 0:
        raise ValueError(f"curvature must be two positive numbers, got {curvature!r}.")
    return {
        "corners": [check.as_point(corner, "a corner") for corner in corners],
        "target": check.as_point(table["target"], "target"),
        "curvature": curvature,
        "start": None if "start" not in table else check.as_point(table["start"], "start"),
        "samples": None if "samples" not in table else positive_int(table["samples"], "samples"),
        "spread": check.as_number(table.get("spread", 1.0), "spread"),
    }


def _build_plane(table: Table, rng: np.random.Generator) -> Problem:
    """f(x) = (1/2) sum_j c_j (x_j - target_j)^2; with `samples` the average of as many of these, whose targets scatter
    around it with the standard deviation `spread`."""
    from ..constraints import ConvexHull
    from ..objectives import Function, Quadratic

    target, c, samples = np.array(table["target"]), np.array(table["curvature"]), table["samples"]
    objective: Objective
    facts = {"n": 2}
    if samples is None:
        objective = Quadratic(c, -c * target, 0.5 * float(c @ target**2))
    else:
        targets = target + table["spread"] * rng.standard_normal((samples, 2))
        objective = Function(
            lambda x: 0.5 * float((c * (x - targets) ** 2).sum(axis=1).mean()),
            shape=(2,),
            n_samples=samples,
            batch_jac=lambda x, batch: c * (x - targets[batch].mean(axis=0)),
            quasar_rho=1.0,
        )
        facts |= {"m": samples}
    x0 = table["start"]
    start = None if x0 is None else lambda _: np.array(x0)
    return Problem(objective, ConvexHull(table["corners"]), label(table), facts, start)


# Quantum process tomography: a unitary to be found again, from the start of the paper, with its fidelities.


def _resolve_tomography(table: Table, folder: Path) -> Table:
    check.only_keys(table, ("kind", "qubits", "noise", "radius", "penalty", "reduction"), "[panel.problem]")
    _require(table, ("noise", "radius"))
    return {
        "qubits": positive_int(table.get("qubits", 3), "qubits"),
        "noise": check.as_number(table["noise"], "noise"),
        "radius": check.as_number(table["radius"], "radius"),
        "penalty": check.as_number(table.get("penalty", 0.05), "penalty"),
        "reduction": check.as_name(table.get("reduction", "sum"), ("sum", "mean"), "reduction"),
    }


def _build_tomography(table: Table, rng: np.random.Generator) -> Problem:
    from ..constraints import SpectralBall
    from ..quantum import ProcessTomography

    options = {name: table[name] for name in ("qubits", "noise", "penalty", "reduction")}
    objective = ProcessTomography.random(rng=rng, **options)
    return Problem(
        objective,
        SpectralBall(table["radius"]),
        label(table),
        {"n": objective.shape[0], "m": objective.n_samples},
        objective.start,
        {"fidelity": objective.fidelity, "fidelity_normalised": objective.fidelity_normalised},
    )


# Matrix completion: the paper's collaborative filtering.


def _resolve_completion(table: Table, folder: Path) -> Table:
    from ..datasets import available
    from ..datasets.registry import ENTRIES
    from ..objectives.completion import LOSSES as COMPLETION_LOSSES

    check.only_keys(table, ("kind", "data", "loss", "radius"), "[panel.problem]")
    _require(table, ("data", "radius"))
    known = [entry.name for entry in ENTRIES.values() if entry.kind == "ratings"]
    data = check.as_name(table["data"], ("movielens", *known, RATINGS_STAND_IN), "set of ratings")
    if data == "movielens":
        here = {known.name for known in available() if known.place != "download"}
        data = "ml-100k" if "ml-100k" in here else RATINGS_STAND_IN
    return {
        "data": data,
        "loss": check.as_name(table.get("loss", "bounded"), COMPLETION_LOSSES, "loss"),
        "radius": check.as_number(table["radius"], "radius"),
    }


def _build_completion(table: Table, rng: np.random.Generator) -> Problem:
    from ..constraints import NuclearBall
    from ..datasets import load
    from ..datasets.synthetic import ratings_like
    from ..objectives import MatrixCompletion

    ratings: Any = ratings_like() if table["data"] == RATINGS_STAND_IN else load(table["data"])
    objective = MatrixCompletion(ratings, table["loss"])
    facts = {"n": int(np.prod(objective.shape)), "m": objective.n_samples}
    return Problem(objective, NuclearBall(table["radius"]), label(table), facts)


def _completion_label(table: Table) -> str:
    name: str = table["data"]
    return LABELS.get(name, name)


PROBLEMS = {
    "linear-model": Kind(_resolve_linear_model, _linear_model_label, _build_linear_model),
    "least-squares": Kind(_resolve_least_squares, _least_squares_label, _build_least_squares, random=True),
    "plane": Kind(_resolve_plane, lambda table: "the plane", _build_plane, random=True),
    "tomography": Kind(
        _resolve_tomography,
        lambda table: f"{table['qubits']} qubits with noise {table['noise']:g}",
        _build_tomography,
        random=True,
    ),
    "completion": Kind(_resolve_completion, _completion_label, _build_completion),
}
"""By the name in ``kind = "..."``; without it a problem is a linear model."""


def _require(table: Table, keys: Iterable[str]) -> None:
    missing = [key for key in keys if key not in table]
    if missing:
        raise ValueError(f"[panel.problem] needs {', '.join(keys)}; missing: {', '.join(missing)}.")


def _resolve_set(table: Table) -> Table:
    return {
        "set": check.as_name(table["set"], SETS, "set"),
        "radius": check.as_number(table["radius"], "radius"),
    }


def _set(table: Table) -> Constraint:
    from .. import constraints

    made: Constraint = getattr(constraints, SETS[table["set"]])(table["radius"])
    return made
