"""How outcomes follow from counts, and how findings are put into words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..methods import PanelRecords

SUPPORTED, PARTLY, NOT_SUPPORTED, NOT_EVALUATED = "supported", "partly supported", "not supported", "not evaluated"

Judgement = tuple[str, str]
"""Outcome and finding."""


@dataclass(frozen=True)
class Claim:
    """A sentence, and what tells from the records whether it holds."""

    text: str
    judge: Callable[[Sequence[PanelRecords]], Judgement]


def outcome(good: int, total: int) -> str:
    """Supported if all of the comparisons are for the claim, not supported if more are against it than for it."""
    if total == 0:
        return NOT_EVALUATED
    return SUPPORTED if good == total else PARTLY if 2 * good >= total else NOT_SUPPORTED


def number(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "infinite"


def span(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def place(name: str, panel: PanelRecords, panels: Sequence[PanelRecords]) -> str:
    return f"{name} on {panel.title}" if len(panels) > 1 else name


def of_all(good: int, total: int, what: str) -> str:
    return f"{good} of {total} {what}{'s' if total != 1 else ''}"
