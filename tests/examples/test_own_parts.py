"""Parts of a user's own, made as docs/design.md says, work in every run, with a checkpoint and `resume`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bsfw
from bsfw.results import Status

FOLDER = Path(__file__).parents[2] / "examples" / "own_parts"


def part(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MovingAverage, Expectile = part("own_estimator").MovingAverage, part("own_loss").Expectile
Monotone, Cautious = part("own_set").Monotone, part("own_step").Cautious


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    A = rng.standard_normal((80, 12))
    return A, np.where(A @ rng.standard_normal(12) > 0, 1.0, -1.0)


def harmonic(t: int) -> float:
    return 2.0 / (t + 2)


RUNS: dict[str, dict[str, Any]] = {
    "estimator": {"estimator": MovingAverage(batch_size=10)},
    "step": {"step": Cautious(share=0.3), "estimator": bsfw.SAGA(batch_size=10)},
    "decay": {"decay": harmonic},
    "all": {"estimator": MovingAverage(), "step": Cautious(), "decay": harmonic},
}


@pytest.mark.parametrize(
    "constraint", [bsfw.L1Ball(3.0), bsfw.L2Ball(2.0), Monotone(2.0)], ids=lambda c: type(c).__name__
)
@pytest.mark.parametrize("loss", [bsfw.Logistic, Expectile], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("own", RUNS)
def test_a_run_with_own_parts_resumes_to_the_same_bits(own: str, loss: Any, constraint: Any, tmp_path: Path) -> None:
    objective, path, options = loss(*data()), tmp_path / "run.npz", dict(RUNS[own], rng=1, record_every=5)
    whole = bsfw.minimize(objective, constraint, max_iter=40, **options)
    assert constraint.contains(whole.x)
    assert whole.fun < whole.trace["value"][0]
    bsfw.minimize(objective, constraint, max_iter=20, checkpoint=path, **options)
    given = {name: options[name] for name in ("estimator", "step", "decay") if name in options}
    again = bsfw.resume(path, loss(*data()), constraint, max_iter=40, **given)
    np.testing.assert_array_equal(again.x, whole.x)
    assert again.nit == 40


def test_own_parts_are_asked_for_by_name(tmp_path: Path) -> None:
    objective, ball, path = bsfw.Logistic(*data()), bsfw.L1Ball(3.0), tmp_path / "run.npz"
    bsfw.minimize(objective, ball, estimator=MovingAverage(window=4), max_iter=5, checkpoint=path, rng=0)
    with pytest.raises(ValueError, match=r"estimator MovingAverage\(.*window=4\).*bsfw\.resume\(\.\.\., estimator="):
        bsfw.resume(path, objective, ball)
    with pytest.raises(ValueError, match=r"MovingAverage\(.*window=4\), but MovingAverage\(.*window=5\) is given"):
        bsfw.resume(path, objective, ball, estimator=MovingAverage(window=5))
    assert bsfw.resume(path, objective, ball, estimator=MovingAverage(window=4), max_iter=9).nit == 9


@pytest.mark.parametrize("method", ["corrective", "pairwise"])
def test_an_own_loss_and_an_own_set_reach_a_certificate(method: str) -> None:
    objective = Expectile(*data(), level=0.8)
    result = bsfw.minimize(objective, Monotone(2.0), method=method, gap_tol=1e-9, max_iter=2000)
    assert result.status is Status.GAP_REACHED


def test_a_loss_that_does_not_say_that_it_is_convex_is_told_so() -> None:
    class Silent(Expectile):  # type: ignore[misc, valid-type]
        quasar_rho = None

    result = bsfw.minimize(Silent(*data()), bsfw.L1Ball(3.0), method="boosted", max_iter=5)
    assert "Silent states no quasar_rho" in result.message
    assert "nonconvex f" in result.why
    assert result.decay == bsfw.InverseSqrtDecay()
    told = bsfw.minimize(Expectile(*data()), bsfw.L1Ball(3.0), method="boosted", max_iter=5)
    assert told.decay == bsfw.QuasarConvexDecay(rho=1.0)
    assert "quasar_rho" not in told.message


def test_every_file_is_short_enough_to_read() -> None:
    for file in FOLDER.glob("own_*.py"):
        assert len(file.read_text().splitlines()) <= 60
