"""Figures: files, colours and words of what Matplotlib draws."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from made_records import PROBLEM, STAND_IN, boosting_step, experiment, pair, record, solved, task, trajectory
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from bsfw.estimators import ESTIMATORS
from bsfw.experiments import drawings, figures, style
from bsfw.experiments.model import Experiment, Plot, Series, Table, View
from bsfw.experiments.tasks import Facts, Parameters
from bsfw.experiments.views import make_view

STOCHASTIC = ("full", "sag", "saga", "l-svrg", "sarah", "heavy-ball")
COORDINATE = ("sega", "jaguar", "zoja")


def view_of(kind, *panels, **options):
    return make_view(*experiment(kind, *panels, **options))


def several(estimators=("sag", "saga", "l-svrg", "sarah", "heavy-ball"), title="made"):
    """A plot of long curves, boosted and vanilla, with bands and all axes."""
    x = np.arange(1.0, 201.0)
    series = []
    for place, (name, boosted) in enumerate(itertools.product(estimators, (True, False))):
        y = (1 + place) / x
        axes = {"sample_gradients": (404 * x).tolist(), "seconds": (x / 100).tolist()}
        words = f"{style.display_name(name)} {'boosted' if boosted else 'vanilla'}"
        series.append(Series(words, name, boosted, axes, y.tolist(), (y / 2).tolist(), (2 * y).tolist()))
    axes = {"sample_gradients": "sample gradients", "seconds": "seconds in the algorithm"}
    return Plot(title, "(f - f_min) / (f_max - f_min)", True, axes, tuple(series), band="Line: median; band: range.")


def view_with(*plots):
    return View(experiment=Experiment(name="trial", title="Convergence", view="convergence"), plots=plots)


# --- style -----------------------------------------------------------------------------------------------------------


def luminance(colour):
    return float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722]))


def test_every_estimator_has_a_name_and_a_hue():
    assert set(style.NAMES) == set(ESTIMATORS)
    assert len({style.colour(name, boosted) for name in ESTIMATORS for boosted in (True, False)}) == 2 * len(ESTIMATORS)


def test_boosted_is_dark_and_vanilla_light():
    darkest_light = min(luminance(style.colour(name, False)) for name in ESTIMATORS)
    lightest_dark = max(luminance(style.colour(name, True)) for name in ESTIMATORS)
    assert lightest_dark < darkest_light - 0.1


# How people without the red, or without the green, cones see (Viénot, Brettel and Mollon 1999), on linear RGB.
RED_BLIND = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
GREEN_BLIND = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


@pytest.mark.parametrize("seen", [np.eye(3), RED_BLIND, GREEN_BLIND], ids=["normal", "red-blind", "green-blind"])
@pytest.mark.parametrize("together", [STOCHASTIC, COORDINATE])
def test_estimators_that_share_a_figure_differ_for_all_eyes_and_by_their_marker(seen, together):
    for boosted in (True, False):
        curves = [Series(name, name, boosted, {}, []) for name in together]
        looks = style.line_styles(curves)
        assert len({look.marker for look in looks}) == len(together)
        for one, two in itertools.combinations(looks, 2):
            colours = [(seen @ np.array(to_rgb(look.colour)) ** 2.2).clip(0, 1) ** (1 / 2.2) for look in (one, two)]
            assert np.linalg.norm(colours[0] - colours[1]) > 0.1


def test_variants_of_a_method_differ_by_their_dash():
    curves = [Series(str(number), "saga", boosted, {}, []) for number in range(3) for boosted in (True, False)]
    looks = style.line_styles(curves)
    assert len({(look.colour, look.dash) for look in looks}) == 6
    assert looks[0].dash == "solid"


def test_every_look_can_be_drawn():
    curves = [Series("", name, boosted, {}, []) for name in (*ESTIMATORS, "other") for boosted in (True, False)] * 3
    for look in style.line_styles(curves):
        assert look.dash in figures._DASHES
        assert look.marker in figures._MARKERS


# --- plots -----------------------------------------------------------------------------------------------------------


def test_one_plot_is_drawn_against_gradients_and_seconds_with_its_colours():
    figure = figures.draw_plots(view_with(several(("saga",))))
    gradients, seconds = figure.axes
    boosted, vanilla = gradients.lines
    assert boosted.get_color() == style.colour("saga", True)
    assert vanilla.get_color() == style.colour("saga", False)
    assert boosted.get_zorder() > vanilla.get_zorder()
    assert gradients.get_xlabel() == "sample gradients"
    assert gradients.get_yscale() == "log"
    assert seconds.get_xlabel() == "seconds in the algorithm"
    assert seconds.lines[0].get_xdata()[1] == 0.02
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SAGA"]


def test_three_plots_stand_side_by_side_above_the_same_against_seconds():
    figure = figures.draw_plots(view_with(*(several(title=title) for title in ("one", "two", "three"))))
    assert [axes.get_title() for axes in figure.axes] == ["one", "two", "three", "", "", ""]
    assert [axes.get_xlabel() for axes in figure.axes[3:]] == ["seconds in the algorithm"] * 3


def test_plots_of_the_same_data_have_the_same_heights():
    records = [
        solved(task(min_gain=gain), [1.0] * 4, rounds=[*rounds, 0])
        for gain, rounds in ((1e-2, (2, 3, 4)), (1e-3, (20, 300, 40)))
    ]
    first, second = figures.draw_plots(view_of("oracle-calls", records)).axes
    assert first.get_ylim() == second.get_ylim()
    assert first.get_ylim()[1] > 300


def test_a_reference_line_is_drawn_and_named():
    figure = figures.draw_plots(view_of("step-sizes", [solved(task(), [3.0, 2.0, 1.0])]))
    (axes,) = figure.axes
    assert [list(line.get_ydata()) for line in axes.lines][1:] == [[1.0, 1.0]]
    assert "γ = 1" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert axes.get_ylim()[1] > 1


def test_deep_dips_next_to_the_minimum_do_not_stretch_the_axis():
    plot = several(("saga",))
    curve = plot.series[0]
    dipping = replace(curve, y=[1e-12 if row == 150 else value for row, value in enumerate(curve.y)])
    axes = figures.draw_plots(view_with(replace(plot, series=(dipping, plot.series[1])))).axes[0]
    assert 1e-5 < axes.get_ylim()[0] < 5e-3


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6])
def test_no_words_overlap(number):
    plots = [several(title=f"data set {place} (synthetic)") for place in range(number)]
    assert_no_overlap(figures.draw_plots(view_with(*plots)))


def assert_no_overlap(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    words = [figure._suptitle, *(legend for legend in figure.legends)] if figure._suptitle else list(figure.legends)
    for axes in figure.axes:
        words += [axes.title, axes.xaxis.label, axes.yaxis.label]
        words += [axes.get_legend()] if axes.get_legend() else []
        low, high = axes.get_xlim()
        ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True) if axes.axison else ()
        words += [label for place, label in ticks if low <= place <= high]
    words = [word for word in words if not hasattr(word, "get_text") or word.get_text()]
    boxes = [word.get_window_extent(renderer) for word in words if word.get_visible()]
    width, height = canvas.get_width_height()
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
    for (one, first), (two, second) in itertools.combinations(zip(words, boxes, strict=True), 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        along = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 1 or along <= 1, (one, two)


def facts():
    return record(Facts(problem=PROBLEM, batch_size=2), Parameters(n=3, m=7))


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_view_becomes_png_and_pdf_files_and_nothing_else(tmp_path):
    files = figures.write_figures(view_of("convergence", pair([9.0, 3.0, 1.0], [9.0, 5.0, 2.0])), tmp_path)
    assert sorted(path.name for path in files) == ["trial-table.pdf", "trial-table.png", "trial.pdf", "trial.png"]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert (tmp_path / "trial.pdf").read_bytes().startswith(b"%PDF")
    assert imread(tmp_path / "trial.png").shape[0] > 400


def test_the_same_view_gives_the_same_bytes_on_any_day(tmp_path, monkeypatch):
    view = view_of("facts", [facts()])
    written = []
    for day in (1, 2):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(day * 86_400))  # what Matplotlib takes for the time
        written.append([path.read_bytes() for path in figures.write_figures(view, tmp_path)])
    assert written[0] == written[1]


def test_a_picture_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    view = view_of("trajectories", [trajectory([[0, 2], [0, 1]], True, 0.1)])
    (tmp_path / "trial.png").write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        figures.write_figures(view, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trial.png"]
    assert (tmp_path / "trial.png").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "problem", "stem"),
    [
        ("mushrooms", PROBLEM, "mushrooms"),
        ("rcv1-like-synthetic", STAND_IN, "rcv1-like-synthetic"),
        ("expected-loss", STAND_IN, "expected-loss-with-synthetic-rcv1"),
    ],
)
def test_file_names_say_where_data_is_a_stand_in(name, problem, stem):
    assert figures.file_stem(view_of("convergence", pair([2.0, 1.0], [2.0, 1.5], problem=problem), name=name)) == stem


def test_a_table_shows_every_cell_with_numbers_flush_right():
    table = Table("Numbers", ("data", "n", "ratio"), (("mushrooms", 8124, 0.012345), ("a", 1, "-")))
    figure = figures.draw_table(table)
    texts = {text.get_text(): text for text in figure.axes[0].texts}
    assert set(texts) == {"Numbers", "data", "n", "ratio", "mushrooms", "8,124", "0.0123", "a", "1", "-"}
    assert texts["8,124"].get_ha() == texts["-"].get_ha() == "right"
    assert texts["mushrooms"].get_ha() == "left"


# --- drawings --------------------------------------------------------------------------------------------------------


def test_trajectories_have_the_colours_of_the_paper():
    paths = [trajectory([[1, 2], [0, 1]], True, 0.1), trajectory([[1, 2], [-1, 1], [1, 0.5]], False, 0.2)]
    (drawing,) = view_of("trajectories", paths).drawings
    figure = drawings.draw(drawing)
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["FW"].get_color() == style.VANILLA_PATH
    assert lines["FW"].get_xdata().tolist() == [1, -1, 1]
    assert lines["BFW"].get_color() == style.BOOSTED_PATH
    minimiser = lines["minimiser $x^\\star$"]
    assert (minimiser.get_color(), list(minimiser.get_xdata())) == (style.MINIMISER, [0.0])
    assert to_rgb(axes.patches[0].get_edgecolor()) == to_rgb(style.BOUNDARY)
    assert axes.patches[0].get_xy()[:4].tolist() == [list(corner) for corner in drawing.problem.corners]
    assert axes.get_aspect() == 1


def test_a_boosting_step_has_six_panels_that_end_at_the_next_iterate():
    (drawing,) = view_of("boosting-step", [boosting_step()]).drawings
    figure = drawings.draw(drawing)
    assert [axes.get_title()[:2] for axes in figure.axes] == [f"{number}." for number in range(1, 7)]
    last = figure.axes[5]
    assert any(np.array_equal(line.get_xydata(), [drawing.step.next]) for line in last.lines)
    tips = [tuple(text.xy) for text in last.texts if getattr(text, "arrow_patch", None) is not None]
    assert tips == [tuple(np.add(drawing.step.x, drawing.step.direction))]
    assert_no_overlap(figure)


def test_a_step_of_one_round_can_be_drawn():
    one = boosting_step(lambdas=(1.0,), psi=((2.0, 2.0),), alignments=(0.894,), residuals=((1.0, 3.0), (-1.0, 1.0)))
    (drawing,) = view_of("boosting-step", [one]).drawings
    assert "one round" in drawings.draw(drawing).axes[3].get_title()
