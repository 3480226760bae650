"""The active set: a point as a convex combination of atoms, whatever their structure."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsfw.active_set import NOTHING, ActiveSet
from bsfw.vertices import Dense, OneHot, RankOne, Sparse, Vertex

SHAPE = (3, 4)


def random_vertex(rng, dtype=float):
    """One of a few vertices of every structure, so that equal ones come again."""
    number = int(rng.integers(3))
    fixed = np.random.default_rng(number)

    def numbers(*shape):
        values = fixed.standard_normal(shape)
        return (values + 1j * fixed.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)

    match int(rng.integers(5)):
        case 0:
            return OneHot(2 * number, numbers(1)[0].item(), SHAPE)
        case 1:
            return Sparse(np.array([1, 5, 7]) + number, numbers(3), SHAPE)
        case 2:
            return Sparse(np.array([number, 9]), numbers(2), SHAPE)
        case 3:
            return RankOne(1.5, numbers(3), numbers(4))
        case _:
            return Dense(numbers(*SHAPE))


def random_set(seed, dtype=float, size=6):
    rng = np.random.default_rng(seed)
    active = ActiveSet(SHAPE, dtype)
    for _ in range(size):
        active.add(random_vertex(rng, dtype), float(rng.uniform(0.1, 1.0)))
    active.tidy()
    return active, rng


def assert_consistent(active):
    """The weights are on the simplex, and point, scores and positions are those of the atoms one by one."""
    atoms, weights = active.atoms, active.weights
    assert len(atoms) == len(weights) == len(active)
    assert (weights > NOTHING).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert [active.position(atom) for atom in atoms] == list(range(len(atoms)))
    dense = [atom.dense(active.dtype) for atom in atoms]
    for i in range(len(atoms)):
        np.testing.assert_array_equal(active.atom(i).dense(active.dtype), dense[i])
        assert not any(type(atoms[i]) is type(atoms[j]) and np.array_equal(dense[i], dense[j]) for j in range(i))
    np.testing.assert_allclose(active.point(), sum(w * a for w, a in zip(weights, dense, strict=True)), atol=1e-12)
    g = np.random.default_rng(9).standard_normal(SHAPE).astype(active.dtype)
    if active.dtype.kind == "c":
        g = g * (1.0 + 0.5j)
    np.testing.assert_allclose(active.scores(g), [atom.inner(g) for atom in atoms], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([float, complex]),
    st.lists(
        st.tuples(st.sampled_from(["towards", "away", "pairwise"]), st.sampled_from([0.1, 0.7, 1.0])), max_size=15
    ),
)
def test_steps_move_the_point_and_leave_a_consistent_set(seed, dtype, steps):
    active, rng = random_set(seed, dtype)
    for step, share in steps:
        x, vertex, source = active.point(), random_vertex(rng, dtype), int(rng.integers(len(active)))
        weight, atom = active.weights[source], active.atom(source).dense(dtype)
        if step == "towards":
            gamma, d = share, vertex.dense(dtype) - x
            active.towards(vertex, gamma)
        elif step == "pairwise":
            gamma, d = share * weight, vertex.dense(dtype) - atom
            active.between(source, vertex, gamma)
        elif len(active) > 1:
            gamma, d = share * (weight / (1.0 - weight)), x - atom
            active.away_from(source, gamma)
        else:
            continue
        active.tidy()
        assert_consistent(active)
        np.testing.assert_allclose(active.point(), x + gamma * d, atol=1e-11 * max(1.0, gamma))


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (OneHot(3, 2.0, SHAPE), OneHot(3, 2.0, SHAPE)),
        (OneHot(3, 0.0, SHAPE), OneHot(5, -0.0, SHAPE)),
        (Sparse(np.array([1, 4]), np.array([1.0, 2.0]), SHAPE), Sparse(np.array([4, 1]), np.array([2.0, 1.0]), SHAPE)),
        (
            Sparse(np.array([1, 4]), np.array([1.0, 2.0]), SHAPE),
            Sparse(np.array([1, 2, 4], dtype=np.int32), np.array([1.0, -0.0, 2.0]), SHAPE),
        ),
        (RankOne(2.0, np.ones(3), np.zeros(4)), RankOne(2.0, np.ones(3), -np.zeros(4))),
        (Dense(np.eye(3, 4)), Dense(np.where(np.eye(3, 4) > 0, 1.0, -0.0))),
    ],
)
def test_equal_atoms_are_one_atom(first, again):
    active = ActiveSet(SHAPE)
    assert active.add(first, 0.25) == active.add(again, 0.75) == 0
    assert len(active) == 1
    assert active.weights.tolist() == [1.0]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (OneHot(3, 2.0, SHAPE), OneHot(3, -2.0, SHAPE)),
        (OneHot(3, 2.0, SHAPE), OneHot(4, 2.0, SHAPE)),
        (Sparse(np.array([1, 4]), np.array([1.0, 2.0]), SHAPE), Sparse(np.array([1, 4]), np.array([2.0, 1.0]), SHAPE)),
        (Dense(np.eye(3, 4)), Dense(np.nextafter(np.eye(3, 4), 2.0))),
    ],
)
def test_different_atoms_stay_apart(first, other):
    active = ActiveSet(SHAPE)
    active.add(first, 0.5)
    assert active.position(other) is None
    active.add(other, 0.5)
    assert len(active) == 2


def test_atoms_are_compared_in_the_precision_of_the_variable():
    active = ActiveSet((3,), np.float32)
    active.add(OneHot(1, 0.1, (3,)), 0.5)
    active.add(OneHot(1, float(np.float32(0.1)), (3,)), 0.5)
    assert len(active) == 1
    assert active.point().dtype == np.float32


def test_tidy_drops_zero_tiny_and_negative_weights_and_leaves_no_ghosts():
    active, _ = random_set(1, size=12)
    active.weights[[0, 2, 3]] = [0.0, NOTHING, -0.25]
    gone = [active.atom(i) for i in (0, 2, 3)]
    before = len(active)
    dropped, lost = active.tidy()
    assert (dropped, lost) == (3, pytest.approx(0.25 + NOTHING))
    assert len(active) == before - 3
    assert [active.position(atom) for atom in gone] == [None] * 3
    one_part_of_each = ("index", "values", "left", "array")
    stored = [len(part) for name, part in active.to_arrays().items() if name.endswith(one_part_of_each)]
    assert sum(stored) == len(active)
    assert_consistent(active)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_away_step_ends_in_an_exact_zero(seed):
    active, _ = random_set(seed)
    active.away_from(1, active.weights[1] / (1.0 - active.weights[1]))
    assert active.weights[1] == 0.0
    assert active.tidy() == (1, 0.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_the_last_atom_cannot_leave(bad):
    active = ActiveSet((2,))
    active.add(OneHot(0, 1.0, (2,)), bad)
    with pytest.raises(ValueError, match="no atom has a positive weight"):
        active.tidy()


def through_a_file(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@pytest.mark.parametrize("dtype", [float, complex])
def test_arrays_hold_the_whole_set_and_it_goes_on_to_the_same_bits(dtype):
    active, _ = random_set(3, dtype, size=15)
    again = ActiveSet.from_arrays(through_a_file(active.to_arrays()) | {"other": np.zeros(1)})
    for one in (active, again):
        rng = np.random.default_rng(4)
        for _ in range(20):
            vertex, source = random_vertex(rng, dtype), int(rng.integers(len(one)))
            one.between(source, vertex, float(rng.choice([0.5, 1.0])) * one.weights[source])
            one.towards(random_vertex(rng, dtype), 0.1)
            one.tidy()
    assert len(active) > 3
    for name, array in active.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
    np.testing.assert_array_equal(active.point(), again.point())


def test_arrays_are_copies():
    active = ActiveSet((5,))
    for index in range(4):
        active.add(OneHot(index, 1.0, (5,)), 0.25)
    arrays, x = active.to_arrays(), active.point()
    active.weights[0] = 0.0
    active.tidy()
    np.testing.assert_array_equal(ActiveSet.from_arrays(arrays).point(), x)


def test_arrays_with_missing_atoms_are_refused():
    arrays = random_set(6)[0].to_arrays()
    arrays["active.weights"] = np.append(arrays["active.weights"], 0.0)
    with pytest.raises(ValueError, match="numbers of atoms and of weights differ"):
        ActiveSet.from_arrays(arrays)


def test_atoms_of_another_shape_kind_or_field_are_refused():
    class Other(Vertex):
        shape = (2,)
        dtype = np.dtype(float)
        add_to = inner = norm_squared = None

    active = ActiveSet((2,))
    with pytest.raises(ValueError, match=r"the atoms have the shape \(2,\)"):
        active.add(OneHot(0, 1.0, (3,)), 1.0)
    with pytest.raises(ValueError, match="cannot hold a complex atom"):
        active.add(OneHot(0, 1j, (2,)), 1.0)
    with pytest.raises(TypeError, match="an atom must be a OneHot, Sparse, RankOne or Dense"):
        active.add(Other(), 1.0)
    with pytest.raises(IndexError, match="no atom 0 among 0"):
        active.atom(0)


def test_one_hots_in_bulk_are_the_set_that_single_atoms_make():
    index, value, weights = np.array([5, 0, 2, 7]), np.array([2.0, 0.0, -1.0, 3.0]), np.array([1.0, 0.4, 0.6, 0.0])
    bulk, single = ActiveSet.of_one_hots((8,), index, value, weights), ActiveSet((8,))
    for atom in zip(index.tolist(), value.tolist(), weights, strict=True):
        single.add(OneHot(*atom[:2], (8,)), atom[2])
    single.tidy()
    assert bulk.keys == single.keys
    np.testing.assert_allclose(bulk.weights, single.weights, rtol=1e-15)
    for active in (bulk, single):  # and goes on like it
        assert active.add(OneHot(2, -1.0, (8,)), 0.1) == 2
        assert active.add(OneHot(2, 1.0, (8,)), 0.1) == 3
        active.weights[0] = 0.0
        assert active.tidy()[0] == 1
    assert bulk.keys == single.keys
    np.testing.assert_array_equal(bulk.point(), single.point())
    with pytest.raises(ValueError, match="would be empty"):
        ActiveSet.of_one_hots((8,), index, value, 0.0 * weights)


def test_nonzeros_are_those_of_the_point_in_order_with_opposite_atoms_merged():
    active = ActiveSet((3, 4))
    for index, value, weight in ((9, 2.0, 0.25), (1, -2.0, 0.25), (9, -2.0, 0.125), (0, 0.0, 0.375)):
        active.add(OneHot(index, value, (3, 4)), weight)
    indices, values = active.nonzeros()
    assert indices.tolist() == [1, 9]
    np.testing.assert_array_equal(values, active.point().ravel()[indices])
    active.add(Dense(np.ones((3, 4))), 0.1)
    with pytest.raises(ValueError, match="use point"):
        active.nonzeros()
