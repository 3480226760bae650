"""Everything that reads bytes from outside, and bytes to give it: sound ones with damages, and nonsense.

A case is a number, from which the bytes follow. `PARSERS` is what the tests, `scripts/fuzz` and atheris have in common:
each function takes bytes and returns, or raises a ValueError (or an error of the file system) in a sentence.
"""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import bsfw

WORDS = [b"nan", b"inf", b"-", b"1e999", b":", b"#", b"qid", b"\n", b"\r\n", b"\t", b" ", b"0", b"9" * 30, b"::", b",",
         b"[[", b"]]", b"{", b"}", b'"', b"=", b"null", b"../", b"\0", b"\xff\xfe", b"[" * 2000, b"1" * 5000, b"NUMPY",
         b"PK\x01\x02", b"PK\x03\x04", b"1979-05-27", b"true", b"'''", b"\\u0000", b"-1", b"4294967296"]  # fmt: skip
NUMBERS: list[Any] = [None, -1, 0, 1, 2, 2**31, 2**63, 10**30, 1.5, 1e308, True, "", "x", [], [1], {}, "../../x", [[]]]


# Bytes


@cache
def samples(kind: str) -> tuple[bytes, ...]:
    """Sound content of that kind, to be damaged."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(_samples(kind, Path(folder)))


def _samples(kind: str, folder: Path) -> list[bytes]:
    if kind == "libsvm":
        return [b"+1 1:1 3:2\n-1 2:0.5 # comment\n\n-1 1:3e-5 4:.5\n", b"3\n1 2147483647:1\n", b""]
    if kind == "ratings":
        return [
            b"7\t30\t4\t8\n2\t10\t3\t1\n",
            b"7::30::4::9\n2::10::3\n",
            b"user,item,rating\r\n7,30,4.0\r\n2,10,3.5\r\n",
        ]
    if kind == "specification":
        return [_SPECIFICATION]
    if kind == "manifest":
        return [_MANIFEST]
    if kind == "network":
        return [_NETWORK]
    if kind == "table":
        return [b"a,b,y\n1,2.5,1\n3,4e-2,-1\n"]
    if kind == "counts":
        return [json.dumps({"X": {"0": 5, "1": 3}, "Y": {"0": 4, "1": 4}, "Z": {"0": 8}}).encode()]
    if kind in BLOCKS:
        return [path.read_bytes() for path in _blocks(folder).rglob(BLOCKS[kind])]
    path = folder / "run.npz"
    if kind == "trace":
        _result().trace.save(path)
        return [path.read_bytes()]
    if kind == "model":
        _model().save(path)
        return [path.read_bytes()]
    return [_checkpoint(method, folder / f"{k}.npz") for k, method in enumerate(METHODS)]


BLOCKS = {
    "blocks": "manifest.json", "block columns": "columns.npy", "block starts": "starts.npy", "block rows": "rows.npy",
    "block labels": "y.npy",
}  # fmt: skip
"""The files of a folder of blocks."""
MOST_COLUMNS = 10**6
METHODS: list[dict[str, Any]] = [dict(method="boosted"), dict(method="away"), dict(estimator=bsfw.JAGUAR())]
"""Of the runs whose checkpoints are damaged."""

_SPECIFICATION = b"""
estimators = ["saga", "heavy-ball"]
batch_size = 4
runs = 2
iterations = 5
[[panel]]
[panel.problem]
data = "breast-cancer"
objective = "logistic"
set = "l1"
radius = 50
"""
_NETWORK = b"""<NUMBER OF ZONES> 2
<NUMBER OF NODES> 4
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 2
<END OF METADATA>
~ init term capacity length fft b power speed toll type ;
 1 3 10 1.5 2 0.15 4 30 7 1 ;
 3 2 10 1 2 0.15 4 30 0 1 ;
%%
<NUMBER OF ZONES> 2
<END OF METADATA>
Origin 1
 1 : 3.0;  2 : 9.5 ;
