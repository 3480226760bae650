"""The rows of the table: what is compared on which problem, and what must be reached. Nothing runs here until asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import bsfw

from . import data, literal, processes, timing
from .data import Problem, Sizes
from .solvers import ESTIMATORS, Accurate, Bsfw, CoptDeterministic, CoptStochastic, Literal, Timed
from .timing import Samples

MakeProblem = Callable[[Sizes], Problem]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    family : str
        The name by which --only selects it.
    setting, ours, peer : str
        The problem and the two sides; an empty `peer` means that the value of `ours` itself is judged.
    bound : str
        ">= b": peer / ours must reach b. "<= b": ours / peer, or ours, must not exceed b. Empty: reported only.
    unit : str
        Of the two values: "us" and "ms" are seconds, scaled for reading.
    measure : callable
        Gives the samples under the keys "ours" and "peer".
    cap : float or None
        Seconds after which a run was given up, where an infinite sample means that.
    """

    family: str
    setting: str
    ours: str
    peer: str
    bound: str
    unit: str
    measure: Callable[[], Samples]
    cap: float | None = None


@dataclass(frozen=True)
class Setting:
    """A problem, built when first used, and the length of a timed run on it."""

    label: str
    make: MakeProblem
    iterations: int


def _settings(sizes: Sizes) -> dict[str, Setting]:
    known = {
        f"tau={tau:g}": Setting(f"rcv1-like tau={tau:g}", partial(data.rcv1_like, tau=tau), sizes.text_iterations)
        for tau in sizes.taus
    }
    known["mushrooms"] = Setting("mushrooms tau=50", data.mushrooms, sizes.small_iterations)
    if sizes.everything and data.has_news20():
        known["news20"] = Setting("news20-halves tau=500", data.news20, sizes.text_iterations)
    return known


