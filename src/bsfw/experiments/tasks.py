"""What the tasks of an experiment do: `TASKS` maps each kind to a function from settings to the data of its record."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .._arrays import Array, inner, norm
from . import problems
from .problems import Problem

if TYPE_CHECKING:
    from ..results import Result
    from ..solver import Solver

Settings = Mapping[str, Any]
Data = dict[str, Any]

RESULT_FIELDS = (
    "fun", "gap", "gap_exact", "nit", "sample_gradients", "coordinate_gradients", "lmo_calls", "boosting_percentage",
    "seconds",
)  # fmt: skip


def make_solver(settings: Settings) -> tuple[Problem, Solver]:
    """Problem and solver of a task of kind "solve"; ValueError if they do not fit together."""
    from ..estimators import ESTIMATORS
    from ..solver import Solver

    problem = problems.build(settings["problem"], settings["seed"])
    solver = Solver(
        problem.objective,
        problem.constraint,
        ESTIMATORS[settings["estimator"]](**settings["sampling"]),
        max_rounds=settings["max_rounds"],
        min_gain=settings["min_gain"],
        decay=settings["decay"],
        step=settings["step"],
        horizon=settings["iterations"],
    )
    return problem, solver


def solve(settings: Settings) -> Data:
    """One run of BSFW, or of vanilla SFW (max_rounds 1): the curves of the paper's figures come from its trace."""
    from ..results import Status
    from ..state import Limits, Schedule

    problem, solver = make_solver(settings)
    _warm_up(problem, solver, settings)
    streams = problems.streams(settings["seed"])
    state = solver.init(None if problem.start is None else problem.start(streams["start"]), streams["batches"])
    metrics: dict[str, list[float]] = {name: [] for name in problem.metrics}

    def measure(result: Result) -> None:
        for name, values in metrics.items():
            values.append(float(problem.metrics[name](result.x)))

    schedule = Schedule(settings["record_every"])
    result = solver.run(state, Limits(settings["iterations"]), schedule, callback=measure if metrics else None)
    if result.status is Status.NUMERICAL_FAILURE:
        raise ArithmeticError(result.message)
    measure(result)  # the row of the last iterate comes without a callback
    return {
        "label": problem.label,
        "facts": problem.facts,
        "trace": {name: column.tolist() for name, column in result.trace.columns().items()},
        "metrics": metrics,
        "result": {name: result[name] for name in RESULT_FIELDS} | {"status": result.status.name},
    }


_warm: WeakKeyDictionary[Problem, set[str]] = WeakKeyDictionary()


def _warm_up(problem: Problem, solver: Solver, settings: Settings) -> None:
    """A few iterations off the clock, once per process, problem and kind of run.

    What is compiled, or derived from the data once (a CSC copy, a Gram matrix), is then not in the seconds of a run.
    """
    from ..state import Limits, Schedule

    kind = repr([settings["max_rounds"] > 1, *(settings[name] for name in ("estimator", "decay", "step"))])
    if kind not in _warm.setdefault(problem, set()):
        x0 = None if problem.start is None else problem.start(np.random.default_rng(0))
        solver.run(solver.init(x0, 0), Limits(4), Schedule(3))
        _warm[problem].add(kind)


def trajectory(settings: Settings) -> Data:
    """The iterates of a deterministic run in the plane, for fig. boosting_vs_zigzag."""
    from ..objectives import Quadratic
    from ..solver import Solver

    problem = problems.build(settings["problem"], settings["seed"])
    solver = Solver(
        problem.objective,
        problem.constraint,
        max_rounds=settings["max_rounds"],
        min_gain=settings["min_gain"],
        decay=settings["decay"],
        step=settings["step"],
        horizon=settings["iterations"],
    )
    streams = problems.streams(settings["seed"])
    state = solver.init(None if problem.start is None else problem.start(streams["start"]), streams["batches"])
    points = [state.x]
    for _ in range(settings["iterations"]):
        if solver.step(state) is None:
            raise ArithmeticError("the gradient is not finite.")
        points.append(state.x)
    if not isinstance(problem.objective, Quadratic):
        raise ValueError("a trajectory is drawn over the contours of a quadratic; leave out samples.")
    corners = np.array(settings["problem"]["corners"])
    minimiser = minimiser_in_polygon(problem.objective, corners)
    return {
        "label": problem.label,
        "points": np.array(points).tolist(),
        "vertices": corners.tolist(),
        "minimiser": minimiser.tolist(),
        "values": [problem.objective.value(point) for point in points],
        "optimum": problem.objective.value(minimiser),
        "level_center": settings["problem"]["target"],
        "quadratic": np.diag(settings["problem"]["curvature"]).tolist(),
    }


