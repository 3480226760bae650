"""Data in blocks of rows: in memory, in files of any size, or on the machines of a cluster (`bsfw.dask`).

Give them to a linear model in place of A and y: ``bsfw.Logistic(open_blocks("train/"))``. docs/blocks.md has the rest.
"""

from __future__ import annotations

from .base import Blocks
from .block import Block, DenseBlock, SparseBlock
from .local import Local
from .storage import open_blocks
from .writing import from_arrays, write

__all__ = ["Block", "Blocks", "DenseBlock", "Local", "SparseBlock", "from_arrays", "open_blocks", "write"]
