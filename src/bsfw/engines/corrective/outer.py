"""What Newton steps on the weights of atoms ask of an objective: f(x) = F(z) / m with z = B w, the image of x.

B has the images of the atoms as columns, w their weights; F has a gradient in z and a quadratic model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import Array
from ...kernels.losses import for_loss
from ...objectives.linear_model import LinearModel
from ...objectives.multinomial import Multinomial
from ...vertices import Vertex
from ..compiled.parts import loss_of
from . import newton
from .classes import DenseClasses, Shares
from .images import DenseImages, Images

FLOOR = 1e-6
"""Least curvature of a sample, relative to the largest: the model stays bounded where a loss is flat."""
TINY = 1e-100
"""A change of a margin by less than this tells nothing of the curvature."""


@dataclass
class Point:
    """Weights x of the atoms, the image z = B x, and m times the gradient of f in z there."""

    x: Array
    z: Array
    slopes: Array


class Outer(ABC):
    """F, asked at images, which are flat arrays in float64.

    Attributes
    ----------
    m : int
        What F is divided by.
    convex : bool
        Whether f is: then slopes judge a step, else values.
    intercept : float, array or None
        The last that was fitted, if the objective has one; a part of a run's state.
    """

    m: int = 1
    convex: bool
    intercept: Any = None

    @abstractmethod
    def value(self, z: Array) -> float:
        """f, counted."""

    @abstractmethod
    def slopes(self, z: Array) -> Array:
        """m times the gradient of f in z, counted as a gradient of each sample."""

    @abstractmethod
    def image(self, x: Array) -> Array:
        """z of a point of the set, with an intercept of zero."""

    @abstractmethod
    def gradient(self, slopes: Array) -> Array:
        """The gradient of f in x, an array like it, from the slopes."""

    @abstractmethod
    def model(self, z: Array, secant: Any) -> Any:
        """What `gram` needs of the curvature at z; `secant` is what the last step taught, if its model was wrong."""

    @abstractmethod
    def gram(self, B: Images, model: Any) -> Array | None:
        """B^T H B with the Hessian of f in z, minimised over the intercept; None if nothing is known of it."""

    @abstractmethod
    def secant(self, change: Array, turned: Array) -> Any:
        """What a step by `change`, on which the slopes turned by `turned`, tells of the curvature; not None."""

    def follow(self, change: Array, model: Any) -> Array:
        """`change` of the image with that of the intercept, as the model has it."""
        return change

    def image_of(self, vertex: Vertex) -> Any:
        """That of an atom, as `stack` takes it."""
        return self.image(vertex.dense(np.float64))

    def stack(self, keys: list[str], images: list[Any]) -> Images:
        """The images of atoms with these names as columns."""
        return DenseImages(np.column_stack(images))

    def learn(self, before: Point, after: Point) -> None:  # noqa: B027  # most models need no history
        """Take note of a step, from which the next model may profit."""

    def fitted(self, z: Array) -> Array:
        """z with the best intercept, if there is one: slopes then sum to zero."""
        return z

    def refitted(self, point: Point) -> Point:
        """The same weights with the best intercept."""
        return point

    def kept(self) -> dict[str, Array]:
        """What a run's memory keeps of it."""
        return {} if self.intercept is None else {"intercept": np.atleast_1d(self.intercept)}

    def restore(self, memory: dict[str, Array]) -> None:
        if "intercept" in memory:
            kept = np.asarray(memory["intercept"], dtype=np.float64)
            self.intercept = kept if len(kept) > 1 else float(kept[0])


