"""Hostile calls over the whole public surface: a case is a number, from which the call follows.

What can be called is read from `bsfw.__all__` and from signatures, so that a new name is covered by itself. Valid
values come from recipes by the name of a parameter; then one or two arguments are replaced by values that nobody means
to give. A parameter without a recipe gets hostile values only.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import pickle
import random
import tempfile
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from hostile_values import HOSTILE, PATHS

import bsfw
from bsfw.quantum.counts import read
from bsfw.quantum.measurements import Design

M, N = 8, 4
MATRICES = {"Birkhoff", "NuclearBall", "SpectralBall", "Spectraplex", "MatrixCompletion", "LowRank", "RankOne"}
"""Classes of which the variable is a matrix, 3 x 3 in the recipes; of the others it is a vector of 4."""


# What can be called


def _public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    listed = getattr(module, "__all__", None)
    for name in listed or vars(module):
        thing = getattr(module, name)
        if not name.startswith("_") and (listed or getattr(thing, "__module__", "").startswith(module.__name__)):
            yield name, thing


@cache
def surface() -> dict[str, tuple[Any, str | None]]:
    """Every public class, method and function by its name: the class or function, and the name of the method."""
    found: dict[str, tuple[Any, str | None]] = {}
    things = [(name, getattr(bsfw, name)) for name in sorted(bsfw.__all__)]
    if importlib.util.find_spec("distributed"):
        things.append(("dask", importlib.import_module("bsfw.dask")))
    for name, module in [pair for pair in things if isinstance(pair[1], types.ModuleType)]:
        things += [(f"{name}.{inner}", thing) for inner, thing in _public(module)]
    seen: set[int] = set()
    for name, thing in things:
        if id(thing) in seen or not callable(thing) or isinstance(thing, types.ModuleType):
            continue
        seen.add(id(thing))
        if not inspect.isclass(thing):
            found[name] = (thing, None)
            continue
        if inspect.isabstract(thing) or _parameters(thing) is None:
            continue
        found[name] = (thing, None)
        for method in dir(thing):
            kind = inspect.getattr_static(thing, method)
            if method.startswith("_") or not isinstance(kind, types.FunctionType | classmethod | staticmethod):
                continue
            if str(getattr(getattr(thing, method), "__module__", "")).startswith("bsfw"):
                found[f"{name}.{method}"] = (thing, method)
    return found


def _parameters(callee: Any) -> list[inspect.Parameter] | None:
    try:
        found = inspect.signature(callee).parameters.values()
    except (TypeError, ValueError):  # of a class written in C
        return None
    return [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self"]


# Valid values


def _data() -> Any:
    return np.arange(M * N, dtype=float).reshape(M, N) % 5 - 2.0


def _signs() -> Any:
    return np.where(np.arange(M) % 2, 1.0, -1.0)


def _vertex(owner: str) -> Any:
    return bsfw.RankOne(1.0, np.eye(3)[0], np.eye(3)[1]) if owner in MATRICES else bsfw.OneHot(1, 1.0, (N,))


def _point(owner: str) -> Any:
    if owner.startswith("quantum") or owner == "ProcessTomography":
        return np.eye(2, dtype=complex).reshape(4, 1)
    if owner == "Multinomial":
        return np.zeros((N, 3))
    if owner == "Permutahedron":
        return np.array([2.0, 1.0, 3.0])
    if owner in ("PathPolytope", "Ellipsoid", "ConvexHull", "Polytope"):
        return np.full({"PathPolytope": 3, "Polytope": 2}.get(owner, 2), 0.5)
    if owner in MATRICES:
        return np.eye(3) / 3.0 if owner != "Birkhoff" else np.eye(3)
    return np.full(N, 0.25)


def _direction() -> Any:
    return bsfw.L1Ball(1.0).boost(np.array([1.0, -2.0, 0.5, 0.0]), np.full(N, 0.1), 3, 1e-4)


def _observations() -> Any:
    return np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, -1.0, 2.0]), (3, 3)


def _completion() -> Any:
    return bsfw.MatrixCompletion(_observations())


def _memory(owner: str) -> Any:
    """The tables of an estimator after its first estimate."""
    estimator = getattr(bsfw, owner, bsfw.FullGradient)()
    return estimator.init(bsfw.LeastSquares(_data(), _signs()), np.full(N, 0.25), np.random.default_rng(0))[1]


def _solver() -> Any:
    return bsfw.Solver(bsfw.Quadratic(np.eye(N), np.ones(N)), bsfw.L2Ball(1.0))


def _blocks() -> Any:
    return bsfw.blocks.from_arrays(_data(), _signs(), threads=1)


def _record() -> Any:
    return read({setting: {"0": 5, "1": 3} for setting in "XYZ"}, process=False)


def _blocks_folder() -> str:
    folder = os.path.join(tempfile.mkdtemp(dir="."), "blocks")
    bsfw.blocks.write(folder, _data(), _signs())
    return folder


def _columns(block: Any) -> float:
    return float(block.n)


def _fitted(name: str, made: Any) -> Any:
    """An estimator of scikit-learn's kind, fitted."""
    if name == "sklearn.RatingRegressor":
        return made.fit(np.array([[0, 1], [1, 2], [2, 0]]), np.array([1.0, -1.0, 2.0]))
    if name.endswith("CV"):
        made.set_params(cv=2)
    return made.fit(_data(), _signs())


