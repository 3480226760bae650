"""Readers of bytes from outside, under hypothesis: any bytes are read, or refused in a sentence.

Cases of damaged files in processes of their own are in test_hostile_calls; with coverage as a guide,
``scripts/fuzz --atheris libsvm``.
"""

from __future__ import annotations

import pytest
from hostile_parsers import PARSERS, WORDS, damaged, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from bsfw.datasets import read_libsvm

IN_PROCESS = [kind for kind in PARSERS if kind != "checkpoint" and not kind.startswith("block")]
"""Those that reckon with what they have read are for the sandbox only."""


def sentence(kind: str, content: bytes) -> str:
    """With what the content is refused, or that it is not; any other error is one."""
    try:
        PARSERS[kind](content)
    except (ValueError, TypeError, OSError) as error:
        return str(error)
    return "it is read without complaint"


@pytest.mark.parametrize("kind", IN_PROCESS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_bytes_are_read_or_refused_in_a_sentence(kind: str, data: st.DataObject) -> None:
    pieces = st.one_of(st.sampled_from([*WORDS, *samples(kind)]), st.binary(max_size=20))
    content = b"".join(data.draw(st.lists(pieces, max_size=8)))
    assert len(sentence(kind, content).split()) >= 4


@pytest.mark.parametrize("kind", IN_PROCESS)
@settings(deadline=None, max_examples=60)
@given(number=st.integers(0, 10**9))
def test_damaged_content_is_read_or_refused_in_a_sentence(kind: str, number: int) -> None:
    assert len(sentence(kind, damaged(kind, number)).split()) >= 4


def slow_libsvm(text: str) -> list[tuple[float, dict[int, float]]]:
    """The format as one would read it aloud; ValueError where it is something else."""
    rows = []
    for line in text.split("\n"):
        tokens = line.partition("#")[0].split()
        if not tokens:
            continue
        entries: dict[int, float] = {}
        for token in tokens[1:]:
            index, value = token.split(":")
            if not index.isascii() or not index.isdigit() or int(index) <= max(entries, default=0):
                raise ValueError(token)
            entries[int(index)] = float(value)
        rows.append((float(tokens[0]), entries))
    return rows


NUMBERS = st.sampled_from(
    ["1", "-1", "+1", "0", "0.5", ".5", "5.", "1e-3", "-2E+4", "1e400", "nan", "--1", "1.2.3", ""]
)
TOKENS = st.builds("{}:{}".format, st.sampled_from(["1", "2", "3", "03", "10", "-1", "x", ""]), NUMBERS)
LINES = st.builds(lambda label, tokens, end: " ".join([label, *tokens]) + end, NUMBERS,
                  st.lists(TOKENS, max_size=3), st.sampled_from(["\n", " \n", "\r\n", "# 7:7\n", ""]))  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(lines=st.lists(LINES, min_size=1, max_size=4))
def test_libsvm_text_means_what_a_slow_reader_says(lines: list[str]) -> None:
    text = "".join(lines)
    try:
        A, y = read_libsvm(text.encode(), zero_based=False)
    except ValueError:
        return  # stricter than float(): no nan, no infinity
    rows = slow_libsvm(text)
    assert y.tolist() == [label for label, _ in rows]
    for k, (_, entries) in enumerate(rows):
        assert dict(zip((A[[k]].indices + 1).tolist(), A[[k]].data.tolist(), strict=True)) == entries


def test_good_libsvm_text_is_not_refused() -> None:
    A, y = read_libsvm(b"1 1:0.5 3:-2E+4 # 7:7\n\n-1\t2:.5\r\n+1\n", zero_based=False)
    assert A.toarray().tolist() == [[0.5, 0.0, -2e4], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]
    assert y.tolist() == [1.0, -1.0, 1.0]
