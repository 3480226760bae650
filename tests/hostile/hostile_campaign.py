"""Many hostile cases, and what became of them: what `scripts/fuzz` and the test of the public surface share."""

from __future__ import annotations

import importlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hostile_sandbox import Outcome, Sandbox

ENVIRONMENT = {"BSFW_HOSTILE_WORKER": "1", "MPLBACKEND": "Agg", "NUMBA_DISABLE_JIT": "1"}
"""Of the workers. Without compiled code by default: checks are the same, and a fault of an index is an IndexError."""
SECONDS = 60.0
"""Without an answer for so long, a case hangs."""
WAKE = 40
"""Cases before a crash that may have damaged the memory."""


@dataclass
class Offender:
    """A name and an error that should not come of it: the first case, and how often it was met."""

    number: int
    call: str
    error: str
    place: str
    text: str
    count: int = 1


@dataclass
class Summary:
    """What became of the cases from `start` to `stop`; can be written down and continued."""

    start: int
    stop: int
    outcomes: Counter[str] = field(default_factory=Counter)
    offenders: dict[str, Offender] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, number: int, outcome: Outcome, describe: Callable[[int], str]) -> None:
        if outcome.acceptable:
            self.outcomes["result" if outcome.kind == "returned" else outcome.error] += 1
            return
        self.outcomes[f"! {outcome.error}"] += 1
        call, text = describe(number), outcome.text[-300:] if outcome.kind == "crash" else outcome.text[:300]
        key = f"{call.partition('(')[0]}: {outcome.error}"
        if key in self.offenders:
            self.offenders[key].count += 1
        else:
            self.offenders[key] = Offender(number, call, outcome.error, outcome.place, text)

    def table(self) -> str:
        """Outcomes by number, then the offenders."""
        done = self.stop - self.start
        lines = [f"{done} cases ({self.start} to {self.stop - 1}) in {self.seconds:.0f} s"]
        lines += [f"  {count:>9}  {name}" for name, count in self.outcomes.most_common()]
        for key in sorted(self.offenders):
            one = self.offenders[key]
            text = " ".join(one.text.split())[:160]
            lines.append(
                f"! {one.error} in {one.place or 'no line of bsfw'}, {one.count} times, e.g. case {one.number}:"
            )
            lines.append(f"    {one.call}: {text}")
        return "\n".join(lines)

    def save(self, path: Path) -> None:
        offenders = {key: asdict(one) for key, one in self.offenders.items()}
        path.write_text(json.dumps(vars(self) | {"offenders": offenders}))

    @classmethod
    def load(cls, path: Path) -> Summary:
        content: dict[str, Any] = json.loads(path.read_text())
        content["outcomes"] = Counter(content["outcomes"])
        content["offenders"] = {key: Offender(**fields) for key, fields in content["offenders"].items()}
        return cls(**content)


def outcomes(source: str, numbers: Sequence[int], sandboxes: Sequence[Sandbox]) -> list[Outcome]:
    """What became of the cases of a module (`hostile_calls` or `hostile_parsers`), in their order."""
    unlimited, jobs = importlib.import_module(source).unlimited, len(sandboxes)

    def share(first: int) -> list[Outcome]:
        mine, found = numbers[first::jobs], []
        for place, number in enumerate(mine):
            outcome = sandboxes[first].call(f"{source}:run", number, unlimited=unlimited(number))
            if outcome.kind == "crash":
                outcome = _blamed(source, mine[max(0, place - WAKE) : place + 1], outcome, sandboxes[first])
            found.append(outcome)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        shares = list(pool.map(share, range(jobs)))
    return [shares[k % jobs][k // jobs] for k in range(len(numbers))]


def _blamed(source: str, numbers: Sequence[int], crash: Outcome, sandbox: Sandbox) -> Outcome:
    """A crash, with the case that is to blame: the last one, or one before it that left the memory damaged."""
    for earlier in (None, *reversed(numbers[:-1])):
        sandbox.renew()
        tried = [sandbox.call(f"{source}:run", number) for number in (earlier, numbers[-1]) if number is not None]
        if any(outcome.kind == "crash" for outcome in tried):
            return crash if earlier is None else replace(crash, place=f"in the wake of case {earlier}")
    return replace(crash, place="by no single case")


def campaign(
    source: str,
    summary: Summary,
    cases: int,
    *,
    jobs: int = 1,
    environment: dict[str, str] | None = None,
    seconds: float = math.inf,
    state: Path | None = None,
    block: int = 2000,
    sandboxes: Sequence[Sandbox] = (),
) -> Summary:
    """Go on with `summary` up to so many cases, or so many seconds; after each block it is written to `state`.

    In the `sandboxes`, or in as many new ones as `jobs`.
    """
    describe = importlib.import_module(source).describe
    started, before, environment = time.monotonic(), summary.seconds, environment or {}
    with ExitStack() as stack:
        sandboxes = sandboxes or [
            stack.enter_context(Sandbox(SECONDS, modules=(source,), environment=ENVIRONMENT | environment))
            for _ in range(jobs)
        ]
        while summary.stop < cases and time.monotonic() - started < seconds:
            numbers = range(summary.stop, min(cases, summary.stop + block))
            found = outcomes(source, numbers, sandboxes)
            for number, outcome in zip(numbers, found, strict=True):
                summary.add(number, outcome, describe)
            summary.stop, summary.seconds = numbers.stop, before + time.monotonic() - started
            if state is not None:
                summary.save(state)
    return summary
