"""What the paper claims of each figure, and whether the records support it: computed from them, never typed."""

from __future__ import annotations

from collections.abc import Sequence

from ..methods import PanelRecords
from ..model import Experiment, Verdict
from . import convergence, fidelity, plane, rounds, tables
from .rules import NOT_EVALUATED, Claim

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "convergence": (convergence.EQUAL_GRADIENTS, convergence.EQUAL_SECONDS),
    "piecewise": (convergence.ANY_TIME, convergence.PIECEWISE),
    "expected-loss": (convergence.EXPECTED_LOSS,),
    "oracle-calls": (rounds.GROW, rounds.FEWEST),
    "step-sizes": (rounds.NEARLY_ALWAYS_BOOSTED, rounds.STEPS_DECREASE),
    "trajectories": (plane.ZIGZAGGING,),
    "boosting-step": (plane.ALIGNING,),
    "facts": (tables.PARAMETERS,),
    "fidelity": fidelity.CLAIMS,
    "filtering": (convergence.EQUAL_GRADIENTS, convergence.HEAVY_BALL, convergence.EQUAL_SECONDS),
    "constants": (tables.CONSTANTS,),
    "costs": tables.COSTS,
}
"""What is claimed in each view. The paper's words are in the experiment's claim; here is what can be computed."""


def verdicts(experiment: Experiment, panels: Sequence[PanelRecords], gaps: str) -> tuple[Verdict, ...]:
    """Judge the claims of an experiment; if runs are missing or failed, as `gaps` says, nothing is judged."""
    judged = []
    for claim in CLAIMS.get(experiment.view, ()):
        outcome, finding = (NOT_EVALUATED, gaps) if gaps else claim.judge(panels)
        judged.append(Verdict(claim.text, outcome, finding))
    return tuple(judged)
