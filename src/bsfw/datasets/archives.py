"""Reading compressed files and single members of zip archives, without writing anything to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

# Told by the first bytes, not by the name: a download or a renamed file is then read all the same.
_DECOMPRESSORS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\xfd7zXZ\x00", lzma.decompress),
    (b"BZh", bz2.decompress),
    (b"\x1f\x8b", gzip.decompress),
)


def decompress(data: bytes, source: str) -> bytes:
    """`data` decompressed if it is xz, bzip2 or gzip, else unchanged; `source` names it in an error."""
    for magic, decompressor in _DECOMPRESSORS:
        if data.startswith(magic):
            try:
                return decompressor(data)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise ValueError(f"{source} is damaged or incomplete ({error}); get it again.") from None
    return data


def read_plain(path: Path, member: str | None) -> bytes:
    """The plain content of `path`: of its `member` if it is a zip archive, else decompressed where necessary."""
    if member is not None and path.suffix == ".zip":
        return _read_member(path, member)
    return decompress(path.read_bytes(), str(path))


def _read_member(path: Path, member: str) -> bytes:
    """One member in memory; an archive with any name that leads out of its own folder is refused as a whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if _leads_outside(name):
                    raise ValueError(f"{path} holds a file named {name!r}, outside of its own folder; do not trust it.")
            if member not in archive.namelist():
                raise ValueError(f"{path} has no member {member!r}; it is not the published archive.")
            return archive.read(member)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged or incomplete ({error}); get it again.") from None


def _leads_outside(name: str) -> bool:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    return posix.is_absolute() or bool(windows.anchor) or ".." in posix.parts or ".." in windows.parts
