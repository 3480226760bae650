"""The page as text: what is in it, and that no text from data becomes anything but text."""

import base64
import hashlib
import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import page_samples as samples
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as struct_replace

from bsfw.experiments import style
from bsfw.experiments.model import Experiment, Panel, Table, Verdict, View
from bsfw.experiments.page import SIGNS, write_page
from bsfw.experiments.words import in_words

# What the page is made of; anything else came out of data.
TAGS = {
    "html", "head", "meta", "title", "style", "body", "script", "a", "header", "nav", "main", "section", "footer",
    "h1", "h2", "h3", "p", "noscript", "ul", "li", "dl", "dt", "dd", "div", "span", "strong", "pre", "code", "img",
    "figure", "figcaption", "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
EMPTY = {"meta", "img"}


class Parsed(HTMLParser):
    """The tags of a page with their attributes, its texts, and its scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.scripts, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self.open.append(tag)
            (self.scripts if tag == "script" else self.texts).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "elements are nested"
        self.texts.append("")

    def handle_data(self, data):
        if self.open:
            (self.scripts if self.open[-1] == "script" else self.texts)[-1] += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def having(self, tag, **wanted):
        return [a for name, a in self.tags if name == tag and all(a.get(k) == v for k, v in wanted.items())]


@pytest.fixture(scope="module", autouse=True)
def _short_plotly():
    """A stand-in for Plotly's five megabytes, with what must not end the script that holds it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plotly.offline.get_plotlyjs", lambda: 'var Plotly = {words: "</script><!--"};')
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def make(*views, **options):
        path = tmp_path_factory.mktemp("page") / "index.html"
        write_page(views, path, **options)
        return Parsed(path.read_bytes().decode("utf-8"))

    return make


def data_of(page):
    return json.loads(page.scripts[0])


@pytest.fixture(scope="module")
def hostile_page(made):
    text = samples.HOSTILE
    return made(
        samples.hostile(),
        files={text: [f"figures/{text}.png"]},
        environment={text: [text]},
        command=text,
    )


class TestHostileText:
    def test_makes_no_element_and_no_attribute(self, hostile_page):
        assert {tag for tag, _ in hostile_page.tags} <= TAGS
        assert len(hostile_page.having("script")) == 3
        assert not hostile_page.having("img")
        names = {name for _, attributes in hostile_page.tags for name in attributes}
        assert not [name for name in names if name.startswith("on")]
        assert "<b>" not in names

    def test_is_shown_as_it_is(self, hostile_page):
        shown = [text for text in hostile_page.texts if samples.HOSTILE in text]
        # title, contents, command, reference, note, plot, band, table (title, column, cell), last values (curve and two
        # columns), claim, verdict, findings, parameters (name, panel, value), link, environment and command
        assert len(shown) >= 22
        assert not [text for text in hostile_page.texts if "&lt;" in text or "&amp;amp;" in text]

    def test_goes_through_json_unchanged(self, hostile_page):
        (group,) = data_of(hostile_page)
        text = samples.HOSTILE
        assert list(group["axes"].items()) == [(text, text)]
        assert group["lines"] == [text]
        assert [group["series"][0][key] for key in ("name", "group")] == [text, text]
        assert [group["plots"][0][key] for key in ("title", "yLabel")] == [text, text]

    def test_ends_no_script(self, hostile_page):
        assert all("</script" not in script and "<!--" not in script for script in hostile_page.scripts)
        assert hostile_page.scripts[1] == r'var Plotly = {words: "\x3c/script>\x3c!--"};'

    @settings(max_examples=30, deadline=None)
    @given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), min_size=1))
    def test_of_any_kind_is_shown_as_it_is(self, made, text):
        view = View(
            experiment=struct_replace(samples.hostile().experiment, claim=""),
            notes=(text,),
            verdicts=(Verdict(text, "supported", text),),
        )
        page = made(view)
        assert {tag for tag, _ in page.tags} <= TAGS
        assert page.texts.count(text) >= 3

    def test_that_no_encoding_holds_does_not_stop_the_page(self, made):
        page = made(View(experiment=samples.experiment("a", "half a pair: \ud800"), notes=("\udfff",)))
        assert "half a pair: ?" in page.texts


