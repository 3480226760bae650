"""The page: views of experiments as one self-contained HTML file, which works offline from the file system.

Words and tables are written here, as HTML; curves go in as one block of JSON, which `page.js` draws by Plotly. Every
text that comes from a specification or a record is escaped on its way in, and the content security policy of the page
lets nothing run but the two scripts that this module puts there, and lets nothing be fetched.
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
from html import escape
from importlib import resources
from itertools import groupby
from string import Template
from typing import Any
from urllib.parse import quote

from bsfw._files import atomic_write

from .. import drawings, style
from ..model import Experiment, Panel, Plot, Series, Table, Verdict, View

SIGNS = {"supported": "✓", "partly supported": "◐", "not supported": "✗", "not evaluated": "–"}
"""The outcomes of a verdict, best first, and the sign of each: no outcome is shown by its colour alone."""


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

    groups: list[dict[str, Any]] = []
    sections = [_section(view, (files or {}).get(view.experiment.name, ()), groups) for view in views]
    scripts = {"plotly": _as_script(get_plotlyjs()), "js": _as_script(_asset("page.js"))}
    page = Template(_asset("template.html")).substitute(
        scripts,
        title="Experiments with boosted stochastic Frank-Wolfe",
        policy=_policy(scripts.values()),
        css=_asset("page.css"),
        summary=_summary(views),
        contents=_contents(views),
        sections="\n".join(sections),
        footer=_footer(environment or {}, command),
        data=_as_json(groups),
    )
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))  # half a surrogate pair, which JSON can hold, becomes "?"


# ---- what keeps text from becoming code ------------------------------------------------------------------------------


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _as_script(code: str) -> str:
    """Code without what would end or hide the element around it; it means the same in strings and patterns."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", code, flags=re.IGNORECASE)


