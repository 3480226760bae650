"""Finding, downloading and refusing files: a local server stands for the publishers, small sets for the real ones."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from datasets_publisher import Publisher

from bsfw.datasets import available, fetch, load, registry
from bsfw.datasets.registry import ENTRIES, Entry, File

TEXT = b"+1 1:1 3:2\n-1 2:0.5\n-1 1:3\n"
OTHER = b"+1 1:1 3:2\n-1 2:0.75\n-1 1:3\n"  # other content, same counts
WRONG = b"+1 1:1 3:2\n-1 2:0.5\n+1 1:3\n"  # one label differs


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def know(monkeypatch: pytest.MonkeyPatch, *files: File, kind: str = "matrix", **changes: object) -> None:
    """Make `toy` a known data set."""
    values: dict[str, object] = {"shape": (3, 4), "size": 4, "positives": 1, **changes}
    entry = Entry("toy", kind, origin="here", licence="none", citation="", files=files, **values)  # type: ignore[arg-type]  # any field
    monkeypatch.setitem(ENTRIES, "toy", entry)


def place() -> str:
    return {row.name: row.place for row in available()}["toy"]


def contents(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# The folder of BSFW_DATA


@pytest.mark.parametrize(
    ("name", "pack"), [("toy", bytes), ("toy.xz", lzma.compress), ("toy.bz2", bz2.compress), ("old", bytes)]
)
def test_a_file_under_bsfw_data_is_read_plain_or_compressed(
    name: str, pack: object, data: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    know(monkeypatch, File("box/toy", "http://127.0.0.1:1/toy", sha256=sha(TEXT), other_names=("old",)))
    assert place() == "download"
    (data / "box").mkdir()
    (data / "box" / name).write_bytes(pack(TEXT))  # type: ignore[operator]  # from a table of mixed types
    assert place() == "BSFW_DATA"
    A, y = load("toy")
    np.testing.assert_array_equal(A.toarray(), [[1, 0, 2, 0], [0, 0.5, 0, 0], [3, 0, 0, 0]])
    np.testing.assert_array_equal(y, [1, -1, -1])
    assert not cache.exists()


def test_a_published_archive_under_bsfw_data_is_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, File("box/toy", "http://127.0.0.1:1/pub/toys.zip", member="in/toy", sha256=sha(TEXT)))
    (data / "box").mkdir()
    with zipfile.ZipFile(data / "box" / "toys.zip", "w") as archive:
        archive.writestr("in/toy", TEXT)
        archive.writestr("in/other", b"x")
    assert load("toy").A.nnz == 4
    assert contents(data) == ["box/toys.zip"]


def test_a_different_file_under_bsfw_data_is_refused_by_its_hash(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, File("box/toy", "http://127.0.0.1:1/toy", sha256=sha(TEXT)))
    (data / "box").mkdir()
    (data / "box" / "toy").write_bytes(OTHER)
    with pytest.raises(ValueError, match=f"box/toy is not the published file: .* {sha(OTHER)} instead of {sha(TEXT)}"):
        load("toy")
    assert contents(data) == ["box/toy"]


def test_a_corrupt_real_file_is_refused(data: Path) -> None:
    (data / "a9a").mkdir()
    (data / "a9a" / "a9a").write_bytes(b"+1 1:1\n")
    with pytest.raises(ValueError, match=r"a9a is not the published file"):
        load("a9a")


def test_a_known_copy_carries_its_note_and_the_published_file_none(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = File("box/toy", "http://127.0.0.1:1/toy", sha256=sha(TEXT), copies={sha(OTHER): "half is three quarters"})
    know(monkeypatch, file)
    (data / "box").mkdir()
    (data / "box" / "toy").write_bytes(OTHER)
    assert load("toy").stand_in == "half is three quarters"
    (data / "box" / "toy").write_bytes(TEXT)
    assert load("toy").stand_in is None


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"shape": (4, 4)}, r"shape \(3, 4\) instead of \(4, 4\)"),
        ({"size": 5}, "stored entries 4 instead of 5"),
        ({"positives": 2}, r"labels \+1 1 instead of 2"),
        ({"classes": (1, 2)}, r"labels \(-1.0, 1.0\) instead of \(1, 2\)"),
    ],
)
def test_without_a_known_hash_the_counts_decide(
    changes: dict[str, object], what: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = File("box/toy", "http://127.0.0.1:1/toy")
    (data / "box").mkdir()
    (data / "box" / "toy").write_bytes(TEXT)
    know(monkeypatch, file)
    load("toy")
    assert contents(data) == ["box/toy"]  # no pin: the folder is the user's
    know(monkeypatch, file, **changes)
    with pytest.raises(ValueError, match=f"box/toy is not the published toy: {what}"):
        load("toy")


def test_a_bsfw_data_that_is_no_folder_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BSFW_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"BSFW_DATA names '.*nowhere', which is not a folder"):
        load("a9a")
    assert load("mushrooms").A.shape == (8124, 112)  # what ships needs no folder


# Downloads


def test_a_plain_file_is_downloaded_once_with_a_progress_bar_and_then_cached(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=sha(TEXT)))
    (publisher.folder / "toy").write_bytes(TEXT)
    assert place() == "download"
    assert publisher.requests == []
    A, _ = load("toy")
    assert A.nnz == 4
    assert "100%" in capfd.readouterr().err
    assert contents(cache) == ["box/toy"]
    assert place() == "cache"
    load("toy")
    assert publisher.requests == ["/toy"]


def test_a_download_with_another_hash_leaves_nothing_behind(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=sha(TEXT)))
    (publisher.folder / "toy").write_bytes(OTHER)
    with pytest.raises(ValueError, match=r"/toy no longer sends the file that was published .*nothing was stored"):
        load("toy")
    assert contents(cache) == []


def test_a_compressed_download_is_checked_by_its_plain_content(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy.bz2", sha256=sha(TEXT)))
    (publisher.folder / "toy.bz2").write_bytes(bz2.compress(OTHER))
    with pytest.raises(ValueError, match="is not the published file"):
        load("toy")
    assert contents(cache) == []
    (publisher.folder / "toy.bz2").write_bytes(bz2.compress(TEXT)[:-5])
    with pytest.raises(ValueError, match="damaged or incomplete"):
        load("toy")
    assert contents(cache) == []
    (publisher.folder / "toy.bz2").write_bytes(bz2.compress(TEXT))
    load("toy")
    assert contents(cache) == ["box/toy.bz2"]


def test_content_of_unknown_hash_is_counted_then_pinned_and_a_later_change_noticed(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy.bz2"))
    (publisher.folder / "toy.bz2").write_bytes(bz2.compress(WRONG))
    with pytest.raises(ValueError, match=r"labels \+1 2 instead of 1"):
        load("toy")
    assert contents(cache) == []

    (publisher.folder / "toy.bz2").write_bytes(bz2.compress(TEXT))
    load("toy")
    assert contents(cache) == ["box/toy.bz2", "box/toy.bz2.pin.json"]
    pin = cache / "box" / "toy.bz2.pin.json"
    assert json.loads(pin.read_text())["sha256"] == sha(TEXT)
    load("toy")

    (cache / "box" / "toy.bz2").write_bytes(bz2.compress(OTHER))
    with pytest.raises(ValueError, match=f"has changed since it was checked .*{sha(OTHER)} instead of {sha(TEXT)}"):
        load("toy")
    assert contents(cache) == ["box/toy.bz2", "box/toy.bz2.pin.json"]

    pin.write_text("{")
    with pytest.raises(ValueError, match=r"pin\.json is not readable"):
        load("toy")


def test_marks_of_another_format_are_cut_from_the_published_file_only(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy.train", f"{publisher.url}/toy.dat", remove=b"|f "))
    (publisher.folder / "toy.dat").write_bytes(TEXT.replace(b"1 ", b"1 |f ", 3))
    assert load("toy").A.nnz == 4
    assert "box/toy.dat" in contents(cache)


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_only_the_named_member_of_a_downloaded_archive_is_read_and_nothing_extracted(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toys.zip", member="in/toy", sha256=sha(TEXT)))
    zipped(publisher.folder / "toys.zip", {"in/README": b"x", "in/toy": TEXT})
    load("toy")
    assert contents(cache) == ["box/toys.zip"]


@pytest.mark.parametrize("name", ["../evil", "in/../../evil", "/etc/evil", "..\\evil", "C:\\evil", "\\evil"])
def test_an_archive_with_a_member_that_leads_out_of_its_folder_is_refused(
    name: str, publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toys.zip", member="in/toy", sha256=sha(TEXT)))
    zipped(publisher.folder / "toys.zip", {"in/toy": TEXT, name: b"x"})
    with pytest.raises(ValueError, match=f"holds a file named {re.escape(repr(name))}, outside of its own folder"):
        load("toy")
    assert contents(cache) == []


def test_an_archive_without_the_member_or_no_archive_at_all_is_refused(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toys.zip", member="in/toy", sha256=sha(TEXT)))
    zipped(publisher.folder / "toys.zip", {"toy": TEXT})
    with pytest.raises(ValueError, match="has no member 'in/toy'"):
        load("toy")
    (publisher.folder / "toys.zip").write_bytes(b"<html>moved</html>")
    with pytest.raises(ValueError, match="damaged or incomplete"):
        load("toy")
    assert contents(cache) == []


def test_a_failed_download_says_which_file_to_put_where(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toys.zip", member="in/toy", sha256=sha(TEXT)))
    with pytest.raises(FileNotFoundError) as caught:
        load("toy")
    message = str(caught.value)
    assert "404" in message
    assert f"get {publisher.url}/toys.zip and put it as box/toys.zip into a folder that" in message
    assert "BSFW_DATA" in message
    assert str(cache / "box" / "toys.zip") in message
    assert "\n" not in message
    assert contents(cache) == []


def test_without_a_network_the_sentence_is_the_same(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BSFW_DATA", raising=False)
    know(monkeypatch, File("box/toy", "http://127.0.0.1:9/toy", sha256=sha(TEXT)))
    with pytest.raises(
        FileNotFoundError, match=r"box/toy is not here and the download failed \(.*refused.*\): get http"
    ):
        load("toy")
    assert contents(cache) == []


def test_what_was_raised_on_the_way_is_not_shown_as_well(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, File("box/toy", "http://127.0.0.1:9/toy", sha256=sha(TEXT)))
    with pytest.raises(FileNotFoundError) as caught:
        load("toy")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("file:///etc/hosts", "leads to another address, which is not followed: .*file:///etc/hosts"),
        ("ftp://127.0.0.1/toy", "leads to another address, which is not followed: .*ftp://127.0.0.1/toy"),
        ("/toy", "exceeded 30 redirects"),
    ],
)
def test_a_redirect_that_is_not_followed_is_reported_as_such(
    location: str, words: str, publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=None))
    publisher.redirects["/toy"] = location
    with pytest.raises(FileNotFoundError, match=f"(?i)the download failed .*({words})"):
        load("toy")
    assert contents(cache) == []


def test_a_redirect_to_another_place_is_followed(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=sha(TEXT)))
    (publisher.folder / "moved").write_bytes(TEXT)
    publisher.redirects["/toy"] = "/moved"
    assert load("toy").A.nnz == 4


def test_https_does_not_lead_to_http() -> None:
    assert fetch._refused_hop(["https://a/x", "https://b/x"]) is None
    assert fetch._refused_hop(["http://a/x", "http://b/x"]) is None
    assert fetch._refused_hop(["https://a/x", "http://b/x", "https://c/x"]) == "http://b/x"


@pytest.mark.parametrize("how", ["stalls", "drips"])
def test_a_download_that_stalls_is_given_up(
    how: str, publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=sha(TEXT)))
    getattr(publisher, how).add("/toy")
    monkeypatch.setattr(fetch, "STALLED", 0.5)
    monkeypatch.setenv("BSFW_DOWNLOAD_SECONDS", "1.5")
    words = "not a byte for 0.5 s" if how == "stalls" else "took longer than 1.5 s.*BSFW_DOWNLOAD_SECONDS"
    started = time.monotonic()
    with pytest.raises(FileNotFoundError, match=f"the download failed .*{words}"):
        load("toy")
    assert time.monotonic() - started < 30
    assert contents(cache) == []


def test_a_download_that_breaks_off_leaves_nothing_behind(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=sha(TEXT)))
    publisher.stalls.add("/toy")
    publisher.closing.set()
    with pytest.raises(FileNotFoundError, match="the download failed"):
        load("toy")
    assert contents(cache) == []


def test_a_download_is_not_larger_than_a_file_may_be(
    publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy", sha256=sha(TEXT)))
    (publisher.folder / "toy").write_bytes(TEXT * 100)
    monkeypatch.setenv("BSFW_MAX_EXPANDED", "1000")
    with pytest.raises(ValueError, match="BSFW_MAX_EXPANDED"):
        load("toy")
    assert contents(cache) == []


# Bombs and archives that cannot be read


def encrypted(path: Path) -> None:
    zipped(path, {"in/toy": TEXT})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag, in the central directory and before the member
    content[content.index(b"PK\x03\x04") + 6] |= 1
    path.write_bytes(content)


def unknown_compression(path: Path) -> None:
    zipped(path, {"in/toy": TEXT})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 10] = content[content.index(b"PK\x03\x04") + 8] = 97
    path.write_bytes(content)


def zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/toy", bytes(2**28))


@pytest.mark.parametrize(
    ("make", "words"),
    [(encrypted, "damaged"), (unknown_compression, "damaged"), (zip_bomb, r"0\.27 GB or more.*BSFW_MAX_EXPANDED")],
)
def test_a_downloaded_archive_that_cannot_be_read_does_not_stay_in_the_cache(
    make: Callable[[Path], None], words: str, publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toys.zip", member="in/toy", sha256=sha(TEXT)))
    make(publisher.folder / "toys.zip")
    with pytest.raises(ValueError, match=words):
        load("toy")
    assert contents(cache) == []


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_a_compressed_bomb_is_refused_before_it_has_expanded(
    pack: Callable[[bytes], bytes], publisher: Publisher, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, File("box/toy", f"{publisher.url}/toy.bz2", sha256=sha(TEXT)))
    (publisher.folder / "toy.bz2").write_bytes(pack(b"+1 1:1\n" * 100_000))  # 0.7 MB from a few hundred bytes
    monkeypatch.setattr("bsfw._files.SMALL", 2**18)
    with pytest.raises(ValueError, match=r"expands to .* or more, .*BSFW_MAX_EXPANDED"):
        load("toy")
    assert contents(cache) == []
    monkeypatch.setenv("BSFW_MAX_EXPANDED", "1e6")
    with pytest.raises(ValueError, match="is not the published file"):
        load("toy")


def test_what_a_failed_download_asks_for_is_found_where_it_says(data: Path) -> None:
    for entry in ENTRIES.values():
        for file in entry.files:
            target = data / file.published_path
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(b"")
    assert {row.place for row in available()} == {"bundled", "BSFW_DATA"}


# The table


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown data set 'mushroom'; known are mushrooms, breast-cancer, .*ml-1m"):
        load("mushroom")


def test_the_table_is_consistent() -> None:
    names = get_args(registry.MatrixName) + get_args(registry.RatingsName)
    assert tuple(ENTRIES) == names
    assert {name for name in ENTRIES if ENTRIES[name].kind == "ratings"} == set(get_args(registry.RatingsName))
    for entry in ENTRIES.values():
        assert (entry.kind == "bundled") == (not entry.files)
        for file in entry.files:
            assert file.url.startswith("https://")
            assert (file.member is not None) == file.url.endswith(".zip")
            for digest in (file.sha256, *file.copies):
                assert digest is None or re.fullmatch("[0-9a-f]{64}", digest)


def test_available_lists_every_set_without_network_or_reading(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.delenv("BSFW_DATA", raising=False)
    rows = {row.name: row for row in available()}
    assert list(rows) == list(ENTRIES)
    assert rows["mushrooms"] == ("mushrooms", (8124, 112), 170_604, "CC BY 4.0", "bundled")
    assert rows["rcv1_train.binary"].place == "download"
    (cache / "ml-100k").mkdir(parents=True)
    (cache / "ml-100k" / "u.data").write_bytes(b"")
    # One of its two files is missing still.
    assert {row.name: row for row in available()}["ml-100k"].place == "download"
    (cache / "ml-100k" / "u1.test").write_bytes(b"")
    assert {row.name: row for row in available()}["ml-100k"].place == "cache"
