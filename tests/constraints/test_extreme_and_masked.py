"""Radii at the ends of the range, and masked arrays: what would silently count as data, or overflow."""

import numpy as np
import pytest

import bsfw


@pytest.mark.parametrize("radius", [1e-300, 1e300, 1e308])
@pytest.mark.parametrize("kind", [bsfw.L1Ball, bsfw.L2Ball, bsfw.LinfBall, lambda radius: bsfw.LpBall(3, radius)])
@pytest.mark.parametrize("size", [0.0, 1e-310, 1.0, 1e300])
def test_balls_of_any_radius_have_vertices_of_theirs(kind, radius, size):
    ball, g = kind(radius), size * np.ones(3)
    vertex = ball.lmo(g).dense()
    assert np.isfinite(vertex).all()
    assert vertex.any()
    assert ball.violation(vertex) <= 1e-12
    assert ball.violation(0.5 * vertex) == 0.0
    assert np.isfinite(ball.boost(g, 0.5 * vertex, 10, 1e-4).dense(vertex)).all()


MASKED = np.ma.array(np.ones(2), mask=[True, False])
SQUARE = np.ma.array(np.eye(2), mask=np.eye(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: bsfw.Box(MASKED, 1.0),
        lambda: bsfw.Box(0.0, MASKED),
        lambda: bsfw.L1Ball(1.0, weights=MASKED),
        lambda: bsfw.Ellipsoid(MASKED, np.eye(2)),
        lambda: bsfw.Ellipsoid(np.zeros(2), SQUARE),
        lambda: bsfw.ConvexHull(SQUARE),
        lambda: bsfw.Polytope(SQUARE, [1.0, 1.0], bounds=(0, 1)),
        lambda: bsfw.Polytope(np.eye(2), MASKED, bounds=(0, 1)),
        lambda: bsfw.Permutahedron(MASKED),
        lambda: bsfw.L1Ball(1.0).lmo(MASKED),
        lambda: bsfw.minimize(bsfw.Quadratic(np.ones(2)), bsfw.L2Ball(2.0), x0=MASKED),
    ],
)
def test_masked_entries_are_refused(make):
    with pytest.raises(ValueError, match="is a masked array with masked entries"):
        make()
