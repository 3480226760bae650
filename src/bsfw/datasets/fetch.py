"""Finding the files of a data set, downloading what is missing, and refusing what is not the published content.

A file is looked for in the folder named by the environment variable BSFW_DATA, then in the cache (BSFW_CACHE, or the
user's cache folder), and at last it is downloaded from its publisher into the cache. A download is given up after 30
seconds without a byte, and after an hour in all (BSFW_DOWNLOAD_SECONDS); it may be as large as what compressed files
may hold (BSFW_MAX_EXPANDED, see `bsfw._files`), and does not go from https to http. Content of known hash is checked at
every load. Where no hash is known, shape and counts are checked first and the hash is then pinned in a small JSON
file beside the cached one, so that a later change is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bsfw._extras import extra
from bsfw._files import LARGEST, Refused, atomic_write, expanded_limit, refuse_expansion
from bsfw.datasets.archives import read_plain
from bsfw.datasets.registry import File

STALLED = 30.0
"""Seconds without a byte after which a download is given up."""
_BLOCK = 2**16

Place = Literal["bundled", "BSFW_DATA", "cache", "download"]


@dataclass(frozen=True)
class Fetched:
    """Plain content of one file, the path it was read from, and how it differs from the published one, if it does."""

    content: bytes
    path: Path
    stand_in: str | None


def data_folder() -> Path | None:
    """The folder of BSFW_DATA, or None if it is not set."""
    value = os.environ.get("BSFW_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise ValueError(f"BSFW_DATA names {value!r}, which is not a folder; correct it or unset it.")
    return folder


def cache_folder() -> Path:
    """The folder of BSFW_CACHE, or the user's cache folder for bsfw; it need not exist."""
    value = os.environ.get("BSFW_CACHE")
    if value:
        return Path(value).expanduser()
    return Path(extra("pooch", "the user's cache of data sets").os_cache("bsfw"))


def locate(file: File) -> tuple[Place, Path]:
    """Where `file` is, or would be downloaded to."""
    data = data_folder()
    found = _search(file, data) if data else None
    if found:
        return "BSFW_DATA", found
    cache = cache_folder()
    found = _search(file, cache)
    return ("cache", found) if found else ("download", cache / file.published_path)


def _search(file: File, folder: Path) -> Path | None:
    plain = folder / file.path
    names = (plain.name, *file.other_names)
    candidates = [plain.parent / (name + suffix) for name in names for suffix in ("", ".xz", ".bz2", ".gz")]
    candidates.append(folder / file.published_path)
    return next((path for path in candidates if path.is_file()), None)


@contextmanager
def fetched(file: File) -> Iterator[Fetched]:
    """Content of `file` for the block that parses and counts it.

    When the block ends well, content of unknown hash in the cache is pinned. When it raises a ValueError, a file that
    was downloaded for it is removed again.
    """
    place, path = locate(file)
    if place == "download":
        _download(file, path)
    try:
        content = read_plain(path, file.member)
        if file.remove and path.name == Path(file.published_path).name:
            content = content.replace(file.remove, b"")
        digest = hashlib.sha256(content).hexdigest()
        known = _check_hash(file, path, digest)
        yield Fetched(content, path, file.copies.get(digest))
    except ValueError:
        if place == "download":
            path.unlink(missing_ok=True)
        raise
    if not known and place != "BSFW_DATA":
        # A cache that cannot be written to is checked by shape and counts at every load instead.
        with suppress(PermissionError), atomic_write(_pin_path(path), "w") as stream:
            json.dump({"file": file.path, "url": file.url, "sha256": digest}, stream, indent=1)


def _check_hash(file: File, path: Path, digest: str) -> bool:
    """Whether the hash is known to be right; a hash that is known to be wrong raises a ValueError."""
    if digest == file.sha256 or digest in file.copies:
        return True
    what = f"{path} ({file.member})" if path.suffix == ".zip" else str(path)
    if file.sha256 is not None:
        raise ValueError(
            f"{what} is not the published file: its content has SHA-256 {digest} instead of {file.sha256}; "
            f"get {file.url} again or remove the file."
        )
    pin = _pin_path(path)
    if not pin.is_file():
        return False
    try:
        pinned = json.loads(pin.read_text())["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{pin} is not readable; remove it, and {path} is checked anew.") from None
    if pinned != digest:
        raise ValueError(
            f"{what} has changed since it was checked (SHA-256 {digest} instead of {pinned}); "
            f"remove it and {pin.name} to get it again."
        )
    return True