%%
From To Volume Cost
1 3 5 0
3 2 5 0
"""
"""Links, trips and flows, parted by %%."""
_MANIFEST = json.dumps(
    {
        "name": "manifest", "title": "t", "view": "convergence", "reference": "", "claim": "",
        "panels": [{"title": "p", "parameters": {"radius": "1"}, "tasks": []}],
    }
).encode()  # fmt: skip


def _problem() -> tuple[Any, Any]:
    return bsfw.Quadratic(np.diag([1.0, 2.0, 3.0, 4.0]), np.linspace(-1.0, 1.0, 4)), bsfw.Box(-1.0, 1.0)


def _result() -> Any:
    return bsfw.minimize(*_problem(), max_iter=3)


def _model() -> Any:
    objective = bsfw.Multinomial(np.arange(32.0).reshape(8, 4) % 5 - 2.0, np.arange(8) % 3)
    return bsfw.Model.of(objective, bsfw.minimize(objective, bsfw.L2Ball(1.0), max_iter=3))


def _checkpoint(options: dict[str, Any], path: Path) -> bytes:
    bsfw.minimize(*_problem(), max_iter=4, gap_tol=0.0, checkpoint=path, every=2, rng=0, **options)
    return path.read_bytes()


def _blocks(folder: Path) -> Path:
    A = np.arange(32.0).reshape(8, 4) % 3
    bsfw.blocks.write(folder / "blocks", sp.csr_array(A), np.arange(8) % 2)
    return folder / "blocks"


def damaged(kind: str, number: int) -> bytes:
    """The bytes of case `number`."""
    rng = random.Random(f"{kind} {number}")
    content = bytearray(rng.choice(samples(kind)))
    if rng.random() < 0.02:
        return rng.randbytes(rng.randrange(200))
    if kind in ("trace", "model", "checkpoint") and rng.random() < 0.8:
        return _edited_archive(bytes(content), rng)
    if kind.startswith("block ") and rng.random() < 0.7:
        return _edited_file(bytes(content), rng)
    if kind in ("manifest", "blocks", "counts") and rng.random() < 0.7:
        return json.dumps(_edited(json.loads(content), rng)).encode()
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(content) + 1)
        change = rng.randrange(5)
        if change == 0:
            content[place:place] = rng.choice(WORDS)
        elif change == 1:
            del content[place : place + rng.choice((1, 2, 10, 1000))]
        elif change == 2 and place < len(content):
            content[place] ^= 1 << rng.randrange(8)
        elif change == 3:
            other = rng.randrange(len(content) + 1)
            content[place:place] = content[other : other + rng.randrange(50)]
        else:
            content[place : place + rng.randrange(8)] = rng.choice(WORDS)
    return bytes(content)


def _edited(value: Any, rng: random.Random) -> Any:
    """A JSON value with something in it replaced, removed or added."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        if rng.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _edited(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [*value[:place], _edited(value[place], rng), *value[place + 1 :]]
    return rng.choice(NUMBERS)


def _edited_archive(content: bytes, rng: random.Random) -> bytes:
    """An .npz archive whose zip is sound, and whose arrays are not."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(arrays))
        array = arrays[name]
        if array.dtype.kind == "U" and array.ndim == 0 and rng.random() < 0.9:
            arrays[name] = np.array(_edited_text(str(array), rng))
        else:
            arrays[name] = _edited_array(array, rng)
        if rng.random() < 0.1:
            del arrays[name]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _edited_file(content: bytes, rng: random.Random) -> bytes:
    """An .npy file that is sound, of an array that is not."""
    buffer = io.BytesIO()
    np.save(buffer, _edited_array(np.load(io.BytesIO(content)), rng))
    return buffer.getvalue()


def _edited_text(text: str, rng: random.Random) -> str:
    """JSON with something in it changed; of an earlier edit that left no JSON, its beginning."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text[: rng.randrange(len(text) + 1)]
    return json.dumps(_edited(value, rng))


