"""A set of one's own: vectors of nonincreasing entries between 0 and 1, for monotone signals."""

import numpy as np

import bsfw


class Monotone(bsfw.Constraint):
    """`height` >= x_1 >= x_2 >= ... >= x_n >= 0. Its vertices are steps: `height` up to some place, then 0."""

    def __init__(self, height=1.0):
        self.height = height  # stored under its own name: repr and checkpoints read it

    def lmo(self, direction):
        """A vertex that minimises <direction, v>; of equal ones always the same (argmin takes the first). O(n)."""
        sums = np.concatenate([[0.0], np.cumsum(direction)])
        length = int(np.argmin(sums))
        return bsfw.Sparse(np.arange(length), np.full(length, self.height), direction.shape)

    def violation(self, x):
        """How far x is outside, relative to the size of the set; 0.0 inside."""
        padded = np.concatenate([[self.height], x, [0.0]])
        return float(max(0.0, np.max(np.diff(padded)))) / self.height

    def diameter(self, shape):
        return self.height * float(np.sqrt(shape[0]))
