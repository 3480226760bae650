"""Predictions by ids: any kind of id, cold users and items, recommendations without what was seen."""

import numpy as np
import pytest

import bsfw
from bsfw.datasets import Ratings
from bsfw.objectives.completion import MatrixCompletion

FRAME = {
    "who": ["ann", "bob", "ann", "cid", "bob", "cid", "dan"],
    "what": ["tea", "tea", "rum", "rum", "gin", "ale", "ale"],
    "stars": [5, 4, 1, 2, 2, 1, 3],
}


@pytest.fixture
def ratings():
    return Ratings.from_frame(FRAME, "who", "what", "stars")


@pytest.fixture
def fitted(ratings):
    objective = MatrixCompletion(ratings, "squared", implicit=True)
    return objective, bsfw.minimize(objective, method="corrective", max_iter=30, rng=0)


def test_a_table_becomes_ratings_with_ids_of_any_kind(ratings):
    assert ratings.shape == (4, 4)
    assert ratings.user_ids.tolist() == ["ann", "bob", "cid", "dan"]
    assert ratings.item_ids.tolist() == ["ale", "gin", "rum", "tea"]
    for row, col, value, who, what, stars in zip(*ratings, *FRAME.values(), strict=True):
        assert (ratings.user_ids[row], ratings.item_ids[col], value) == (who, what, stars)
    mixed = Ratings.from_frame({"user": [(1, 2), "x", (1, 2)], "item": [7, 9, 9], "rating": [1.0, 2.0, 3.0]})
    assert mixed.shape == (2, 2)
    assert mixed.rows[0] == mixed.rows[2] != mixed.rows[1]


def test_a_data_frame_is_a_table_as_well(ratings):
    pandas = pytest.importorskip("pandas")
    same = Ratings.from_frame(pandas.DataFrame(FRAME), "who", "what", "stars")
    assert np.array_equal(same.rows, ratings.rows)
    assert same.item_ids.tolist() == ratings.item_ids.tolist()


def test_tables_that_cannot_be_read_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="no column 'user'; its columns are who"):
        Ratings.from_frame(FRAME)
    with pytest.raises(ValueError, match="no number"):
        Ratings.from_frame(FRAME, "who", "what", "who")
    with pytest.raises(ValueError, match="1 of 2 ratings are missing"):
        Ratings.from_frame({"user": [1, 2], "item": [1, 2], "rating": [1.0, np.nan]})
    with pytest.raises(ValueError, match="'item' has ids that are missing"):
        Ratings.from_frame({"user": [1, 2], "item": ["a", None], "rating": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'user' has ids that are missing"):
        Ratings.from_frame({"user": [1.0, np.nan], "item": ["a", "b"], "rating": [1.0, 2.0]})


def test_predictions_by_id_are_the_fitted_entries(fitted, ratings):
    objective, result = fitted
    known = objective.margins(result.x) + objective.constant
    assert np.allclose(result.model.predict(FRAME["who"], FRAME["what"])[ratings_order(ratings)], known)
    assert result.model.predict("ann", ["tea", "gin"]).shape == (2,)
    assert np.allclose(result.model.entries(objective.rows, objective.cols), known)


def ratings_order(ratings):
    return np.lexsort((ratings.cols, ratings.rows))


def test_cold_users_and_items_are_answered_by_the_means(fitted):
    model = fitted[1].model
    assert model.predict("eve", "mud") == pytest.approx(model.constant)
    tea = model.item_bias[model.item_ids.tolist().index("tea")]
    assert model.predict("eve", "tea") == pytest.approx(model.constant + tea)
    ann = model.user_bias[0]
    assert model.predict("ann", "mud") == pytest.approx(model.constant + ann)
    assert model.predict(3, "tea") == model.predict("eve", "tea")  # an id of another kind is unknown as well


def test_top_leaves_out_what_was_seen_and_is_sorted(fitted):
    model = fitted[1].model
    best = model.top("ann", 5)
    assert {item for item, _ in best} == {"ale", "gin"}
    assert best[0][1] >= best[1][1]
    assert best[0][1] == pytest.approx(model.predict("ann", best[0][0]))
    assert len(model.top("bob", 1)) == 1
    unknown = model.top("eve", 4)
    assert [item for item, _ in unknown] == [model.item_ids[j] for j in np.argsort(-model.item_bias, kind="stable")]
    with pytest.raises(ValueError, match="n must be"):
        model.top("ann", 0)


def test_an_unseen_row_of_the_matrix_is_a_cold_user():
    rows, cols, values = np.array([0, 0, 2, 3]), np.array([0, 1, 1, 3]), np.array([5.0, 3.0, 4.0, 1.0])
    objective = MatrixCompletion((rows, cols, values, (5, 4)), "squared", implicit=True)
    model = bsfw.minimize(objective, method="corrective", max_iter=20, rng=0).model
    assert model.predict(1, 0) == pytest.approx(model.constant + model.item_bias[0])
    assert model.predict(4, 2) == pytest.approx(model.constant)
    with pytest.raises(ValueError, match="between 0 and 4"):
        model.entries([7], [0])
    with pytest.raises(TypeError, match="whole numbers"):
        model.entries(["ann"], [0])
