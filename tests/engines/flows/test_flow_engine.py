"""The corrective method on paths: against published flows, cvxpy and hand; its certificates; checkpoints; refusals."""

import numpy as np
import pytest
from networks_made import braess, grid, published

import bsfw
from bsfw._files import read_npz
from bsfw.engines.flows.engine import FlowEngine
from bsfw.engines.flows.paths import PathFlows


def solve(costs, polytope, **settings):
    return bsfw.minimize(costs, polytope, method="corrective", **settings)


@pytest.mark.parametrize("name", ["SiouxFalls", "Anaheim"])
def test_published_flows_are_found(name):
    network = published(name)
    costs = network.costs()
    result = bsfw.minimize(costs, network.polytope())
    assert (result.method, result.engine, result.success) == ("corrective", "flows", True)
    best = costs.value(network.flow)
    assert abs(result.fun - best) <= 1e-9 * best + result.gap
    assert np.abs(costs.gradient(result.x) - costs.gradient(network.flow)).max() <= 1e-3
    assert result.nit < 40


@pytest.mark.parametrize("centroids", [False, True])
def test_the_optimum_is_that_of_cvxpy(centroids):
    cp = pytest.importorskip("cvxpy", reason="a solver of another kind to compare with")
    costs, polytope = grid(3, seed=1, centroids=centroids)
    result = solve(costs, polytope)
    r = polytope.routing
    nodes = int(max(r.tails.max(), r.heads.max())) + 1
    incidence = np.zeros((nodes, len(r.tails)))
    incidence[r.heads, np.arange(len(r.tails))] += 1.0
    incidence[r.tails, np.arange(len(r.tails))] -= 1.0
    flows, total = [], 0.0
    for origin in np.unique(r.source):
        balance = np.zeros(nodes)
        mine = r.source == origin
        np.add.at(balance, r.target[mine], r.amount[mine])
        balance[origin] -= r.amount[mine].sum()
        flows.append((cp.Variable(len(r.tails), nonneg=True), balance))
    v = sum(flow for flow, _ in flows)
    for power in np.unique(costs.power):  # in units of the capacity, which keeps the numbers alike
        some = costs.power == power
        rise = costs.free_flow * costs.b * costs.capacity / (costs.power + 1)
        total += rise[some] @ cp.power(cp.multiply(1 / costs.capacity[some], v[some]), float(power + 1))
    total += (costs.free_flow + costs.fixed) @ v
    problem = cp.Problem(cp.Minimize(total), [incidence @ flow == balance for flow, balance in flows])
    problem.solve(solver="CLARABEL")
    assert result.fun == pytest.approx(problem.value, rel=1e-6)
    assert result.fun - result.gap <= problem.value * (1 + 1e-6)


def test_braess_paradox_by_hand():
    # Without the bridge three drivers on each road, 1 + 30 + 53; with it z = 24/13 on the bridge and all pay 1200/13.
    without, with_bridge = (solve(*braess(bridge)) for bridge in (False, True))
    assert without.x == pytest.approx([3.0, 3.0, 3.0, 3.0], abs=1e-6)
    z = 24 / 13
    assert with_bridge.x == pytest.approx([3 + z / 2, 3 + z / 2, 3 - z / 2, 3 - z / 2, z], abs=1e-6)
    pays = [braess(bridge)[0].total(x) / 6 for bridge, x in ((False, without.x), (True, with_bridge.x))]
    assert pays == pytest.approx([84.0, 1200 / 13])


def test_tolls_make_the_system_optimum_the_equilibrium():
    costs, polytope = grid()
    best = solve(costs.system(), polytope)
    tolled = solve(costs.with_fixed(costs.fixed + costs.tolls(best.x)), polytope)
    assert costs.total(tolled.x) == pytest.approx(costs.total(best.x), rel=1e-7)
    assert costs.total(solve(costs, polytope).x) > costs.total(best.x) * (1 + 1e-4)


def test_every_iterate_is_certified_and_none_worse_than_the_one_before():
    costs, polytope = grid(seed=2)
    best = solve(costs, polytope, gap_tol=1e-9).fun
    seen = []
    result = solve(costs, polytope, callback=lambda r: seen.append((r.fun, r.gap, r.x)))
    values = np.array([value for value, _, _ in seen])
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert all(gap >= value - best - 1e-9 * best for value, gap, _ in seen)
    for _, _, x in seen[:3]:
        assert polytope.contains(x)
    assert result.gap <= 1e-9 * result.fun * 1.0001