def _frequencies() -> Any:
    return np.full((4, 3, 2), 0.5)


def _target() -> str:
    return os.path.join(tempfile.mkdtemp(dir="."), "run.npz")


def _trace_file() -> str:
    path = _target()
    _trace().save(path)
    return path


def _model_file() -> str:
    path = _target()
    bsfw.Model(np.ones(N)).save(path)
    return path


def _table_file() -> str:
    path = os.path.join(tempfile.mkdtemp(dir="."), "table.csv")
    Path(path).write_text("a,b,y\n1,2,1\n3,4,-1\n")
    return path


def _result() -> Any:
    return bsfw.minimize(bsfw.LeastSquares(_data(), _signs()), bsfw.L2Ball(1.0), method="boosted", max_iter=2)


def _trace() -> Any:
    return _result().trace


@cache
def _checkpoint_bytes() -> bytes:
    path = _target()
    bsfw.minimize(bsfw.Quadratic(np.eye(N)), bsfw.L2Ball(1.0), max_iter=2, checkpoint=path, every=1)
    return Path(path).read_bytes()


def _checkpoint() -> str:
    path = _target()
    Path(path).write_bytes(_checkpoint_bytes())
    return path


Recipe = Callable[[str], Any]
RECIPES: dict[str, Recipe] = {
    # by owner and parameter
    "ActiveSet.shape": lambda _: (N,),
    "ActiveSet.values": lambda _: np.ones(2),
    "ActiveSet.weights": lambda _: np.full(2, 0.5),
    "AnytimeDecay.nu": lambda _: 8.0,
    "Birkhoff.n": lambda _: 3,
    "ConvexHull.vertices": lambda _: np.eye(3, 2),
    "Direction.vertices": lambda _: [_vertex("")],
    "Direction.weights": lambda _: [1.0],
    "GroupBall.groups": lambda _: [[0, 1], [2, 3]],
    "GroupBall.members.groups": lambda _: 1,
    "HeavyBall.constants.horizon": lambda _: 10,
    "LineSearch.search.direction": lambda _: _direction(),
    "Multinomial.y": lambda _: np.arange(M) % 3,
    "Multinomial.z": lambda _: np.zeros((M, 3)),
    "Multinomial.coefficients": lambda _: np.ones((M, 3)),
    "PiecewiseDecay.d": lambda _: 2.0,
    "Permutahedron.weights": lambda _: [1.0, 2.0, 3.0],
    "SigmoidSquared.y": lambda _: np.linspace(0.0, 1.0, M),
    "Interrupted.result": lambda _: _result(),
    "Model.coef": lambda _: np.ones(N),
    "Model.intercept": lambda _: 0.5,
    "Model.result": lambda _: _result(),
    "Model.classes": lambda _: np.array([-1, 1]),
    "load_model.path": lambda _: _model_file(),
    "datasets.read_table.path": lambda _: _table_file(),
    "LowRank.weights": lambda _: np.ones(2),
    "LowRank.moved.vertices": lambda _: [_vertex("LowRank")],
    "LowRank.moved.weights": lambda _: [1.0],
    "LowRank.vector": lambda _: np.ones(3),
    "LowRank.values": lambda _: np.ones(3),
    "LowRank.dtype": lambda _: float,
    "MatrixCompletion.z": lambda _: np.zeros(3),
    "MatrixCompletion.coefficients": lambda _: np.ones(3),
    "MatrixCompletion.sample_weight": lambda _: np.ones(3),
    "RankOne.left": lambda _: np.eye(3)[0],
    "RankOne.right": lambda _: np.eye(3)[1],
    "LowRank.left": lambda _: np.eye(3, 2),
    "LowRank.right": lambda _: np.eye(3, 2),
    "Sparse.values": lambda _: np.ones(2),
    "Trace.columns": lambda _: _trace().columns(),
    "Trace.load.path": lambda _: _trace_file(),
    "Trace.x": lambda _: "iteration",
    "Trace.y": lambda _: "value",
    "Result.x": lambda _: np.ones(N),
    "datasets.Ratings.values": lambda _: _observations()[2],
    "datasets.Dataset.y": lambda _: _signs(),
    "datasets.load.name": lambda _: "breast-cancer",
    "boost.lmo": lambda _: bsfw.L2Ball(1.0).lmo,
    "completion_path.objective": lambda _: bsfw.MatrixCompletion(_observations(), test=_observations()),
    "decays.choose_decay.name": lambda _: "auto",
    "theory.EstimatorConstants.A": lambda _: 0.0,
    "quantum.ProcessTomography.truth": lambda _: np.eye(2)[None],
    "quantum.ProcessTomography.from_truth.truth": lambda _: np.eye(2),
    "quantum.ProcessTomography.from_truth.shots": lambda _: None,
    "quantum.ProcessTomography.from_measurements.truth": lambda _: np.eye(2),
    "quantum.ProcessTomography.smoothness.radius": lambda _: 2.0,
    "quantum.process_fidelity.truth": lambda _: np.eye(2, dtype=complex).reshape(4, 1),
    "quantum.ProcessTomography.U": lambda _: np.ones((4, 1), dtype=complex),
    "quantum.ProcessTomography.shots": lambda _: None,
    "blocks.write.folder": lambda _: tempfile.mkdtemp(dir="."),
    "blocks.open_blocks.folder": lambda _: _blocks_folder(),
    "blocks.SparseBlock.of.A": lambda _: sp.csr_array(_data()),
    "blocks.Local.task": lambda _: _columns,
    "blocks.Local.sources": lambda _: [bsfw.blocks.DenseBlock.of(_data(), _signs())],
    "blocks.SparseBlock.n": lambda _: N,
    "blocks.SparseBlock.columns": lambda _: np.array([0, 2], dtype=np.int32),
    "blocks.SparseBlock.starts": lambda _: np.array([0, 1, 3]),
    "blocks.SparseBlock.rows": lambda _: np.array([1, 0, 7], dtype=np.int32),
    "blocks.SparseBlock.data": lambda _: np.ones(3),
    "blocks.DenseBlock.by_columns": lambda _: _data().T.copy(),
    "blocks.SparseBlock.times.x": lambda _: np.ones(1),
    "blocks.DenseBlock.times.x": lambda _: np.ones(1),
    "sklearn.RatingRegressor.X": lambda _: np.array([[0, 1], [1, 2], [2, 0]]),
    "sklearn.RatingRegressor.y": lambda _: np.array([1.0, -1.0, 2.0]),
    "resume.path": lambda _: _checkpoint(),
    "resume.objective": lambda _: bsfw.Quadratic(np.eye(N)),
    "resume.constraint": lambda _: bsfw.L2Ball(1.0),
    "minimize.fun": lambda _: bsfw.Quadratic(np.eye(N), np.ones(N)),
    "quantum.StateTomography.x": lambda _: np.eye(2, 1, dtype=complex),
    "sklearn.FrankWolfeClassifierCV.cv": lambda _: 2,
    "minimize.jac": lambda _: None,
    "minimize.checkpoint": lambda _: _target(),
    "minimize.step": lambda _: "auto",
    "minimize.shape": lambda _: None,
    "Solver.state": lambda _: _solver().init(rng=0),
    "Solver.step": lambda _: "auto",
    "Solver.shape": lambda _: (N,),
    "Solver.engine": lambda _: "reference",
    "Function.shape": lambda _: (N,),
    "Function.partial": lambda _: lambda x, coordinates: np.asarray(x).ravel()[coordinates],
    "Quadratic.shape": lambda _: (N,),
    "State.trace": lambda _: bsfw.Trace(),
    "Oracle.diameter": lambda owner: 2.0,
    "Oracle.violation": lambda owner: lambda x: 0.0,
    "Oracle.violation.x": _point,
    "PathPolytope.edges": lambda _: [[0, 1], [1, 2], [0, 2]],
    "PathPolytope.demands": lambda _: [[0, 2, 1.0]],
    # by parameter
    "A": lambda _: _data(),
    "A_ub": lambda _: np.vstack([np.eye(2), -np.eye(2)]),
    "b_ub": lambda _: np.ones(4),
    "B": lambda _: 1.0,
    "C": lambda _: 0.0,
    "D": lambda _: 1.0,
    "E": lambda _: 0.0,
    "F0": lambda _: 1.0,
    "L": lambda _: 1.0,
    "Q": lambda _: np.eye(N),
    "T": lambda _: 10,
    "U": lambda _: np.ones((4, 1), dtype=complex),
    "along": lambda _: lambda: bsfw.Quadratic(np.eye(N)).along(np.ones(N), -np.ones(N)),
    "alignment": lambda _: 0.5,
    "amount": lambda _: 1.0,
    "array": _point,
    "arrays": lambda _: bsfw.ActiveSet((N,)).to_arrays(),
    "b": lambda _: np.ones(N),
    "batch": lambda _: np.array([0, 2]),
    "batch_jac": lambda _: lambda x, batch: np.asarray(x) * 1.0,
    "batch_size": lambda _: 2,
    "blocks": lambda _: [(bsfw.L1Ball(1.0), (2,)), (bsfw.L2Ball(1.0), (2,))],
    "c": lambda _: 1.0,
    "center": lambda _: np.zeros(2),
    "classes": lambda _: (-1, 1),
    "coefficients": lambda _: np.ones(M),
    "cols": lambda _: np.array([1, 2, 0]),
    "compression": lambda _: 1e-3,
    "constants": lambda _: bsfw.theory.EstimatorConstants(),
    "constraint": lambda _: bsfw.L2Ball(1.0),
    "convex": lambda _: True,
    "coordinates": lambda _: np.array([0, 1]),
    "count": lambda _: 2,
    "counts": lambda _: bsfw.Counts(),
    "cv": lambda _: 2,
    "d": lambda _: np.ones(N),
    "d_hat": lambda _: np.ones(N),
    "decay": lambda _: "auto",
    "delta": lambda _: 1.0,
    "design": lambda _: Design.of(1),
    "dimension": lambda _: N,
    "direction": _point,
    "distance": lambda _: 1.0,
    "dtype": lambda _: float,
    "equality": lambda _: True,
    "error0": lambda _: 1.0,
    "estimator": lambda _: bsfw.FullGradient(),
    "eta": lambda _: np.ones(3),
    "every": lambda _: 1,
    "first": lambda _: 0,
    "frequencies": lambda _: _frequencies(),
    "fun": lambda _: lambda x: float(np.sum(np.asarray(x) ** 2)),
    "g": _point,
    "gamma": lambda _: 0.5,
    "gap": lambda _: 1.0,
    "gap_tol": lambda _: 1e-3,
    "groups": lambda _: [[0, 1], [2, 3]],
    "horizon": lambda _: 10,
    "index": lambda _: 1,
    "indices": lambda _: np.array([0, 2]),
    "inputs": lambda _: None,
    "intercept": lambda _: False,
    "item_ids": lambda _: np.arange(3),
    "jac": lambda _: lambda x: 2.0 * np.asarray(x),
    "k": lambda _: 2,
    "kind": lambda _: "exact",
    "left": lambda _: np.eye(3)[0],
    "limits": lambda _: bsfw.Limits(max_iter=2, max_seconds=0.2),
    "lmo": lambda _: lambda direction: np.sign(np.asarray(direction)) * -1.0,
    "loss": lambda owner: "bounded" if owner == "MatrixCompletion" else bsfw.Logistic,
    "lower": lambda _: -1.0,
    "m": _point,
    "matrix": lambda _: np.eye(2),
    "max_iter": lambda _: 2,
    "max_rounds": lambda _: 2,
    "max_seconds": lambda _: 0.2,
    "members": lambda _: np.array([0]),
    "memory": lambda owner: _memory(owner),
    "min_gain": lambda _: 1e-4,
    "momentum": lambda _: "auto",
    "name": lambda _: "a name",
    "n_features": lambda _: 5,
    "n_samples": lambda _: M,
    "noise": lambda _: 0.1,
    "norm": lambda _: 1.0,
    "nu": lambda _: 0.5,
    "objective": lambda _: bsfw.LeastSquares(_data(), _signs()),
    "observations": lambda _: _observations(),
    "out": _point,
    "other": _point,
    "owner": lambda _: "owner",
    "p": lambda _: 3.0,
    "partial": lambda _: None,
    "parts": lambda _: bsfw.LowRank(np.eye(3, 2), np.ones(2), np.eye(3, 2)).parts(),
    "path": lambda _: _target(),
    "penalty": lambda _: 0.1,
    "place": lambda _: "bundled",
    "point": lambda _: "current",
    "position": lambda _: 0,
    "probability": lambda _: 0.5,
    "quasar_rho": lambda _: 1.0,
    "qubits": lambda _: 1,
    "radii": lambda _: [1.0, 2.0],
    "radius": lambda _: 2.0,
    "rank": lambda _: 1,
    "record": lambda _: _record(),
    "problem": lambda _: bsfw.quantum.ProcessTomography.from_counts(
        bsfw.quantum.simulate_counts(np.eye(2), 50, 0)
    ),
    "record_every": lambda _: 1,
    "reduction": lambda _: "mean",
    "rho": lambda _: 1.0,
    "rho1": lambda _: 0.5,
    "rho2": lambda _: 0.5,
    "right": lambda _: np.eye(3)[1],
    "rng": lambda _: np.random.default_rng(0),
    "rounds": lambda _: 1,
    "row": lambda _: {"iteration": 4, "value": 1.0},
    "rows": lambda _: np.array([0, 1, 2]),
    "sample_weight": lambda _: np.ones(M),
    "scale": lambda _: 0.5,
    "schedule": lambda _: bsfw.Schedule(record_every=1),
    "set_type": lambda _: bsfw.L1Ball,
    "settings": lambda _: None,
    "shape": lambda owner: _point(owner).shape,
    "shots": lambda _: 10,
    "sigma0": lambda _: 1.0,
    "size": lambda _: 3,
    "slope": lambda _: -1.0,
    "smoothness": lambda _: 1.0,
    "source": lambda _: b"1 1:2 3:4\n-1 2:1\n",
    "state": lambda _: _solver().init(rng=0),
    "step": lambda _: 1e-6,
    "t": lambda _: 3,
    "test_fraction": lambda _: 0.5,
    "tolerance": lambda _: 1e-6,
    "towards_vertex": lambda _: lambda: bsfw.Quadratic(np.eye(N)).along(np.ones(N), -np.ones(N)),
    "truth": lambda _: np.eye(2),
    "unitary": lambda _: np.eye(2),
    "upper": lambda _: 1.0,
    "user_ids": lambda _: np.arange(3),
    "value": lambda _: 1.0,
    "values": lambda _: np.ones(2),
    "variance": lambda _: 1.0,
    "vector": _point,
    "vertex": _vertex,
    "vertex_distance": lambda _: 1.0,
    "vertices": lambda owner: [_vertex(owner)],
    "weight": lambda _: 1.0,
    "weights": lambda _: np.ones(N),
    "x": _point,
    "x0": _point,
    "x_previous": _point,
    "X": lambda _: _data(),
    "data": lambda _: _data(),
    "features": lambda _: np.array([1]),
    "folder": lambda _: tempfile.mkdtemp(dir="."),
    "slopes": lambda _: np.ones(M),
    "y": lambda _: _signs(),
    "z": lambda _: np.zeros(M),
}  # fmt: skip
PATH_NAMES = {"path", "checkpoint", "source"}
FILES = {"path", "checkpoint"}
"""Recipes that write a file of its own for each call."""
NEEDED = {"y", "constraint"}
"""Have a default for the sake of some kinds of data or objectives only."""
RUNS = {"minimize", "resume", "radius_path", "choose_radius", "completion_path", "Solver.run"}
"""They go on for as long as they are told to: a huge max_iter is no fault of theirs."""
BOUNDS = ("max_iter", "max_seconds")
HUGE_NUMBERS = ("10**30", "10**400")


