"""Away, pairwise and blended pairwise Frank-Wolfe: optimal, linearly convergent, feasible, the same after a resume."""

import math

import numpy as np
import pytest

import bsfw
from bsfw.engines.active.engine import REFRESH_EVERY
from bsfw.engines.active.methods import CHOICES
from bsfw.engines.active.searches import SEARCHES, Adaptive, Backtracking, Exact
from bsfw.objectives.base import Line
from bsfw.results import Status
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule, State
from bsfw.vertices import Dense

EVERY_METHOD = pytest.mark.parametrize("method", CHOICES)
PRECISE = [search for search in SEARCHES if search != "golden-section"]  # which compares values: to 1e-6 of a segment
EVERY_SEARCH = pytest.mark.parametrize("search", PRECISE)


def begin(objective, constraint, method, search="exact", x0=None, shape=None):
    solver = Solver(objective, constraint, shape=shape, method=method, step=bsfw.LineSearch(search))
    return solver, solver.init(x0)


def run(objective, constraint, method, search="exact", *, x0=None, max_iter=3000, gap_tol=1e-9, every=10, **options):
    solver, state = begin(objective, constraint, method, search, x0)
    result = solver.run(state, Limits(max_iter, gap_tol=gap_tol), Schedule(every), **options)
    return result, state, solver.engine(state)


