"""Files that a command writes: refused before the work if they cannot be written, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bsfw._files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = (".png", ".pdf", ".svg")


def check_output(path: Path | None, option: str, suffixes: Sequence[str], force: bool = True) -> None:
    """Raise the error that writing `path` would raise in the end, or a ValueError if its ending is not known.

    Without `force` a file that exists is refused.
    """
    if path is None:
        return
    if path.suffix not in suffixes:
        raise ValueError(f"{option} must end in {' or '.join(suffixes)}, got {str(path)!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{option} {path}: the folder {path.parent} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{option} {path}: the folder {path.parent} is not writable; choose another.")
    if path.is_dir():
        raise IsADirectoryError(f"{option} {path} is a folder; name a file.")
    if not force and path.exists():
        raise FileExistsError(f"{option} {path} exists; give --force to replace it, or another name.")


def check_distinct(paths: dict[str, Path | None]) -> None:
    """Raise a ValueError if two options name the same file."""
    seen: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        if (other := seen.setdefault(path.resolve(), option)) != option:
            raise ValueError(f"{other} and {option} name the same file, {path}; choose two names.")


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure in the format of the path's ending."""
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix("."))