class TestNothingIsFetched:
    def test_links_stay_in_the_page_or_beside_it(self, made):
        page = made(samples.convergence(), files={"mushrooms": ["figures/mushrooms.png", "figures/a b.pdf"]})
        targets = [attributes[name] for _, attributes in page.tags for name in ("href", "src") if name in attributes]
        assert {target for target in targets if target[0] != "#"} == {"figures/mushrooms.png", "figures/a%20b.pdf"}

    def test_anchors_lead_somewhere(self, made):
        page = made(samples.convergence(), samples.several())
        anchors = [a["href"][1:] for a in page.having("a") if a["href"].startswith("#")]
        names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(anchors) == 3
        assert set(anchors) <= set(names)
        assert len(set(names)) == len(names)

    def test_policy_allows_these_scripts_and_nothing_else(self, made):
        page = made(samples.convergence())
        policy = page.having("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in page.scripts[1:]]
        assert rules["script-src"] == " ".join(f"'sha256-{digest}'" for digest in hashes)
        assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
        assert rules["img-src"] == "data:"


class TestPlots:
    def test_numbers_have_six_digits_and_what_is_not_finite_is_null(self, made):
        view = samples.hostile()
        (plot,) = view.plots
        (curve,) = plot.series
        axis = next(iter(plot.axes))
        odd = replace(curve, x={axis: [1, math.pi]}, y=[math.nan, 1 / 3], low=[-math.inf, None], high=[math.inf, 1.0])
        page = made(replace(view, plots=(replace(plot, series=(odd,)),)))
        assert data_of(page)[0]["plots"][0]["curves"] == [
            {"x": {axis: [1, 3.14159]}, "y": [None, 0.333333], "low": [None, None], "high": [None, 1.0]}
        ]

    def test_look_like_the_figures(self, made):
        (group,) = data_of(made(samples.convergence()))
        styles = style.line_styles(samples.convergence().plots[0].series)
        assert [(s["colour"], s["dash"], s["marker"]) for s in group["series"]] == [
            (look.colour, look.dash, look.marker) for look in styles
        ]
        assert [s["boosted"] for s in group["series"]] == [True, False] * 5

    def test_that_offer_the_same_choices_share_their_controls(self, made):
        page = made(samples.several())
        assert [[plot["title"] for plot in group["plots"]] for group in data_of(page)] == [
            ["rcv1-like (synthetic)", "mushrooms"],
            ["breast-cancer"],
        ]
        assert len(page.having("div", **{"class": "group"})) == len(page.having("div", **{"class": "controls"})) == 2
        assert len(page.having("div", **{"class": "chart"})) == 3

    def test_that_differ_by_a_parameter_share_the_names_of_their_methods(self, made):
        view = samples.several()
        first = view.plots[0]
        plots = [
            replace(first, series=tuple(replace(c, name=f"{c.name}, δ = {delta}") for c in first.series))
            for delta in (0.1, 0.01)
        ]
        (group,) = data_of(made(replace(view, plots=tuple(plots))))
        assert [series["name"] for series in group["series"]] == [
            "SAG boosted", "SAG vanilla", "SAGA boosted", "SAGA vanilla",
        ]  # fmt: skip
        variants = tuple(replace(c, group="sag", boosted=True) for c in first.series)
        renamed = tuple(replace(c, name=f"{c.name}!") for c in variants)
        separate = data_of(made(replace(view, plots=(replace(first, series=variants), replace(first, series=renamed)))))
        assert [group["series"][0]["name"] for group in separate] == ["SAG boosted", "SAG boosted!"]

    def test_keep_scales_and_lines(self, made):
        first, second = data_of(made(samples.several()))
        assert (first["logX"], first["logY"], first["lines"]) == (False, True, [])
        assert (second["logX"], second["logY"], second["lines"], second["plots"][0]["lines"]) == (
            True,
            False,
            ["γ = 1"],
            [1.0],
        )

    def test_have_their_last_values_in_a_table(self, made):
        page = made(samples.convergence())
        texts = [text for text in page.texts if text.strip()]
        at = texts.index("SARAH vanilla")
        curve = samples.convergence().plots[0].series[7]
        assert texts[at + 1 : at + 6] == [f"{curve.y[-1]:.4g}", "88,116", "199", "198", f"{curve.x['seconds'][-1]:.4g}"]

    def test_without_any_value_are_no_hindrance(self, made):
        view = samples.convergence()
        (plot,) = view.plots
        empty = replace(plot.series[0], x={axis: [] for axis in plot.axes}, y=[], low=[], high=[])
        unknown = replace(plot.series[1], y=[math.nan] * len(plot.series[1].y))
        page = made(replace(view, plots=(replace(plot, series=(empty, unknown)),)))
        assert page.texts.count("-") == 10


class TestWords:
    def test_every_outcome_has_its_word_and_sign(self, made):
        verdicts = tuple(Verdict(f"claim {k}", outcome, f"finding {k}") for k, outcome in enumerate(SIGNS))
        page = made(View(experiment=samples.experiment("a", "A"), verdicts=verdicts))
        for k, (outcome, sign) in enumerate(SIGNS.items()):
            assert {f"claim {k}", f"finding {k}", f"{sign} {outcome}", f"{sign} 1 {outcome}"} <= set(page.texts)

    def test_the_summary_counts_claims(self, made):
        page = made(samples.convergence(), samples.several())
        assert "2 experiments, 4 claims: " in page.texts
        assert page.texts.count("✓ 1 supported") == 1  # in the summary; its own section has only this one

    def test_an_experiment_without_verdict_says_so(self, made):
        page = made(View(experiment=Experiment(name="mine", title="Mine", view="comparison")))
        assert "no claim" in page.texts
        assert not [text for text in page.texts if "in the paper" in text or "Claim of the paper" in text]
        assert "1 experiment, no claims to judge." in page.texts

    def test_a_claim_is_said_once(self, made):
        page = made(samples.convergence())
        assert sum("Boosting lowers f at equal gradients." in text for text in page.texts) == 1

    def test_notes_are_shown(self, made):
        page = made(samples.several())
        assert "1 run failed." in page.texts

    def test_parameters_that_all_problems_share_are_written_once(self, made):
        values = {"max_rounds": 10_000, "loss": {"name": "tukey", "scale": 1e-4}, "corners": [[1.0, 2.5], [3, 4]]}
        same = {name: in_words(value) for name, value in values.items()}
        panels = [Panel(title=f"P{k}", parameters={"radius": in_words(10.0 * k), **same}, tasks=()) for k in (1, 2)]
        page = made(View(experiment=samples.experiment("a", "A", panels)))
        assert {"radius", "max rounds", "P1", "P2", "10", "20"} <= set(page.texts)
        assert page.texts.count("10,000") == page.texts.count("name tukey, scale 0.0001") == 1
        assert page.texts.count("(1, 2.5), (3, 4)") == 1
        assert [a["colspan"] for a in page.having("td") if "colspan" in a] == ["2", "2", "2"]

    def test_numbers_in_tables_are_aligned_and_short(self, made):
        table = Table("T", ("a", "b", "c", "d"), (("words", 1234567, 0.000123456, True),))
        page = made(View(experiment=samples.experiment("a", "A"), tables=(table,)))
        assert {"words", "1,234,567", "0.0001235", "yes"} <= set(page.texts)
        assert len(page.having("td", **{"class": "number"})) == 2

    def test_environment_and_command_close_the_page(self, made):
        page = made(samples.convergence(), environment={"numpy": "2.4", "jobs": [1, 2]}, command="bsfw reproduce all")
        texts = [text for text in page.texts if text.strip()]
        assert texts.index("bsfw reproduce all") < texts.index("numpy") < texts.index("2.4") < texts.index("1, 2")

    def test_headings_are_in_order(self, made):
        page = made(samples.convergence(), samples.several(), environment={"a": 1}, command="b")
        levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
