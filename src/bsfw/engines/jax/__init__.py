"""The JAX engine: many iterations on a JAX function in one call of a program that JAX compiled.

JAX is imported when an objective already computes with its arrays.
"""

from __future__ import annotations

from ..._arrays import is_complex, is_foreign, kind
from ...constraints._common import has_formula
from ...estimators import FullGradient
from ...objectives.function import Function
from ...plan import Plan
from ...steps import PaperStep
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    """Exact types only: a subclass may have changed anything. That `jac` can be traced is asked last, for it is run."""
    objective = plan.objective
    if type(objective) is not Function or objective.like is None or not is_foreign(objective.like):
        return "the JAX engine needs a Function that computes with JAX arrays; give like= one of them, or x0."
    if not kind(objective.like).startswith("jax"):
        return f"the JAX engine needs arrays of JAX, but the variable is one of {kind(objective.like)}."
    if objective.jac is None:
        return "the JAX engine needs jac, such as jax.grad(fun); with batch_jac use bsfw.jax.FrankWolfe."
    if type(plan.estimator) is not FullGradient:
        return (
            f"the JAX engine needs the exact gradient, for {type(plan.estimator).__name__} draws on the host; "
            "bsfw.jax.FrankWolfe draws on the device."
        )
    if type(plan.step) is not PaperStep:
        return f"the JAX engine needs step='paper', got {plan.step!r}."
    if is_complex(objective.dtype):
        return "the JAX engine is for real variables."
    if not has_formula(plan.constraint):
        return f"the oracle of {plan.constraint!r} has no formula that JAX can trace."
    return _not_traceable(plan)


def _not_traceable(plan: Plan) -> str | None:
    import jax

    assert isinstance(plan.objective, Function) and plan.objective.jac is not None
    wanted = jax.ShapeDtypeStruct(plan.shape, plan.objective.dtype)
    try:
        found = jax.eval_shape(plan.objective.jac, wanted)
    except Exception as error:  # whatever a user's function raises on a tracer
        return f"jac needs the host: JAX cannot trace it ({type(error).__name__})."
    fits = getattr(found, "shape", None) == wanted.shape and getattr(found, "dtype", None) == wanted.dtype
    return None if fits else f"jac must return a JAX array of shape {wanted.shape} and type {wanted.dtype}."


def _load() -> type[Engine]:
    from .engine import JaxEngine

    return JaxEngine


OFFER = Offer("jax", ("boosted",), _refusal, _load)
