"""One BLAS thread within a run and the old number after it; cores counted as the system allows."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # loads its BLAS
import scipy.sparse.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import bsfw
from benchmarks import threads as benchmark
from bsfw import _threads
from bsfw._threads import ASKED_FOR, cores, one_blas_thread
from bsfw.constraints._lanczos import leading_singular_pair


def blas_libraries() -> dict[str, int]:
    return {
        library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


_ABLE: set[str] = set()
"""Libraries that can have two threads: of some that a process has loaded, the environment allows one."""


def blas_threads() -> set[int]:
    return {threads for path, threads in blas_libraries().items() if path in _ABLE}


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch):
    for name in ASKED_FOR:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2, "blas"):
        _ABLE.clear()
        _ABLE.update(path for path, threads in blas_libraries().items() if threads == 2)
        assert blas_threads() == {2}
        yield
        assert blas_threads() == {2}


def test_within_there_is_one_thread_and_after_it_as_many_as_before() -> None:
    with one_blas_thread:
        assert blas_threads() == {1}
        with one_blas_thread:
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_an_error_restores_them_too() -> None:
    @one_blas_thread
    def fails() -> None:
        assert blas_threads() == {1}
        raise RuntimeError("within")

    with pytest.raises(RuntimeError, match="within"):
        fails()
    assert blas_threads() == {2}


def test_two_runs_at_once_end_with_the_threads_of_before_in_whatever_order_they_end() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_blas_thread:
            inside.set()
            leave.wait(10)

    with one_blas_thread:
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10)
    assert blas_threads() == {1}  # the other one is still at it
    leave.set()
    thread.join()
    assert blas_threads() == {2}


@pytest.mark.parametrize("name", ASKED_FOR)
def test_threads_that_a_user_asked_for_stay(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "2")
    with one_blas_thread:
        assert blas_threads() == {2}


def test_libraries_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_blas_thread:
        pass
    with monkeypatch.context() as patch:
        patch.setattr("threadpoolctl.ThreadpoolController", None)
        for _ in range(3):
            with one_blas_thread, one_blas_thread:
                assert np.linalg.norm(np.ones((3, 3)) @ np.ones(3)) > 0


def test_a_run_and_a_single_oracle_call_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    target, seen = np.random.default_rng(0).standard_normal((60, 50)), set()

    def gradient(x: np.ndarray) -> np.ndarray:
        seen.add(max(blas_threads()))
        return x - target

    objective = bsfw.Function(lambda x: 0.5 * np.sum((x - target) ** 2), gradient, shape=target.shape)
    bsfw.minimize(objective, bsfw.NuclearBall(2.0), max_iter=3)
    assert seen == {1}
    operator = scipy.sparse.linalg.LinearOperator(
        target.shape,
        matvec=lambda v: seen.add(max(blas_threads())) or target @ v,
        rmatvec=lambda u: target.T @ u,
        dtype=float,
    )
    assert blas_threads() == {2}
    leading_singular_pair(operator, 1e-3)
    assert seen == {1}


def test_the_benchmark_measures_every_case_in_both_ways(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def measured(name: str, quick: bool, threads: str | None) -> dict[str, float]:
        asked.append((name, threads))
        return {"cpu": 3.0 if threads is None else 2.0}

    monkeypatch.setattr(benchmark, "measured", measured)
    assert benchmark.main(["--quick"]) == 0
    assert sorted(set(asked), key=str) == sorted(((name, t) for name in benchmark.CASES for t in (None, "1")), key=str)
    assert "the worst ratio is 1.50" in capsys.readouterr().out
    monkeypatch.undo()
    found = benchmark.measure("nuclear", quick=True)
    assert found["cpu"] > 0
    assert found["wall"] > 0


V2 = {"proc": "0::/app/job\n"}
V1 = {"proc": "5:memory:/other\n4:cpu,cpuacct:/docker/1234\n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (V2 | {"cpu.max": "max 100000"}, 8),
        (V2 | {"cpu.max": "200000 100000"}, 2),
        (V2 | {"app/job/cpu.max": "150000 100000"}, 2),
        (V2 | {"app/cpu.max": "100000 100000", "app/job/cpu.max": "300000 100000"}, 1),
        (V2 | {"app/job/cpu.max": "50000 100000"}, 1),
        (V2 | {"app/job/cpu.max": "3200000 100000"}, 8),
        (V1 | {"cpu,cpuacct/cpu.cfs_quota_us": "300000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 3),
        (V1 | {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 8),
        (V1 | {"other/cpu.max": "100000 100000"}, 8),
        (V2, 8),
        ({}, 8),
    ],
)
def test_cores_are_those_of_the_container(
    files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(_threads, "_OWN_CGROUPS", tmp_path / "groups" / "proc")
    monkeypatch.setattr(_threads, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert cores() == expected
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert cores() == min(expected, 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "0")
    assert cores() == 1
