"""Linear models on data sets: the experiments of the paper's section on sparse logistic regression."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ..._names import LOSSES
from ..schema import Checked, Slug, Text
from . import sets
from .base import Problem, ProblemSpec
from .sets import SetSpec

if TYPE_CHECKING:
    LossName: TypeAlias = str
else:
    LossName = Literal[tuple(LOSSES)]

SYNTHETIC = "rcv1-like"
"""The seeded synthetic set that takes the place of rcv1 where the published file is not here."""

_LABELS = {
    "rcv1_train.binary": "rcv1",
    SYNTHETIC: f"{SYNTHETIC} (synthetic)",
    "news20-halves": "news20 (two halves)",
}
"""Data sets that titles call by another name than `bsfw.datasets` does."""


class Source(Checked, frozen=True, kw_only=True):
    """Where samples come from.

    Attributes
    ----------
    name : str
        Of a data set, or the path of a file.
    sha256 : str or None
        Of the content of a file: another file of the same name is another experiment.
    column : str or None
        Of a table: the name of the column that is the label.
    stand_in : str or None
        The published set in whose place synthetic data stands.
    """

    name: Text
    sha256: str | None = None
    column: Text | None = None
    stand_in: Slug | None = None

    @classmethod
    def named(cls, name: Any, folder: Path, column: Any = None) -> Source:
        """The data that a specification in `folder` means by a name; ValueError if there is none."""
        from ...datasets import available
        from ...datasets.registry import ENTRIES
        from ...datasets.tables import KNOWN

        if not isinstance(name, str):
            raise ValueError(f"data in [panel.problem] must be text in quotes, got {name!r}.")
        is_table = Path(name).suffix in KNOWN
        if is_table and not isinstance(column, str):
            raise ValueError(f'data {name!r} is a table: say which column is the label, with label = "NAME".')
        if column is not None and not is_table:
            raise ValueError(f"label names a column of a table ({', '.join(KNOWN)}), but data {name!r} is none.")
        if name == "rcv1":
            here = {known.name for known in available() if known.place != "download"}
            published = "rcv1_train.binary"
            return cls(name=published) if published in here else cls(name=SYNTHETIC, stand_in=name)
        matrices = [entry.name for entry in ENTRIES.values() if entry.kind != "ratings"]
        if name in matrices:
            return cls(name=name)
        if name == SYNTHETIC:
            return cls(name=name, stand_in="rcv1")
        path = (folder / name).expanduser()
        if not path.is_file():
            raise ValueError(
                f"data {name!r} is neither a file nor a known data set; known are "
                f"{', '.join(['rcv1', *matrices, SYNTHETIC])}."
            )
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        return cls(name=str(path.resolve()), sha256=content, column=column)

    @property
    def label(self) -> str:
        return Path(self.name).stem if self.sha256 else _LABELS.get(self.name, self.name)

    def load(self) -> Any:
        """A and y."""
        from ...datasets import load, read_libsvm, read_table
        from ...datasets.synthetic import rcv1_like

        if self.sha256 is None:
            return rcv1_like() if self.name == SYNTHETIC else load(self.name)
        content = Path(self.name).read_bytes()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(f"{self.name} has changed since the experiment was planned; start it again.")
        if self.column is not None:
            table = read_table(self.name, self.column)
            return table.A, table.y
        return read_libsvm(content)


class LinearModel(ProblemSpec, frozen=True, kw_only=True, tag="linear-model"):
    """f(x) = (1/m) sum_i phi(<a_i, x>, y_i) over a set."""

    data: Source
    objective: LossName
    set: SetSpec
    intercept: bool = False

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        return (*sets.flat(cls.__struct_fields__), "label")

    @classmethod
    def resolved(cls, table: dict[str, Any], folder: Path) -> dict[str, Any]:
        fields = sets.nested(table)
        column = fields.pop("label", None)
        return fields | ({"data": Source.named(fields["data"], folder, column)} if "data" in fields else {})

    @property
    def label(self) -> str:
        return self.data.label

    @property
    def stand_in(self) -> str | None:
        return self.data.stand_in

    @property
    def convex(self) -> bool:
        from ... import objectives

        return bool(getattr(objectives, LOSSES[self.objective]).quasar_rho == 1.0)

    @property
    def certifiable(self) -> bool:
        return self.convex

    def build(self, rng: np.random.Generator) -> Problem:
        from scipy.sparse import csr_array

        from ... import objectives

        A, y = self.data.load()
        # One format for all data: the compiled engine then compiles once.
        A = csr_array(A)
        objective = getattr(objectives, LOSSES[self.objective])(A, y, intercept=self.intercept)
        facts = {"n": int(A.shape[1]), "m": int(A.shape[0]), "nonzeros": int(A.nnz)}
        return Problem(objective, self.set.make(objective.shape), facts)
