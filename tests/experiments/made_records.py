"""Hand-made records with known answers, for the tests of views, claims and figures."""

from bsfw.experiments.model import Experiment, Panel, Record, Task

PROBLEM = {"kind": "linear-model", "data": "made", "objective": "logistic", "set": "l1", "radius": 5.0}


def task(estimator="saga", boosted=True, seed=0, **changes):
    settings = {
        "problem": PROBLEM,
        "estimator": estimator,
        "sampling": {"batch_size": 4},
        "max_rounds": 10_000 if boosted else 1,
        "min_gain": 1e-4,
        "decay": "auto",
        "step": "auto",
        "iterations": 4,
        "record_every": 1,
        "seed": seed,
    }
    return Task("solve", settings | changes)


def solved(of, values, *, label="made", jobs=1, metrics=None, percentage=100.0, **columns):
    """A record of `of` whose trace has these values; what is not given is plain: a gradient and a second a row."""
    number = len(values)
    trace = {
        "iteration": list(range(number)),
        "value": list(values),
        "gap": [None] * number,
        "gap_exact": [False] * number,
        "rounds": [3] * (number - 1) + [0],
        "eta": [0.5] * (number - 1) + [None],
        "gamma": [0.5] * (number - 1) + [None],
        "alignment": [0.9] * (number - 1) + [None],
        "boosted": [True] * number,
        "sample_gradients": list(range(number)),
        "coordinate_gradients": [0] * number,
        "function_values": [0] * number,
        "lmo_calls": [1 + 3 * row for row in range(number)],
        "seconds": [float(row) for row in range(number)],
    }
    result = {"fun": values[-1], "boosting_percentage": percentage if of.settings["max_rounds"] > 1 else None}
    data = {"label": label, "facts": {}, "trace": trace | columns, "metrics": metrics or {}, "result": result}
    return Record(of, data, None, {"jobs": jobs}, 1.0)


def other(kind, settings, data):
    return Record(Task(kind, settings), data, None, {"jobs": 1}, 1.0)


def failed(of, error="ArithmeticError: not finite"):
    return Record(of, {}, error, {"jobs": 1}, 1.0)


def experiment(view, *panels, name="trial", missing=()):
    """An experiment over lists of records, one list a panel, and its records by key; `missing` tasks have none."""
    made = []
    for number, records in enumerate(panels):
        title = records[0].data.get("label", f"panel {number}") if records else f"panel {number}"
        made.append(Panel(title, {}, tuple(record.task for record in records) + (tuple(missing) if not number else ())))
    records = {record.task.key: record for panel in panels for record in panel}
    return Experiment(name, f"Trial of {view}", view, "", "", tuple(made)), records


def pair(boosted, vanilla, estimator="saga", **columns):
    """A boosted and a vanilla run of an estimator, with the same columns."""
    return [
        solved(task(estimator), boosted, **columns),
        solved(task(estimator, boosted=False), vanilla, **columns),
    ]


def trajectory(points, boosted, excess):
    settings = {"problem": {}, "max_rounds": 10_000 if boosted else 1, "seed": 0}
    data = {
        "label": "the plane",
        "points": points,
        "vertices": [[-1.0, 0.0], [1.0, 0.0], [1.0, 2.0], [-1.0, 2.0]],
        "minimiser": [0.0, 0.0],
        "values": [3.0] * (len(points) - 1) + [1.0 + excess],
        "optimum": 1.0,
        "level_center": [0.0, -1.0],
        "quadratic": [[1.0, 0.0], [0.0, 2.0]],
    }
    return other("trajectory", settings, data)


def boosting_step(**changes):
    """x at the origin of a square and m = (-1, -3): the vertex (2, 2), then (-2, 2)."""
    data = {
        "label": "the plane",
        "corners": [[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0], [-2.0, 2.0]],
        "x": [0.0, 0.0],
        "gradient": [-1.2, -2.6],
        "batch_gradients": [[-0.5, -3.2], [-1.8, -2.7]],
        "momentum_before": [-0.8, -3.2],
        "estimate": [-1.0, -3.0],
        "vertices": [[2.0, 2.0], [-2.0, 2.0], [2.0, 2.0]],
        "residuals": [[1.0, 3.0], [-1.0, 1.0], [0.0, 0.0]],
        "psi": [[2.0, 2.0], [1.0, 3.0]],
        "lambdas": [1.0, 0.5],
        "weights": [2 / 3, 1 / 3],
        "alignments": [0.894, 1.0],
        "direction": [2 / 3, 2.0],
        "gamma": 0.5,
        "next": [1 / 3, 1.0],
    }
    return other("boosting-step", {"problem": {}}, data | changes)
