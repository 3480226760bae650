"""Objectives f: what is minimised, with its gradients, partial derivatives and values counted."""

from .base import Counts, Line, Objective
from .completion import MatrixCompletion
from .dynamics import LinearDynamics
from .function import Function
from .linear_model import LinearModel
from .link_costs import LinkCosts
from .links import LeakySquared, ProbitSquared, SigmoidSquared
from .losses import Huber, LeastSquares, Logistic, Tukey
from .multinomial import Multinomial
from .quadratic import Quadratic

__all__ = [
    "Counts",
    "Function",
    "Huber",
    "LeakySquared",
    "LeastSquares",
    "Line",
    "LinearDynamics",
    "LinearModel",
    "LinkCosts",
    "Logistic",
    "MatrixCompletion",
    "Multinomial",
    "Objective",
    "ProbitSquared",
    "Quadratic",
    "SigmoidSquared",
    "Tukey",
]
