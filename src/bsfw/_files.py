"""Files: written whole or not at all, locked by one process, and read within limits."""

from __future__ import annotations

import io
import math
import os
import secrets
import socket
import stat
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from ._arrays import Array

if sys.platform != "win32":  # there nothing is locked, and parts of killed processes stay
    import fcntl

EXPANSION, SMALL, LARGEST = 100, 2**27, 2**33
"""What a compressed file may hold: so many times its own size, but SMALL bytes (128 MiB) in any case, and LARGEST
(8 GiB) at most."""
_CHUNK = 2**20
_KINDS = "biufcUS"
"""Kinds of dtypes that are read: numbers and text, and records of them; no objects or dates."""


# Writing


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; it replaces `path` if the block ends well and vanishes if it does not.

    A link is followed: the file that it names is replaced. What killed processes left of earlier attempts is removed;
    what other processes are writing is not, for each holds a lock on its own. An error of the disk names `path`.
    """
    target = _target(path)
    _remove_stale_parts(target)
    part, file, held = _new_part(target, mode)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise
    finally:
        if held is not None:
            os.close(held)


def _target(path: str | os.PathLike[str]) -> Path:
    """What `path` names, links followed: a regular file, or none yet, in a folder that exists."""
    target = Path(path)
    if "\0" in str(target):
        raise ValueError(f"cannot write {str(target)!r}: that is no name of a file.")
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: the folder {target.parent} does not exist; create it first.")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder; name a file.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file, and is not replaced by one; name another.")
    return target


def _new_part(target: Path, mode: str) -> tuple[Path, IO[Any], int | None]:
    """A new file beside `target`, open and locked, and a second handle that keeps the lock until it is in its place."""
    while True:
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        file = open(part, mode.replace("w", "x"), newline="" if "b" not in mode else None)  # noqa: SIM115  # returned
        if sys.platform == "win32":
            return part, file, None
        held = os.dup(file.fileno())
        if _lock(held) and _is_at(held, part):
            return part, file, held
        file.close()  # taken for a stale one, in the moment before it was locked
        os.close(held)


def _remove_stale_parts(target: Path) -> None:
    """Remove what processes that are no more have left beside `target`: what nobody holds a lock on."""
    if sys.platform == "win32":
        return
    with os.scandir(target.parent) as entries:
        found = [entry.path for entry in entries if entry.name.startswith(f".{target.name}.")]
    for path in found:
        if not path.endswith(".part"):
            continue
        with suppress(OSError):  # it is in its place by now, or another process removes it
            handle = os.open(path, os.O_RDWR)
            try:
                if _lock(handle) and _is_at(handle, path):
                    os.unlink(path)
            finally:
                os.close(handle)


def _lock(handle: int) -> bool:
    """Whether an open file is now locked for this handle alone; it is until the last copy of the handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: str | os.PathLike[str]) -> bool:
    """Whether an open file still has that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold `path` for the block: another process, or another block of this one, is refused and told who holds it.

    By a lock of the system on the file ``.name.lock`` beside it, which ends with the process however that ends, and is
    removed with the block. On Windows, and on file systems that know no such locks, nothing is held.

    Raises
    ------
    BlockingIOError
        If it is held, with the process and the host that hold it.
    """
    target = _target(path)
    lock = target.with_name(f".{target.name}.lock")
    handle = None if sys.platform == "win32" else _held(lock, target)
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):  # the folder may have vanished
                os.unlink(lock)
            os.close(handle)


def _held(lock: Path, target: Path) -> int | None:
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(handle):
                holder = os.read(handle, 200).decode(errors="replace").strip() or "another process"
                raise BlockingIOError(
                    f"{target} is in use by {holder}, and two runs would overwrite each other; wait for it, or name "
                    "another file."
                )
            if _is_at(handle, lock):  # else its holder has just removed it
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
                return handle
        except BlockingIOError:
            os.close(handle)
            raise
        except OSError:  # no locks on this file system
            os.close(handle)
            return None
        os.close(handle)


# Reading


def expanded_limit(stored: int) -> int:
    """Bytes that a file of `stored` bytes may hold once it is expanded.

    EXPANSION times as many, at least SMALL and at most LARGEST; or what the environment variable BSFW_MAX_EXPANDED
    says, a number of bytes.
    """
    given = os.environ.get("BSFW_MAX_EXPANDED")
    if not given:
        return min(LARGEST, max(SMALL, EXPANSION * stored))
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not number >= 0:
        raise ValueError(f"BSFW_MAX_EXPANDED must be a number of bytes, such as 20e9, but is {given!r}.")
    return int(min(number, 2**62))


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