def recipe(name: str, parameter: str) -> Recipe | None:
    """The recipe of a parameter of `name`: its own, that of its class, or that of all parameters so called."""
    owner = name.rpartition(".")[0]
    keys = (f"{name}.{parameter}", f"{owner}.{parameter}", parameter)
    key = next((key for key in keys if key in RECIPES), None)
    return None if key is None else lambda owner: copy_of(key, lambda: RECIPES[key](owner), owner)


_PICKLES: dict[tuple[str, str], bytes | None] = {}


def copy_of(key: str, make: Callable[[], Any], owner: str = "") -> Any:
    """What `make` makes, anew each time: from its pickle where it has one, for that is quicker."""
    if (key, owner) not in _PICKLES:
        try:
            _PICKLES[key, owner] = None if key.rpartition(".")[2] in FILES else pickle.dumps(make())
        except (pickle.PicklingError, AttributeError, TypeError):  # of functions
            _PICKLES[key, owner] = None
    pickled = _PICKLES[key, owner]
    return make() if pickled is None else pickle.loads(pickled)


def instance(name: str, cls: Any) -> Any:
    """An object of a class, made from its recipes."""
    if name == "Solver":
        return _solver()
    if name in ("Oracle", "Function", "Polytope", "quantum.ProcessTomography"):  # what they offer depends on options
        return cls(**valid(name, cls, required_only=False))
    if name == "ActiveSet":
        made = bsfw.ActiveSet((N,))
        made.add(_vertex(""), 1.0)
        return made
    made = cls(**valid(name, cls, required_only=True))
    return _fitted(name, made) if name.startswith("sklearn.") else made


