"""Objectives f: what is minimised, with its gradients, partial derivatives and values counted."""

from .base import Counts, Line, Objective
from .completion import MatrixCompletion
from .function import Function
from .linear_model import LinearModel
from .link_costs import LinkCosts
from .losses import Huber, LeastSquares, Logistic, SigmoidSquared, Tukey
from .multinomial import Multinomial
from .quadratic import Quadratic

__all__ = [
    "Counts",
    "Function",
    "Huber",
    "LeastSquares",
    "Line",
    "LinearModel",
    "LinkCosts",
    "Logistic",
    "MatrixCompletion",
    "Multinomial",
    "Objective",
    "Quadratic",
    "SigmoidSquared",
    "Tukey",
]
