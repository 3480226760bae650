"""Reading compressed files and single members of zip archives, within limits and without writing anything to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from bsfw._files import Refused, damage, expanded_limit, read_all, refuse_expansion, require_regular

# Told by the first bytes, not by the name: a download or a renamed file is then read all the same.
_OPENERS: tuple[tuple[bytes, Callable[[io.BytesIO], Any]], ...] = (
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
)


def decompress(data: bytes, source: str) -> bytes:
    """`data` decompressed if it is xz, bzip2 or gzip, else unchanged; `source` names it in an error.

    Bit by bit, and not beyond `bsfw._files.expanded_limit`.
    """
    for magic, opener in _OPENERS:
        if data.startswith(magic):
            try:
                with opener(io.BytesIO(data)) as stream:
                    return bytes(read_all(stream, expanded_limit(len(data)), source))
            except Exception as error:
                raise damage(error, f"{source} is damaged or incomplete; get it again") from None
    return data


def read_file(path: Path) -> bytes:
    """All bytes of a regular file."""
    require_regular(path)
    return path.read_bytes()


def read_plain(path: Path, member: str | None) -> bytes:
    """The plain content of `path`: of its `member` if it is a zip archive, else decompressed where necessary."""
    if member is not None and path.suffix == ".zip":
        return _read_member(path, member)
    return decompress(read_file(path), str(path))


def _read_member(path: Path, member: str) -> bytes:
    """One member in memory; an archive with any name that leads out of its own folder is refused as a whole."""
    require_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if _leads_outside(name):
                    raise Refused(f"{path} holds a file named {name!r}, outside of its own folder; do not trust it.")
            if member not in archive.namelist():
                raise Refused(f"{path} has no member {member!r}; it is not the published archive.")
            limit = expanded_limit(path.stat().st_size)
            refuse_expansion(str(path), archive.getinfo(member).file_size, limit)
            with archive.open(member) as stream:
                return bytes(read_all(stream, limit, str(path)))
    except Exception as error:
        raise damage(error, f"{path} is damaged or incomplete; get it again") from None


def _leads_outside(name: str) -> bool:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    return posix.is_absolute() or bool(windows.anchor) or ".." in posix.parts or ".." in windows.parts