def valid(name: str, callee: Any, required_only: bool) -> dict[str, Any]:
    """Arguments with which the call should work; what has no recipe is left to its default, or None."""
    owner = next((part for part in reversed(name.split(".")) if part[:1].isupper()), name)
    arguments: dict[str, Any] = {}
    for parameter in _parameters(callee) or []:
        made = recipe(name, parameter.name)
        if parameter.default is inspect.Parameter.empty or parameter.name in NEEDED:
            arguments[parameter.name] = None if made is None else made(owner)
        elif made is not None and not required_only:
            arguments[parameter.name] = made(owner)
    return arguments


# A case


SLOW = ("jax.", "Trace.plot", "sklearn.FrankWolfe", "resume")
"""Beginnings of names whose calls take tens of milliseconds: they have one turn in a hundred."""


@cache
def _names() -> tuple[list[str], list[str]]:
    names = sorted(surface())
    return names, [name for name in names if not name.startswith(SLOW)]


def turn_of(number: int) -> tuple[str, int]:
    """The name whose turn it is in case `number`, and which turn that is: all names, then 99 times the quick ones."""
    names, quick = _names()
    cycle, place = divmod(number, len(names) + 99 * len(quick))
    if place < len(names):
        return names[place], 100 * cycle
    turn, place = divmod(place - len(names), len(quick))
    return quick[place], 100 * cycle + 1 + turn