def test_paths_carry_the_demands_and_add_up_to_x():
    costs, polytope = grid()
    result = solve(costs, polytope)
    paths = result.path_flows
    assert paths.load() == pytest.approx(result.x, rel=1e-12)
    assert paths.by_origin().sum(axis=0) == pytest.approx(result.x, rel=1e-12)
    t = costs.gradient(result.x)
    for k, (source, target, amount) in enumerate(polytope.demands):
        found = paths.of(k)
        assert sum(flow for _, flow in found) == pytest.approx(amount)
        cheapest = min(t[edges].sum() for edges, _ in found)
        for edges, flow in found:
            ends = polytope.edges[edges]
            assert (ends[0, 0], ends[-1, 1]) == (source, target)
            assert (ends[1:, 0] == ends[:-1, 1]).all()
            assert not np.isin(ends[1:, 0], polytope.centroids).any()
            assert flow * (t[edges].sum() - cheapest) <= result.gap + 1e-9  # Wardrop
    with pytest.raises(ValueError, match="demands 0 to 11, but not 12"):
        paths.of(12)
    with pytest.raises(ValueError, match="whole number"):
        paths.of(-1)


def test_a_correction_that_went_wrong_gives_way_to_a_frank_wolfe_step(monkeypatch):
    costs, polytope = grid()
    good = FlowEngine._corrected

    def spoilt(self, paths, x, gap):
        new = good(self, paths, x, gap)
        self._table.cost[:] = new - x + 1.0  # as if f grew on the way
        return new

    monkeypatch.setattr(FlowEngine, "_corrected", spoilt)
    seen = []
    solve(costs, polytope, max_iter=30, callback=lambda r: seen.append((r.fun, r.x)))
    values = [value for value, _ in seen]
    assert values[-1] < values[0]
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert polytope.contains(seen[-1][1])


def test_steep_costs_and_demands_of_all_sizes_converge():
    edges = [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2)]
    costs = bsfw.LinkCosts(
        [1.0, 1.0, 2.0, 1.0, 0.0], [1.0, 2.0, 1.0, 1e-3, 1.0], [1.0, 1.0, 0.0, 1.0, 1.0], [16, 1, 0, 8, 1]
    )
    result = solve(costs, bsfw.PathPolytope(edges, [(0, 2, 10.0), (1, 2, 1e-6), (0, 1, 1e-9)]))
    assert result.success


def test_a_checkpoint_goes_on_to_the_same_bits(tmp_path):
    costs, polytope = grid()
    file = tmp_path / "run.npz"
    whole = solve(costs, polytope, max_iter=8, gap_tol=0.0)
    solve(costs, polytope, max_iter=4, gap_tol=0.0, checkpoint=file, every=2)
    resumed = bsfw.resume(file, costs, polytope, max_iter=8)
    assert np.array_equal(whole.x, resumed.x)
    assert np.array_equal(whole.path_flows.flow, resumed.path_flows.flow)
    with pytest.raises(ValueError, match=r"another|differ"):
        bsfw.resume(file, costs.with_fixed(1.0), polytope)


def changed(arrays, name, place, value):
    arrays = {key: array.copy() for key, array in arrays.items()}
    arrays[f"paths.{name}"][place] = value
    return arrays


def test_paths_that_carry_nothing_are_refused():
    costs, polytope = grid()
    arrays = solve(costs, polytope, max_iter=3).path_flows.to_arrays()
    assert len(PathFlows.from_arrays(polytope, arrays)) == len(arrays["paths.flow"])
    for name, place, value in [
        ("edges", 0, -1), ("edges", 0, 10**6), ("edges", 1, 0), ("starts", 1, 0), ("starts", -1, 10**9),
        ("first", -1, 10**9), ("first", 1, 0), ("flow", 0, -1.0), ("flow", 0, np.nan), ("flow", 0, 1e3),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="checkpoint's paths"):
            PathFlows.from_arrays(polytope, changed(arrays, name, place, value))
    for name in ("first", "starts", "edges", "flow"):
        for wrong in (None, np.zeros((2, 2)), np.array([], dtype=arrays[f"paths.{name}"].dtype)):
            with pytest.raises(ValueError, match="checkpoint's paths"):
                PathFlows.from_arrays(polytope, {**arrays, f"paths.{name}": wrong})


def test_a_checkpoint_whose_x_is_another_is_refused(tmp_path):
    costs, polytope = grid()
    file = tmp_path / "run.npz"
    solve(costs, polytope, max_iter=3, checkpoint=file, every=2)
    arrays = read_npz(file)
    name = next(key for key in arrays if key.endswith("x"))
    arrays[name] = arrays[name] + 1.0
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="do not add up to its x"):
        bsfw.resume(file, costs, polytope)


def test_what_does_not_fit_has_its_sentence():
    costs, polytope = grid()
    with pytest.raises(ValueError, match="cannot know the paths of an x0"):
        solve(costs, polytope, x0=np.ones(costs.shape))
    with pytest.raises(ValueError, match="cannot go on from another method's x"):
        bsfw.minimize(costs, polytope, estimator=bsfw.ZOJA(), end_phase="corrective")
    with pytest.raises(ValueError, match="LinkCosts objective, a PathPolytope and Numba"):
        bsfw.Solver(bsfw.Logistic(np.ones((2, 2)), [1, -1]), bsfw.L1Ball(1.0), method="corrective", engine="flows")
