"""The set of a problem, in a specification: ``set = "l1"`` with ``radius = 50``, and the parameters of other sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from msgspec import Meta

from ..._names import SETS
from ..schema import Checked, Count, Number, Positive

if TYPE_CHECKING:
    from ...constraints import Constraint

    SetKind: TypeAlias = str
else:
    SetKind = Literal[tuple(SETS)]

Groups = Annotated[
    Count | tuple[Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)], ...],
    Meta(description="a size, for consecutive groups of so many coordinates, or a list of lists of coordinates"),
]


class SetSpec(Checked, frozen=True, kw_only=True):
    """A set by its name, with exactly the parameters that it takes (`bsfw._names.SETS`).

    Attributes
    ----------
    name : str
    radius, k, p, lower, upper : number
    groups : int or tuple of tuples
        Size of consecutive groups, or the coordinates of each group.
    """

    name: SetKind
    radius: Positive | None = None
    k: Count | None = None
    p: Annotated[float, Meta(ge=1, le=1e6, description="a number of at least 1")] | None = None
    groups: Groups | None = None
    lower: Number | None = None
    upper: Number | None = None

    def __post_init__(self) -> None:
        takes = SETS[self.name].parameters
        given = [key for key in PARAMETERS if getattr(self, key) is not None]
        missing = [key for key in takes if key not in given]
        extra = [key for key in given if key not in takes]
        if missing or extra:
            wrong = f"missing: {', '.join(missing)}" if missing else f"not its own: {', '.join(extra)}"
            raise ValueError(f"the set {self.name} takes {' and '.join(takes)}; {wrong}.")

    def make(self, shape: tuple[int, ...]) -> Constraint:
        """The set, for a variable of this shape."""
        values: dict[str, Any] = {key: getattr(self, key) for key in PARAMETERS}
        if isinstance(self.groups, int):
            values["groups"] = np.split(np.arange(math.prod(shape)), range(self.groups, math.prod(shape), self.groups))
        return make_set(self.name, values)


def make_set(name: str, parameters: Mapping[str, Any]) -> Constraint:
    """The set of this name with these parameters, of which others than its own are left aside."""
    from ... import constraints

    known = SETS[name]
    own = {parameter: parameters[parameter] for parameter in known.parameters}
    made: Constraint = getattr(constraints, known.constraint)(**own, **known.fixed)
    return made


PARAMETERS = tuple(name for name in SetSpec.__struct_fields__ if name != "name")


def nested(table: dict[str, Any]) -> dict[str, Any]:
    """A table that holds name and parameters of a set among its keys, with these in a table of their own."""
    inner = {"name": table["set"]} | {key: table[key] for key in PARAMETERS if key in table} if "set" in table else {}
    rest = {key: value for key, value in table.items() if key != "set" and key not in PARAMETERS}
    return rest | ({"set": inner} if inner else {})


def flat(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of such a table, from the fields of its structure."""
    return tuple(key for name in fields for key in ((name, *PARAMETERS) if name == "set" else (name,)))
