import pickle
import sys

import numpy as np
import pytest

import bsfw
from bsfw.results import COLUMNS


@pytest.fixture
def result(classification):
    A, y = classification
    return bsfw.minimize(
        bsfw.Logistic(A, y), bsfw.L1Ball(3.0), estimator=bsfw.SAGA(), max_iter=20, record_every=2, rng=0
    )


def test_result_has_the_fields_of_scipy_and_reads_like_it(result):
    from scipy.optimize import OptimizeResult

    for name in ("x", "fun", "success", "status", "message", "nit", "nfev", "njev"):
        assert result[name] is getattr(result, name)
    assert isinstance(result, OptimizeResult)
    assert "boosting_percentage" in repr(result)
    assert "fun" in dir(result)
    with pytest.raises(AttributeError, match="hess"):
        result.hess  # noqa: B018
    assert pickle.loads(pickle.dumps(result)).fun == result.fun


def test_repr_of_a_long_solution_is_short():
    assert len(repr(bsfw.Result(x=np.zeros((1000, 1000))))) < 400


def test_trace_as_frame_and_columns(result):
    frame = result.trace.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == len(result.trace) == 11
    np.testing.assert_array_equal(frame["value"], result.trace["value"])
    assert frame["boosted"].dtype == bool
    with pytest.raises(KeyError, match="no column 'loss'"):
        result.trace["loss"]


def test_trace_files_hold_the_same_numbers(result, tmp_path):
    import pandas

    result.trace.save(tmp_path / "trace.npz")
    again = bsfw.Trace.load(tmp_path / "trace.npz")
    result.trace.save(tmp_path / "trace.csv")
    table = pandas.read_csv(tmp_path / "trace.csv")
    for name in COLUMNS:
        np.testing.assert_array_equal(again[name], result.trace[name])
        np.testing.assert_array_equal(table[name], result.trace[name])
    with pytest.raises(ValueError, match=r"\.npz or \.csv"):
        result.trace.save(tmp_path / "trace.xlsx")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        result.trace.save(tmp_path / "nowhere" / "trace.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["trace.csv", "trace.npz"]


def test_trace_draws_a_column_against_another(result):
    import matplotlib

    matplotlib.use("Agg")
    axes = result.trace.plot("value", "sample_gradients", label="SAGA")
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), result.trace["sample_gradients"])
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "sample gradients"
    axes.figure.clear()


def test_missing_pandas_is_said_in_a_sentence(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.trace.to_pandas()
