"""The problems of experiments: from a ``[panel.problem]`` table to objective, set, start, label and facts.

================  =====================================================================================================
linear-model      (the default) ``data``: a name of `bsfw.datasets`, a LIBSVM file, a table (.csv, .tsv, .parquet) with
                  ``label``, the name of its column, or "rcv1", the published file if it is here and else a
                  synthetic stand-in; ``objective``; ``set`` with its parameters; ``intercept``
                  (false)
least-squares     ``samples`` Gaussian ones of a variable of ``shape`` [n] or [rows, columns]; ``set`` with its
                  parameters
plane             a quadratic over the polygon with these ``corners``, in order; ``target``: where its minimum would be
                  without them; ``curvature`` ([1, 1]); ``start``; and for a finite sum ``samples`` with targets that
                  scatter by ``spread`` (1)
tomography        a Haar-random unitary on ``qubits`` (3), measured with Gaussian ``noise``; ``radius`` of the spectral
                  ball; ``penalty`` (0.05); ``reduction`` ("sum" or "mean")
dynamics          a stable system of this ``order``, with ||a||_1 = ``radius`` (0.5), to be found again from
                  ``samples`` sequences of ``length`` outputs with Gaussian ``noise`` (0)
completion        ``data``: ratings of `bsfw.datasets`, or "movielens", which is ml-100k if its file is here and else a
                  synthetic stand-in; ``loss`` ("bounded"); ``radius`` of the nuclear ball
================  =====================================================================================================

A set is a name with its parameters: l1, l2, linf, simplex (sum = radius), solid-simplex (sum <= radius), nuclear and
spectral take ``radius``; k-sparse ``k`` and ``radius``; lp ``p`` and ``radius``; group ``groups`` (a size, or lists of
coordinates) and ``radius``; box ``lower`` and ``upper``.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..schema import checked, known
from .base import Problem, ProblemSpec
from .completion import Completion
from .dynamics import Dynamics
from .least_squares import GaussianLeastSquares
from .linear_model import LinearModel
from .plane import Plane
from .tomography import Tomography

__all__ = ["PROBLEMS", "AnyProblem", "Problem", "ProblemSpec", "build", "resolve", "streams", "to_download"]

AnyProblem = LinearModel | GaussianLeastSquares | Plane | Tomography | Completion | Dynamics

PROBLEMS: dict[str, type[AnyProblem]] = {
    "linear-model": LinearModel,
    "least-squares": GaussianLeastSquares,
    "plane": Plane,
    "tomography": Tomography,
    "completion": Completion,
    "dynamics": Dynamics,
}
"""By the name in ``kind = "..."``."""

_WHERE = "[panel.problem]"


def resolve(table: Any, folder: Path) -> AnyProblem:
    """The problem that a table of a file in `folder` means; ValueError with a sentence for anything not known."""
    if not isinstance(table, dict):
        raise ValueError(f"{_WHERE} must be a table of keys and values, got {table!r}.")
    name = table.get("kind", "linear-model")
    if not isinstance(name, str) or name not in PROBLEMS:
        raise ValueError(f"unknown kind of problem {name!r} in {_WHERE}; known are {', '.join(PROBLEMS)}.")
    kind, rest = PROBLEMS[name], {key: value for key, value in table.items() if key != "kind"}
    known(rest, kind.keys(), _WHERE)
    return checked({"kind": name, **kind.resolved(rest, folder)}, kind, _WHERE)


def build(spec: ProblemSpec, seed: int) -> Problem:
    """The problem of a specification; the last few are kept, since the runs of a sweep share them."""
    # One for each thread, as some backends of joblib run several: an objective counts what it is asked in itself.
    return _build(spec, seed if spec.random else 0, threading.get_ident())


@lru_cache(maxsize=4)
def _build(spec: ProblemSpec, seed: int, thread: int) -> Problem:
    return spec.build(streams(seed)["problem"])


def streams(seed: int) -> dict[str, np.random.Generator]:
    """Separate generators for problem, start and batches: boosted and vanilla runs of a seed share all three."""
    names = ("problem", "start", "batches")
    children = np.random.SeedSequence([seed]).spawn(len(names))
    return {name: np.random.default_rng(child) for name, child in zip(names, children, strict=True)}


def to_download(spec: ProblemSpec) -> str | None:
    """The data set of a problem if it is not on this machine."""
    from ...datasets import available

    if not isinstance(spec, LinearModel | Completion):
        return None
    missing = {dataset.name for dataset in available() if dataset.place == "download"}
    return spec.data.name if spec.data.name in missing else None
