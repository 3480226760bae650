"""Several threads on one objective: each run counts for itself, and what is made once serves all."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.vertices import RankOne

THREADS, TIMES = 4, 8


@pytest.fixture(autouse=True)
def _eager_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    """What the calls return, made at the same time."""
    barrier = threading.Barrier(len(calls))

    def after_all(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(after_all, calls))


def multinomial() -> bsfw.Multinomial:
    rng = np.random.default_rng(0)
    return bsfw.Multinomial(rng.standard_normal((40, 6)), np.arange(40) % 3)


def completion() -> bsfw.MatrixCompletion:
    rng = np.random.default_rng(0)
    places = rng.permutation(80)[:40]
    return bsfw.MatrixCompletion((places // 8, places % 8, rng.standard_normal(40), (10, 8)))


def quadratic() -> bsfw.Quadratic:
    return bsfw.Quadratic(np.diag(np.arange(1.0, 9.0)), np.ones(8))


PROBLEMS = {
    "saga": (multinomial, bsfw.L2Ball(5.0), dict(estimator=bsfw.SAGA(batch_size=4))),
    "sarah": (multinomial, bsfw.NuclearBall(5.0), dict(estimator=bsfw.SARAH(batch_size=4))),
    "line search": (quadratic, bsfw.L2Ball(1.0), dict(step="line-search")),
    "jaguar": (quadratic, bsfw.L2Ball(1.0), dict(estimator=bsfw.JAGUAR(coordinates=2))),
    "away": (quadratic, bsfw.Box(-1.0, 1.0), dict(method="away")),
    "arrays of a completion": (completion, bsfw.L2Ball(5.0), dict(estimator=bsfw.SAG(batch_size=4))),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_runs_at_the_same_time_have_the_counts_and_bits_of_runs_one_after_the_other(problem: str) -> None:
    make, constraint, options = PROBLEMS[problem]
    shared = make()

    def run(seed: int) -> tuple[Any, ...]:
        result = bsfw.minimize(
            shared, constraint, max_iter=300, max_gradients=700, gap_tol=1e-12, gap_every=7, rng=seed, **options
        )
        counts = (
            result.sample_gradients,
            result.coordinate_gradients,
            result.nfev,
            result.njev,
            result.lmo_calls,
            result.nit,
        )
        return counts, np.asarray(result.x).tobytes()

    seeds = list(range(THREADS)) * TIMES
    expected = {seed: run(seed) for seed in range(THREADS)}
    found = []
    for first in range(0, len(seeds), THREADS):
        found += together([lambda seed=seed: run(seed) for seed in seeds[first : first + THREADS]])
    assert found == [expected[seed] for seed in seeds]


def test_a_block_counts_what_its_own_thread_asks_and_nothing_else() -> None:
    objective, x = multinomial(), np.zeros((6, 3))

    def ask(times: int) -> tuple[int, int]:
        outer, inner = bsfw.Counts(), bsfw.Counts()
        with objective.counting(outer):
            for _ in range(times):
                objective.value(x)
            with objective.counting(inner):
                objective.value(x)
            objective.value(x)
        return outer.function_values, inner.function_values

    times = [500, 1000, 1500, 2000]
    assert together([lambda k=k: ask(k) for k in times]) == [(k + 1, 1) for k in times]
    assert objective.counts.function_values == 0
    objective.value(x)
    assert objective.counts.function_values == 1


def test_a_block_is_for_one_objective() -> None:
    one, other = quadratic(), quadratic()
    counts = bsfw.Counts()
    with one.counting(counts):
        other.value(np.zeros(8))
    assert counts == bsfw.Counts()
    assert other.counts.function_values == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda objective: pickle.loads(pickle.dumps(objective))])
def test_copies_count_for_themselves(duplicate: Callable[[Any], Any]) -> None:
    objective = quadratic()
    objective.value(np.zeros(8))
    counts = bsfw.Counts()
    with objective.counting(counts):
        twin = duplicate(objective)
        twin.value(np.zeros(8))
    assert counts.function_values == 0
    assert objective.counts.function_values == 1


@pytest.mark.parametrize("name", ["columns", "gram", "_squared_spectral_norm"])
@pytest.mark.parametrize("sparse", [True, False])
def test_what_is_made_once_is_the_same_for_threads_that_ask_at_once(name: str, sparse: bool) -> None:
    dense = np.random.default_rng(0).standard_normal((50, 20)) * (np.arange(1000).reshape(50, 20) % 3 == 0)
    A = sp.csr_array(dense) if sparse else dense

    def as_array(made: Any) -> Any:
        return made.toarray() if sp.issparse(made) else np.asarray(made)

    expected = as_array(getattr(bsfw.LeastSquares(A, np.zeros(50)), name))
    for _ in range(TIMES):
        objective = bsfw.LeastSquares(A, np.zeros(50))
        for found in together([lambda f=objective: getattr(f, name)] * THREADS):
            np.testing.assert_array_equal(as_array(found), expected)


def test_the_losses_on_observed_entries_are_one_object_for_all_threads() -> None:
    for _ in range(TIMES):
        objective = completion()
        found = together([lambda f=objective: f.observed] * THREADS)
        assert all(each is found[0] for each in found)


def test_steps_from_one_low_rank_matrix_do_not_write_over_each_other() -> None:
    rng = np.random.default_rng(0)
    vertices = [RankOne(1.0, rng.standard_normal(300), rng.standard_normal(200)) for _ in range(THREADS)]
    for _ in range(5 * TIMES):
        start = bsfw.LowRank.zeros((300, 200)).moved(1.0, [vertices[0]], [1.0])
        found = together([lambda v=v, x=start: x.moved(0.5, [v], [1.0]) for v in vertices])
        for vertex, x in zip(vertices, found, strict=True):
            np.testing.assert_array_equal(x.left[:, -1], vertex.left)
            np.testing.assert_array_equal(x.left[:, 0], vertices[0].left)
