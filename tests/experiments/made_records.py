"""Hand-made records with known answers, for the tests of views, claims and figures."""

from bsfw.experiments.model import Environment, Experiment, Panel, Record
from bsfw.experiments.problems.linear_model import LinearModel, Source
from bsfw.experiments.problems.plane import Plane
from bsfw.experiments.problems.sets import SetSpec
from bsfw.experiments.tasks import BoostingStep, Path, Rounds, Solve, Solved, Trajectory
from bsfw.experiments.tasks.solve import Columns, Ending

L1 = SetSpec(name="l1", radius=5.0)
PROBLEM = LinearModel(data=Source(name="made"), objective="logistic", set=L1)
STAND_IN = LinearModel(data=Source(name="rcv1-like", stand_in="rcv1"), objective="logistic", set=L1)


def task(estimator="saga", boosted=True, seed=0, **changes):
    settings = {
        "problem": PROBLEM,
        "estimator": estimator,
        "batch_size": 4,
        "max_rounds": 10_000 if boosted else 1,
        "iterations": 4,
        "record_every": 1,
        "seed": seed,
    }
    return Solve(**settings | changes)


def solved(of, values, *, jobs=1, metrics=None, percentage=100.0, **columns):
    """A record of `of` whose trace has these values; what is not given is plain: a gradient and a second a row."""
    number = len(values)
    trace = {
        "iteration": range(number),
        "value": values,
        "gap": [None] * number,
        "gap_exact": [False] * number,
        "rounds": [3] * (number - 1) + [0],
        "gamma": [0.5] * (number - 1) + [None],
        "sample_gradients": range(number),
        "coordinate_gradients": [0] * number,
        "lmo_calls": [1 + 3 * row for row in range(number)],
        "seconds": [float(row) for row in range(number)],
    }
    ending = Ending(
        fun=values[-1],
        gap=None,
        gap_exact=False,
        nit=number - 1,
        boosting_percentage=percentage if of.max_rounds > 1 else None,
        seconds=1.0,
        status="ITERATIONS",
    )
    data = Solved(
        trace=Columns(**{name: tuple(column) for name, column in (trace | columns).items()}),
        metrics={name: tuple(column) for name, column in (metrics or {}).items()},
        result=ending,
    )
    return record(of, data, jobs=jobs)


def record(of, data, jobs=1):
    return Record(task=of, data=data, environment=Environment(jobs=jobs), seconds=1.0)


def failed(of, error="ArithmeticError: not finite"):
    return Record(task=of, error=error, seconds=1.0)


def experiment(view, *panels, name="trial", missing=()):
    """An experiment over lists of records, one list a panel, and its records by key; `missing` tasks have none."""
    made = []
    for number, records in enumerate(panels):
        tasks = tuple(one.task for one in records) + (tuple(missing) if not number else ())
        problem = tasks[0].problem
        made.append(Panel(title=problem.label, tasks=tasks, stand_in=problem.stand_in))
    records = {one.task.key: one for panel in panels for one in panel}
    return Experiment(name=name, title=f"Trial of {view}", view=view, panels=tuple(made)), records


def pair(boosted, vanilla, estimator="saga", problem=PROBLEM, **columns):
    """A boosted and a vanilla run of an estimator, with the same columns."""
    return [
        solved(task(estimator, problem=problem), boosted, **columns),
        solved(task(estimator, problem=problem, boosted=False), vanilla, **columns),
    ]


SQUARE = ((-1.0, 0.0), (1.0, 0.0), (1.0, 2.0), (-1.0, 2.0))


def trajectory(points, boosted, excess):
    problem = Plane(corners=SQUARE, target=(0.0, -1.0), curvature=(1.0, 2.0))
    of = Trajectory(problem=problem, max_rounds=10_000 if boosted else 1, iterations=len(points) - 1)
    values = (3.0,) * (len(points) - 1) + (1.0 + excess,)
    return record(of, Path(points=tuple(map(tuple, points)), values=values, minimiser=(0.0, 0.0), optimum=1.0))


def boosting_step(**changes):
    """x at the origin of a square and m = (-1, -3): the vertex (2, 2), then (-2, 2)."""
    corners = ((-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, 2.0))
    data = {
        "corners": corners,
        "x": (0.0, 0.0),
        "gradient": (-1.2, -2.6),
        "batch_gradients": ((-0.5, -3.2), (-1.8, -2.7)),
        "momentum_before": (-0.8, -3.2),
        "estimate": (-1.0, -3.0),
        "vertices": ((2.0, 2.0), (-2.0, 2.0), (2.0, 2.0)),
        "residuals": ((1.0, 3.0), (-1.0, 1.0), (0.0, 0.0)),
        "psi": ((2.0, 2.0), (1.0, 3.0)),
        "lambdas": (1.0, 0.5),
        "alignments": (0.894, 1.0),
        "direction": (2 / 3, 2.0),
        "gamma": 0.5,
        "next": (1 / 3, 1.0),
    }
    of = BoostingStep(
        problem=Plane(corners=corners, target=(0.0, 0.0), samples=4),
        estimator="heavy-ball",
        batch_size=2,
        max_rounds=10_000,
        iterations=2,
    )
    return record(of, Rounds(**data | changes))