class Samples(Outer):
    """A linear model with one margin per sample, whose Hessian in the margins is diagonal."""

    def __init__(self, objective: LinearModel) -> None:
        self.objective, self.m = objective, objective.n_samples
        self.convex = objective.quasar_rho == 1.0
        self._loss = loss_of(objective)

    def value(self, z: Array) -> float:
        self.objective.counts.function_values += 1
        return self.objective._sum_of_losses(self._margins(z), slice(None)) / self.m

    def slopes(self, z: Array) -> Array:
        self.objective.counts.sample_gradients += self.m
        if self._loss is None:
            return self.objective._slopes(self._margins(z), None).ravel()
        weights, out = self.objective.sample_weight, np.empty(self.m)
        for_loss(newton.slopes_of, self._loss)(
            self._loss, z, self.objective.y, np.empty(0) if weights is None else weights, out
        )  # fmt: skip
        return out

    def image(self, x: Array) -> Array:
        return np.asarray(self.objective.margins(x), dtype=np.float64).ravel()

    def gradient(self, slopes: Array) -> Array:
        self.objective.counts.full_gradients += 1
        return np.asarray(self.objective.combine_rows(self._margins(slopes)), dtype=np.float64) / self.m

    def model(self, z: Array, secant: Any) -> Any:
        if secant is None:
            secant = self.objective._phi_second(z, self.objective.y)
            if self.objective.sample_weight is not None:
                secant *= self.objective.sample_weight
            if not secant.max() > 0:
                secant = np.full(self.m, self.objective._curvature)
        largest = max(float(secant.max()), FLOOR * self.objective._curvature)
        return np.maximum(secant, FLOOR * largest) / self.m

    def gram(self, B: Images, model: Any) -> Array | None:
        gram = B.gram(model)
        if self.objective.intercept:  # minimised over: its Schur complement
            coupling = B.adjoint(model) * self.m
            gram -= np.outer(coupling, coupling) / model.sum()
        return gram

    def secant(self, change: Array, turned: Array) -> Any:
        return np.divide(np.abs(turned), np.abs(change), out=np.zeros(len(change)), where=np.abs(change) > TINY)

    def follow(self, change: Array, model: Any) -> Array:
        return change - float(model @ change) / float(model.sum()) if self.objective.intercept else change

    def fitted(self, z: Array) -> Array:
        """The search begins where the last one ended."""
        if not self.objective.intercept:
            return z
        self.intercept = self.objective.best_intercept(self._margins(z), self.intercept)
        return self._shifted(z, self.intercept)

    def refitted(self, point: Point) -> Point:
        if not self.objective.intercept:
            return point
        shift = self.objective.best_intercept(self._margins(point.z), 0.0 * self.intercept)
        self.intercept = self.intercept + shift
        if not np.any(shift):
            return point
        z = self._shifted(point.z, shift)
        return Point(point.x, z, self.slopes(z))

    def shifted(self, z: Array) -> Array:
        """z with the last intercept."""
        return z if self.intercept is None else self._shifted(z, self.intercept)

    def _shifted(self, z: Array, intercept: Any) -> Array:
        return np.asarray(self._margins(z) + intercept).ravel()

    def _margins(self, z: Array) -> Array:
        """z with a row per sample."""
        return z


class Softmax(Samples):
    """`Multinomial`, with c margins per sample: the Hessian of a sample is w (diag p - p p^T) with p the softmax."""

    objective: Multinomial

    def model(self, z: Array, secant: Any) -> Any:
        """p, blended with equal shares where it has misled, and always a little: a sure p has no curvature."""
        z, weights = self._margins(z), self.objective.sample_weight
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        share = FLOOR if secant is None else 0.5
        blended = (1.0 - share) * p + share / p.shape[1]
        return Shares(blended, np.full(self.m, 1.0 / self.m) if weights is None else weights / self.m)

    def gram(self, B: Images, model: Any) -> Array | None:
        gram = B.gram(model)
        if self.objective.intercept:  # minimised over: its Schur complement
            units = np.eye(model.p.shape[1])
            coupling = np.column_stack([B.adjoint(forces(model, unit).ravel()) for unit in units]) * self.m
            gram -= coupling @ self._by_intercept(model, coupling.T)
        return gram

    def stack(self, keys: list[str], images: list[Any]) -> Images:
        return DenseClasses(np.column_stack(images).reshape(self.m, -1, len(images)))

    def secant(self, change: Array, turned: Array) -> Any:
        return True

    def follow(self, change: Array, model: Any) -> Array:
        if not self.objective.intercept:
            return change
        total = forces(model, self._margins(change)).sum(axis=0)
        return self._shifted(change, -self._by_intercept(model, total))

    def fitted(self, z: Array) -> Array:
        if self.objective.intercept and self.intercept is None:
            self.intercept = np.zeros(len(self.objective.classes))
        return super().fitted(z)

    @staticmethod
    def _by_intercept(model: Shares, forces: Array) -> Array:
        """The inverse of the Hessian in the intercept, but for equal shifts of all classes, times `forces`."""
        weighted = model.weights[:, None] * model.p
        hessian = np.diag(weighted.sum(axis=0)) - weighted.T @ model.p
        return np.asarray(np.linalg.pinv(hessian, rcond=1e-12, hermitian=True) @ forces)

    def _margins(self, z: Array) -> Array:
        return z.reshape(self.m, -1)


def forces(model: Shares, margins: Array) -> Array:
    """The Hessian in the margins times a row for each sample, or one row for all."""
    p = model.p
    return np.asarray(model.weights[:, None] * p * (margins - (p * margins).sum(axis=1, keepdims=True)))


def outer_of(objective: Any) -> Samples:
    """F of a linear model."""
    return Softmax(objective) if isinstance(objective, Multinomial) else Samples(objective)
