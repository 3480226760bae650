"""The harness of hostile calls over the whole public surface, and damaged files: answered, or refused in a sentence.

In processes of their own with limits on time and memory. `scripts/fuzz` makes more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hostile_calls
import hostile_parsers
import pytest
from hostile_campaign import ENVIRONMENT, SECONDS, Summary, campaign
from hostile_sandbox import Sandbox

KNOWN = {
    line.strip() for line in (Path(__file__).parent / "known.txt").read_text().splitlines() if line[:1] not in ("", "#")
}
"""What is known and waits to be mended; to be made shorter only."""
FEW = 0.75
"""Of the names must have recipes with which their call works, or the harness tests nothing but refusals."""


pytestmark = pytest.mark.xdist_group("hostile")  # one sandbox for all: its imports take seconds


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(SECONDS, modules=("hostile_calls", "hostile_parsers"), environment=ENVIRONMENT) as made:
        yield made


def offenders(source: str, cases: int, sandbox: Sandbox) -> dict[str, str]:
    found = campaign(source, Summary(0, 0), cases, sandboxes=[sandbox])
    print(found.table())
    return {key: f"case {one.number}, {one.call}: {one.text}" for key, one in found.offenders.items()}


def test_hostile_calls_are_answered_or_refused_in_a_sentence(sandbox: Sandbox) -> None:
    found = offenders("hostile_calls", 2000, sandbox)
    assert {key: text for key, text in found.items() if key not in KNOWN} == {}


def test_damaged_files_are_read_or_refused(sandbox: Sandbox) -> None:
    found = offenders("hostile_parsers", hostile_parsers.cases(turns=40), sandbox)
    assert {key: text for key, text in found.items() if key not in KNOWN} == {}


@pytest.mark.parametrize("kind", hostile_parsers.PARSERS)
def test_sound_files_are_read(kind: str, sandbox: Sandbox) -> None:
    assert sandbox.call("hostile_parsers:works", kind).answer is True


def test_the_recipes_are_sound(sandbox: Sandbox) -> None:
    names = [name for name in sorted(hostile_calls.surface()) if not name.startswith(hostile_calls.SLOW)][::6]
    outcomes = {name: sandbox.call("hostile_calls:works", name, True, unlimited=True) for name in names}
    failed = {name: outcome.text for name, outcome in outcomes.items() if outcome.kind != "returned"}
    assert len(failed) <= (1.0 - FEW) * len(names), failed


def test_every_public_name_has_its_turn() -> None:
    import bsfw

    names = set(hostile_calls.surface())
    assert {"minimize", "Logistic", "Logistic.value", "L1Ball.lmo", "datasets.read_libsvm", "resume"} <= names
    callables = [name for name in bsfw.__all__ if callable(getattr(bsfw, name))]
    assert len([name for name in callables if name in names]) >= 0.85 * len(callables)  # the others are abstract


def test_a_crash_a_hang_and_too_much_memory_are_seen() -> None:
    with Sandbox(seconds=3.0, megabytes=300, modules=("hostile_faults",)) as sandbox:
        assert sandbox.call("hostile_faults:crash").error == "SIGSEGV"
        assert sandbox.call("hostile_faults:sound").answer == 1
        assert sandbox.call("hostile_faults:hang").kind == "hang"
        assert sandbox.call("hostile_faults:memory").error == "MemoryError"
        assert sandbox.call("hostile_faults:sound").answer == 1
        assert not sandbox.call("hostile_faults:short").acceptable
        assert sandbox.call("hostile_faults:sentence").acceptable
        assert sandbox.starts == 3