def planned(number: int) -> tuple[str, dict[str, str], bool]:
    """Case `number`: the name of what is called, which arguments are replaced by which hostile values, and whether the
    others are those that must be given only.

    Every name has its turn, and its cases do not depend on which other names there are.
    """
    name, turn = turn_of(number)
    rng = random.Random(f"{name} {turn}")
    required_only = rng.random() < 0.5
    cls, method = surface()[name]
    parameters = [p.name for p in _parameters(cls if method is None else getattr(cls, method)) or []]
    replaced = {}
    for parameter in rng.sample(parameters, min(len(parameters), rng.choice((1, 1, 1, 2)))):
        replaced[parameter] = rng.choice(sorted(PATHS if parameter in PATH_NAMES else HOSTILE))
    if name in RUNS and replaced.get("max_iter") in HUGE_NUMBERS:
        del replaced["max_iter"]
    return name, replaced, required_only


def describe(number: int) -> str:
    """The call of a case, for a list."""
    name, replaced, _ = planned(number)
    return f"{name}({', '.join(f'{parameter}={label}' for parameter, label in replaced.items())})"


def unlimited(number: int) -> bool:
    """Whether a case may reserve any memory: the compiler of JAX reserves more than it uses, and aborts otherwise."""
    return planned(number)[0].startswith("jax.")


