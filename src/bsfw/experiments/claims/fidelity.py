"""Claims about quantum process tomography: fig. qpt fidelity vs wall clock, and vs iter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..methods import PanelRecords
from ..statistics import FIDELITIES, end_means
from .rules import NOT_EVALUATED, Claim, Judgement, outcome


def _judge(column: str, axis: str) -> Callable[[Sequence[PanelRecords]], Judgement]:
    """Every K > 1 against K = 1, run by run (they share truth, noise and start). A difference counts if the mean over
    the runs is more than two standard errors from zero."""

    def judge(panels: Sequence[PanelRecords]) -> Judgement:
        higher, lower, differences = 0, [], []
        for panel in panels:
            for boosted, vanilla in panel.pairs():
                if boosted.seeds != vanilla.seeds or not (boosted.has(column) and vanilla.has(column)):
                    continue
                if len(boosted.seeds) < 2:
                    return NOT_EVALUATED, "A standard error needs two runs of each K; there is one."
                end = min(float(method.column(axis)[:, -1].min()) for method in (boosted, vanilla))
                gain = end_means(boosted, column, axis, end) - end_means(vanilla, column, axis, end)
                mean = float(gain.mean())
                error = float(gain.std(ddof=1)) / math.sqrt(len(gain))
                differences.append(mean)
                higher += mean > 2 * error
                if mean < -2 * error:
                    lower.append(f"K = {boosted.settings.max_rounds} on {panel.title} ({mean:+.2g})")
        if not differences:
            return NOT_EVALUATED, "There is no K > 1 to compare with K = 1."
        finding = (
            f"{higher} of {len(differences)} are higher by more than two standard errors, {len(lower)} lower; "
            f"differences of the means {min(differences):+.2g} to {max(differences):+.2g}"
        )
        finding += f"; lower: {', '.join(lower)}" if lower else ""
        return outcome(higher, len(differences)), finding + "."

    return judge


CLAIMS = tuple(
    Claim(
        f"At equal {axis}, boosting (K > 1) ends with a higher fidelity, {words}, than vanilla (K = 1).",
        _judge(column, name),
    )
    for column, words in FIDELITIES.items()
    for name, axis in (("seconds", "seconds"), ("iteration", "iterations"))
)
