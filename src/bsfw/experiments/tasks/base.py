"""What a run of a sweep is: a task, from plain values, and the data that it leaves behind."""

from __future__ import annotations

import hashlib
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from ..problems import AnyProblem
from ..schema import Checked, Seed


class Task(Checked, frozen=True, kw_only=True, tag_field="kind"):
    """One run: all that its outcome depends on.

    Whoever brings a further kind writes a subclass with a tag and a subclass of `Data` with the same tag, and adds both
    to `AnyTask` and `AnyData`.
    """

    timed: ClassVar[bool] = False
    """Whether it measures seconds and nothing else: it then never shares the machine with other runs of a sweep."""

    problem: AnyProblem
    seed: Seed = 0

    @property
    def key(self) -> str:
        """Name of its record: changes whenever any setting does, so that results never mix."""
        text = msgspec.json.encode(self, order="deterministic")
        return f"{self.__struct_config__.tag}-{hashlib.sha256(text).hexdigest()[:20]}"

    def run(self) -> Data:
        """Do it."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.__struct_config__.tag}, {self.problem.label}"


class Data(Checked, frozen=True, kw_only=True, tag_field="kind"):
    """What a task left behind. JSON has no word for nan: it is None."""


Size = Annotated[
    Annotated[int, Meta(ge=1, le=10**12)] | Annotated[float, Meta(gt=0, le=1)],
    Meta(description="a whole number of at least 1, or as a fraction a number in ]0, 1]"),
]
"""How much an estimator draws: a count, or a fraction."""
