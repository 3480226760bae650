"""Test error at equal CPU seconds: every method tuned for each budget on ratings that it does not train on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product, takewhile
from typing import Any

import numpy as np

import bsfw
from bsfw.datasets import Ratings

from . import recommenders
from .recommenders import Clock, Point


def our_curve(train: Ratings, test: Ratings, limit: float, factor: float = 1.0, **model: Any) -> list[Point]:
    """CPU seconds, making the objective included, and test RMSE of the corrective method, by iterations."""
    clock = Clock()
    clock.start()
    points: list[Point] = []
    objective = bsfw.MatrixCompletion(train, "squared", **model)
    ball = objective.default_constraint()

    def record(result: bsfw.Result) -> None:
        clock.stop()
        rmse = np.sqrt(np.mean(np.square(result.model.entries(test.rows, test.cols) - test.values)))
        points.append((clock.seconds, float(rmse)))
        if clock.seconds > limit:
            raise StopIteration
        clock.start()

    bsfw.minimize(
        objective, bsfw.NuclearBall(factor * ball.radius), method="corrective", max_iter=60, record_every=1,
        callback=record, rng=0,
    )  # fmt: skip
    return points


class Contender:
    """A method, the settings that are tried for it, and how a curve comes from one of them."""

    def __init__(self, name: str, curve: Callable[..., Iterable[Point]], settings: Iterable[dict[str, Any]]) -> None:
        self.name, self.curve, self.settings = name, curve, list(settings)

    def at_budgets(
        self, tuning: tuple[Ratings, Ratings], final: tuple[Ratings, Ratings], budgets: Sequence[float], tuned: float
    ) -> dict[str, Any]:
        """Test RMSE within each budget, with the setting that did best in it on the held-out ratings."""
        tried = [list(self.curve(*tuning, tuned, **setting)) for setting in self.settings]
        curves: dict[int, list[Point]] = {}
        rmse: dict[str, float | None] = {}
        chosen: dict[str, Any] = {}
        for budget in budgets:
            errors = [_within(points, min(budget, tuned)) for points in tried]
            best = int(np.argmin(errors))
            if best not in curves:
                curves[best] = list(self.curve(*final, budgets[-1], **self.settings[best]))
            found = _within(curves[best], budget)
            rmse[f"{budget:g} s"] = found if np.isfinite(found) else None
            chosen[f"{budget:g} s"] = self.settings[best] if np.isfinite(found) else None
        return {"method": self.name, "settings": len(self.settings), "rmse": rmse, "chosen": chosen}


def _within(points: Iterable[Point], budget: float) -> float:
    """The last error within the budget; infinite before the first."""
    return ([np.inf] + [error for seconds, error in points if seconds <= budget])[-1]


def _grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def _sweeps(train: Ratings, test: Ratings, limit: float, **setting: Any) -> Iterator[Point]:
    return takewhile(lambda point: point[0] <= limit, recommenders.least_squares(train, test, **setting))


def _once(fit: Callable[..., Point]) -> Callable[..., list[Point]]:
    """A package that is fitted in one go is a curve of one point."""
    return lambda train, test, limit, **setting: [fit(train, test, **setting)]


def contenders(quick: bool) -> list[Contender]:
    """Every method with about the same number of settings; the packages where they are installed."""
    few = slice(None, None, 4) if quick else slice(None)
    found = [
        Contender(
            "ALS, joint biases, n^alpha, CG", _sweeps,
            _grid(rank=(8, 16, 32), weight=(0.5, 0.7, 1.0, 1.4), alpha=(0.4, 0.5))[few],
        )
    ]  # fmt: skip
    packages = {
        "cmfrec": [
            Contender(f"cmfrec{', implicit features' * implicit}", _once(recommenders.cmfrec),
                      _grid(rank=(40,), weight=(8.0, 11.0, 14.0, 20.0), sweeps=(3, 5, 10), implicit=(implicit,))[few])
            for implicit in (False, True)
        ],
        "surprise": [
            Contender("surprise, SVD", _once(recommenders.surprise), _grid(rank=(20, 100), epochs=(20, 40))[few])
        ],
        "myfm": [
            Contender("myfm, Bayesian, implicit", _once(recommenders.myfm), _grid(rank=(10,), iterations=(100, 300)))
        ],
    }  # fmt: skip
    for package, methods in packages.items():
        if recommenders.available(package):
            found += methods
        else:
            print(f"  {package} is not installed, and left out (pip install bsfw[recommenders])")
    return [
        *found,
        Contender("bsfw, defaults, implicit", our_curve, [{"implicit": True}]),
        Contender("bsfw, no implicit features", our_curve,
                  _grid(biases=(4.0,), weights=(0.3, 0.5), rank=(8, 16, 48), factor=(0.7, 1.0, 1.3))[few]),
        Contender("bsfw, implicit features", our_curve,
                  _grid(implicit=(0.3, 0.45), weights=(0.4, 0.5), rank=(16, 48), factor=(0.85, 1.0, 1.2))[few]),
    ]  # fmt: skip


def at_equal_seconds(ratings: Ratings, budgets: Sequence[float], tuned: float, quick: bool) -> list[dict[str, Any]]:
    """Test RMSE of each method within each budget, its settings chosen on a tenth of the training ratings."""
    final = ratings.split()
    tuning = final[0].split(0.1, rng=1)
    mean, table = float(final[0].values.mean()), []
    blind = float(np.sqrt(np.mean(np.square(final[1].values - mean))))
    table.append({"method": "mean", "settings": 0, "rmse": {f"{b:g} s": blind for b in budgets}, "chosen": {}})
    small = tuple(part._part(np.arange(len(part.values)) < 2000) for part in final)
    our_curve(*small, 0.1, implicit=True)  # compiles
    list(islice(recommenders.least_squares(*small, 4, 1.0, 0.5), 1))
    for contender in contenders(quick):
        table.append(contender.at_budgets(tuning, final, budgets, tuned))
        show_errors("", table[-1:], heading=False)
    return table


def show_errors(title: str, table: Sequence[dict[str, Any]], heading: bool = True) -> None:
    if heading:
        budgets = "".join(f"{budget:>10}" for budget in table[0]["rmse"])
        print(f"{title}\n  {'method':<34}{'settings':>9}{budgets}")
    for row in table:
        numbers = (f"{rmse:>10.4f}" if rmse is not None else f"{'-':>10}" for rmse in row["rmse"].values())
        print(f"  {row['method']:<34}{row['settings']:>9}{''.join(numbers)}", flush=True)


def show_outcome(table: Sequence[dict[str, Any]]) -> None:
    """Who has the lowest error within each budget."""
    for budget in table[0]["rmse"]:
        known = {row["method"]: row["rmse"][budget] for row in table if row["rmse"][budget] is not None}
        best = min(known, key=lambda method: known[method])
        print(f"  lowest within {budget}: {best}, {known[best]:.4f}", flush=True)
