"""Constraint sets: compact convex sets known through their linear minimisation oracles."""

from .asymmetric import AsymmetricL1Ball
from .balls import Box, L1Ball, L2Ball, LinfBall, LpBall
from .base import Constraint
from .ellipsoid import Ellipsoid
from .fantope import Fantope
from .flows import PathPolytope
from .oracle import Oracle
from .ordered import CappedSimplex, OrderedL1Ball
from .permutations import Birkhoff, Permutahedron
from .polytopes import ConvexHull, Polytope
from .product import Product
from .rows import Rows
from .simplex import Simplex
from .sparse_sets import GroupBall, KSparse
from .spectral import NuclearBall, SpectralBall, Spectraplex
from .transformed import Scaled, Shifted, Transposed
from .variation import TotalVariationBall

__all__ = [
    "AsymmetricL1Ball",
    "Birkhoff",
    "Box",
    "CappedSimplex",
    "Constraint",
    "ConvexHull",
    "Ellipsoid",
    "Fantope",
    "GroupBall",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "LpBall",
    "NuclearBall",
    "Oracle",
    "OrderedL1Ball",
    "PathPolytope",
    "Permutahedron",
    "Polytope",
    "Product",
    "Rows",
    "Scaled",
    "Shifted",
    "Simplex",
    "SpectralBall",
    "Spectraplex",
    "TotalVariationBall",
    "Transposed",
]
