"""The benchmark of the corrective method, on a tiny problem: what it measures and how it judges, not how fast it is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest

import bsfw
from benchmarks import corrective, data
from benchmarks.__main__ import run
from benchmarks.solvers import Unavailable

TINY = data.Sizes(m=120, n=200, per_row=12, taus=(20.0, 2000.0), repeats=2)
PROBLEM = data.rcv1_like(TINY, 20.0)


def slow(A: Any, y: np.ndarray, penalty: float, tol: float, start: np.ndarray | None) -> np.ndarray:
    """A peer of our own: any solver of the penalised problem whose error goes with its tolerance."""
    x = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(20.0), method="corrective", gap_tol=1e-12).x
    return x * (1.0 - tol)


def absent(A: Any, y: np.ndarray, penalty: float, tol: float, start: np.ndarray | None) -> np.ndarray:
    raise Unavailable("not installed")


def useless(A: Any, y: np.ndarray, penalty: float, tol: float, start: np.ndarray | None) -> np.ndarray:
    return np.zeros(A.shape[1])


def peer(name: str, *fits: Any) -> corrective.Peer:
    return corrective.Peer(name, lambda problem: tuple(corrective.Setting(lambda A: A, fit) for fit in fits))


def test_the_optimum_is_certified_and_its_penalty_is_the_multiplier() -> None:
    known = corrective.reference(PROBLEM)
    result = bsfw.minimize(bsfw.Logistic(PROBLEM.A, PROBLEM.y), bsfw.L1Ball(20.0), method="corrective", gap_tol=1e-12)
    assert known.value == pytest.approx(result.fun, rel=1e-10)
    assert known.penalty == pytest.approx(result.multiplier, rel=1e-8)


def test_our_run_reaches_the_accuracy_and_its_clock_never_goes_back() -> None:
    points = corrective.ours(PROBLEM, 1e-8)
    seconds, suboptimalities = zip(*points, strict=True)
    assert suboptimalities[-1] <= 1e-8 < suboptimalities[0]
    assert list(seconds) == sorted(seconds)
    assert seconds[0] > 0  # the setup is on the clock


def test_a_peer_gets_a_tolerance_that_is_accurate_enough() -> None:
    pytest.importorskip("sklearn")
    liblinear = corrective.PEERS[1]
    chosen = corrective.tuned(liblinear, PROBLEM, corrective.ACCURACIES)
    known = corrective.reference(PROBLEM)
    for accuracy, several in chosen.items():
        ((setting, tol),) = several
        _, suboptimality = setting.seconds(PROBLEM, tol)
        assert -1e-9 <= suboptimality <= accuracy
        x = setting.fit(PROBLEM.A, PROBLEM.y, known.penalty, tol, None)
        assert suboptimality == known.suboptimality(PROBLEM.value(PROBLEM.into_ball(x)))
    assert corrective.tuned(peer("slow", slow), PROBLEM, (1e9,)) == {1e9: [(ANY, corrective.TOLERANCES[0])]}


def test_a_race_has_a_time_for_every_turn_or_a_reason() -> None:
    found = corrective.race(
        PROBLEM, 2, [peer("slow", slow, useless), peer("absent", absent), peer("useless", useless)], (1e-2, 1e-3)
    )
    for accuracy in (1e-2, 1e-3):
        assert len(found["ours", accuracy]) == len(found["slow", accuracy]) == 2
        assert all(0 < seconds < math.inf for seconds in found["ours", accuracy])
        assert found["absent", accuracy] == "not installed"
        assert found["useless", accuracy] == "not reached"


def test_a_path_is_timed_against_fits_to_the_same_accuracy() -> None:
    starts: list[np.ndarray] = []

    def by_radius(A: Any, y: np.ndarray, penalty: float, tol: float, start: np.ndarray) -> np.ndarray:
        starts.append(start)
        known = next(p for p in fits if corrective.reference(p).penalty == penalty)
        return bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(known.tau), method="corrective", gap_tol=1e-9).x

    fits = [data.rcv1_like(TINY, tau) for tau in (5.0, 10.0, 20.0)]
    found = corrective.path_race(fits, 2, [peer("fits", by_radius), peer("absent", absent), peer("useless", useless)])
    accuracy = corrective.PATH_ACCURACY
    assert [len(found[name, accuracy]) for name in ("ours", "fits")] == [2, 2]
    assert all(math.isfinite(seconds) for seconds in found["ours", accuracy])
    assert found["absent", accuracy] == "not installed"
    assert found["useless", accuracy] == "did not reach 1e-05"
    assert [start.any() for start in starts[:3]] == [False, True, True]  # each from the last


@pytest.mark.parametrize("short", [True, False])
def test_rows_are_made_without_loading_or_timing_and_carry_their_bounds(
    short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bsfw.datasets, "load", None)
    rows = list(corrective.rows(replace(TINY, everything=not short)))
    assert {row.family for row in rows} == {"corrective"}
    assert {row.peer for row in rows} == ({"liblinear"} if short else {"skglm", "liblinear"})
    assert len({(row.setting, row.peer) for row in rows}) == len(rows)
    bounds = {(row.setting, row.peer): row.bound for row in rows}
    assert bounds["mushrooms tau=50 to 1e-03", "liblinear"] == ">= 1.2"
    if short:
        assert len(rows) == 1
        return
    assert bounds["mushrooms tau=50 to 1e-03", "skglm"] == ">= 1.3"
    assert bounds["mushrooms tau=50 to 1e-08", "liblinear"] == ">= 1.2"
    assert bounds["rcv1-like tau=2000 to 1e-05", "skglm"] == ">= 1"
    assert bounds["rcv1-like tau=2000 to 1e-05", "liblinear"] == ">= 0.8"
    assert bounds["rcv1-like tau=2000 to 1e-03", "liblinear"] == ""
    assert bounds["path of 20 radii to 1e-05", "liblinear"] == ">= 1.5"
    assert not any(bound for (setting, _), bound in bounds.items() if setting.startswith("held out"))


def test_the_rows_fill_the_table_of_the_suite(capsys: pytest.CaptureFixture[str]) -> None:
    case = corrective.Case("tiny tau=20", lambda: PROBLEM, {"slow": ">= 0", "absent": ">= 1"}, (1e-2, 1e-3), (1e-3,))
    sizes = replace(TINY, repeats=1)
    table = run(corrective._rows_of(case, sizes, [peer("slow", slow), peer("absent", absent)]))
    assert [row["verdict"] for row in table] == ["-", "absent not installed", "ok", "absent not installed"]
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(table)
    assert "tiny tau=20 to 1e-03" in lines[-2]
    assert lines[-2].split()[-3:] == [">=", "0", "ok"]
