"""Blocks on disk: a folder with a manifest and, for each block, a folder of .npy files.

``manifest.json`` says what all blocks have in common, and of each its shape, labels and hash. A block appears under its
name once it is complete, the manifest after each block: what a killed process leaves is a shorter folder.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array
from .._files import atomic_write, damage
from .._refusals import refusing
from .block import Block, DenseBlock, Description, Item, SparseBlock
from .local import Local

FORMAT = "bsfw blocks 1"
MANIFEST = "manifest.json"
_KINDS = {"sparse": SparseBlock, "dense": DenseBlock}
_SMALL = 2**16
"""Bytes of a file up to which it is read, not mapped."""
_checked: set[tuple[Any, ...]] = set()
"""Files whose indices this process has looked at: by path, size and time."""


class BlockFile(Item):
    """A block in a folder, mapped while a task runs.

    Parameters
    ----------
    folder : str
        Its own.
    kind : {"sparse", "dense"}
    description : Description
    n : int
        Columns of all blocks.
    """

    def __init__(self, folder: str, kind: str, description: Description, n: int) -> None:
        self.folder, self.kind, self.description, self.n = folder, kind, description, n
        self.name = f"block {folder}"

    @property
    def nbytes(self) -> int:
        return 1000

    def open(self) -> Block:
        """The block on maps of its files; they end with the last reference to it."""
        names = {"sparse": ("columns", "starts", "rows", "data", "y"), "dense": ("by_columns", "y")}[self.kind]
        names += ("w",) if self.description.weight is not None else ()
        arrays = {name: _mapped(Path(self.folder, f"{name}.npy")) for name in names}
        block: Block = SparseBlock(n=self.n, **arrays) if self.kind == "sparse" else DenseBlock(**arrays)
        block.name = self.name
        stats = [os.stat(Path(self.folder, f"{name}.npy")) for name in names]
        key = (self.folder, self.n, *((stat.st_size, stat.st_mtime_ns) for stat in stats))
        if key not in _checked:
            block.check()
            if (block.m, block.entries.size) != (self.description.rows, self.description.entries):
                raise ValueError(f"{self.name} is not the one of the manifest; write it again.")
            _checked.add(key)
        return block


def _mapped(path: Path) -> Array:
    """The array in a file; a ValueError that names the file if it is none."""
    try:
        made: Array = np.load(path, mmap_mode="r" if os.stat(path).st_size > _SMALL else None, allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing: the folder was moved, or not copied whole.") from None
    except Exception as error:  # a damaged header raises nearly anything
        raise damage(error, f"{path} is damaged; write the blocks again") from None
    return made


@refusing
def open_blocks(
    folder: str | os.PathLike[str], *, threads: int | None = None, budget: float | None = None, verify: bool = False
) -> Local:
    """The blocks in a folder that `write` made, to be used in place: out of core, by threads.

    Parameters
    ----------
    folder : path
    threads : int, optional
        Tasks at a time; by default as many as there are processors.
    budget : float, optional
        Bytes of memory for what is derived from the blocks; a quarter of the machine's memory by default. Less memory
        means more reading, and the same bits.
    verify : bool
        Whether to read all files and compare their hashes.

    Returns
    -------
    Local
        To be given to ``bsfw.Logistic`` and the other linear models in place of A and y.
    """
    sources, feature_names = block_files(folder)
    if verify:
        verify_files(sources)
    return Local(sources, threads=threads, budget=budget, feature_names=feature_names)


def block_files(folder: str | os.PathLike[str]) -> tuple[list[BlockFile], tuple[str, ...]]:
    """What the manifest of a complete folder lists, and the names of the features."""
    found = read_manifest(folder)
    if not found["complete"]:
        raise ValueError(
            f"{folder} is incomplete: it was interrupted after {len(found['blocks'])} blocks; call bsfw.blocks.write "
            "again with the same arguments, and it goes on."
        )
    files = [
        BlockFile(str(Path(folder).absolute() / entry["name"]), found["kind"], _description(entry), found["columns"])
        for entry in found["blocks"]
    ]
    for file in files:
        file.description = dataclasses.replace(file.description, columns=found["columns"])
    return files, tuple(found["feature_names"])


def verify_files(files: list[BlockFile]) -> None:
    """Compare the hashes; a ValueError names the first block that is not as it was written."""
    for file in files:
        if file.open().digest() != file.description.digest:
            raise ValueError(f"{file.name} is damaged: its hash is not that of the manifest; write it again.")


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a folder, or one sentence why there is none."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no blocks: there is no {MANIFEST}; bsfw.blocks.write makes it.")
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        known = found["format"] == FORMAT
        if known:
            [_description(entry) for entry in found["blocks"]]
            sound = found["kind"] in _KINDS and found["columns"] > 0 and isinstance(found["complete"], bool)
            sound = sound and all(Path(entry["name"]).name == entry["name"] for entry in found["blocks"])
            if not sound:
                raise ValueError("a field is wrong")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({error}).") from None
    if not known:
        raise ValueError(f"{path} has the format {found['format']!r}; this version of bsfw reads {FORMAT!r}.")
    return found


def write_manifest(folder: Path, contents: dict[str, Any]) -> None:
    with atomic_write(folder / MANIFEST, "w") as file:
        json.dump({"format": FORMAT, **contents}, file)


def write_block(folder: Path, name: str, block: Block) -> dict[str, Any]:
    """Put a block into a folder of its own, which gets its name once it is complete; its entry of the manifest."""
    block.name = f"block {folder / name}"
    entry = {"name": name, **dataclasses.asdict(block.describe())}
    part = folder / f".{name}.{secrets.token_hex(4)}.part"
    part.mkdir()
    try:
        for key, array in block.arrays.items():
            np.save(part / f"{key}.npy", array, allow_pickle=False)
        shutil.rmtree(folder / name, ignore_errors=True)  # complete, but killed before the manifest knew
        os.replace(part, folder / name)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return entry


def _description(entry: dict[str, Any]) -> Description:
    return Description(**{field.name: entry[field.name] for field in dataclasses.fields(Description)})
