"""The corrective method: few gradients of all data, and the weights of the active atoms optimised in between.

Beyond the paper: Boost finds many atoms per gradient, and Newton steps on their weights reach high accuracy, where any
first-order direction slows down. Every iterate is a convex combination of feasible points, and the gap is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..solver import Solver
    from ..state import State
    from .engine import CorrectiveEngine
    from .general import HullEngine


def check(solver: Solver) -> None:
    """Raise a ValueError if the corrective method cannot work on this problem."""
    from .. import compiled
    from ..objectives.linear_model import LinearModel
    from ..objectives.multinomial import Multinomial

    objective = solver.objective
    if not isinstance(objective, LinearModel) or isinstance(objective, Multinomial):
        raise ValueError(
            "the corrective method needs a linear model with one margin per sample, such as Logistic, but the "
            f"objective is {type(objective).__name__}; use method='boosted' alone."
        )
    if not solver.estimator.exact:
        raise ValueError(
            f"the corrective method needs the exact gradient, but the estimator is {type(solver.estimator).__name__}; "
            "leave estimator= out, or give end_phase='corrective'."
        )
    if not compiled.available():
        raise ValueError("the corrective method needs Numba: pip install numba.")


def corrective_engine(solver: Solver, state: State) -> CorrectiveEngine | HullEngine:
    """The engine of the corrective method for this problem: on coordinates of the l1 balls and simplices, else on
    atoms."""
    from ..constraints.balls import L1Ball
    from ..constraints.simplex import Simplex
    from .engine import CorrectiveEngine
    from .general import HullEngine

    check(solver)
    if not isinstance(state.x, np.ndarray) or np.iscomplexobj(state.x):
        raise ValueError("the corrective method works on real NumPy arrays; give such an x0, or use method='boosted'.")
    one_hot = type(solver.constraint) in (L1Ball, Simplex) and hasattr(solver.objective, "A")
    return CorrectiveEngine(solver, state) if one_hot else HullEngine(solver, state)