def _as_json(value: object) -> str:
    """JSON for a script element: no "<", so neither "</script" nor "<!--", and no character beyond ASCII."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _policy(scripts: Iterable[str]) -> str:
    """Scripts by their hash only. Plotly writes style elements and attributes, so styles cannot be as strict."""
    hashes = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _anchor(experiment: Experiment) -> str:
    return escape("experiment-" + re.sub(r"[^a-z0-9]+", "-", experiment.name.lower()))


# ---- the parts of the page -------------------------------------------------------------------------------------------


def _summary(views: Sequence[View]) -> str:
    outcomes = [verdict.outcome for view in views for verdict in view.verdicts]
    experiments = f"{len(views)} experiment{'s' * (len(views) != 1)}"
    if not outcomes:
        return f"{experiments}, no claims to judge."
    return f"{experiments}, {len(outcomes)} claim{'s' * (len(outcomes) != 1)}: {_badges(outcomes)}"


def _contents(views: Sequence[View]) -> str:
    rows = []
    for view in views:
        experiment = view.experiment
        verdicts = _badges([verdict.outcome for verdict in view.verdicts]) or '<span class="soft">no claim</span>'
        rows.append(f'<li><a href="#{_anchor(experiment)}">{escape(experiment.title)}</a>{verdicts}</li>')
    return f'<ul class="contents">{"".join(rows)}</ul>'


def _badges(outcomes: Sequence[str]) -> str:
    """Each outcome once, with how often it occurs where there are several."""
    if not outcomes:
        return ""
    counts = Counter(outcomes)
    known = [outcome for outcome in SIGNS if outcome in counts]
    badges = (
        f'<span class="badge {_outcome_class(outcome)}">{SIGNS.get(outcome, "?")} '
        f"{f'{counts[outcome]} ' if len(outcomes) > 1 else ''}{escape(outcome)}</span>"
        for outcome in known + [outcome for outcome in counts if outcome not in SIGNS]
    )
    return f'<span class="badges">{"".join(badges)}</span>'


def _outcome_class(outcome: str) -> str:
    return outcome.replace(" ", "-") if outcome in SIGNS else "not-evaluated"


def _section(view: View, files: Sequence[str], groups: list[dict[str, Any]]) -> str:
    """One experiment; the data of its plots is appended to `groups`."""
    experiment = view.experiment
    anchor = _anchor(experiment)
    parts = [
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">',
        f'<div class="heading"><h2 id="{anchor}-title">{escape(experiment.title)}</h2>',
        f"{_badges([verdict.outcome for verdict in view.verdicts])}</div>",
        f'<p class="soft"><code>{escape(experiment.name)}</code>',
        f"{f' · in the paper: <code>{escape(experiment.reference)}</code>' if experiment.reference else ''}</p>",
    ]
    if view.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in view.notes)
        parts.append(f'<ul class="note">{notes}</ul>')
    parts += [_group(list(plots), groups) for _, plots in groupby(view.plots, _controls_key)]
    parts += [_drawing(drawing, f"{experiment.title}: {drawing['title']}") for drawing in view.drawings]
    parts += [_table(table) for table in view.tables]
    if experiment.claim:
        parts.append(f'<p class="claim"><strong>Claim of the paper.</strong> {escape(experiment.claim)}</p>')
    parts += [_verdict(verdict, experiment) for verdict in view.verdicts]
    parts += [_parameters(experiment.panels), _links(files), "</section>"]
    return "\n".join(part for part in parts if part)


def _verdict(verdict: Verdict, experiment: Experiment) -> str:
    tested = "" if verdict.claim in ("", experiment.claim) else f'<p class="tested">{escape(verdict.claim)}</p>'
    return (
        f'<div class="verdict {_outcome_class(verdict.outcome)}">{tested}<p>{_badges([verdict.outcome])}</p>'
        f'<p class="finding">{escape(verdict.finding)}</p></div>'
    )


def _drawing(drawing: dict[str, Any], words: str) -> str:
    from matplotlib import rc_context

    figure = drawings.draw(drawing)
    picture = io.BytesIO()
    # No date and no random names of parts: the same results give the same page.
    with rc_context({"svg.hashsalt": "bsfw"}):
        figure.savefig(picture, format="svg", metadata={"Date": None}, transparent=True)
    # In an img element an SVG can neither run scripts nor fetch anything.
    source = f"data:image/svg+xml;base64,{base64.b64encode(picture.getvalue()).decode()}"
    # At less than half its size its words cannot be read: from there on it scrolls.
    least = round(48 * figure.get_figwidth())
    element = f'<img class="drawing" style="min-width: {least}px" alt="{escape(words)}" src="{source}">'
    return _scrollable(element, words)


def _links(files: Sequence[str]) -> str:
    if not files:
        return ""
    links = (f'<li><a href="{escape(quote(file))}">{escape(file.rpartition("/")[2])}</a></li>' for file in files)
    return f"<details><summary>Files of the figures</summary><ul>{''.join(links)}</ul></details>"


# ---- plots -----------------------------------------------------------------------------------------------------------


def _controls_key(plot: Plot) -> tuple[object, ...]:
    """Plots that follow each other and offer the same choices are switched together, by one set of controls."""
    curves: list[object] = [(curve.group, curve.boosted) for curve in plot.series]
    if len(set(curves)) < len(curves):
        curves = [(curve.name, curve.group, curve.boosted) for curve in plot.series]
    return list(plot.axes.items()), plot.log_x, plot.log_y, curves, list(plot.lines)


def _group(plots: Sequence[Plot], groups: list[dict[str, Any]]) -> str:
    first = plots[0]
    groups.append({
        "axes": first.axes,
        "logX": first.log_x,
        "logY": first.log_y,
        "lines": list(first.lines),
        "lineColour": style.REFERENCE_LINE,
        "series": [
            {"name": _common_name(same), "group": same[0].group, "boosted": same[0].boosted,
             "colour": look.colour, "dash": look.dash, "marker": look.marker}
            for look, *same in zip(style.line_styles(first.series), *(plot.series for plot in plots), strict=True)
        ],
        "plots": [
            {"title": plot.title, "yLabel": plot.y_label, "lines": _numbers(plot.lines.values()),
             "curves": [_curve(curve) for curve in plot.series]}
            for plot in plots
        ],
    })  # fmt: skip
    figures = "\n".join(
        f'<figure><figcaption><h3>{escape(plot.title)}</h3></figcaption><div class="chart" role="img" '
        f'aria-label="{escape(plot.title)}"></div>{_below(plot)}</figure>'
        for plot in plots
    )
    return f'<div class="group"><div class="controls"></div><div class="plots">{figures}</div></div>'


def _common_name(curves: Sequence[Series]) -> str:
    """The name of a curve in all plots of a group; if they differ (by the delta of each plot, say), what they share."""
    if len({curve.name for curve in curves}) == 1:
        return curves[0].name
    return f"{style.display_name(curves[0].group)} {'boosted' if curves[0].boosted else 'vanilla'}"


def _curve(curve: Series) -> dict[str, Any]:
    data: dict[str, Any] = {"x": {name: _numbers(column) for name, column in curve.x.items()}, "y": _numbers(curve.y)}
    if curve.low is not None and curve.high is not None:
        data |= {"low": _numbers(curve.low), "high": _numbers(curve.high)}
    return data


def _numbers(column: Iterable[float | None]) -> list[float | None]:
    """Six digits, more than a screen can show, keep the page small; what is not finite becomes null."""
    return [
        None if number is None or abs(number) == float("inf") or number != number
        else number if isinstance(number, int) else float(f"{number:.6g}")
        for number in column
    ]  # fmt: skip


def _below(plot: Plot) -> str:
    """What the band is, and the last value of every curve as a table, for those who cannot see or hover."""
    rows: list[tuple[str | int | float, ...]] = []
    for curve in plot.series:
        last = next((row for row in reversed(range(len(curve.y))) if _numbers(curve.y[row : row + 1]) != [None]), None)
        if last is None:
            rows.append((curve.name, *["-"] * (len(plot.axes) + 1)))
            continue
        rows.append((curve.name, curve.y[last], *(curve.x[name][last] for name in plot.axes)))
    table = Table("", ("curve", plot.y_label, *plot.axes.values()), tuple(rows))
    band = f'<p class="soft">{escape(plot.band)}</p>' if plot.band else ""
    return f"{band}<details><summary>Last values of the curves</summary>{_table(table)}</details>"


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(table: Table) -> str:
    title = f'<h3 class="title">{escape(table.title)}</h3>' if table.title else ""
    heads = []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        numbers = all(cell == "-" or _is_number(cell) for cell in cells)
        heads.append(f'<th scope="col"{" class=number" * numbers}>{escape(column)}</th>')
    rows = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in table.rows)
    body = f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody></table>"
    return title + _scrollable(body, table.title)


def _parameters(panels: Sequence[Panel]) -> str:
    """Of one problem as a list, of several as a table, in which a value that all share is written once."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.parameters))
    if not names:
        return ""
    title = '<h3 class="title">Parameters</h3>'
    if len(panels) == 1:
        return title + _facts(panels[0].parameters)
    rows = []
    for name in names:
        values = [panel.parameters.get(name) for panel in panels]
        if all(value == values[0] for value in values):
            cells = f'<td colspan="{len(panels)}">{escape(_text(values[0]))}</td>'
        else:
            cells = "".join(f"<td>{escape(_text(value))}</td>" for value in values)
        rows.append(f'<tr><th scope="row">{escape(_words(name))}</th>{cells}</tr>')
    heads = "".join(f'<th scope="col">{escape(panel.title)}</th>' for panel in panels)
    head = f'<thead><tr><th scope="col">parameter</th>{heads}</tr></thead>'
    return title + _scrollable(f"<table>{head}<tbody>{''.join(rows)}</tbody></table>", "Parameters")


def _facts(facts: Mapping[str, Any]) -> str:
    items = (f"<div><dt>{escape(_words(n))}</dt><dd>{escape(_text(value))}</dd></div>" for n, value in facts.items())
    return f"<dl>{''.join(items)}</dl>"


def _scrollable(element: str, label: str) -> str:
    """A box that takes the focus, so that the keyboard can scroll what is wider than the screen."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label or "Table")}">{element}</div>'


def _cell(value: object) -> str:
    aligned = " class=number" if value == "-" or _is_number(value) else ""
    return f"<td{aligned}>{escape(_text(value))}</td>"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: object) -> str:
    """A JSON value in words."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and 1000 <= abs(value) < 1e7 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(name)} {_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(f"({_text(item)})" if isinstance(item, (list, tuple)) else _text(item) for item in value)
    return str(value)


def _footer(environment: Mapping[str, Any], command: str) -> str:
    parts = []
    if command:
        parts.append(f'<h2 id="reproduce">How to reproduce</h2><pre><code>{escape(command)}</code></pre>')
    if environment:
        parts.append(f'<h2 id="environment">Environment</h2>{_facts(environment)}')
    return "\n".join(parts)
