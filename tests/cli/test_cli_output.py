"""What `bsfw demo`, `bsfw datasets` and `--help` show."""

import re

import numpy as np
import pytest

import bsfw
from bsfw.cli import main

ESTIMATORS = ("exact", "SAG", "SAGA", "L-SVRG", "SARAH", "Heavy Ball", "SEGA", "JAGUAR", "ZOJA")


@pytest.fixture
def demo(capsys, tmp_path):
    assert main(["demo", "--iterations", "6", "--seed", "1", "--out", "demo.png"]) == 0
    return capsys.readouterr().out


def test_demo_shows_every_estimator_boosted_and_vanilla(demo):
    lines = demo.splitlines()
    for name in ESTIMATORS:
        (row,) = (number for number, line in enumerate(lines) if re.match(rf" {re.escape(name)} +boosted ", line))
        assert lines[row + 1].split()[0] == "vanilla"
    assert "…" not in demo  # nothing is cut off at 80 columns
    assert max(map(len, lines)) <= 80


def test_demo_table_holds_the_numbers_of_the_runs(demo):
    A, y = bsfw.datasets.load("mushrooms")
    lines = demo.splitlines()
    (row,) = (number for number, line in enumerate(lines) if line.startswith(" SAGA "))
    for method, max_rounds, line in (("boosted", 10_000, lines[row]), ("vanilla", 1, lines[row + 1])):
        direct = bsfw.minimize(
            bsfw.Logistic(A, y), bsfw.L1Ball(50.0), estimator=bsfw.SAGA(404), max_rounds=max_rounds, max_iter=6, rng=1
        )
        cells = [cell for cell in line.removeprefix(" SAGA").split() if cell not in ("*", "%")]
        assert cells[:3] == [method, f"{direct.fun:.6f}", f"{direct.gap:.2e}"]
        assert cells[3:5] == [f"{direct.sample_gradients:,}", f"{direct.lmo_calls:,}"]
        assert cells[6] == (f"{direct.boosting_percentage:.1f}" if method == "boosted" else "-")


def test_demo_marks_the_lower_of_each_pair_and_counts_honestly(demo):
    rows = [line for line in demo.splitlines() if re.search(r" (boosted|vanilla) +\d", line)]
    assert len(rows) == 18
    won = 0
    for pair in zip(rows[::2], rows[1::2], strict=True):
        values = [float(re.search(r"\d\.\d{6}", row)[0]) for row in pair]
        marks = ["*" in row for row in pair]
        if values[0] != values[1]:
            assert marks == [values[0] < values[1], values[1] < values[0]]
        won += marks == [True, False]
    assert f"Boosted ends below vanilla for {won} of 9 estimators (seed 1)." in demo


def test_demo_writes_a_picture_of_two_panels(demo, tmp_path):
    from matplotlib.image import imread

    assert "The convergence plot is in demo.png." in demo
    picture = imread(tmp_path / "demo.png")
    assert picture.shape[0] > 500
    assert picture.shape[1] > 1000
    assert len({tuple(pixel) for pixel in picture[::5, ::5].reshape(-1, picture.shape[2]).tolist()}) > 18
    assert [path.name for path in tmp_path.iterdir()] == ["demo.png"]


def test_demo_draws_relative_suboptimality_against_gradients():
    from types import SimpleNamespace

    from bsfw.cli._demo_figure import draw
    from bsfw.cli.demo import PROBLEMS, Pair

    def run(values, costs):
        return SimpleNamespace(trace={"value": np.array(values), "coordinate_gradients": np.array(costs)})

    boosted, vanilla = run([9.0, 3.0, 1.0], [0, 10, 20]), run([9.0, 5.0, 2.0], [0, 11, 22])
    figure = draw([(PROBLEMS[1], [Pair("zoja", boosted, vanilla)])])
    (axes,) = figure.axes
    light, dark = axes.lines
    assert dark.get_ydata()[:2].tolist() == [1.0, 0.25]
    assert dark.get_ydata()[2] != dark.get_ydata()[2]  # fmin is masked: nan
    assert light.get_ydata().tolist() == [1.0, 0.5, 0.125]
    assert dark.get_xdata().tolist() == [0, 10, 20]
    assert axes.get_yscale() == "log"
    assert sum(dark.get_color()[:3]) < sum(light.get_color()[:3])


def test_datasets_lists_all_that_are_known(capsys):
    assert main(["datasets"]) == 0
    out = capsys.readouterr().out
    for known in bsfw.datasets.available():
        (line,) = (line for line in out.splitlines() if line.split()[:1] == [known.name])
        assert f"{known.shape[0]:,} x {known.shape[1]:,}" in line
        assert ("bundled" if known.place == "bundled" else "to download") in line
        assert known.licence in " ".join(out.split())
    assert "…" not in out


def test_datasets_says_what_is_in_the_data_folder(capsys, tmp_path, monkeypatch):
    (tmp_path / "data" / "a9a").mkdir(parents=True)
    (tmp_path / "data" / "a9a" / "a9a").write_text("")
    monkeypatch.setenv("BSFW_DATA", str(tmp_path / "data"))
    assert main(["datasets"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["a9a"])
    assert "BSFW_DATA" in line


def test_datasets_shows_the_facts_of_one(capsys):
    assert main(["datasets", "mushrooms"]) == 0
    out = capsys.readouterr().out
    for fact in ("8,124", "112", "170,604 (18.8 %)", "-1 (4,208), 1 (3,916)", "CC BY 4.0"):
        assert fact in out


def test_datasets_shows_the_facts_of_ratings(capsys, monkeypatch):
    ratings = bsfw.datasets.Ratings(
        rows=np.array([0, 0, 1]), cols=np.array([0, 2, 1]), values=np.array([1.0, 4.5, 3.0]), shape=(2, 3),
        user_ids=np.arange(2), item_ids=np.arange(3), name="films", origin="a shop", licence="none", citation="nobody",
        stand_in="made up", published_test=np.array([True, False, False]),
    )  # fmt: skip
    monkeypatch.setattr("bsfw.datasets.load", lambda name: ratings)
    assert main(["datasets", "films"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name      films",
        "users     2",
        "items     3",
        "ratings   3 (50 %)",
        "values    1 to 4.5",
        "test part 1 ratings, the publisher's own split",
        "origin    a shop",
        "licence   none",
        "citation  nobody",
        "note      made up",
    ]


def test_datasets_refuses_an_unknown_name(capsys):
    assert main(["datasets", "irises"]) == 2
    assert capsys.readouterr().err.startswith("bsfw: unknown data set 'irises'; known are mushrooms")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([], ["demo", "solve", "datasets", "examples:", "--version"]),
        (["solve"], ["examples:", "bsfw solve mushrooms", "--checkpoint", "heavy-ball-nonconvex", "solid-simplex"]),
        (["demo"], ["--out", "2000 on mushrooms and 500 on breast-cancer"]),
        (["datasets"], ["BSFW_DATA"]),
    ],
)
def test_help_fits_80_columns_and_has_examples(capsys, command, words):
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    text = " ".join(out.split())
    assert [word for word in words if word not in text] == []
