"""A loss of one's own: asymmetric least squares (expectile regression)."""

import numpy as np

import bsfw


class Expectile(bsfw.LinearModel):
    """phi(z, y) = |level - 1[y < z]| (y - z)^2, convex: targets above the margin weigh `level`, others 1 - `level`."""

    quasar_rho = 1.0  # f is convex; without this line a run takes the slower decay of a nonconvex f, and says so
    _curvature = 2.0  # an upper bound of phi'', from which short steps take their constant L

    def __init__(self, A, y, level=0.5, **options):
        super().__init__(A, y, **options)
        self.level = level

    def _parameters(self):
        """What defines the loss beside the data: a checkpoint recognises the problem by it."""
        return (self.level,)

    def _weight(self, z, y):
        return np.where(y < z, 1.0 - self.level, self.level)

    def _phi(self, z, y):
        """The loss of each sample, from its margin z = <a, x> and its target."""
        return self._weight(z, y) * np.square(z - y)

    def _phi_prime(self, z, y):
        """Its derivative in z."""
        return 2.0 * self._weight(z, y) * (z - y)

    def _phi_second(self, z, y):
        """The second one; only method="corrective" asks."""
        return 2.0 * self._weight(z, y)