class Refused(ValueError):
    """A file from outside is not read: it is damaged, larger than it may be, or no such file at all."""


def refuse_expansion(source: str, size: int, limit: int) -> None:
    """Raise `Refused` if what `source` holds is larger than `limit`."""
    if size > limit:
        raise Refused(
            f"{source} is not to be trusted: it expands to {size / 1e9:.2g} GB or more, which is more than "
            f"{limit / 1e9:.2g} GB; if it is what you want, set the environment variable BSFW_MAX_EXPANDED to a number "
            "of bytes."
        )


def read_all(stream: Readable, limit: int, source: str) -> bytearray:
    """Everything in a stream; `Refused` once it is more than `limit` bytes."""
    content = bytearray()
    while chunk := stream.read(_CHUNK):
        content += chunk
        refuse_expansion(source, len(content), limit)
    return content


def require_regular(path: Path) -> None:
    """Raise unless `path` is a regular file: to read a pipe or a device might never end."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:  # a zero byte
        raise ValueError(f"cannot read {str(path)!r}: that is no name of a file.") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"cannot read {path}: it is a folder; name a file.")
    if not stat.S_ISREG(mode):
        raise ValueError(f"cannot read {path}: it is no regular file; name another.")


def read_npz(path: str | os.PathLike[str], limit: int | None = None) -> dict[str, Array]:
    """The arrays of an .npz file that may come from anywhere. Nothing is unpickled.

    Parameters
    ----------
    path : path
    limit : int, optional
        Bytes that all of them may take, by default `expanded_limit` of the file.

    Returns
    -------
    dict of str to array
        Numbers and text, writable.

    Raises
    ------
    ValueError
        That names the file, whatever is wrong with it: damaged, too large, with objects in it.
    OSError
        If it cannot be opened.
    """
    path = Path(path)
    require_regular(path)
    with path.open("rb") as file:
        if limit is None:
            limit = expanded_limit(os.fstat(file.fileno()).st_size)
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                refuse_expansion(str(path), sum(member.file_size for member in members), limit)
                return {
                    member.filename.removesuffix(".npy"): _array(archive, member, limit, path) for member in members
                }
        except Exception as error:
            raise damage(error, f"{path} is no .npz archive, or it is damaged") from None


def damage(error: Exception, sentence: str) -> Exception:
    """What to raise for `error`, met while a file from outside was read: the sentence, with the error as its reason.

    A damaged file makes zipfile, zlib and NumPy raise nearly anything. Only what was refused already, and an error of
    the disk, stay as they are.
    """
    if isinstance(error, Refused) or (isinstance(error, OSError) and error.errno is not None):
        return error
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(". ")
    return Refused(f"{sentence} ({reason}).")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int, path: Path) -> Array:
    """One member. Its header is believed only where it agrees with what follows it."""
    if not member.filename.endswith(".npy"):
        raise Refused(f"{path} is not to be trusted: it holds {member.filename[:80]!r}, which is no array.")
    with archive.open(member) as stream:
        content = read_all(stream, limit, str(path))
    header = io.BytesIO(content)
    short = np.lib.format.read_magic(header) == (1, 0)  # else the length of the header has four bytes
    read_header = np.lib.format.read_array_header_1_0 if short else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read_header(header)
    fields = [dtype] if dtype.names is None else [field[0] for field in (dtype.fields or {}).values()]
    if dtype.hasobject or any(field.kind not in _KINDS for field in fields):
        what = "objects" if dtype.hasobject else f"entries of type {dtype}"
        raise Refused(f"{path} is not to be trusted: it holds {what}, where there should be numbers or text.")
    start, count = header.tell(), math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - start:
        given = len(content) - start
        raise Refused(f"{path} is damaged: an array of {dtype} of shape {shape} cannot be in {given} bytes.")
    if not count:
        return np.empty(shape, dtype=dtype)
    flat = np.frombuffer(memoryview(content)[start:], dtype=dtype)
    return np.require(flat.reshape(shape, order="F" if fortran_order else "C"), requirements=["ALIGNED", "WRITEABLE"])
