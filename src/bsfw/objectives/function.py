"""Plain callables as an objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import (
    Array,
    checked_shape,
    converted,
    detached,
    host_dtype,
    is_complex,
    is_foreign,
    kind,
    plain,
    positive,
    positive_int,
    shown,
)
from . import _checks
from .base import Objective

_DTYPES = ("float32", "float64", "complex64", "complex128")


class Function(Objective):
    """An objective given by callables; what it offers follows from what was given.

    The callables get arrays of one kind, NumPy, PyTorch or JAX: that of `like`, else that of x0, else NumPy; and they
    answer with such arrays, on the same device. Indices are always NumPy integer arrays, with which all three can be
    indexed. A checkpoint can only compare shapes: that the callables are the same is up to you.

    Parameters
    ----------
    fun : callable
        ``fun(x)``, the number f(x).
    jac : callable, optional
        ``jac(x)``, the gradient, of the shape of x; for complex x the one with f(x + d) = f(x) + Re<jac(x), d> + ...
    shape : int or tuple of int, optional
        Shape of the variable; without it, only a start point can tell.
    dtype : dtype, optional
        Dtype of the variable: float32, float64, complex64 or complex128. By default that of `like`; without both
        float64, or float32 if x0 is such.
    n_samples : int, optional
        m, if f is the average of f_1, ..., f_m.
    batch_jac : callable, optional
        ``batch_jac(x, batch)``, the average of the gradients of f_i over the indices i in `batch`.
        Without `jac`, the full gradient is that of the batch of all samples.
    partial : callable, optional
        ``partial(x, coordinates)``, the partial derivatives at flat coordinates.
    hessp : callable, optional
        ``hessp(x, p)``, the Hessian at x times p, both of the shape of x; the corrective method makes use of it for
        convex f. Without it that method learns the curvature from gradients, by L-BFGS.
    quasar_rho : float, optional
        rho in ]0, 1] if f is rho-quasar-convex, 1.0 if convex; None stands for nonconvex.
    smoothness : float, optional
        Lipschitz constant L of the gradient.
    like : array, optional
        An array of the kind, dtype and device that the variable is to have, for runs without x0.
    """

    _how_to_sum = "; give batch_jac and n_samples"

    def __init__(
        self,
        fun: Callable[[Array], Any],
        jac: Callable[[Array], Any] | None = None,
        *,
        shape: int | tuple[int, ...] | None = None,
        dtype: npt.DTypeLike | None = None,
        n_samples: int | None = None,
        batch_jac: Callable[[Array, Array], Any] | None = None,
        partial: Callable[[Array, Array], Any] | None = None,
        hessp: Callable[[Array, Array], Any] | None = None,
        quasar_rho: float | None = None,
        smoothness: float | None = None,
        like: Any = None,
    ) -> None:
        super().__init__()
        for name, given in (
            ("fun", fun),
            ("jac", jac),
            ("batch_jac", batch_jac),
            ("partial", partial),
            ("hessp", hessp),
        ):
            if not callable(given) and (given is not None or name == "fun"):
                raise TypeError(f"{name} must be a function, got {shown(given)}.")
        if (batch_jac is None) != (n_samples is None):
            missing = "n_samples" if n_samples is None else "batch_jac"
            raise ValueError(f"a finite sum needs both n_samples and batch_jac, but {missing} is missing; give it too.")
        self.fun, self.jac, self.batch_jac, self.partial, self.hessp = fun, jac, batch_jac, partial, hessp
        if shape is not None:
            self.shape = checked_shape(shape)
        self.like = like if like is None or is_foreign(like) else plain(like, "like")
        self._takes_precision = dtype is None and like is None
        if dtype is None:
            own = np.dtype(float) if self.like is None else host_dtype(self.like)
            dtype = own if own.name in _DTYPES else float  # e.g. a list of whole numbers
        self.dtype = _checks.dtype(dtype, _DTYPES)
        if partial is not None and is_complex(self.dtype):
            raise ValueError("partial is for real variables, but dtype is complex; leave it out.")
        self.n_samples = None if n_samples is None else positive_int(n_samples, "n_samples")
        self.quasar_rho = _checks.quasar_parameter(quasar_rho)
        self._smoothness = None if smoothness is None else positive(smoothness, "smoothness")

    @property
    def has_gradient(self) -> bool:
        return self.jac is not None or self.batch_jac is not None

    @property
    def has_batches(self) -> bool:
        return self.batch_jac is not None

    @property
    def has_partial_derivatives(self) -> bool:
        return self.partial is not None

    @property
    def has_hessian_product(self) -> bool:
        return self.hessp is not None

    def _value(self, x: Array) -> float:
        value = detached(self.fun(x))
        array = value if is_foreign(value) else np.asarray(value)
        if array.ndim != 0 or is_complex(array.dtype):
            raise ValueError(
                f"fun must return one real number, but returned {_describe(value)}; sum it, or take its real part."
            )
        return float(value)

    def _gradient(self, x: Array) -> Array:
        if self.jac is not None:
            return self._checked(self.jac(x), x, x.shape, "jac")
        if self.n_samples is None:
            raise ValueError("this Function has no gradient; give jac, or batch_jac with n_samples.")
        return self._batch_gradient(x, np.arange(self.n_samples))

    def _batch_gradient(self, x: Array, batch: Array) -> Array:
        assert self.batch_jac is not None
        return self._checked(self.batch_jac(x, batch), x, x.shape, "batch_jac")

    def _hessian_product(self, x: Array, direction: Array) -> Array:
        if self.hessp is None:
            raise ValueError("this Function has no products with its Hessian; give hessp.")
        return self._checked(self.hessp(x, direction), x, x.shape, "hessp")

    def _partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        if self.partial is None:
            raise ValueError("this Function has no partial derivatives; give partial.")
        return self._checked(self.partial(x, coordinates), x, (len(coordinates),), "partial")

    def _checked(self, returned: Any, x: Array, shape: tuple[int, ...], name: str) -> Array:
        if is_foreign(x) and kind(returned) != kind(x):  # no copies between devices behind the user's back
            raise ValueError(
                f"{name} must return an array of the kind of x ({kind(x)}), but returned {_describe(returned)} "
                f"({kind(returned)}); convert it."
            )
        array = returned if is_foreign(x) else np.asarray(returned)
        if tuple(array.shape) != tuple(shape):
            raise ValueError(
                f"{name} must return an array of shape {tuple(shape)}, but returned {_describe(returned)}."
            )
        if is_complex(array.dtype) and not is_complex(self.dtype):
            raise ValueError(f"{name} returned complex numbers for a real variable; give dtype=complex.")
        # A copy: callables may return x itself or a buffer that they use again, and estimators keep what they get.
        return converted(array, self.dtype_at(x), x)

    def dtype_at(self, x: Array) -> np.dtype:
        """The dtype that was given; where none was, float32 if x is such."""
        x = self._point(x)
        return host_dtype(x) if self._takes_precision and host_dtype(x) == np.float32 else self.dtype

    def smoothness(self) -> float:
        """The constant L that was given."""
        return super().smoothness() if self._smoothness is None else self._smoothness


def _describe(value: Any) -> str:
    array = value if is_foreign(value) else np.asarray(value)
    return f"{type(value).__name__} of shape {tuple(array.shape)} and type {array.dtype}"