def _pin_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.pin.json")


def _download(file: File, target: Path) -> None:
    """Download to `target`, whole or not at all; the hash is checked on the way where it is that of the file sent."""
    pooch = extra("pooch", "a download")
    sent_plain = Path(file.url).name == Path(file.path).name
    known_hash = f"sha256:{file.sha256}" if sent_plain and file.sha256 else None
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # otherwise it advises to paste the hash into one's source
    try:
        pooch.retrieve(file.url, known_hash, fname=target.name, path=target.parent, downloader=_transfer)
    except OSError as error:  # those of requests are such too, and some of them ValueErrors besides
        raise FileNotFoundError(
            f"{file.published_path} is not here and the download failed ({_reason(error)}): get {file.url} and put it "
            f"as {file.published_path} into a folder that the environment variable BSFW_DATA names, or as {target}."
        ) from None
    except Refused:
        raise
    except ValueError:
        raise ValueError(
            f"{file.url} no longer sends the file that was published (its hash differs from {file.sha256}); "
            "nothing was stored."
        ) from None
    finally:
        logger.setLevel(level)


def _transfer(url: str, output_file: str, pooch: Any) -> None:
    """Write what `url` sends to `output_file`, with a progress bar: a downloader as pooch calls them.

    Its own would wait for ever on a server that sends a byte now and then, and take any amount of them.
    """
    import requests
    import urllib3
    from tqdm import tqdm

    seconds = _seconds()
    started, limit = time.monotonic(), expanded_limit(0) if os.environ.get("BSFW_MAX_EXPANDED") else LARGEST
    try:
        sent = requests.get(url, stream=True, timeout=STALLED, headers={"Accept-Encoding": "identity"})
    except (requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL) as error:
        raise OSError(f"it leads to another address, which is not followed: {error}") from None
    with sent as response:
        response.raise_for_status()
        if refused := _refused_hop([*(hop.url for hop in response.history), response.url]):
            raise OSError(f"it leads to {refused}, which is not encrypted")
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else 0
        refuse_expansion(url, total, limit)
        with open(output_file, "wb") as file, tqdm(total=total, ncols=79, unit="B", unit_scale=True) as bar:
            try:
                # As much as has arrived: to wait for a whole block, as urllib3 before 2.1 does, lets a slow server
                # escape the limit.
                while chunk := getattr(response.raw, "read1", response.raw.read)(_BLOCK):
                    file.write(chunk)
                    bar.update(len(chunk))
                    refuse_expansion(url, file.tell(), limit)
                    if time.monotonic() - started > seconds:
                        raise OSError(f"it took longer than {seconds:g} s, see BSFW_DOWNLOAD_SECONDS")
            except urllib3.exceptions.ReadTimeoutError:
                raise OSError(f"not a byte for {STALLED:g} s") from None
            except urllib3.exceptions.HTTPError as error:
                raise OSError(f"{error}") from None


def _refused_hop(urls: list[str]) -> str | None:
    """The first address on a way that began with https and is not: what is sent from there, anybody may have sent."""
    if not urls[0].startswith("https:"):
        return None
    return next((url for url in urls if not url.startswith("https:")), None)


def _seconds() -> float:
    """How long a download may take: an hour, or what BSFW_DOWNLOAD_SECONDS says."""
    given = os.environ.get("BSFW_DOWNLOAD_SECONDS") or "3600"
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(f"BSFW_DOWNLOAD_SECONDS must be a positive number of seconds, but is {given!r}.")
    return seconds


def _reason(error: OSError) -> str:
    """The innermost cause, such as a host that cannot be resolved, without the layers of the HTTP library."""
    cause: BaseException = error
    while cause.__cause__ or (cause.__context__ and not cause.__suppress_context__):
        cause = cause.__cause__ or cause.__context__ or cause
    known = " ".join(str(cause).split()).rstrip(". ")
    return known if type(cause) is OSError else f"{type(cause).__name__}: {known}"
