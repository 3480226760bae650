"""Malformed sparse data: refused in a sentence, in a process of its own, for what is not refused crashes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hostile_sandbox import Sandbox
from hostile_sparse import DAMAGES


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(seconds=300.0, modules=("hostile_sparse",)) as made:
        yield made


CASES = [
    (use, format, damage)
    for use in ("minimize", "choose_radius", "quadratic")
    for format, damages in DAMAGES.items()
    for damage in damages
    if (use, format) != ("quadratic", "bsr")  # its blocks would all be of size one
]


@pytest.mark.parametrize(("use", "format", "damage"), CASES)
def test_malformed_sparse_data_is_refused(use: str, format: str, damage: str, sandbox: Sandbox) -> None:
    outcome = sandbox.call(f"hostile_sparse:{use}", format, damage)
    assert outcome.refused, outcome
    assert outcome.error == "ValueError", outcome
    assert "ind" in outcome.text, outcome


@pytest.mark.parametrize("format", ["csr", "coo", "bsr"])
def test_one_based_data_is_called_by_its_name(format: str, sandbox: Sandbox) -> None:
    assert "one-based" in sandbox.call("hostile_sparse:minimize", format, "one-based").text
    assert "one-based" not in sandbox.call("hostile_sparse:minimize", format, "index far").text


@pytest.mark.parametrize("what", ["indices", "indptr", "data", "y", "weight"])
def test_what_the_caller_changes_afterwards_changes_nothing(what: str, sandbox: Sandbox) -> None:
    assert sandbox.call("hostile_sparse:changed_afterwards", what).answer is True


def test_a_dense_matrix_is_the_objectives_own_too(sandbox: Sandbox) -> None:
    assert sandbox.call("hostile_sparse:changed_dense").answer is True
    assert sandbox.call("hostile_sparse:changed_quadratic", True).answer is True
    assert sandbox.call("hostile_sparse:changed_quadratic", False).answer is True
