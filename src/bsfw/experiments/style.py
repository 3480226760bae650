"""How methods are named and drawn, by Matplotlib and on the page: one hue per estimator, dark = boosted, light = not.

Nothing relies on colour alone: every estimator has a marker of its own, and vanilla lines are dashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .model import Series

NAMES = {
    "full": "exact",
    "sag": "SAG",
    "saga": "SAGA",
    "l-svrg": "L-SVRG",
    "sarah": "SARAH",
    "heavy-ball": "Heavy Ball",
    "sega": "SEGA",
    "jaguar": "JAGUAR",
    "zoja": "ZOJA",
}
"""Names of the estimators as people write them."""

# Dark and light of each hue. Estimators that share a figure (the stochastic ones, the coordinate ones) differ in
# lightness too, so that they stay apart for colour-blind readers.
_COLOURS = {
    "full": ("#222222", "#8c8c8c"),
    "sag": ("#0b4f8a", "#74aee3"),
    "saga": ("#b85c00", "#f6b878"),
    "l-svrg": ("#1a7a4c", "#6ac295"),
    "sarah": ("#8f0d24", "#f4a3ad"),
    "heavy-ball": ("#7146c0", "#cdbdf4"),
    "sega": ("#00525a", "#62b5bd"),
    "jaguar": ("#b03a8c", "#ebaad6"),
    "zoja": ("#5e5200", "#d2c56f"),
    "corrective": ("#0b4f8a", "#74aee3"),
    "away": ("#b85c00", "#f6b878"),
    "pairwise": ("#1a7a4c", "#6ac295"),
    "blended-pairwise": ("#7146c0", "#cdbdf4"),
    # Numbers of rounds, where a figure compares these.
    "K = 1": ("#222222", "#8c8c8c"),
    "K = 2": ("#0b4f8a", "#74aee3"),
    "K = 3": ("#b85c00", "#f6b878"),
    "K = 5": ("#1a7a4c", "#6ac295"),
    "K = 10": ("#7146c0", "#cdbdf4"),
}
_OTHER = ("#4d4d4d", "#b3b3b3")

_MARKERS = {
    "full": "circle",
    "sag": "square",
    "saga": "triangle-up",
    "l-svrg": "diamond",
    "sarah": "triangle-down",
    "heavy-ball": "x",
    "sega": "square",
    "jaguar": "triangle-up",
    "zoja": "diamond",
    "corrective": "square",
    "away": "triangle-up",
    "pairwise": "diamond",
    "blended-pairwise": "x",
    "K = 2": "square",
    "K = 3": "triangle-up",
    "K = 5": "diamond",
    "K = 10": "x",
}

# The first of each is the usual one; the others tell variants (decays, deltas, ...) of one method apart.
_DASHES = {True: ("solid", "dashdot", "longdash"), False: ("dash", "dot", "longdashdot")}

BOUNDARY, MINIMISER, VANILLA_PATH, BOOSTED_PATH = "#000000", "#1a8a3a", "#c8102e", "#6a2c91"
"""Colours of the toy figure, as in the caption of the paper: black, green, red and purple."""

REFERENCE_LINE = "#e0569b"
"""Colour of a reference line such as gamma = 1: pink, as in the paper."""


@dataclass(frozen=True)
class LineStyle:
    """How a curve is drawn; `dash` and `marker` are names of Plotly, which `bsfw.experiments.figures` translates."""

    colour: str
    dash: str
    marker: str


def display_name(estimator: str) -> str:
    """The estimator's name as people write it; a name that is not known stands for itself."""
    return NAMES.get(estimator, estimator)


def colour(group: str, boosted: bool) -> str:
    """The hue of an estimator as ``#rrggbb``: dark if boosted, light if not; grey if the name is not known."""
    return _COLOURS.get(group, _OTHER)[0 if boosted else 1]


def line_styles(series: Sequence[Series]) -> list[LineStyle]:
    """The style of each curve of one plot; curves of one estimator that are all boosted (or not) differ by dash."""
    seen: Counter[tuple[str, bool]] = Counter()
    styles = []
    for curve in series:
        kind = curve.group, curve.boosted
        dashes = _DASHES[curve.boosted]
        marker = _MARKERS.get(curve.group, "circle")
        styles.append(LineStyle(colour(*kind), dashes[seen[kind] % len(dashes)], marker))
        seen[kind] += 1
    return styles