def minimiser_in_polygon(objective: Any, corners: Array) -> Array:
    """The minimiser of a strictly convex `Quadratic` with diagonal Q over a convex polygon, in closed form."""
    target = -objective.b / objective.Q
    edges = np.roll(corners, -1, axis=0) - corners
    away = target - corners
    sides = edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]
    if (sides >= 0).all() or (sides <= 0).all():
        return np.asarray(target)
    # Else it lies on an edge: the best point of each is that of a parabola, cut to the edge.
    lengths = np.clip((away * objective.Q * edges).sum(axis=1) / (edges * objective.Q * edges).sum(axis=1), 0.0, 1.0)
    points = corners + lengths[:, None] * edges
    return np.asarray(min(points, key=objective.value))


def boosting_step(settings: Settings) -> Data:
    """One iteration of boosted Heavy Ball in the plane, round by round, for fig. boosting_expln.

    The rounds are those that `boost` made: its oracle is watched, its projections are done again, and both are
    compared with the direction that it returned.
    """
    from .._sampling import draw
    from ..boosting import boost

    problem, solver = make_solver(settings)
    streams = problems.streams(settings["seed"])
    state = solver.init(None if problem.start is None else problem.start(streams["start"]), streams["batches"])
    for _ in range(settings["iterations"]):
        solver.step(state)
    x, before, m = state.x, state.m, problem.objective.n_samples
    assert before is not None and m is not None
    # The batch that the estimator is about to draw.
    batch = draw(copy.deepcopy(state.rng), m, settings["sampling"]["batch_size"])
    gradients = problem.objective.sample_gradients(x, batch)
    engine = solver.engine(state)
    direction = engine.look(state)
    assert direction is not None and state.m is not None

    answers: list[Array] = []

    def watched(cost: Array) -> Any:
        vertex = problem.constraint.lmo(cost)
        answers.append(vertex.dense())
        return vertex

    again = boost(state.m, x, watched, solver.max_rounds, solver.min_gain)
    psi, residuals, sums, lambdas, alignments = 0.0 * x, [-state.m], [], [], []
    for vertex in answers[: len(direction.vertices)]:
        towards = vertex - x
        lambdas.append(inner(residuals[-1], towards) / inner(towards, towards))
        psi = psi + lambdas[-1] * towards
        sums.append(psi)
        residuals.append(-state.m - psi)
        alignments.append(inner(-state.m, psi) / (norm(state.m) * norm(psi)))
    replayed = psi / sum(lambdas)
    if not (np.allclose(replayed, direction.dense(x)) and again.rounds == direction.rounds == len(answers)):
        raise ArithmeticError("the rounds done again differ from those of the boosting step.")
    _, move = engine.advance(state, direction)
    return {
        "label": problem.label,
        "corners": settings["problem"]["corners"],
        "x": x.tolist(),
        "gradient": problem.objective.gradient(x).tolist(),
        "batch_gradients": gradients.tolist(),
        "momentum_before": before.tolist(),
        "estimate": (-residuals[0]).tolist(),
        "vertices": [vertex.tolist() for vertex in answers],
        "residuals": [residual.tolist() for residual in residuals],
        "psi": [sum_.tolist() for sum_ in sums],
        "lambdas": lambdas,
        "weights": [float(weight) for weight in direction.weights],
        "alignments": alignments,
        "direction": replayed.tolist(),
        "gamma": float(move.gamma),
        "next": state.x.tolist(),
    }


