"""From a model to parameter groups: a set for each kind of layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from .._refusals import refusing
from ..constraints import Constraint
from .optimizer import ADAMW

SetOf = Constraint | Callable[[Tensor], Constraint] | None
"""A set for all weights of a kind, or a function from the weight to its set, or None for AdamW."""


@refusing
def layers(
    model: nn.Module,
    hidden: SetOf = None,
    head: SetOf = None,
    embedding: SetOf = None,
    adamw: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Parameter groups for `FrankWolfe`: the weights of `model` by kind, each kind in its set.

    Parameters
    ----------
    model : torch.nn.Module
    hidden : Constraint, callable or None
        Of all weights with two or more axes that are neither head nor embedding: linear layers, convolutions,
        attention. A callable gets the weight and returns its set, for radii that depend on the shape.
    head : Constraint, callable or None
        Of the weight of the last ``nn.Linear`` in the order of ``model.modules()``.
    embedding : Constraint, callable or None
        Of the weights of ``nn.Embedding``; `bsfw.Rows` for one ball per row. A weight that is embedding and head at
        once is an embedding.
    adamw : dict, optional
        Settings of the last group, ``"constraint": None``: everything without a set, such as biases and norms, is
        trained by AdamW inside of the same optimizer. Default: lr 1e-3 and AdamW's own.

    Returns
    -------
    list of dict
        Weights with one and the same set share a group. Frozen weights (requires_grad=False) are left out.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    unknown = set(adamw or {}) - set(ADAMW)
    if unknown:
        raise ValueError(f"adamw takes {', '.join(ADAMW)}, got {', '.join(sorted(unknown))}.")
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    found: dict[str, dict[str, Any]] = {}
    rest: list[Tensor] = []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if id(p) in embeddings:
            chosen = embedding
        elif linears and p is linears[-1].weight:
            chosen = head
        else:
            chosen = hidden if p.ndim >= 2 else None
        constraint = chosen if chosen is None or isinstance(chosen, Constraint) else chosen(p)
        if constraint is None:
            rest.append(p)
        else:
            group = found.setdefault(constraint.fingerprint(), {"params": [], "constraint": constraint})
            group["params"].append(p)
    if not found:
        raise ValueError("no weight of the model has a set; give hidden=, head= or embedding=.")
    last = [{"params": rest, "constraint": None, **ADAMW, **(adamw or {})}] if rest else []
    return [*found.values(), *last]
