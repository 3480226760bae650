"""Link costs: f against its integral, derivatives against differences, system optimum and tolls by definition."""

import numpy as np
import pytest
from scipy.integrate import quad

import bsfw

LINKS = dict(
    free_flow=[1.0, 2.0, 0.0, 3.0, 0.5],
    capacity=[10.0, 5.0, 1.0, 2.0, 4.0],
    b=[0.15, 1.0, 2.0, 0.0, 0.3],
    power=[4.0, 1.0, 2.5, 0.0, 0.0],
    fixed=[0.0, 0.2, 0.1, 0.0, 0.0],
)
FLOWS = np.array([12.0, 3.0, 0.7, 5.0, 1.0])


def cost(e, v):
    t, c, b, p, fixed = (LINKS[name][e] for name in ("free_flow", "capacity", "b", "power", "fixed"))
    return t * (1.0 + b * (v / c) ** p) + fixed


@pytest.fixture
def costs():
    return bsfw.LinkCosts(**LINKS)


def test_value_is_the_sum_of_the_integrals_and_the_gradient_the_costs(costs):
    assert costs.value(FLOWS) == pytest.approx(
        sum(quad(lambda s, e=e: cost(e, s), 0, v)[0] for e, v in enumerate(FLOWS))
    )
    assert costs.gradient(FLOWS) == pytest.approx([cost(e, v) for e, v in enumerate(FLOWS)])
    assert costs.total(FLOWS) == pytest.approx(sum(v * cost(e, v) for e, v in enumerate(FLOWS)))


def test_the_hessian_is_the_slope_of_the_costs(costs):
    step, direction = 1e-5, np.array([1.0, -2.0, 0.5, 1.0, 1.0])
    slopes = (costs.gradient(FLOWS + step) - costs.gradient(FLOWS - step)) / (2 * step)
    assert costs.hessian_product(FLOWS, direction) == pytest.approx(slopes * direction, rel=1e-6, abs=1e-9)
    assert costs.tolls(FLOWS) == pytest.approx(slopes * FLOWS, rel=1e-6, abs=1e-9)
    assert np.isfinite(costs.hessian_product(np.zeros(5), direction)).all()


def test_the_system_objective_is_the_total_cost_and_its_gradient_the_cost_with_tolls(costs):
    assert costs.system().value(FLOWS) == pytest.approx(costs.total(FLOWS))
    assert costs.system().gradient(FLOWS) == pytest.approx(costs.gradient(FLOWS) + costs.tolls(FLOWS))
    tolled = costs.with_fixed(costs.fixed + costs.tolls(FLOWS))
    assert tolled.gradient(FLOWS) == pytest.approx(costs.system().gradient(FLOWS))


def test_rounding_below_zero_is_zero_flow(costs):
    assert costs.value(np.full(5, -1e-17)) == 0.0
    assert np.array_equal(costs.gradient(np.full(5, -1e-17)), costs.gradient(np.zeros(5)))


def test_a_quadratic_multiplies_by_its_matrix_and_others_say_that_they_cannot():
    Q = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert bsfw.Quadratic(Q).hessian_product(np.ones(2), np.array([1.0, -1.0])).tolist() == [1.0, -2.0]
    f = bsfw.Function(lambda x: float(x @ x))
    assert not f.has_hessian_product
    with pytest.raises(ValueError, match="Function has no"):
        f.hessian_product(np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"free_flow": 1.0}, "one entry a link"),
        ({"free_flow": [-1.0, 1, 1, 1, 1]}, "free_flow must not be negative.*-1"),
        ({"capacity": 0.0}, "capacity must be positive, but 5 links have none"),
        ({"power": 0.5}, "power must be 0 or at least 1, got 0.5"),
        ({"b": [0.15]}, "b must be a number or have the shape"),
        ({"fixed": np.nan}, "fixed has 1 entries that are NaN"),
        ({"free_flow": ["a"] * 5}, "free_flow must hold real numbers"),
    ],
)
def test_bad_links_have_their_sentence(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bsfw.LinkCosts(**{**LINKS, **changes})