def _edited_array(array: Any, rng: random.Random) -> Any:
    change = rng.randrange(8)
    if change == 0:
        return array[:-1] if array.ndim and len(array) else np.zeros(3)
    if change == 1:
        return np.zeros((2, 3))
    if change == 2 and array.dtype.kind in "fc" and array.size:
        return np.where(np.arange(array.size).reshape(array.shape) == 0, rng.choice([np.nan, np.inf, -1e308]), array)
    if change == 3 and array.dtype.kind in "iu" and array.size:
        return np.where(
            np.arange(array.size).reshape(array.shape) == 0, rng.choice([-1, 2**31, 2**62, -(2**62)]), array
        )
    if change == 4:
        with np.errstate(invalid="ignore", over="ignore"):  # NaN as an integer, 1e308 in single precision
            return array.astype(rng.choice(["f4", "i8", "c16", ">f8", "U20"])) if array.dtype.kind in "biuf" else array
    if change == 5:
        return np.concatenate([array.ravel(), array.ravel()])
    if change == 6:
        return np.array("text")
    return array[None]


# Readers


def _ratings(content: bytes) -> None:
    from bsfw.datasets.fetch import Fetched
    from bsfw.datasets.ratings import _read

    _read(Fetched(content, Path("ratings"), None))


def _at_a_path(suffix: str, read: Callable[[Path], Any]) -> Callable[[bytes], None]:
    def parse(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / suffix
            path.write_bytes(content)
            read(path)

    return parse


def _resume(path: Path) -> None:
    bsfw.resume(path, *_problem(), max_iter=6)


def _specification(path: Path) -> None:
    from bsfw.experiments.spec import plan

    plan(str(path))


def _manifest(path: Path) -> None:
    from bsfw.experiments.records import read_manifest

    read_manifest(path)


def _network(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for part, text in zip(("net", "trips", "flow"), content.split(b"%%\n"), strict=False):
            Path(folder, f"toy_{part}.tntp").write_bytes(text)
        bsfw.datasets.read_tntp(Path(folder, "toy"))


def _counts(content: bytes) -> None:
    bsfw.quantum.StateTomography.from_counts(json.loads(content))


def _use_blocks(kind: str) -> Callable[[bytes], None]:
    """Put the content in place of a file of a sound folder, and use the blocks: indices go into compiled code."""

    def parse(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = _blocks(Path(folder))
            for path in made.rglob(BLOCKS[kind]):
                path.write_bytes(content)
            objective = bsfw.Logistic(bsfw.blocks.open_blocks(made, threads=1))
            if objective.shape[0] <= MOST_COLUMNS:  # of more, x alone takes what it takes
                objective.gradient(np.full(objective.shape, 0.5))

    return parse


PARSERS: dict[str, Callable[[bytes], Any]] = {
    "libsvm": lambda content: bsfw.datasets.read_libsvm(content),
    "ratings": _ratings,
    "specification": _at_a_path("own.toml", _specification),
    "manifest": _at_a_path("manifest.json", _manifest),
    "network": _network,
    "table": _at_a_path("a.csv", bsfw.datasets.read_table),
    "counts": _counts,
    **{kind: _use_blocks(kind) for kind in BLOCKS},
    "trace": _at_a_path("a.npz", bsfw.Trace.load),
    "model": _at_a_path("a.npz", bsfw.load_model),
    "checkpoint": _at_a_path("a.npz", _resume),
}


def build(number: int) -> tuple[str, int]:
    turn, place = divmod(number, len(PARSERS))
    return sorted(PARSERS)[place], turn


def describe(number: int) -> str:
    kind, turn = build(number)
    return f"read {kind}({turn})"


def unlimited(number: int) -> bool:
    return False


def run(number: int) -> str:
    """Read the bytes of a case."""
    kind, turn = build(number)
    PARSERS[kind](damaged(kind, turn))
    return kind


def cases(turns: int) -> int:
    return turns * len(PARSERS)


def works(kind: str) -> bool:
    """Whether sound content is read."""
    for content in samples(kind):
        if content:
            PARSERS[kind](content)
    return True
