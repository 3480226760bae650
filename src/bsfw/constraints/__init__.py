"""Constraint sets: compact convex sets known through their linear minimisation oracles."""

from .balls import Box, L1Ball, L2Ball, LinfBall, LpBall
from .base import Constraint
from .ellipsoid import Ellipsoid
from .flows import PathPolytope
from .oracle import Oracle
from .permutations import Birkhoff, Permutahedron
from .polytopes import ConvexHull, Polytope
from .product import Product
from .rows import Rows
from .simplex import Simplex
from .sparse_sets import GroupBall, KSparse
from .spectral import NuclearBall, SpectralBall, Spectraplex

__all__ = [
    "Birkhoff",
    "Box",
    "Constraint",
    "ConvexHull",
    "Ellipsoid",
    "GroupBall",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "LpBall",
    "NuclearBall",
    "Oracle",
    "PathPolytope",
    "Permutahedron",
    "Polytope",
    "Product",
    "Rows",
    "Simplex",
    "SpectralBall",
    "Spectraplex",
]
