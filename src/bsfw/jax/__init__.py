"""bsfw for JAX: oracles, Boost and whole runs as pure functions, for ``jit``, ``vmap`` and pytrees.

``import jax`` inside of this package is JAX: imports are absolute.
"""

from .._extras import extra

extra("jax", "bsfw.jax", "jax")

from .blocks import boost, lmo
from .solver import FrankWolfe, Run, State
from .transformation import frank_wolfe

__all__ = ["FrankWolfe", "Run", "State", "boost", "frank_wolfe", "lmo"]
