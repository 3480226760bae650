"""Product and Oracle."""

import functools

import numpy as np
import pytest

from bsfw.constraints import Box, KSparse, L1Ball, L2Ball, NuclearBall, Oracle, Product, Simplex
from bsfw.vertices import Dense, OneHot, Sparse


def test_product_of_sparse_sets_is_sparse_and_blockwise():
    product = Product([(L1Ball(1.0), 3), (Simplex(2.0), (2, 2)), (KSparse(2, 0.5), (3,))])
    g = np.array([0.0, -3.0, 1.0, 4.0, 3.0, -1.0, 2.0, 1.0, -2.0, 0.5])
    v = product.lmo(g)
    assert isinstance(v, Sparse)
    assert v.dense().tolist() == [0, 1, 0, 0, 0, 2, 0, -0.5, 0.5, 0]
    assert product.shape == (10,)
    assert product.suggested_rounds == 10_000


def test_product_with_a_matrix_block_is_dense():
    product = Product([(NuclearBall(1.0), (2, 3)), (L1Ball(1.0), (2,))])
    rng = np.random.default_rng(0)
    for g in (rng.standard_normal(8), rng.standard_normal(8) + 1j * rng.standard_normal(8)):
        v = product.lmo(g)
        assert isinstance(v, Dense)
        expected = np.concatenate(
            [c.lmo(p).dense().ravel() for (c, _), p in zip(product.blocks, product.split(g), strict=True)]
        )
        assert np.array_equal(v.dense(), expected)
        assert product.contains(v.dense())
    assert product.suggested_rounds == 5
    assert product.lmo(np.ones(8, dtype=np.float32)).dense().shape == (8,)


def test_split_gives_views():
    product = Product([(L1Ball(1.0), (2, 2)), (Box(0.0, 1.0), 1)])
    x = np.zeros(5)
    blocks = product.split(x)
    assert [block.shape for block in blocks] == [(2, 2), (1,)]
    blocks[0][1, 0] = 7.0
    assert x.tolist() == [0, 0, 7, 0, 0]


def test_product_violation_and_diameter():
    product = Product([(L1Ball(1.0), 2), (L2Ball(2.0), 2)])
    assert product.violation(np.array([1.0, 0.0, 0.0, 2.5])) == pytest.approx(0.25)
    assert product.violation(np.array([1.1, 0.0, 0.0, 2.0])) == pytest.approx(0.1)
    assert product.diameter((4,)) == pytest.approx(np.sqrt(4 + 16))


def test_product_fingerprint_sees_the_arrays_inside():
    boxes = [Product([(Box(np.zeros(3), upper), 3)]) for upper in (np.ones(3), 2 * np.ones(3))]
    assert boxes[0].fingerprint() != boxes[1].fingerprint()
    assert repr(boxes[0]) == repr(boxes[1])


def sign_oracle(direction):
    return np.where(direction >= 0, -1, 1)


def test_oracle_wraps_arrays_and_vertices():
    g = np.array([1.0, -2.0])
    v = Oracle(sign_oracle).lmo(g)
    assert v.dense().tolist() == [-1.0, 1.0]
    assert v.dtype == float
    one = OneHot(1, 1.0, (2,))
    assert Oracle(lambda d: one).lmo(g) is one
    assert Oracle(lambda d: [0.0, 1.0]).lmo(g).dense().tolist() == [0.0, 1.0]


def test_oracle_may_reuse_its_buffer():
    buffer = np.zeros(2)

    def lmo(direction):
        buffer[:] = -np.sign(direction)
        return buffer

    oracle = Oracle(lmo)
    first = oracle.lmo(np.array([1.0, 1.0]))
    oracle.lmo(np.array([-1.0, 1.0]))
    assert first.dense().tolist() == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.ones(3), "answered with shape \\(3,\\)"),
        (OneHot(0, 1.0, (3,)), "answered with shape \\(3,\\)"),
        (np.array([1.0, np.nan]), "1 entries that are NaN or infinite"),
        (OneHot(0, np.inf, (2,)), "NaN or infinite"),
    ],
)
def test_wrong_answers_of_an_oracle_are_refused(answer, words):
    with pytest.raises(ValueError, match=words):
        Oracle(lambda direction: answer).lmo(np.zeros(2))


def test_oracle_is_honest_about_what_it_does_not_know():
    oracle = Oracle(sign_oracle)
    assert not oracle.has_membership
    with pytest.raises(ValueError, match="no membership test; pass violation="):
        oracle.contains(np.zeros(2))
    with pytest.raises(ValueError, match="does not know its diameter; pass diameter="):
        oracle.diameter((2,))
    assert not Product([(L1Ball(1.0), 2), (oracle, 2)]).has_membership
    assert Product([(L1Ball(1.0), 2)]).has_membership


def test_oracle_with_everything():
    oracle = Oracle(sign_oracle, diameter=3.0, violation=lambda x: max(0.0, np.abs(x).max() - 1.0), shape=(2,))
    assert oracle.has_membership
    assert oracle.diameter((2,)) == 3.0
    assert oracle.contains(np.ones(2))
    assert oracle.violation(np.array([1.5, 0.0])) == 0.5
    with pytest.raises(ValueError, match="shape \\(2,\\)"):
        oracle.lmo(np.zeros(3))


def test_oracle_is_recognised_by_name_not_by_address():
    assert Oracle(sign_oracle).fingerprint() == Oracle(sign_oracle).fingerprint()
    assert "sign_oracle" in repr(Oracle(sign_oracle))
    assert Oracle(sign_oracle).fingerprint() != Oracle(np.sign).fingerprint()
    assert "0x" not in repr(Oracle(functools.partial(sign_oracle)))
