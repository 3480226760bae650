"""SciPy's Bounds and LinearConstraint are sets."""

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse as sp

import bsfw

TARGET = np.array([2.0, -1.0, 0.5, 3.0])
SETS = {
    "bounds": so.Bounds(-1.0, [1.0, 0.0, 2.0, 0.5]),
    "equation": [so.LinearConstraint(np.ones((1, 4)), 1.0, 1.0), so.Bounds(np.zeros(4), np.ones(4))],
    "two-sided, sparse": [
        so.LinearConstraint(sp.csr_array([[1.0, 2, 0, 0], [0, 1, 1, 0]]), [-1.0, -0.5], [0.5, 0.25]),
        so.LinearConstraint(sp.csr_array([[0.0, 0, 1, -1]]), 0.25, 0.25),
        so.Bounds(-3.0, 3.0),
    ],
    "one row": [so.LinearConstraint([1.0, 1.0, 1.0, 1.0], ub=0.5), so.Bounds(-1.0, 1.0)],
}


@pytest.mark.parametrize("name", SETS)
def test_minimize_takes_what_scipy_takes_and_ends_where_it_does(name):
    given = SETS[name]
    objective = bsfw.Quadratic(np.eye(4), -TARGET)
    ours = bsfw.minimize(objective, given, gap_tol=1e-8, max_iter=3000)
    bounds = next((g for g in np.atleast_1d(given) if isinstance(g, so.Bounds)), None)
    rows = [g for g in np.atleast_1d(given) if isinstance(g, so.LinearConstraint)]
    theirs = so.minimize(
        lambda x: 0.5 * x @ x - TARGET @ x, np.zeros(4), jac=lambda x: x - TARGET, bounds=bounds, constraints=rows,
        method="SLSQP", options={"ftol": 1e-14},
    )  # fmt: skip
    assert ours.success
    np.testing.assert_allclose(ours.x, theirs.x, atol=2e-4)


def test_what_is_not_bounded_is_refused():
    objective = bsfw.Quadratic(np.eye(4), -TARGET)
    with pytest.raises(ValueError, match="bounded set"):
        bsfw.minimize(objective, so.Bounds(0.0, np.inf))
    with pytest.raises(ValueError, match="unbounded"):
        bsfw.minimize(objective, so.LinearConstraint(np.ones((1, 4)), 1.0, 1.0))
