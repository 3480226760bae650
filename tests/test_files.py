"""Files: written whole or not at all, locked by one process, and read within limits."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsfw._files import atomic_write, expanded_limit, locked, read_npz


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs `code` and has printed a line by the time this returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, time\nfrom bsfw._files import *\n" + code, *arguments],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen[str], how: int | None = None) -> None:
    if how is not None:
        process.send_signal(how)
    process.communicate(timeout=60)


WRITE = """
with atomic_write(sys.argv[1]) as file:
    file.write(b"half"); file.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""
HOLD = """
with locked(sys.argv[1]):
    print("ready", flush=True)
    sys.stdin.read()
"""

# Writing


def test_a_file_replaces_the_old_one_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with atomic_write(path, "w") as file:
        file.write("one\n")
        assert not path.exists()
    assert path.read_text() == "one\n"
    with pytest.raises(ZeroDivisionError), atomic_write(path, "w") as file:
        file.write(str(1 / 0))
    assert path.read_text() == "one\n"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link_and_the_file_it_names_is_replaced(there: bool, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "real", tmp_path / "link"
    if there:
        real.write_bytes(b"old")
    link.symlink_to(real)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(tmp_path / "disk") == ["real"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"), atomic_write(tmp_path):
        pass
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is no regular file"), atomic_write(tmp_path / "pipe"):
        pass
    with pytest.raises(FileNotFoundError, match="create it first"), atomic_write(tmp_path / "nowhere" / "a"):
        pass
    assert names(tmp_path) == ["pipe"]


def test_the_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    # A limit on the size of files stands for the disk; in a process of its own, for it stays.
    code = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with atomic_write(sys.argv[1]) as file:
        file.write(bytes(10**6))
except OSError as error:
    assert error.filename == sys.argv[1], error
    assert "too large" in str(error), error
    print("ready", flush=True)
"""
    end(child(code, str(tmp_path / "run.npz")))
    assert names(tmp_path) == []


def test_an_error_that_names_its_own_file_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), atomic_write(tmp_path / "a"):
        (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(OSError, match=r"No space.*'.*/a'"), atomic_write(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_parts_of_killed_processes_are_removed_by_the_next_save_and_those_of_living_ones_not(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    killed, living = child(WRITE, str(path)), child(WRITE, str(path))
    other = tmp_path / ".other.npz.00.part"  # of another file
    other.write_bytes(b"")
    assert len(names(tmp_path)) == 3
    end(killed, signal.SIGKILL)
    assert len(names(tmp_path)) == 3
    with atomic_write(path) as file:
        file.write(b"whole")
    left = names(tmp_path)
    assert len(left) == 3
    assert {".other.npz.00.part", "run.npz"} <= set(left)
    end(living)  # reads the end of its input, and saves
    assert path.read_bytes() == b"half"
    assert names(tmp_path) == [".other.npz.00.part", "run.npz"]


def test_many_threads_may_save_to_one_path(tmp_path: Path) -> None:
    path, faults = tmp_path / "a", []

    def save(letter: int) -> None:
        try:
            for _ in range(50):
                with atomic_write(path) as file:
                    file.write(bytes([letter]) * 1000)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=save, args=(65 + k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(set(path.read_bytes())) == 1
    assert names(tmp_path) == ["a"]


# Locks


def test_a_locked_path_is_refused_to_others_and_the_holder_named(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    holder = child(HOLD, str(path))
    with pytest.raises(BlockingIOError, match=f"run.npz is in use by process {holder.pid} on "), locked(path):
        pass
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(BlockingIOError), locked(link):
        pass
    with locked(tmp_path / "another.npz"):
        pass
    end(holder)
    with locked(path):
        pass
    assert names(tmp_path) == ["link"]


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    end(child(HOLD, str(path)), signal.SIGKILL)
    assert names(tmp_path) == [".run.npz.lock"]
    with locked(path), pytest.raises(BlockingIOError, match=f"process {os.getpid()}"), locked(path):
        pass
    assert names(tmp_path) == []


def test_only_one_of_many_threads_holds_a_lock(tmp_path: Path) -> None:
    held, most, turns = [0], [0], [0]

    def take() -> None:
        for _ in range(200):
            try:
                with locked(tmp_path / "a"):
                    held[0] += 1
                    most[0] = max(most[0], held[0])
                    turns[0] += 1
                    held[0] -= 1
            except BlockingIOError:
                pass

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert turns[0] > 0
    assert names(tmp_path) == []


# Reading

ARRAYS = {
    "x": np.linspace(0, 1, 7),
    "table": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "flags": np.array([True, False]),
    "text": np.array("ä text"),
    "one": np.array(3),
    "none": np.zeros((0, 5)),
    "single": np.ones((2, 3, 1), dtype=np.float32),
    "complex": np.ones(2, dtype=complex),
    "records": np.array([(3, 0.5)], dtype=[("count", "<i8"), ("scale", "<f8")]),
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    np.savez(tmp_path / "a.npz", **ARRAYS)
    return tmp_path / "a.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back_as_they_were_and_can_be_written_to(save: Callable[..., None], tmp_path: Path) -> None:
    save(tmp_path / "a.npz", **ARRAYS)
    found = read_npz(tmp_path / "a.npz")
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].flags.writeable
        assert found[name].flags.aligned
        np.testing.assert_array_equal(found[name], array)


def refusal(path: Path) -> str:
    """The sentence with which a file is refused, or its name if it is not: anything but a ValueError is an error."""
    try:
        read_npz(path)
    except ValueError as error:
        return str(error)
    return str(path)


def test_every_truncation_and_flipped_byte_is_an_array_or_a_value_error(archive: Path, tmp_path: Path) -> None:
    whole, path = archive.read_bytes(), tmp_path / "b.npz"
    rng = np.random.default_rng(0)
    for k in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[k] ^= int(rng.integers(1, 256))
        for content in (damaged, whole[:k]):
            path.write_bytes(content)
            assert str(path) in refusal(path)


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_headers_that_lie_are_refused(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "lies.npz"
    simple = ["<f8", ">i4", "|O", "|V8", "<M8[s]", "<U100000000", "|S0", "nonsense", "<c16"]
    records = [
        [("a", "<f8"), ("b", "|O")],
        [("a", "<i8"), ("b", "<M8[s]")],
        [("a", "<f8", (10**9,))],
        [("", "|V8")],
        [],
    ]
    descr = data.draw(st.sampled_from([*simple, *records]))
    shape = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, -1, 10**6, 2**62, 10**30]), max_size=3))
    header = data.draw(st.sampled_from([
        f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}, }}",
        f"{{'descr': {descr!r}, 'shape': 5, }}", "(" * 500, "{'descr'", "\0\0", "'a", "{}", "[]", "1e999", "...",
    ]))  # fmt: skip
    text = header.encode("latin1") + b"\n"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24))
    sentence = refusal(path)
    assert "lies.npz" in sentence
    assert "\n" not in sentence
    if sentence == str(path):
        assert read_npz(path)["x"].nbytes in (0, 24)


def written(path: Path, change: Callable[[zipfile.ZipInfo], None], compression: int = zipfile.ZIP_STORED) -> None:
    """An archive of one array whose zip headers say something else."""
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    with zipfile.ZipFile(path, "w", compression) as made:
        made.writestr("x.npy", buffer.getvalue())
        change(made.filelist[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda info: setattr(info, "flag_bits", 1), "damaged"),  # encrypted
        (lambda info: setattr(info, "compress_type", 97), "damaged"),
        (lambda info: setattr(info, "file_size", 2**33), "8.6 GB"),
        (lambda info: setattr(info, "CRC", 0), "damaged"),
        (lambda info: setattr(info, "header_offset", 10**6), "damaged"),
    ],
)
def test_zip_headers_that_lie_are_refused(change: Callable[[Any], None], words: str, tmp_path: Path) -> None:
    written(tmp_path / "a.npz", change)
    with pytest.raises(ValueError, match=f"a.npz .*{words}"):
        read_npz(tmp_path / "a.npz")


def test_no_object_is_ever_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"a\.npz .*object"):
        read_npz(tmp_path / "a.npz")


def test_a_bomb_is_refused_before_it_is_expanded_unless_the_limit_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, **{f"x{k}": np.zeros(2**22) for k in range(5)})  # 5 times 32 MiB
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"bomb.npz .*0\.17 GB .*more than 0\.13 GB.*BSFW_MAX_EXPANDED"):
        read_npz(path)
    with pytest.raises(ValueError, match="bomb"):
        read_npz(path, limit=10**6)
    monkeypatch.setenv("BSFW_MAX_EXPANDED", "1e9")
    assert len(read_npz(path)) == 5


def test_the_limit_grows_with_the_file_up_to_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BSFW_MAX_EXPANDED", raising=False)
    assert expanded_limit(0) == expanded_limit(1000) == 2**27
    assert expanded_limit(10**7) == 10**9
    assert expanded_limit(10**12) == 2**33
    monkeypatch.setenv("BSFW_MAX_EXPANDED", "5000")
    assert expanded_limit(10**12) == 5000
    for nonsense in ("many", "-1", "nan", ""):
        monkeypatch.setenv("BSFW_MAX_EXPANDED", nonsense)
        if nonsense:
            with pytest.raises(ValueError, match="BSFW_MAX_EXPANDED must be a number of bytes"):
                expanded_limit(1)
        else:
            assert expanded_limit(1) == 2**27


def test_what_is_no_archive_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.npz"):
        read_npz(tmp_path / "nothing.npz")
    with pytest.raises(IsADirectoryError):
        read_npz(tmp_path)
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match="no regular file"):
        read_npz(tmp_path / "pipe.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ValueError, match=r"text\.npz is no \.npz archive, or it is damaged"):
        read_npz(tmp_path / "text.npz")
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as made:
        made.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match=r"other\.npz .*'readme\.txt', which is no array"):
        read_npz(tmp_path / "other.npz")
