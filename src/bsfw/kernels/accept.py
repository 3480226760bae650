"""The rule by which Boost accepts a vertex: one for all of its forms, compiled or not."""

from __future__ import annotations

import math


def accept(
    m_norm: float, alignment: float, min_gain: float, closest: float, pp: float, pm: float, uu: float, um: float,
    upsi: float,
) -> tuple[float, float]:  # fmt: skip
    """Lines 6-12 of Algorithm Boost from five inner products: those of psi and u = v - x with themselves, with m and
    with each other.

    Returns the weight lambda of this round's vertex and the alignment with it, or zeros: the round is rejected, and
    the procedure ends. With ||u||^2 up to `closest`, x is the vertex to rounding: u is noise, and its huge lambda would
    make d~ vanish. The away candidate -psi/||psi|| only rescales psi, so that it gains nothing and min_gain > 0 rejects
    it.
    """
    ru = -um - upsi  # <r, u> with r = -m - psi; zero if m is
    if uu <= closest or ru <= 0.0 or (pp > 0.0 and (pm + pp) / math.sqrt(pp) > ru):
        return 0.0, 0.0
    lam = ru / uu
    squared = pp + 2.0 * lam * upsi + lam * lam * uu
    gained = -(pm + lam * um) / (m_norm * math.sqrt(squared)) if squared > 0.0 else -1.0
    return (lam, gained) if gained - alignment >= min_gain else (0.0, 0.0)
