"""Tables and labels as people have them, models that predict, and files that hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.datasets import read_table

pd = pytest.importorskip("pandas")


def frame(m: int = 150) -> Any:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.standard_normal((m, 3)), columns=["size", "weight", "age"])
    table["count"] = rng.integers(0, 5, m)
    score = table["size"] - 2.0 * table["weight"] + 0.5 * table["count"] + 0.3 * rng.standard_normal(m)
    table["edible"] = np.where(score > 0.5, "p", "e")
    return table


def test_a_table_with_text_labels_is_fitted_and_predicted_in_three_lines() -> None:
    table = frame()
    objective = bsfw.Logistic(table.drop(columns="edible"), table["edible"], intercept=True)
    result = bsfw.minimize(objective, bsfw.L1Ball(5.0))
    model = bsfw.Model.of(objective, result)
    assert result.success
    assert objective.feature_names == ("size", "weight", "age", "count")
    assert model.classes.tolist() == ["e", "p"]
    assert np.mean(model.predict(table.drop(columns="edible")) == table["edible"]) > 0.9
    probabilities = model.predict_proba(table.drop(columns="edible"))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities[:, 1] > 0.5, model.predict(table.drop(columns="edible")) == "p")
    shuffled = table[["age", "edible", "count", "weight", "size"]]  # by name, whatever the order and what is beside
    np.testing.assert_array_equal(model.decision_function(shuffled), model.decision_function(objective.A))


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        (["no", "yes", "yes", "no"], None, ["no", "yes"]),
        (["no", "yes", "yes", "no"], "no", ["yes", "no"]),
        ([0, 1, 1, 0], None, [0, 1]),
        ([-1, 1, 1, -1], None, [-1, 1]),
        ([-1.0, 1.0, 1.0, -1.0], -1, [1.0, -1.0]),
        (np.array(["b", "a", "a", "b"], dtype=object), None, ["a", "b"]),
        (np.array([True, False, False, True]), None, [False, True]),
    ],
    ids=str,
)  # fmt: skip
def test_labels_of_any_two_kinds_become_signs(labels: Any, positive: Any, classes: list[Any]) -> None:
    objective = bsfw.Logistic(np.eye(4), labels, positive=positive)
    assert objective.classes.tolist() == classes
    np.testing.assert_array_equal(objective.y, np.where(np.asarray(labels) == classes[1], 1.0, -1.0))


def test_labels_and_columns_that_cannot_be_used_are_named() -> None:
    with pytest.raises(ValueError, match="two kinds, but y holds 'a', 'b', 'c'; use Multinomial"):
        bsfw.Logistic(np.eye(3), ["a", "b", "c"])
    with pytest.raises(ValueError, match="two kinds, but y holds 'a'; give samples of both kinds"):
        bsfw.Logistic(np.eye(2), ["a", "a"])
    with pytest.raises(ValueError, match=r"positive='d' is none of the labels in y, which are 'a', 'b'"):
        bsfw.Logistic(np.eye(2), ["a", "b"], positive="d")
    with pytest.raises(TypeError, match="its columns 'edible' hold something else"):
        bsfw.LeastSquares(frame(), np.zeros(150))


def problems() -> dict[str, Any]:
    table = frame()
    A = table.drop(columns="edible")
    three = np.array(["x", "y", "z"])[np.arange(150) % 3]
    return {
        "logistic": bsfw.Logistic(A, table["edible"], intercept=True),
        "multinomial": bsfw.Multinomial(sp.csr_array(A.to_numpy()), three, intercept=True),
        "regression": bsfw.LeastSquares(A.to_numpy(), A["size"].to_numpy() + 3.0, intercept=True),
        "no intercept": bsfw.Huber(A.to_numpy(), A["size"].to_numpy()),
    }


@pytest.mark.parametrize("name", problems())
def test_a_model_read_from_its_file_predicts_the_same(name: str, tmp_path: Path) -> None:
    objective = problems()[name]
    model = bsfw.Model.of(objective, bsfw.minimize(objective, bsfw.L1Ball(4.0), max_iter=200))
    model.save(tmp_path / "model.npz")
    again = bsfw.load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(objective.A), model.predict(objective.A))
    assert again.feature_names == model.feature_names
    assert again.settings["loss"] == type(objective).__name__
    if name == "regression":
        assert np.abs(again.predict(objective.A) - objective.y).mean() < 0.5
        with pytest.raises(ValueError, match="LeastSquares has no probabilities"):
            again.predict_proba(objective.A)


def test_damaged_models_and_wrong_data_are_refused(tmp_path: Path) -> None:
    objective, path = problems()["logistic"], tmp_path / "model.npz"
    model = bsfw.Model.of(objective, bsfw.minimize(objective, bsfw.L1Ball(4.0)))
    with pytest.raises(ValueError, match="the data have 7 features, but the model has 4"):
        model.predict(np.zeros((2, 7)))
    with pytest.raises(ValueError, match="the data lack the columns 'age'"):
        model.predict(frame().drop(columns="age"))
    model.save(path)
    with np.load(path) as file:
        contents = {name: file[name] for name in file.files}
    meta = json.loads(str(contents["meta"]))
    for change in (
        {"coef": contents["coef"][:2]},
        {"coef": np.full(4, np.nan)},
        {"classes": np.array(["a", "b", "c"])},
        {"meta": np.array("{}")},
        {"meta": np.array(json.dumps({**meta, "link": "cauchit"}))},
        {"intercept": np.zeros(3)},
    ):
        np.savez(path, **{**contents, **change})
        with pytest.raises(ValueError, match=r"model\.npz is no bsfw model, or it is damaged"):
            bsfw.load_model(path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_tables_are_read_with_names_and_labels(suffix: str, tmp_path: Path) -> None:
    path, table = tmp_path / f"train{suffix}", frame()
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
    A, y, names = read_table(path, "edible")
    assert names == ("size", "weight", "age", "count")
    assert y is not None
    assert y.tolist() == table["edible"].tolist()
    np.testing.assert_allclose(A, table.drop(columns="edible").to_numpy(float))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "1 cells in line 3, but 2 names"),
        ("a,a\n1,2\n", "header of distinct names"),
        ("a,b\n", "no rows"),
        ("", "header|no rows"),
        ("a,b\n1,x\n", "has 'x' in the column 'b', which is no number"),
        ("label\n1\n", "no features beside"),
        ('a,label\n"1,2\n', "no table"),
    ],
)
def test_what_is_no_table_is_refused_with_its_name(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text(text)
    label = "label" if "label" in text else None
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path, label)
    assert "train.csv" in str(caught.value)


def test_a_missing_label_lists_the_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has no column 'c'; it has 'a', 'b'"):
        read_table(tmp_path / "t.csv", "c")
