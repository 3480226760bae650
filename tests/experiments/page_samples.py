"""Hand-made views for the tests of the page."""

import math

from bsfw.experiments.model import Experiment, Panel, Plot, Series, Table, Verdict, View

HOSTILE = "</script><img src=x onerror=alert(1)><!-- <b>x</b> %{x} $a$ &amp; \" ' \u2028 \U0001f642"
AXES = {"gradients": "sample gradients", "lmo": "LMO calls", "iterations": "iteration t", "seconds": "seconds"}
STEPS = range(0, 200, 2)


def curve(name, group, boosted, rate, cost=404, band=True, axes=AXES):
    y = [math.exp(-rate * t) + 1e-4 for t in STEPS]
    columns = {"gradients": [8124 + cost * t for t in STEPS], "lmo": [(5 if boosted else 1) * (t + 1) for t in STEPS],
               "iterations": list(STEPS), "seconds": [0.002 * t + 0.001 for t in STEPS]}  # fmt: skip
    low, high = ([0.6 * v if i % 30 else 0.0 for i, v in enumerate(y)], [1.5 * v for v in y]) if band else (None, None)
    return Series(name, group, boosted, {axis: columns[axis] for axis in axes}, y, low, high)


def curves(*names, **options):
    made = []
    for k, name in enumerate(names):
        group = name.lower().replace(" ", "-")
        made.append(curve(f"{name} boosted", group, True, 0.08 - 0.008 * k, **options))
        made.append(curve(f"{name} vanilla", group, False, 0.03 - 0.004 * k, **options))
    return tuple(made)


def experiment(name, title, panels=(), reference="Figure 3", claim="Boosting lowers f at equal gradients."):
    return Experiment(
        name=name, title=title, view="convergence", reference=reference, claim=claim, panels=tuple(panels)
    )


def convergence():
    parameters = {"n": "112", "m": "8,124", "batch_size": "404", "set": "name l1, radius 50", "estimators": "sag, saga"}
    panel = Panel(title="mushrooms", parameters=parameters, tasks=())
    five = curves("SAG", "SAGA", "L-SVRG", "SARAH", "Heavy Ball")
    band = "Band: lowest and highest of 10 runs."
    plot = Plot("mushrooms", "relative suboptimality", True, AXES, five, band=band)
    return View(
        experiment=experiment("mushrooms", "Convergence on mushrooms", [panel]),
        plots=(plot,),
        verdicts=(Verdict("Boosting lowers f at equal gradients.", "supported",
                          "Boosted below vanilla for 5 of 5 estimators, ratio 0.02 to 0.4."),),
    )  # fmt: skip


def several():
    axes = {"iterations": "iteration t"}
    stochastic, coordinate = (curves(*names, axes=axes) for names in (("SAG", "SAGA"), ("SEGA", "JAGUAR")))
    plots = (
        Plot("rcv1-like (synthetic)", "expected loss", True, axes, stochastic, band="Band: two standard errors."),
        Plot("mushrooms", "expected loss", True, axes, stochastic),
        Plot("breast-cancer", "step size γ", False, axes, coordinate, log_x=True, lines={"γ = 1": 1.0}),
    )
    panels = [
        Panel(title="rcv1-like (synthetic)", parameters={"n": "47,236", "seed": "0"}, tasks=(), stand_in="rcv1"),
        Panel(title="mushrooms", parameters={"n": "112", "seed": "0"}, tasks=()),
    ]
    return View(
        experiment=experiment("expected-loss", "Expected loss", panels, "Figure 4"),
        plots=plots,
        tables=(Table("Boosting percentage", ("estimator", "percent"), (("SAG", 99.5), ("SAGA", 100.0))),),
        verdicts=(
            Verdict("Boosted is lower.", "partly supported", "4 of 5 estimators."),
            Verdict("The step never is 1.", "not supported", "It is 1 in 12 % of the iterations."),
            Verdict("The step falls.", "not evaluated", "2 of 10 runs are missing."),
        ),
        notes=("rcv1-like (synthetic) stands in for rcv1, whose file was not found.", "1 run failed."),
    )  # fmt: skip


def hostile():
    """The hostile text in every field that holds text."""
    name = HOSTILE
    series = (Series(name, name, True, {name: [0.0, 1.0]}, [1.0, math.nan], [0.5, math.inf], [2.0, 3.0]),)
    return View(
        experiment=Experiment(
            name=name,
            title=name,
            view=name,
            reference=name,
            claim=name,
            panels=(Panel(title=name, parameters={name: name}, tasks=()),),
        ),
        plots=(Plot(name, name, True, {name: name}, series, lines={name: 0.5}, band=name),),
        tables=(Table(name, (name, "number"), ((name, 1.5),)),),
        verdicts=(Verdict(name, name, name), Verdict("other", "supported", name)),
        notes=(name,),
    )
