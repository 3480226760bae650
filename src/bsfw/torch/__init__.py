"""bsfw for PyTorch: an optimizer that keeps weights in sets, and what one keeps them there for.

``import torch`` inside of this package is PyTorch: imports are absolute.
"""

from .._extras import extra

extra("torch", "bsfw.torch", "torch")

from .compress import prune_, to_lowrank_, tradeoff
from .groups import layers
from .optimizer import FrankWolfe

__all__ = ["FrankWolfe", "layers", "prune_", "to_lowrank_", "tradeoff"]
