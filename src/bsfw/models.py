"""A fitted linear model on its own: predictions for new data, and a file that holds it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, is_foreign
from ._files import atomic_write, read_npz
from ._refusals import Refusing, refusing
from .objectives import _checks
from .objectives.linear_model import LinearModel
from .objectives.links import leaky
from .objectives.partitioned import PartitionedModel
from .results import Result

FORMAT = "bsfw model 2"
LINKS = ("identity", "logistic", "probit", "leaky", "softmax")


@dataclass(frozen=True, eq=False)
class Model(Refusing):
    """What `minimize` found for a linear model, without the data it was found on.

    Attributes
    ----------
    coef : array, (n,) or (n, classes)
        x.
    intercept : float or array, (classes,)
        b; zero if the objective had none.
    link : {"identity", "logistic", "probit", "leaky", "softmax"}
        From a margin to a prediction.
    leak : float
        Slope of the link "leaky" far below zero.
    classes : array or None
        The labels, in the order of the columns of `predict_proba`; None for a regression.
    feature_names : tuple of str
        Names of the features where they are known: new data with names are put into this order.
    settings : dict
        What is known of how it was made.
    """

    coef: Array
    intercept: Any = 0.0
    link: str = "identity"
    classes: Array | None = None
    feature_names: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    leak: float = 1.0

    @classmethod
    def of(
        cls, objective: LinearModel | PartitionedModel, result: Result, settings: dict[str, Any] | None = None
    ) -> Model:
        """The model that a run found for `objective`."""
        if (
            not isinstance(objective, (LinearModel, PartitionedModel))
            or is_foreign(result.x)
            or not isinstance(result.x, np.ndarray)
        ):
            raise TypeError(f"a Model is made of a linear model such as Logistic, not of {type(objective).__name__}.")
        return cls(
            coef=result.x,
            intercept=result.get("intercept", 0.0 if result.x.ndim == 1 else np.zeros(result.x.shape[1])),
            link=objective.link,
            classes=getattr(objective, "classes", None),
            feature_names=objective.feature_names,
            leak=getattr(objective, "leak", 1.0),
            settings={"loss": getattr(objective, "kind", type(objective)).__name__} | (settings or {}),
        )

    def decision_function(self, A: Any) -> Array:
        """Margins A x + b, one for each row of A (and class)."""
        found = _checks.design_matrix(self._ordered(A))
        if found.shape[1] != len(self.coef):
            raise ValueError(f"the data have {found.shape[1]} features, but the model has {len(self.coef)}.")
        return np.asarray(found @ self.coef + self.intercept)

    def predict_proba(self, A: Any) -> Array:
        """Probabilities of the classes, a column for each."""
        z = self.decision_function(A)
        if self.link == "softmax":
            p = np.exp(z - z.max(axis=1, keepdims=True))
            return np.asarray(p / p.sum(axis=1, keepdims=True))
        if self.link not in ("logistic", "probit"):
            raise ValueError(f"the model of a {self.settings.get('loss', 'regression')} has no probabilities.")
        p = self._mean(z)
        return np.column_stack([1.0 - p, p])

    def predict(self, A: Any) -> Array:
        """The label of the most probable class, or for a regression the number that is expected."""
        z = self.decision_function(A)
        if self.classes is None:
            return self._mean(z)
        return np.asarray(self.classes[z.argmax(axis=1) if z.ndim == 2 else (z > 0).astype(np.intp)])

    def _mean(self, z: Array) -> Array:
        """What is expected at these margins."""
        from scipy.special import expit, ndtr

        if self.link == "leaky":
            return leaky(z, self.leak)
        return np.asarray(expit(z) if self.link == "logistic" else ndtr(z) if self.link == "probit" else z)

    def _ordered(self, A: Any) -> Any:
        """A table's columns by name in the order of the model's features."""
        if not self.feature_names or not _checks.is_frame(A):
            return A
        if missing := [name for name in self.feature_names if name not in set(map(str, A.columns))]:
            shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise ValueError(f"the data lack the columns {shown}, which the model has.")
        by_name = {str(name): name for name in A.columns}
        return A[[by_name[name] for name in self.feature_names]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an .npz file, whole or not at all; `load_model` reads it."""
        if Path(path).suffix != ".npz":
            raise ValueError(f"a model is an .npz file, got {Path(path).name!r}.")
        meta = {
            "format": FORMAT,
            "link": self.link,
            "leak": self.leak,
            "features": self.feature_names,
            "settings": self.settings,
        }
        contents = {"coef": self.coef, "intercept": np.asarray(self.intercept)}
        if self.classes is not None:
            contents["classes"] = np.asarray(self.classes.tolist())  # text and numbers, no objects
        with atomic_write(path) as file:
            np.savez_compressed(file, meta=np.array(json.dumps(meta)), **contents)  # type: ignore[arg-type]


@refusing
def load_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file; nothing is unpickled.

    Parameters
    ----------
    path : path
        An .npz file that `Model.save` or ``bsfw solve --out`` wrote.

    Returns
    -------
    Model
    """
    contents: dict[str, Any] = read_npz(path)
    try:
        meta = json.loads(str(contents["meta"]))
        known = meta["format"] == FORMAT and meta["link"] in LINKS
        coef, intercept, classes = contents["coef"], contents["intercept"], contents.get("classes")
        names = tuple(str(name) for name in meta["features"])
        settings, leak = dict(meta["settings"]), float(meta.get("leak", 1.0))
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(f"{path} is no bsfw model, or it is damaged.") from None
    columns = coef.shape[1] if coef.ndim == 2 else 2
    fits = (
        known
        and 0.0 < leak <= 1.0
        and coef.ndim in (1, 2)
        and coef.dtype.kind == "f"
        and intercept.dtype.kind in "fi"
        and intercept.shape == coef.shape[1:]
        and (classes is None or classes.shape == (columns,))
        and (not names or len(names) == len(coef))
    )
    if not (fits and np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(f"{path} is no bsfw model, or it is damaged.")
    return Model(coef, intercept if intercept.ndim else float(intercept), meta["link"], classes, names, settings, leak)