def strongly_convex(n=30, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    return bsfw.Quadratic(B.T @ B / n + 0.1 * np.eye(n), rng.standard_normal(n))


def polytope(n=8):
    """A box cut by a half-space and a hyperplane."""
    return bsfw.Polytope(np.arange(1.0, n + 1)[None, :], [3.0], np.ones((1, n)), [1.0], bounds=(-1.0, 1.0))


def hull(n=8):
    return bsfw.ConvexHull(np.random.default_rng(5).standard_normal((20, n)))


def problems():
    """(name, objective, set, the set for cvxpy), on six sets whose vertices are one-hot, sparse and dense."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 8))
    b = A @ rng.standard_normal(8) + 0.3 * rng.standard_normal(40)
    target = rng.standard_normal((4, 4))
    squares = bsfw.LeastSquares(A, b)
    matrix = bsfw.Quadratic(1.0, -target, 0.5 * np.sum(target**2), shape=(4, 4))
    return [
        pytest.param(bsfw.Logistic(A, np.sign(b)), bsfw.L1Ball(4.0), id="l1"),
        pytest.param(squares, bsfw.Simplex(1.5), id="simplex"),
        pytest.param(squares, bsfw.KSparse(3, 0.5), id="ksparse"),
        pytest.param(matrix, bsfw.Birkhoff(4), id="birkhoff"),
        pytest.param(squares, polytope(), id="polytope"),
        pytest.param(squares, hull(), id="hull"),
    ]


def cvxpy_optimum(objective, constraint):
    cp = pytest.importorskip("cvxpy", reason="needs cvxpy (the test extra)")
    x = cp.Variable(objective.shape)
    match constraint:
        case bsfw.L1Ball():
            feasible = [cp.norm1(x) <= constraint.radius]
        case bsfw.Simplex():
            feasible = [x >= 0, cp.sum(x) == constraint.radius]
        case bsfw.KSparse():
            feasible = [cp.norm1(x) <= constraint.k * constraint.radius, cp.abs(x) <= constraint.radius]
        case bsfw.Birkhoff():
            feasible = [x >= 0, cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1]
        case bsfw.Polytope():
            feasible = [constraint.A_ub @ x <= constraint.b_ub, constraint.A_eq @ x == constraint.b_eq, cp.abs(x) <= 1]
        case bsfw.ConvexHull():
            weights = cp.Variable(len(constraint.vertices))
            feasible = [weights >= 0, cp.sum(weights) == 1, constraint.vertices.T @ weights == x]
    match objective:
        case bsfw.Logistic():
            f = cp.sum(cp.logistic(-cp.multiply(objective.y, objective.A @ x))) / objective.n_samples
        case bsfw.LeastSquares():
            f = cp.sum_squares(objective.A @ x - objective.y) / (2 * objective.n_samples)
        case bsfw.Quadratic():
            f = cp.sum_squares(x) / 2 + cp.sum(cp.multiply(objective.b, x)) + objective.c
    accuracy = dict(tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return cp.Problem(cp.Minimize(f), feasible).solve(solver=cp.CLARABEL, **accuracy)


@pytest.mark.parametrize(("objective", "constraint"), problems())
def test_all_methods_and_searches_agree_with_cvxpy(objective, constraint):
    best = cvxpy_optimum(objective, constraint)
    for method in CHOICES:
        for search in PRECISE if not isinstance(constraint, bsfw.Polytope) else ("exact",):  # its LMO is slow
            result, _, engine = run(objective, constraint, method, search)
            assert result.status is Status.GAP_REACHED, (method, search)
            assert result.fun == pytest.approx(best, abs=1e-6), (method, search)
            assert constraint.contains(result.x, 1e-9)
            np.testing.assert_allclose(engine.active.point(), result.x, atol=1e-12)


@EVERY_METHOD
def test_golden_section_comes_as_near_as_values_tell(method):
    objective, constraint = strongly_convex(), bsfw.L1Ball(2.0)
    best, _, _ = run(objective, constraint, method)
    result, _, _ = run(objective, constraint, method, "golden-section", max_iter=300, gap_tol=1e-9)
    assert result.fun == pytest.approx(best.fun, abs=1e-6)
    assert constraint.contains(result.x, 1e-9)


@EVERY_METHOD
@EVERY_SEARCH
def test_every_search_works_on_a_polytope_by_its_inequalities(method, search):
    target = np.array([0.9, -0.3, 0.6, 0.2])
    constraint = polytope(4)
    result, _, engine = run(bsfw.Quadratic(1.0, -target), constraint, method, search, max_iter=200, gap_tol=1e-7)
    assert result.status is Status.GAP_REACHED
    assert constraint.contains(result.x, 1e-9)
    np.testing.assert_allclose(engine.active.point(), result.x, atol=1e-12)
    exact, _, engine = run(bsfw.Quadratic(1.0, -target), constraint, "pairwise", "exact", max_iter=200, gap_tol=1e-9)
    np.testing.assert_allclose(result.x, exact.x, atol=1e-3)


@EVERY_METHOD
@EVERY_SEARCH
def test_the_gap_falls_linearly_on_a_strongly_convex_problem_over_a_polytope(method, search):
    objective, constraint = strongly_convex(100, seed=1), bsfw.KSparse(20, 0.3)
    result, _, engine = run(objective, constraint, method, search, gap_tol=1e-11, every=1)
    assert result.status is Status.GAP_REACHED
    t, log_gap = result.trace["iteration"], np.log10(np.minimum.accumulate(result.trace["gap"]))
    assert np.polyfit(t, log_gap, 1)[0] < -0.03  # at most 33 iterations a digit
    assert np.corrcoef(t, log_gap)[0, 1] < -0.98  # a line, down to 1e-11
    assert engine.steps["drop"] > 0
    vanilla = Solver(objective, constraint, max_rounds=1, step="line-search", engine="reference")
    assert vanilla.run(vanilla.init(), Limits(result.nit), Schedule(1)).trace["gap"].min() > 1e-4


@EVERY_METHOD
def test_every_iterate_is_feasible_with_weights_on_the_simplex_and_f_never_rises(method):
    constraint, seen = bsfw.KSparse(4, 0.3), []
    solver, state = begin(strongly_convex(seed=3), constraint, method)

    def check(result):
        active = solver.engine(state).active
        assert constraint.violation(result.x) <= 1e-9
        assert active.weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert (active.weights > 0).all()
        np.testing.assert_allclose(active.point(), result.x, atol=1e-13)
        if result.nit % REFRESH_EVERY == 0 and result.nit:
            np.testing.assert_array_equal(active.point(), result.x)
        seen.append(result.fun)

    solver.run(state, Limits(3 * REFRESH_EVERY), Schedule(1), callback=check)
    assert len(seen) == 3 * REFRESH_EVERY
    assert (np.diff(seen) <= 1e-14).all()


@EVERY_METHOD
def test_the_gap_is_the_exact_one_and_the_counts_are_what_was_asked(method):
    solver, state = begin(strongly_convex(), bsfw.Simplex(), method)
    assert state.lmo_calls == 2  # the start vertex, since the origin is outside, and x^0
    gradients = state.counts.full_gradients
    gaps, exact = [], []
    result = solver.run(
        state, Limits(12), Schedule(1), callback=lambda r: (gaps.append(r.gap), exact.append(solver.exact_gap(state)))
    )
    np.testing.assert_allclose(gaps, exact, atol=1e-12)  # checks add their rounding
    assert result.trace["gap_exact"].all()
    assert result.lmo_calls == 2 + 12
    assert result.njev >= gradients + 2 * 12  # one to look, at least one on the line
    assert result.trace["gamma"][:-1].min() > 0
    assert np.isnan(result.trace["eta"]).all()


@EVERY_METHOD
def test_a_start_that_is_no_vertex_is_one_dense_atom_and_drops_out(method):
    constraint = bsfw.Simplex()
    result, _, engine = run(strongly_convex(), constraint, method, x0=np.full(30, 1 / 30))
    assert result.status is Status.GAP_REACHED
    assert engine.steps["drop"] > 0
    assert not any(isinstance(atom, Dense) for atom in engine.active.atoms)
    assert result.fun == pytest.approx(run(strongly_convex(), constraint, method)[0].fun, abs=1e-8)


def test_the_start_vertex_is_the_atom_that_the_oracle_returns():
    for constraint in (bsfw.L1Ball(1.0), bsfw.Simplex(), bsfw.KSparse(3, 0.4), hull(30)):
        solver, state = begin(strongly_convex(), constraint, "away")
        x = state.x
        solver.step(state)
        vertex = next(a for a in solver.engine(state).active.atoms if np.array_equal(a.dense(), x))
        again = constraint.lmo(-1.0 * x) if not isinstance(constraint, bsfw.ConvexHull) else Dense(x.copy())
        active = solver.engine(state).active
        assert active.position(again) == active.position(vertex)


def test_blended_pairwise_steps_bring_no_new_atom_and_pairwise_steps_may():
    for method, allowed in (("blended-pairwise", False), ("pairwise", True)):
        solver, state = begin(strongly_convex(60, seed=2), bsfw.KSparse(6, 0.2), method)
        new_by_pairwise = 0
        for _ in range(60):
            before = {a.indices.tobytes() + a.values.tobytes() for a in _atoms(solver, state)}
            steps = solver.engine(state).steps["pairwise"]
            solver.step(state)
            new = {a.indices.tobytes() + a.values.tobytes() for a in _atoms(solver, state)} - before
            new_by_pairwise += bool(new and before and solver.engine(state).steps["pairwise"] > steps)
        assert bool(new_by_pairwise) == allowed
        assert solver.engine(state).steps["pairwise"] > 20


def _atoms(solver, state):
    active = solver.engine(state).active
    return active.atoms if active is not None else []


@EVERY_METHOD
def test_steps_are_counted_by_kind(method):
    _, state, engine = run(strongly_convex(), bsfw.L1Ball(1.0), method)
    steps = engine.steps
    assert steps["frank-wolfe"] + steps["away"] + steps["pairwise"] == state.iteration
    used = {
        "away": {"frank-wolfe", "away"},
        "pairwise": {"pairwise"},
        "blended-pairwise": {"frank-wolfe", "pairwise"},
    }
    assert {kind for kind in ("frank-wolfe", "away", "pairwise") if steps[kind]} == used[method]


@EVERY_METHOD
@pytest.mark.parametrize("search", ["exact", "adaptive"])
@pytest.mark.parametrize("stop", [0, 1, 7, REFRESH_EVERY - 1])
def test_a_resumed_run_ends_in_the_same_bits(method, search, stop, tmp_path):
    objective, constraint = strongly_convex(100, seed=1), bsfw.KSparse(20, 0.3)
    total = REFRESH_EVERY + 6
    whole, state, engine = run(objective, constraint, method, search, max_iter=total, gap_tol=None)
    solver, first = begin(objective, constraint, method, search)
    if stop:
        solver.run(first, Limits(stop), Schedule(10))
    np.savez(tmp_path / "memory.npz", **first.memory)
    with np.load(tmp_path / "memory.npz", allow_pickle=False) as stored:
        memory = {name: stored[name] for name in stored.files}
    second = State(x=first.x.copy(), rng=np.random.default_rng(7), iteration=first.iteration, memory=memory)
    rest = solver.run(second, Limits(total), Schedule(10))
    np.testing.assert_array_equal(rest.x, whole.x)
    assert (rest.fun, rest.gap) == (whole.fun, whole.gap)
    assert solver.engine(second).steps == engine.steps
    for name, array in state.memory.items():
        np.testing.assert_array_equal(second.memory[name], array)


@EVERY_METHOD
def test_complex_and_single_precision_variables(method):
    rng = np.random.default_rng(8)
    target = rng.standard_normal(6) + 1j * rng.standard_normal(6)
    constraint = bsfw.ConvexHull(rng.standard_normal((9, 6)) + 1j * rng.standard_normal((9, 6)))
    result, _, engine = run(bsfw.Quadratic(1.0, -target), constraint, method)
    assert result.status is Status.GAP_REACHED
    assert constraint.contains(result.x)
    single = bsfw.Quadratic(np.linspace(1, 2, 6, dtype=np.float32), target.real.astype(np.float32))
    result, _, engine = run(single, bsfw.L1Ball(0.7), method, gap_tol=1e-5)
    assert result.status is Status.GAP_REACHED
    assert result.x.dtype == engine.active.point().dtype == np.float32


@EVERY_METHOD
@EVERY_SEARCH
def test_rank_one_atoms_on_the_nuclear_ball(method, search):
    target = np.random.default_rng(4).standard_normal((5, 4))
    objective = bsfw.Quadratic(1.0, -target, shape=(5, 4))
    result, _, engine = run(objective, bsfw.NuclearBall(2.0), method, search, gap_tol=1e-4)
    assert result.status is Status.GAP_REACHED
    assert bsfw.NuclearBall(2.0).contains(result.x)
    np.testing.assert_allclose(engine.active.point(), result.x, atol=1e-12)


def degenerate():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((20, 5))
    y = np.sign(A @ np.arange(1.0, 6.0))
    twice, zero = np.hstack([A, A]), np.hstack([A, np.zeros((20, 1))])
    return [
        pytest.param(bsfw.LeastSquares(twice, y), bsfw.L1Ball(1.0), id="duplicate columns"),
        pytest.param(bsfw.LeastSquares(zero, y), bsfw.Simplex(), id="zero column"),
        pytest.param(bsfw.Logistic(A, y), bsfw.L1Ball(30.0), id="separable"),
        pytest.param(bsfw.LeastSquares(A, y), bsfw.L1Ball(1e3), id="optimum inside"),
        pytest.param(bsfw.LeastSquares(A[:1], y[:1]), bsfw.L1Ball(1.0), id="one sample"),
        pytest.param(bsfw.LeastSquares(A[:, :1], y), bsfw.L1Ball(1.0), id="one feature"),
        pytest.param(bsfw.LeastSquares(A[:, :1], y), bsfw.Simplex(), id="one point"),
        pytest.param(bsfw.Quadratic(0.0, np.zeros(4)), bsfw.Simplex(), id="constant"),
        pytest.param(bsfw.Quadratic(0.0, np.arange(4.0) - 1), bsfw.L1Ball(2.0), id="linear"),
        pytest.param(bsfw.Quadratic(1.0, np.arange(4.0)), bsfw.Simplex(2.0, equality=False), id="optimum at zero"),
    ]


@pytest.mark.parametrize(("objective", "constraint"), degenerate())
@EVERY_METHOD
@EVERY_SEARCH
def test_degenerate_problems_end_with_a_certified_gap(objective, constraint, method, search):
    result, _, engine = run(objective, constraint, method, search, gap_tol=1e-7)
    assert result.status is Status.GAP_REACHED
    assert constraint.contains(result.x, 1e-9)
    assert engine.active.weights.sum() == pytest.approx(1.0, abs=1e-14)


@EVERY_METHOD
def test_a_gradient_that_is_not_finite_ends_the_run_as_a_numerical_failure(method):
    objective = bsfw.Function(lambda x: 0.0, lambda x: np.full(3, np.nan), shape=(3,))
    result, _, _ = run(objective, bsfw.Simplex(), method, x0=np.eye(3)[0])
    assert result.status is Status.NUMERICAL_FAILURE


@EVERY_METHOD
def test_past_the_rounding_floor_the_run_goes_on_feasible_to_its_budget(method):
    result, _, _ = run(strongly_convex(), bsfw.Simplex(), method, gap_tol=0.0, max_iter=400)
    assert result.status in (Status.ITERATIONS, Status.GAP_REACHED)
    assert abs(result.gap) < 1e-13
    assert bsfw.Simplex().contains(result.x, 1e-12)


# Line searches.


class Known(Line):
    """A function of gamma, with what was asked of it."""

    def __init__(self, value, derivative):
        self._value, self._derivative, self.values, self.derivatives = value, derivative, 0, 0

    def value(self, gamma):
        self.values += 1
        return self._value(gamma)

    def derivative(self, gamma):
        self.derivatives += 1
        return self._derivative(gamma)


def parabola(best=0.3, bend=2.0, height=0.0):
    return Known(lambda t: height + bend * (t / 2 - best) * t, lambda t: bend * (t - best))


@pytest.mark.parametrize("largest", [0.1, 0.3, 1.0, 50.0])
def test_the_exact_search_finds_the_minimiser_or_the_largest_step(largest):
    line = parabola()
    assert Exact()(line, -0.6, 1.0, largest) == pytest.approx(min(0.3, largest), rel=1e-10)
    assert line.derivatives <= 2
    steep = Known(None, lambda t: math.expm1(min(20 * (t - 0.7), 700.0)))
    assert Exact()(steep, math.expm1(-14), 1.0, largest) == pytest.approx(min(0.7, largest), rel=1e-9)
    assert steep.derivatives < 60
    cliff = Known(None, lambda t: t - 1.0 if t < 0.7 else 1e200)
    assert Exact()(cliff, -1.0, 1.0, largest) == pytest.approx(min(0.7, largest), rel=1e-9)


def test_the_exact_search_steps_back_from_where_f_is_not_finite():
    line = Known(None, lambda t: -1.0 + 0.5 / (2.0 - t) if t < 2.0 else math.nan)
    assert Exact()(line, -0.75, 1.0, 8.0) == pytest.approx(1.5, rel=1e-9)


@pytest.mark.parametrize("largest", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("height", [0.0, 1e12])
def test_backtracking_takes_the_first_halving_that_decreases_enough(largest, height):
    """Also where f is so large that its decrease cannot be seen: the derivative then tells."""
    line = parabola(height=height)
    gamma = Backtracking()(line, -0.6, 1.0, largest)
    halvings = math.log2(largest / gamma)
    assert halvings == round(halvings)
    assert gamma <= 2 * 0.3 * 0.75  # Armijo's condition on this parabola
    assert gamma == largest or 2 * gamma > 2 * 0.3 * 0.75


@pytest.mark.parametrize("largest", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("height", [0.0, 1e12])
def test_the_adaptive_search_takes_the_short_step_of_a_sufficient_constant(largest, height):
    line, search = parabola(height=height), Adaptive()
    for _ in range(12):
        gamma = search(line, -0.6, 1.0, largest)
        assert 0 < gamma <= largest
        assert gamma == pytest.approx(min(0.6 / search.smoothness, largest))
        assert -0.6 * gamma + gamma**2 <= -0.6 * gamma + search.smoothness * gamma**2 / 2 + 1e-15
    if largest > 0.3:
        assert 2.0 * (1 - 1e-12) <= search.smoothness <= 4.0  # between L and twice L
        assert line.values < 12 * 3


@pytest.mark.parametrize("kind", [Exact, Backtracking, Adaptive])
def test_no_step_without_descent(kind):
    line = parabola()
    assert kind()(line, 0.0, 1.0, 1.0) == kind()(line, 1e-3, 1.0, 1.0) == kind()(line, -1.0, 0.0, 1.0) == 0.0
    assert line.values == line.derivatives == 0


@EVERY_METHOD
@EVERY_SEARCH
def test_a_large_constant_in_f_does_not_hide_the_optimum(method, search):
    objective = strongly_convex()
    raised = bsfw.Quadratic(objective.Q, objective.b, 1e8)
    result, _, _ = run(raised, bsfw.Simplex(), method, search, gap_tol=1e-9)
    assert result.status is Status.GAP_REACHED


# What is refused.


def test_wrong_settings_are_refused_with_a_sentence():
    objective = bsfw.LeastSquares(np.eye(3), np.ones(3))
    with pytest.raises(
        ValueError,
        match=r"method must be one of .*away, pairwise, blended-pairwise, conjugate, biconjugate, .*got 'fast'",
    ):
        Solver(objective, bsfw.Simplex(), method="fast")
    with pytest.raises(ValueError, match="needs the exact gradient, but the estimator is SAGA"):
        Solver(objective, bsfw.Simplex(), bsfw.SAGA(batch_size=1), method="away")
    with pytest.raises(ValueError, match="engine must be 'auto' or, for method 'away', 'active', got 'compiled'"):
        Solver(objective, bsfw.Simplex(), method="away", engine="compiled")


def test_the_benchmark_of_linear_convergence_draws_and_says_what_it_measured(monkeypatch, tmp_path):
    from benchmarks.linear_convergence import METHODS as names
    from benchmarks.linear_convergence import Problem, main

    monkeypatch.setattr("bsfw.kernels.available", lambda: False)  # nothing here is worth a compilation
    text = main(["--out", str(tmp_path / "figure.png"), "--max-iter", "150"], Problem(n=20, k=3))
    assert (tmp_path / "figure.png").stat().st_size > 0
    assert all(f"{name}: gap" in text for name in names)
    assert "pairwise: gap 1e-10 after" in text


@pytest.mark.parametrize("method", ["away", "pairwise", "blended-pairwise"])
def test_minimize_takes_the_method_and_returns_the_active_set(method):
    rng = np.random.default_rng(0)
    objective = bsfw.LeastSquares(rng.standard_normal((40, 12)), rng.standard_normal(40))
    result = bsfw.minimize(objective, bsfw.L1Ball(0.5), method=method, gap_tol=1e-10)
    assert result.status == bsfw.Status.GAP_REACHED
    np.testing.assert_allclose(result.active_set.point(), result.x, atol=1e-12)
    assert np.isnan(result.boosting_percentage)


def test_a_run_with_an_active_set_is_resumed_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(1)
    objective = bsfw.LeastSquares(rng.standard_normal((40, 12)), rng.standard_normal(40))
    options = dict(method="pairwise", step=bsfw.LineSearch("adaptive"))
    whole = bsfw.minimize(objective, bsfw.L1Ball(0.5), max_iter=60, **options)

    def crash(intermediate):
        if intermediate.nit == 33:
            raise RuntimeError("power cut")

    path = tmp_path / "run.npz"
    with pytest.raises(RuntimeError, match="power cut"):
        bsfw.minimize(
            objective, bsfw.L1Ball(0.5), max_iter=60, checkpoint=path, every=20, record_every=1, callback=crash,
            **options,
        )  # fmt: skip
    resumed = bsfw.resume(path, objective, bsfw.L1Ball(0.5))
    assert resumed.nit == whole.nit
    np.testing.assert_array_equal(resumed.x, whole.x)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (dict(method="sideways"), "method must be one of boosted, corrective, away, pairwise, .*, got 'sideways'"),
        (dict(method="away", step="short"), "step= must be 'line-search'"),
        (dict(method="away", estimator=bsfw.SAGA(batch_size=4)), "needs the exact gradient"),
        (dict(step=bsfw.LineSearch("adaptive")), "is for the methods with an active set"),
    ],
)
def test_what_does_not_go_with_a_method_is_refused(options, sentence):
    objective = bsfw.LeastSquares(np.eye(5), np.ones(5))
    with pytest.raises(ValueError, match=sentence):
        bsfw.minimize(objective, bsfw.L1Ball(1.0), **options)
