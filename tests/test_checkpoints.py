import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw

ESTIMATORS = [
    bsfw.FullGradient(),
    bsfw.SAG(batch_size=6),
    bsfw.SAGA(batch_size=6),
    bsfw.LSVRG(batch_size=6),
    bsfw.SARAH(batch_size=6),
    bsfw.HeavyBall(batch_size=0.1),
    bsfw.SEGA(coordinates=2),
    bsfw.JAGUAR(),
    bsfw.ZOJA(),
]
SAME = ("iteration", "value", "gap", "gap_exact", "rounds", "eta", "gamma", "alignment", "boosted", "sample_gradients",
        "coordinate_gradients", "function_values", "lmo_calls")  # fmt: skip


class Interrupted(Exception):
    pass


def interrupt_at(nit):
    def callback(intermediate_result):
        if intermediate_result.nit == nit:
            raise Interrupted

    return callback


def assert_same_run(one, other):
    np.testing.assert_array_equal(one.x, other.x)
    assert one.fun == other.fun
    assert one.gap == other.gap
    for name in ("nit", "nfev", "njev", "sample_gradients", "coordinate_gradients", "lmo_calls", "check_lmo_calls",
                 "status", "boosting_percentage"):  # fmt: skip
        assert one[name] == other[name], name
    assert dataclasses.asdict(one.check_counts) == dataclasses.asdict(other.check_counts)
    for name in SAME:
        np.testing.assert_array_equal(one.trace[name], other.trace[name], err_msg=name)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)
def test_a_run_that_was_cut_off_ends_in_the_same_bits(estimator, tmp_path, classification):
    A, y = classification
    objective, ball, path = bsfw.Logistic(A, y), bsfw.L1Ball(3.0), tmp_path / "run.npz"
    settings = dict(method="boosted", estimator=estimator, max_iter=60, record_every=4, gap_every=20, rng=5)
    whole = bsfw.minimize(objective, ball, **settings)
    with pytest.raises(Interrupted):
        bsfw.minimize(objective, ball, checkpoint=path, every=7, callback=interrupt_at(32), **settings)
    assert_same_run(bsfw.resume(path, objective, ball), whole)
    assert_same_run(bsfw.resume(path, bsfw.Logistic(A, y), bsfw.L1Ball(3.0)), whole)  # finished: the same again


@pytest.mark.parametrize("radius", [2.0, 90.0])  # a support that its Gram matrix has room for, and one that outgrows it
def test_what_is_formed_again_has_the_same_bits(radius, tmp_path):
    rng = np.random.default_rng(8)
    A = sp.random(3_000, 120, density=0.05, random_state=4, format="csr")
    objective, ball = bsfw.Logistic(A, np.where(A @ rng.standard_normal(120) > 0, 1.0, -1.0)), bsfw.L1Ball(radius)
    settings = dict(estimator=bsfw.SAG(batch_size=200), max_iter=40, record_every=5, rng=5)
    whole = bsfw.minimize(objective, ball, **settings)
    with pytest.raises(Interrupted):
        bsfw.minimize(objective, ball, checkpoint=tmp_path / "run.npz", every=5, callback=interrupt_at(15), **settings)
    assert_same_run(bsfw.resume(tmp_path / "run.npz", objective, ball), whole)


def test_other_generators_tables_of_gradients_and_steps_resume_too(tmp_path):
    rng = np.random.default_rng(0)
    targets = rng.standard_normal((8, 3))
    objective = bsfw.Function(
        lambda x: float(np.mean(np.sum((x - targets) ** 2, axis=1))),
        n_samples=8,
        batch_jac=lambda x, batch: 2 * np.mean(x - targets[batch], axis=0),
        shape=(3,),
    )
    for name in ("MT19937", "Philox", "SFC64"):
        path = tmp_path / f"{name}.npz"

        def source(name=name):
            return np.random.Generator(getattr(np.random, name)(3))

        settings = dict(estimator=bsfw.SAGA(batch_size=2), max_iter=30, record_every=2, step="paper")
        whole = bsfw.minimize(objective, bsfw.Simplex(), rng=source(), **settings)
        with pytest.raises(Interrupted):
            bsfw.minimize(
                objective, bsfw.Simplex(), rng=source(), checkpoint=path, every=5, callback=interrupt_at(16), **settings
            )
        assert_same_run(bsfw.resume(path, objective, bsfw.Simplex()), whole)


def test_a_finished_run_can_be_prolonged(tmp_path, classification):
    A, y = classification
    objective, ball, path = bsfw.Logistic(A, y), bsfw.L1Ball(3.0), tmp_path / "run.npz"
    settings = dict(estimator=bsfw.SAGA(batch_size=6), rng=1, record_every=5)
    whole = bsfw.minimize(objective, ball, max_iter=80, **settings)
    bsfw.minimize(objective, ball, max_iter=40, checkpoint=path, **settings)
    assert_same_run(bsfw.resume(path, objective, ball, max_iter=80), whole)


