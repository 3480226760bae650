"""The page: views of experiments as one self-contained HTML file, which works offline from the file system.

Words and tables are in ``template.html``, where Jinja2 escapes every text that comes from a specification or a record;
curves go in as one block of JSON, which ``page.js`` draws by Plotly. The content security policy of the page lets
nothing run but the two scripts that this module puts there, and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from ..._files import atomic_write
from .. import drawings
from ..model import Drawing, Experiment, Panel, Plot, Table, View
from ..words import in_words
from .curves import controls_key, finite, group_data

SIGNS = {"supported": "✓", "partly supported": "◐", "not supported": "✗", "not evaluated": "–"}
"""The outcomes of a verdict, best first, and the sign of each: no outcome is shown by its colour alone."""


@dataclass(frozen=True)
class _Picture:
    """A drawing as an image, with what it shows in words; below its least width it scrolls."""

    words: str
    source: str
    least_width: int


@dataclass(frozen=True)
class _Section:
    """One experiment on the page: its plots by the controls they share, its drawings, and the files it links to."""

    anchor: str
    view: View
    groups: tuple[tuple[Plot, ...], ...]
    pictures: tuple[_Picture, ...]
    files: tuple[str, ...]


def write_page(
    views: Sequence[View],
    path: str | os.PathLike[str],
    *,
    files: Mapping[str, Sequence[str]] | None = None,
    environment: Mapping[str, Any] | None = None,
    command: str = "",
) -> None:
    """Write the page.

    Parameters
    ----------
    views : sequence of View
        In the order in which they are shown.
    path : path
        Of the HTML file, which is replaced if it exists.
    files : mapping, optional
        Experiment's name to the paths of its figures, relative to the page, with ``/``.
    environment : mapping, optional
        What the runs ran on, shown at the bottom.
    command : str, optional
        What makes these results and this page, as typed in a shell.
    """
    from plotly.offline import get_plotlyjs

    sections = [_section(view, (files or {}).get(view.experiment.name, ())) for view in views]
    scripts = {"plotly": _as_script(get_plotlyjs()), "js": _as_script(_asset("page.js"))}
    page = _template().render(
        scripts,
        title="Experiments with boosted stochastic Frank-Wolfe",
        policy=_policy(scripts.values()),
        css=Markup(_asset("page.css")),
        signs=SIGNS,
        outcomes=[verdict.outcome for view in views for verdict in view.verdicts],
        sections=sections,
        environment=environment,
        command=command,
        data=_as_json([group_data(group) for section in sections for group in section.groups]),
    )
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))  # half a surrogate pair, which JSON can hold, becomes "?"


# ---- what keeps text from becoming code ------------------------------------------------------------------------------


def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {
        "words": in_words,
        "counted": _counted,
        "css_class": _css_class,
        "numeric": _numeric,
        "parameter_rows": _parameter_rows,
        "last_values": _last_values,
    }
    environment.tests["plain_number"] = _is_number
    return environment.from_string(_asset("template.html"))


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _as_script(code: str) -> Markup:
    """Code without what would end or hide the element around it; it means the same in strings and patterns."""
    return Markup(re.sub(r"<(?=/script|!--)", r"\\x3c", code, flags=re.IGNORECASE))


def _as_json(value: object) -> Markup:
    """JSON for a script element: no "<", so neither "</script" nor "<!--", and no character beyond ASCII."""
    return Markup(json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"))


def _policy(scripts: Iterable[str]) -> str:
    """Scripts by their hash only. Plotly writes style elements and attributes, so styles cannot be as strict."""
    hashes = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


# ---- the parts of the page -------------------------------------------------------------------------------------------


def _section(view: View, files: Sequence[str]) -> _Section:
    groups = tuple(tuple(plots) for _, plots in groupby(view.plots, controls_key))
    pictures = tuple(_picture(drawing, view.experiment) for drawing in view.drawings)
    anchor = "experiment-" + re.sub(r"[^a-z0-9]+", "-", view.experiment.name.lower())
    return _Section(anchor, view, groups, pictures, tuple(files))


def _picture(drawing: Drawing, experiment: Experiment) -> _Picture:
    from matplotlib import rc_context

    figure = drawings.draw(drawing)
    picture = io.BytesIO()
    # No date and no random names of parts: the same results give the same page.
    with rc_context({"svg.hashsalt": "bsfw"}):
        figure.savefig(picture, format="svg", metadata={"Date": None}, transparent=True)
    # In an img element an SVG can neither run scripts nor fetch anything.
    source = f"data:image/svg+xml;base64,{base64.b64encode(picture.getvalue()).decode()}"
    # At less than half its size its words cannot be read: from there on it scrolls.
    return _Picture(f"{experiment.title}: {drawing.title}", source, round(48 * figure.get_figwidth()))


def _counted(outcomes: Sequence[str]) -> list[tuple[str, int]]:
    """Each outcome once, the best first, with how often it occurs."""
    counts = Counter(outcomes)
    known = [outcome for outcome in SIGNS if outcome in counts]
    return [(outcome, counts[outcome]) for outcome in (*known, *(other for other in counts if other not in SIGNS))]


def _css_class(outcome: str) -> str:
    return outcome.replace(" ", "-") if outcome in SIGNS else "not-evaluated"


def _is_number(value: object) -> bool:
    return value == "-" or (isinstance(value, int | float) and not isinstance(value, bool))


def _numeric(table: Table, column: int) -> bool:
    return all(_is_number(row[column]) for row in table.rows)


def _parameter_rows(panels: Sequence[Panel]) -> list[tuple[str, list[str]]]:
    names = dict.fromkeys(name for panel in panels for name in panel.parameters)
    return [(name, [panel.parameters.get(name, "–") for panel in panels]) for name in names]


def _last_values(plot: Plot) -> Table:
    """The last value of every curve, for those who cannot see or hover."""
    rows: list[tuple[str | int | float, ...]] = []
    for curve in plot.series:
        last = next((row for row in reversed(range(len(curve.y))) if finite(curve.y[row]) is not None), None)
        if last is None:
            rows.append((curve.name, *["-"] * (len(plot.axes) + 1)))
        else:
            rows.append((curve.name, curve.y[last], *(curve.x[name][last] for name in plot.axes)))
    return Table("", ("curve", plot.y_label, *plot.axes.values()), tuple(rows))