def rows(sizes: Sizes) -> Iterator[Row]:
    """All rows of a run of the suite."""
    settings = _settings(sizes)
    published = [settings[key] for key in settings if key in ("tau=500", "mushrooms")] or list(settings.values())[:1]

    for key, setting in settings.items():
        for estimator in ("SAG", "SAGA") if key == "news20" else ESTIMATORS:
            scatters = key != "mushrooms" and estimator in ("SAG", "Heavy Ball")  # no pass over n but for the sweep
            bound = "" if key == "news20" else ">= 20" if scatters else ">= 12"
            yield _contest("literal", setting, Bsfw(estimator), Literal(estimator), bound, sizes, setting.iterations)

    for key, setting in settings.items():
        if key not in ("tau=2000", "news20"):
            # For close races many turns: what slows the machine for a while then falls on both in a turn.
            often = replace(sizes, repeats=(4 if key == "mushrooms" else 2) * sizes.repeats)
            for estimator in ESTIMATORS:
                vanilla = Bsfw(estimator, boosted=False)
                yield _contest("boosting", setting, Bsfw(estimator), vanilla, "<= 1.10", often, sizes.steady)

    for key, setting in settings.items():
        if key.startswith("tau"):
            yield Row(
                "boost-call", setting.label, "Boost in a run", "literal Boost", ">= 80", "us",
                partial(_boost_call, setting.make, sizes, in_run=True),
            )  # fmt: skip
            yield Row(
                "boost-call", setting.label, "L1Ball.boost on arrays", "literal Boost", "", "us",
                partial(_boost_call, setting.make, sizes, in_run=False),
            )  # fmt: skip

    for key, setting in settings.items():
        bound = "" if key == "news20" else ">= 5"
        yield _contest("copt", setting, Bsfw("SAG"), CoptStochastic(), bound, sizes, 2 * setting.iterations)

    once = replace(sizes, repeats=1)
    for setting in published:
        solvers = {Bsfw("SAG"): ">= 6", Bsfw("SAGA"): ""}
        yield from _races("accuracy", setting, solvers, CoptStochastic(), 1e-4, sizes if sizes.everything else once)

    for name in ("10-sparse", "groups of ten") if sizes.everything else ():
        setting = published[0]
        for boosted in (True, False):
            ours, peer = (Bsfw("SAGA", boosted, set=name, engine=engine) for engine in ("compiled", "reference"))
            row = _contest("sets", setting, ours, peer, "", sizes, setting.iterations)
            yield replace(row, setting=f"{setting.label}, {name}", peer="its reference engine")

    few, many = sizes.wide
    for estimator in ESTIMATORS:
        yield Row(
            "scaling", f"{estimator}, boosted", f"n={many:,}", f"n={few:,}", "<= 2", "us",
            partial(_scaling, estimator, sizes),
        )  # fmt: skip

    for estimator in ("SAG", "SAGA"):
        for what, bound in (("import", "<= 0.3"), ("minimize", "<= 1")):
            if (what, estimator) != ("import", "SAGA"):
                yield Row(
                    "cold-start", "import bsfw" if what == "import" else f"first minimize, {estimator}", "seconds", "",
                    bound, "s", partial(_cold_start, estimator, what, sizes),
                )  # fmt: skip

    for shape, m, n in (("wide", sizes.tall // 100, sizes.tall), ("tall", sizes.tall // 4, sizes.tall // 100)):
        for estimator in ESTIMATORS:
            yield Row(
                "memory", f"{estimator}, {shape} (m={m:.0e}, n={n:.0e})", "vectors of n+m", "", "<= 3", "",
                partial(_memory, m, n, estimator),
            )  # fmt: skip

    steps = {
        "sublinear": (Bsfw(None, boosted=False), Bsfw(None)),
        "DR": (Bsfw(None, step="short"),),
        "backtracking": (Bsfw(None, step="line-search"),),
    }
    once = replace(once, cap=sizes.cap / 6)  # the path to an accuracy is the same every time
    for setting in published:
        for step, several in steps.items():
            peer = CoptDeterministic(step)
            for ours in several:
                yield _contest("deterministic", setting, ours, peer, "", sizes, max(5, setting.iterations // 10))
            if sizes.everything:
                yield from _races("deterministic", setting, dict.fromkeys(several, ""), peer, 1e-3, once)


def limit_of(bound: str) -> float | None:
    """What ours / peer must not exceed, if the row is judged."""
    if not bound:
        return None
    relation, number = bound.split()
    return float(number) if relation == "<=" else 1.0 / float(number)


def _contest(
    family: str, setting: Setting, ours: Timed, peer: Timed, bound: str, sizes: Sizes, iterations: int
) -> Row:  # fmt: skip
    """Seconds per iteration of two solvers on the same problem."""

    def measure() -> Samples:
        problem = setting.make(sizes)
        contest = [("ours", ours, problem), ("peer", peer, problem)]
        return timing.per_iteration(contest, iterations, sizes.repeats, limit_of(bound), sizes.patience)

    return Row(family, setting.label, ours.name, peer.name, bound, "us", measure)


def _races(
    family: str, setting: Setting, bounds: dict[Bsfw, str], peer: Accurate, accuracy: float, sizes: Sizes
) -> Iterator[Row]:
    """Seconds to a relative suboptimality: several solvers against one peer, run together, a row for each."""

    @cache
    def together() -> Samples:
        contest = [(solver.name, solver) for solver in (*bounds, peer)]
        return timing.to_accuracy(contest, setting.make(sizes), accuracy, sizes.repeats, sizes.cap)

    def pick(name: str) -> Samples:
        samples = together()
        return {"ours": samples[name], "peer": samples[peer.name]}

    for ours, bound in bounds.items():
        label = f"{setting.label} to {accuracy:.0e}"
        yield Row(family, label, ours.name, peer.name, bound, "ms", partial(pick, ours.name), sizes.cap)


@cache
def _repeated_boost() -> Any:
    """A compiled loop over Boost calls, so that Python comes in only once."""
    import numba

    from bsfw.kernels.rounds import boost

    @numba.njit(_nrt=False)
    def again(of, rule, record, support, g, bounds, rounds, times):
        for _ in range(times):
            boost(of, rule, record, support, g, bounds, rounds)

    return again


def _boost_call(make: MakeProblem, sizes: Sizes, in_run: bool) -> Samples:
    """One Boost in the midst of a run: on the run's own state, or on its iterate and estimate as dense arrays."""
    problem = make(sizes)
    ball, iterations = bsfw.L1Ball(problem.tau), min(200, 2 * sizes.text_iterations)
    solver = bsfw.Solver(problem.objective, ball, bsfw.SAGA(problem.batch), engine="compiled")
    state = solver.init(rng=0)
    engine: Any = solver.engine(state)
    engine.forward(state, iterations, bsfw.Limits(max_iter=iterations + 1))
    engine.look(state)
    engine.publish(state)
    m, x = engine.estimate(state), state.x

    times = 32 if in_run else 1  # in a run no Python comes between two of them
    again, work = _repeated_boost(), engine.work()
    parts = work.record, work.support, work.estimate.g, work.bounds, work.rounds

    def ours() -> None:
        if in_run:
            again(engine.set, engine.boost_rule, *parts, times)
        else:
            ball.boost(m, x, literal.MAX_ROUNDS, literal.MIN_GAIN)

    ours()  # compilation
    return timing.interleaved(
        {
            "ours": lambda _: timing.calls(ours) / times,
            "peer": lambda _: timing.calls(lambda: literal.boost(m, x, problem.tau)),
        },
        sizes.repeats,
    )


def _scaling(estimator: str, sizes: Sizes) -> Samples:
    few, many = (data.wide(sizes, n) for n in sizes.wide)
    contest = [("ours", Bsfw(estimator), many), ("peer", Bsfw(estimator), few)]
    return timing.per_iteration(contest, sizes.scaling, 2 * sizes.repeats, 2.0, sizes.patience)


def _cold_start(estimator: str, what: str, sizes: Sizes) -> Samples:
    return {"ours": [processes.cold_start(estimator, sizes.repeats)[what]]}


def _memory(m: int, n: int, estimator: str) -> Samples:
    return {"ours": [max(processes.memory(m, n)[estimator].values())]}