def test_the_checkpoint_is_replaced_whole_and_leaves_nothing_beside(tmp_path, classification, monkeypatch):
    A, y = classification
    path = tmp_path / "run.npz"
    bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), method="boosted", max_iter=20, checkpoint=path, every=5)
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    content = path.read_bytes()

    def failing(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", failing)
    with pytest.raises(OSError, match="disk full"):
        bsfw.resume(path, bsfw.Logistic(A, y), bsfw.L1Ball(3.0), max_iter=40)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_another_problem_is_refused(tmp_path, classification):
    A, y = classification
    path = tmp_path / "run.npz"
    bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), method="boosted", max_iter=10, checkpoint=path)
    with pytest.raises(ValueError, match="another constraint"):
        bsfw.resume(path, bsfw.Logistic(A, y), bsfw.L1Ball(3.1))
    with pytest.raises(ValueError, match="another objective"):
        bsfw.resume(path, bsfw.Logistic(A, -y), bsfw.L1Ball(3.0))
    with pytest.raises(ValueError, match="another objective"):
        bsfw.resume(path, bsfw.LeastSquares(A, y), bsfw.L1Ball(3.0))


def test_files_that_are_no_checkpoints_are_refused(tmp_path, classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(3.0)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        bsfw.resume(tmp_path / "missing.npz", objective, ball)
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "pickle.npz", meta=np.array([{"format": 1}], dtype=object))
    for name in ("text.npz", "other.npz", "pickle.npz"):
        with pytest.raises(ValueError, match=rf"{name} (is not a bsfw checkpoint|is no \.npz archive|.*object)"):
            bsfw.resume(tmp_path / name, objective, ball)
    bsfw.minimize(objective, ball, method="boosted", max_iter=10, checkpoint=tmp_path / "run.npz")
    whole = (tmp_path / "run.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cut\.npz is no \.npz archive, or it is damaged"):
        bsfw.resume(tmp_path / "cut.npz", objective, ball)


def with_entry(position, value):
    return lambda array: np.where(np.arange(array.size) == position % array.size, value, array)


def with_field(name, value):
    def changed(record):
        record = record.copy()
        record[name] = value
        return record

    return changed


DAMAGES = {
    "no record": ("record", lambda record: record[:0]),
    "a record of other fields": ("record", lambda record: record["count"]),
    "of another type": ("g", lambda g: g.astype(np.float32)),
    "a table of fewer samples": ("table", lambda table: table[1:]),
    "compact arrays of two lengths": ("x", lambda x: x[:-1]),
    "margins of other samples": ("margins", lambda margins: np.zeros(3)),
    "a negative count": ("record", with_field("count", -1)),
    "more coordinates than slots": ("record", with_field("count", 999)),
    "a phase that is none": ("record", with_field("phase", 7)),
    "a counter below zero": ("record", with_field("lmo_calls", -1)),
    "a scale that is none": ("record", with_field("scale", np.nan)),
    "an x that is not finite": ("x", with_entry(1, np.inf)),
    "a vertex that is not finite": ("vertex", with_entry(1, np.nan)),
    "a coordinate beyond x": ("coordinates", lambda coordinates: coordinates + 10**6),
    "a coordinate twice": ("coordinates", lambda coordinates: 0 * coordinates),
    "one in a slot that is not used": ("coordinates", with_entry(-1, 10**6)),
    "a vertex in such a slot": ("q", with_entry(-1, 1.0)),
    "samples that are none": ("batch", lambda batch: batch + np.uint32(10**6)),
    "an array missing": ("g", None),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_do_not_fit_are_refused_before_compiled_code_sees_them(damage, tmp_path, classification):
    A, y = classification
    objective, ball, path = bsfw.Logistic(A, y), bsfw.L1Ball(3.0), tmp_path / "run.npz"
    bsfw.minimize(objective, ball, estimator=bsfw.SAGA(batch_size=2), max_iter=10, checkpoint=path, rng=0)
    with np.load(path) as file:
        contents = {name: file[name] for name in file.files}
    assert contents["memory.record"]["count"][0] > 1  # so that a coordinate can be there twice
    name, change = DAMAGES[damage]
    array = contents.pop(f"memory.{name}")
    if change is not None:
        contents[f"memory.{name}"] = change(array)
    np.savez(path, **contents)
    with pytest.raises(ValueError, match="start the run anew"):
        bsfw.resume(path, objective, ball, max_iter=20)


def test_what_a_checkpoint_cannot_hold_is_said_before_the_run(tmp_path, classification):
    A, y = classification
    objective, ball, path = bsfw.Logistic(A, y), bsfw.L1Ball(3.0), tmp_path / "run.npz"
    with pytest.raises(ValueError, match=r"\.npz"):
        bsfw.minimize(objective, ball, checkpoint=tmp_path / "run.pickle")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        bsfw.minimize(objective, ball, checkpoint=tmp_path / "nowhere" / "run.npz")
    with pytest.raises(ValueError, match="give checkpoint="):
        bsfw.minimize(objective, ball, every=10)
    path.write_text("precious")
    with pytest.raises(FileExistsError, match=r"bsfw\.resume"):
        bsfw.minimize(objective, ball, checkpoint=path)
    assert path.read_text() == "precious"