def run(number: int) -> str:
    """Make the call of a case."""
    name, replaced, required_only = planned(number)
    callee = bound(name)
    arguments = valid(name, callee, required_only)
    if name in RUNS:
        arguments |= {p.name: RECIPES[p.name](name) for p in _parameters(callee) or [] if p.name in BOUNDS}
    for parameter, label in replaced.items():
        arguments[parameter] = (PATHS if parameter in PATH_NAMES else HOSTILE)[label]()
    return type(callee(**arguments)).__name__


def bound(name: str) -> Any:
    """What is called: a class, a function, or a method of an object made from recipes."""
    cls, method = surface()[name]
    if method is None:
        return cls
    static = isinstance(inspect.getattr_static(cls, method), classmethod | staticmethod)
    owner = name.rpartition(".")[0]
    return getattr(cls if static else copy_of(f"{owner}()", lambda: instance(owner, cls)), method)


def cases(turns: int) -> int:
    """How many cases give every name so many turns."""
    return turns * len(surface())


def works(name: str, required_only: bool) -> str:
    """Make a call with valid arguments, to see that the recipes are such."""
    callee = bound(name)
    return type(callee(**valid(name, callee, required_only))).__name__


def prepare() -> None:
    """In the worker: a folder of its own for what calls write, and no network."""
    os.chdir(tempfile.mkdtemp(prefix="bsfw-hostile-"))
    os.environ["BSFW_CACHE"] = str(Path.cwd())
    os.environ.pop("BSFW_DATA", None)
    surface()  # which imports all there is, so that a fork need not


if __name__ != "__main__" and os.environ.get("BSFW_HOSTILE_WORKER"):
    prepare()
