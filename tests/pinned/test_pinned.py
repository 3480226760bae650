"""Results do not change unnoticed: every engine repeats the numbers it gave when they were pinned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pins import FILE, cases

SEARCHING = ("corrective", "line-search", "exact", "backtracking", "adaptive")
"""Rounding decides how often a search asks."""
UP_TO = {"pairwise exact": 2}
"""Rows before the first tie: where an exact search ended, the two atoms have the same slope, and rounding picks the
next."""
PINNED = json.loads(FILE.read_text())


def test_every_case_is_pinned() -> None:
    assert set(cases()) == set(PINNED)


def compiling(name: str) -> Any:
    """The case, in the group of the kernels that it compiles."""
    groups = {"KSparse": "k-sparse", "GroupBall": "groups", "dense": "dense", "compiled": "one-hot"}
    group = next((group for word, group in groups.items() if word in name), None)
    return pytest.param(name, marks=[] if group is None else pytest.mark.xdist_group(group))


@pytest.mark.parametrize("name", [compiling(name) for name in cases()])
def test_a_run_repeats_the_pinned_numbers(name: str) -> None:
    found, pinned = cases()[name](), PINNED[name]
    scale = np.abs(pinned["gap"]).max()
    rows = slice(UP_TO.get(name))
    np.testing.assert_allclose(found["value"][rows], pinned["value"][rows], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["gap"][rows], pinned["gap"][rows], rtol=1e-9, atol=1e-9 * scale)
    if not any(word in name for word in SEARCHING):
        assert found["sample_gradients"] == pinned["sample_gradients"]
        assert found["coordinate_gradients"] == pinned["coordinate_gradients"]
