"""Ctrl-C: the iteration is completed, the result attached, the checkpoint of a whole iteration written."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsfw
from bsfw.results import Status


def problem() -> Any:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 12))
    return bsfw.Logistic(A, np.where(A @ rng.standard_normal(12) > 0, 1.0, -1.0))


def press_at(nit: int, times: int = 1) -> Any:
    def callback(result: Any) -> None:
        if result.nit == nit:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.mark.parametrize("constraint", [bsfw.L1Ball(3.0), bsfw.L2Ball(3.0)], ids=str)
def test_ctrl_c_gives_the_result_so_far_and_a_checkpoint_that_goes_on(constraint: Any, tmp_path: Path) -> None:
    path, options = tmp_path / "run.npz", dict(estimator=bsfw.SAGA(10), max_iter=60, record_every=4, rng=0)
    whole = bsfw.minimize(problem(), constraint, **options)
    with pytest.raises(bsfw.Interrupted, match=r"\.result has what was found") as caught:
        bsfw.minimize(problem(), constraint, callback=press_at(20), checkpoint=path, **options)
    result = caught.value.result
    assert result.status is Status.INTERRUPTED
    assert not result.success
    assert 20 < result.nit < 60
    assert result.fun == pytest.approx(problem().value(result.x))
    np.testing.assert_array_equal(bsfw.resume(path, problem(), constraint).x, whole.x)


def test_it_is_a_keyboard_interrupt_and_a_second_one_does_not_wait() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        bsfw.minimize(problem(), bsfw.L2Ball(3.0), method="boosted", callback=press_at(10, times=2), record_every=10)
    assert not isinstance(caught.value, bsfw.Interrupted)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_long_stretch_of_compiled_iterations_is_left_soon() -> None:
    def press_later(result: Any) -> None:  # called at x^0 only: what comes before may take long, and is not watched
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    with pytest.raises(bsfw.Interrupted) as caught:
        bsfw.minimize(
            problem(), bsfw.L1Ball(3.0), estimator=bsfw.SAGA(10), max_iter=10**9, record_every=10**9, rng=0,
            callback=press_later,
        )  # fmt: skip
    assert 0 < caught.value.result.nit < 10**9


def test_another_handler_and_other_threads_are_left_alone() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        result = bsfw.minimize(problem(), bsfw.L2Ball(3.0), estimator=bsfw.SAGA(10), callback=press_at(10), max_iter=20)
        assert (result.nit, seen) == (20, [signal.SIGINT])
    finally:
        signal.signal(signal.SIGINT, before)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(bsfw.minimize(problem(), bsfw.L2Ball(3.0), max_iter=5)))
    thread.start()
    thread.join()
    assert found[0].nit >= 1
