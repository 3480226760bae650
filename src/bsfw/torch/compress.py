"""What one constrains weights for: keep the largest of them, or the largest ranks, and see what that costs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bsfw._refusals import refusing


class Size(NamedTuple):
    """Numbers that a model has to keep, and that it had."""

    kept: int
    before: int


@refusing
@torch.no_grad()
def prune_(model: nn.Module, keep: float, only: Iterable[Tensor] | None = None) -> Size:
    """Set all but the largest weights to zero, in place, weight tensor by weight tensor.

    Parameters
    ----------
    model : torch.nn.Module
    keep : float
        Fraction in ]0, 1] of each tensor that stays; at least one entry does.
    only : iterable of Tensor, optional
        The tensors to prune; default: every parameter with two or more axes.

    Returns
    -------
    Size
        Nonzeros of the whole model after, and its parameters.
    """
    if not 0.0 < keep <= 1.0:
        raise ValueError(f"keep is the fraction of weights that stays, in ]0, 1], got {keep!r}.")
    chosen = [p for p in model.parameters() if p.ndim >= 2] if only is None else list(only)
    for p in chosen:
        count = max(1, round(keep * p.numel()))
        if count < p.numel():
            flat = p.detach().abs().reshape(-1)
            mask = torch.zeros_like(flat).scatter_(0, flat.topk(count).indices, 1.0)
            p.mul_(mask.reshape(p.shape))
    every = list(model.parameters())
    return Size(sum(int(p.count_nonzero()) for p in every), sum(p.numel() for p in every))


@refusing
@torch.no_grad()
def to_lowrank_(model: nn.Module, rank: int, only: Iterable[nn.Linear] | None = None) -> Size:
    """Replace linear layers by two thin ones, the best approximation of that rank, where that saves numbers.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place; its ``nn.Linear`` become ``nn.Sequential(nn.Linear(in, rank, bias=False), nn.Linear(rank,
        out))``.
    rank : int
        From 1; layers for which two factors of this rank would be no smaller stay as they are.
    only : iterable of torch.nn.Linear, optional
        The layers to replace; default: all.

    Returns
    -------
    Size
        Parameters of the model after and before.
    """
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise ValueError(f"rank must be a whole number of at least 1, got {rank!r}.")
    before = sum(p.numel() for p in model.parameters())
    chosen = None if only is None else {id(layer) for layer in only}
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is nn.Linear and (chosen is None or id(layer) in chosen):
                thin = _factored(layer, rank)
                if thin is not None:
                    setattr(parent, name, thin)
    return Size(sum(p.numel() for p in model.parameters()), before)


def _factored(layer: nn.Linear, rank: int) -> nn.Sequential | None:
    out, inner = layer.weight.shape
    if rank * (out + inner) >= out * inner:
        return None
    left, values, right = torch.linalg.svd(layer.weight.detach().double(), full_matrices=False)
    root = values[:rank].sqrt()
    place: dict[str, Any] = {"device": layer.weight.device, "dtype": layer.weight.dtype}
    narrow = nn.Linear(inner, rank, bias=False, **place)
    wide = nn.Linear(rank, out, bias=layer.bias is not None, **place)
    narrow.weight.copy_(root[:, None] * right[:rank])
    wide.weight.copy_(left[:, :rank] * root)
    if layer.bias is not None:
        wide.bias.copy_(layer.bias)
    return nn.Sequential(narrow, wide)


@refusing
def tradeoff(
    model: nn.Module,
    shrink: Callable[[nn.Module, Any], Size],
    levels: Sequence[Any],
    evaluate: Callable[[nn.Module], float],
) -> list[tuple[Any, Size, float]]:
    """Accuracy against size: ``evaluate`` of a copy of the model for each level; the model itself stays as it is.

    >>> tradeoff(model, bsfw.torch.prune_, [1.0, 0.1, 0.03, 0.01], accuracy)  # doctest: +SKIP
    """
    rows = []
    for level in levels:
        copied = copy.deepcopy(model)
        size = shrink(copied, level)
        rows.append((level, size, float(evaluate(copied))))
    return rows