def cost(settings: Settings) -> Data:
    """Seconds of one LMO and of one gradient, for the paper's "When to Boost?": medians of interleaved repeats."""
    problem = problems.build(settings["problem"], settings["seed"])
    objective, sampling = problem.objective, settings["sampling"]
    shape = objective.shape
    assert shape is not None
    x = problem.constraint.start(shape, objective.dtype).dense(objective.dtype)
    rng = problems.streams(settings["seed"])["batches"]
    what, ask = _gradient(objective, sampling, rng)
    direction = objective.gradient(x)

    def oracle() -> None:
        problem.constraint.lmo(direction)

    def gradient() -> None:
        ask(x)

    loops = {job: _loops(job) for job in (oracle, gradient)}
    seconds: dict[Any, list[float]] = {job: [] for job in loops}
    for _ in range(settings["repeats"]):
        for job, times in seconds.items():
            times.append(_timed(job, loops[job]))
    lmo_seconds, gradient_seconds = (float(np.median(seconds[job])) for job in (oracle, gradient))
    return {
        "label": problem.label,
        "case": f"{settings['problem']['set']} LMO against {what}",
        "lmo_seconds": lmo_seconds,
        "gradient_seconds": gradient_seconds,
        "ratio": lmo_seconds / gradient_seconds,
    }


def _gradient(objective: Any, sampling: Settings, rng: np.random.Generator) -> tuple[str, Callable[[Array], Array]]:
    """The gradient that an estimator with this sampling asks in an iteration, in words and as a function of x."""
    from .._sampling import draw, resolve_size

    if "batch_size" in sampling:
        m = objective.n_samples
        size = resolve_size(sampling["batch_size"], m, "batch_size", "samples")
        batch = draw(rng, m, size)
        return f"a gradient of {size:,} of {m:,} samples", lambda x: objective.batch_gradient(x, batch)
    if "coordinates" in sampling:
        n = int(np.prod(objective.shape))
        size = resolve_size(sampling["coordinates"], n, "coordinates", "coordinates")
        chosen = draw(rng, n, size)
        return f"{size:,} of {n:,} partial derivatives", lambda x: objective.partial_derivatives(x, chosen)
    return "a full gradient", objective.gradient


def _loops(job: Callable[[], None]) -> int:
    """How often to repeat a job so that the clock sees about a millisecond of it; the first call is not looked at."""
    job()
    return max(1, round(1e-3 / max(_timed(job, 1), 1e-7)))


def _timed(job: Callable[[], None], loops: int) -> float:
    started = time.perf_counter()
    for _ in range(loops):
        job()
    return (time.perf_counter() - started) / loops


def facts(settings: Settings) -> Data:
    """A row of table exp_params, from the data itself."""
    problem = problems.build(settings["problem"], 0)
    return {
        "label": problem.label,
        "facts": problem.facts,
        "batch_size": settings["batch_size"],
        "coordinates": settings["coordinates"],
        "radius": settings["problem"]["radius"],
    }


def constants(settings: Settings) -> Data:
    """Table estimator_params for one problem: what the estimators state of themselves, with numbers for n, m, b and L.

    L is that of f for the coordinate estimators, that of each f_i for the batch estimators, and that of f~ in
    f(x) = f~(A x) for SAG, as in the proofs.
    """
    from ..estimators import ESTIMATORS
    from ..estimators.base import BatchEstimator

    problem = problems.build(settings["problem"], 0)
    objective: Any = problem.objective
    rows = []
    for name, sampling in settings["estimators"].items():
        estimator = ESTIMATORS[name](**sampling)
        if estimator.image_step:
            smoothness = objective.image_smoothness()
        elif isinstance(estimator, BatchEstimator):
            smoothness = objective.sample_smoothness()
        else:
            smoothness = objective.smoothness()
        stated = estimator.constants(
            n_samples=objective.n_samples,
            dimension=int(np.prod(objective.shape)),
            smoothness=smoothness,
            horizon=settings["iterations"],
        )
        numbers = {key: float(getattr(stated, key)) for key in ("rho1", "rho2", "A", "B", "C", "E")}
        rows.append({"estimator": name, "smoothness": float(smoothness), **numbers})
    return {"label": problem.label, "rows": rows, "smoothness": float(objective.smoothness())}


TASKS: dict[str, Callable[[Settings], Data]] = {
    "solve": solve,
    "trajectory": trajectory,
    "boosting-step": boosting_step,
    "cost": cost,
    "facts": facts,
    "constants": constants,
}
"""By the name in ``task = "..."``; `bsfw.experiments.sweeps` says which settings each one has."""

TIMED = frozenset({"cost"})
"""Kinds that measure seconds and nothing else: they never share the machine with other runs of a sweep."""
