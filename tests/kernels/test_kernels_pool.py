"""The pool of the largest numbers, from which the k-sparse polytope answers its rounds."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsfw.kernels import ksparse


@numba.njit
def block_maxima(g, blocks):
    return ksparse.block_maxima(g, blocks)


@numba.njit
def update_pool(g, slots, pool, k):
    ksparse.update_pool(g, slots, pool, k)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 5, 63, 64, 65, 700]),
    share=st.sampled_from([0.01, 0.3, 1.0]),
    spare=st.sampled_from([1, 64]),
    values=st.sampled_from([2, 10**6]),
)
def test_the_pool_gives_the_largest_in_order(seed, n, share, spare, values):
    """However often it must be filled again, and whatever ties there are."""
    rng = np.random.default_rng(seed)
    k, g = max(1, int(share * n)), rng.integers(0, values, n).astype(float) * rng.choice([-1.0, 1.0], n)
    slots = np.zeros(n, dtype=np.uint32)
    touched = rng.permutation(n)[: rng.integers(0, n)]
    slots[touched] = 1
    g[touched] = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ksparse, "SPARE", spare)
        pool = ksparse.make_pool(k, n, n)
    pool.marks[:] = 0, 1, 1
    assert block_maxima(g, pool.blocks) == pytest.approx(g @ g)
    expected = sorted(np.flatnonzero(slots == 0), key=lambda j: (-abs(g[j]), j))
    while True:
        update_pool(g, slots, pool, k)
        front = pool.wheres[: min(k, pool.marks[0])]
        assert sorted(front) == sorted(expected[:k])
        if not expected:
            break
        taken = expected[: rng.integers(1, k + 1)]
        slots[taken] = 1
        g[taken] = 0.0
        expected = expected[len(taken) :]
