"""Boosted stochastic Frank-Wolfe as a PyTorch optimizer: every weight stays in its set."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.adamw import adamw

from .._arrays import positive_int
from .._refusals import Refusing
from ..constraints import Constraint, L1Ball, NuclearBall, Rows
from ..constraints._array_boost import boost_stack, dot, torch_loop
from .oracles import stack_lmo

ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
"""Settings of a group without a set; torch.optim.AdamW's own."""
_BUFFERS = ("momentum", "weight")


def default_rounds(constraint: Constraint) -> int:
    """K by what was measured on networks (docs/torch.md): rounds pay where a vertex is one weight or of rank one.

    Everywhere else 1: on spectral, sign and row balls boosting undoes what makes their vertices good directions, and on
    the other sets nobody has measured.
    """
    if isinstance(constraint, Rows):
        return 2 if isinstance(constraint.inner, L1Ball) else 1
    return 20 if isinstance(constraint, L1Ball) else 5 if isinstance(constraint, NuclearBall) else 1


class FrankWolfe(Refusing, Optimizer):
    """Algorithm BSFW with Heavy Ball momentum on the weights of a network, each group of them in a set of its own.

    For each weight x with gradient g: m <- momentum m + (1 - momentum) g (m = g at first), s = lmo(m), the direction d~
    of Boost, gamma = min{lr ||s - x|| / ||d~||, 1}, and x <- x + gamma d~, or x + lr (s - x) where gamma = 1. With
    max_rounds = 1 that is x + lr (s - x). Weights that start in their sets stay there: no projection, no weight decay.

    Weights with more than two axes (convolutions) are matrices, out x rest, to sets of matrices. 16-bit weights have a
    float32 copy in the state, on which the steps are made. Groups with ``constraint=None`` are trained by
    torch.optim's AdamW, with their own lr: what `layers` does with vectors.

    Parameters
    ----------
    params : iterable
        Tensors, or dictionaries with "params" and, group by group, any of the settings below.
    constraint : Constraint, optional
        The set of groups that name none: one whose oracle has a formula (`bsfw.torch.oracles.stack_lmo`).
    lr : float or Tensor
        eta, from 0 to 1: more would leave the set and is refused, also when a scheduler asks for it.
    momentum : float
        1 - r of the paper's Heavy Ball, in [0, 1[; 0 for the gradient itself.
    max_rounds : int, optional
        K; default: by what was measured, `default_rounds`.
    min_gain : float
        delta in ]0, 1]: a round must improve the alignment by so much.
    maximize : bool
        Ascend instead.
    foreach : bool, optional
        Whether weights of one shape in a group are stacked and boosted together, one bool to the host a round for all
        of them; costs a copy of them while the step is made. Default: yes.
    differentiable : bool
        Only False: a step through an oracle has no useful derivative.
    """

    def __init__(
        self,
        params: Any,
        constraint: Constraint | None = None,
        *,
        lr: float | Tensor = 0.05,
        momentum: float = 0.9,
        max_rounds: int | None = None,
        min_gain: float = 1e-3,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
    ) -> None:
        self._gaps: dict[int, Tensor] = {}
        self._default_set = constraint
        defaults = dict(
            lr=lr, momentum=momentum, max_rounds=max_rounds, min_gain=min_gain, maximize=maximize, foreach=foreach,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._gaps, self._default_set = {}, None

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add weights, with a set of their own or the optimizer's; see the class for the settings."""
        group = dict(param_group)
        constraint = group.setdefault("constraint", self._default_set)
        if constraint is None:
            if "constraint" not in param_group:
                raise ValueError(
                    'a group of weights names no set; give it "constraint": a set such as bsfw.SpectralBall(3.0), or '
                    "None to leave it to AdamW."
                )
            group = {**ADAMW, **group}
        elif not isinstance(constraint, Constraint):
            raise TypeError(f"constraint must be a set such as bsfw.SpectralBall(3.0), or None, got {constraint!r}.")
        super().add_param_group(group)
        added = self.param_groups[-1]
        try:
            self._check_settings(added)
            for p in added["params"]:
                self._check_weight(p, constraint)
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise
        if constraint is not None:
            stack_lmo(constraint)
            if added["max_rounds"] is None:
                added["max_rounds"] = default_rounds(constraint)

    @staticmethod
    def _check_weight(p: Tensor, constraint: Constraint | None) -> None:
        if constraint is None:
            return
        if not p.is_floating_point():
            raise ValueError(
                f"FrankWolfe trains real weights, but one is {p.dtype}; keep its real and imaginary parts as two real "
                "weights, or leave it to another optimizer."
            )
        matrix_shape(constraint, tuple(p.shape))

    def _check_settings(self, group: dict[str, Any]) -> None:
        """Refuse what would leave the set; asked before every step, for schedulers write into groups."""
        lr = group["lr"]
        if group["constraint"] is None or (isinstance(lr, Tensor) and not _can_look(lr)):
            return
        if not 0.0 <= float(lr) <= 1.0:
            raise ValueError(
                f"lr is {float(lr):g} in a group with the set {group['constraint']!r}, but a step x + lr (s - x) stays "
                "in it only for lr from 0 to 1; choose a smaller lr, or a scheduler with a smaller max_lr."
            )
        if not 0.0 <= group["momentum"] < 1.0:
            raise ValueError(f"momentum must lie in [0, 1[, got {group['momentum']!r}.")
        if not 0.0 < group["min_gain"] <= 1.0:
            raise ValueError(f"min_gain (delta of the paper) must lie in ]0, 1], got {group['min_gain']!r}.")
        if group["max_rounds"] is not None:
            positive_int(group["max_rounds"], "max_rounds")
        if group["differentiable"]:
            raise ValueError("differentiable=True is not offered: a step through an oracle has no useful derivative.")

    # The step.

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of every weight that has a gradient. Returns what `closure` returned, if it was given."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._check_settings(group)
        self._refuse_gradients()
        for number, group in enumerate(self.param_groups):
            params: list[Tensor] = []
            grads: list[Tensor] = []
            first: list[Tensor] = []
            second: list[Tensor] = []
            steps: list[Tensor] = []
            self._init_group(group, params, grads, first, second, steps)
            if not params:
                continue
            if group["constraint"] is None:
                adamw(
                    params, grads, first, second, [], steps, foreach=group["foreach"], amsgrad=False,
                    beta1=group["betas"][0], beta2=group["betas"][1], lr=group["lr"],
                    weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"],
                )  # fmt: skip
            else:
                self._gaps[number] = frank_wolfe(params, grads, first, second, group)
        return loss

    def _init_group(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        first: list[Tensor],
        second: list[Tensor],
        steps: list[Tensor],
    ) -> bool:
        """Collect weights and buffers, made on their first step. (torch.compile runs a method of this name eagerly.)"""
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            params.append(p)
            grads.append(p.grad)
            if group["constraint"] is None:
                if not state:
                    state["step"] = torch.zeros((), dtype=torch.float32)
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
                first.append(state["exp_avg"])
                second.append(state["exp_avg_sq"])
                steps.append(state["step"])
                continue
            if not state:
                self._require_inside(p, group["constraint"])
                gradient = p.grad.to(_buffer_dtype(p))
                state["momentum"] = -gradient if group["maximize"] else gradient.clone()
                if p.dtype != _buffer_dtype(p):
                    state["weight"] = p.detach().to(_buffer_dtype(p))
            first.append(state["momentum"])
            second.append(state.get("weight", p))
        return False

    def _refuse_gradients(self) -> None:
        """Raise before anything has changed if a gradient is of no use. One number a group comes to the host."""
        for group in self.param_groups:
            grads = [p.grad for p in group["params"] if p.grad is not None]
            if any(g.layout != torch.strided for g in grads):
                raise ValueError(
                    "FrankWolfe needs dense gradients, but one is sparse; use sparse=False in nn.Embedding, or leave "
                    "that weight to another optimizer."
                )
            if grads and _can_look(grads[0]) and not math.isfinite(_total_norm(grads)):
                raise ValueError(
                    "a gradient has entries that are NaN or infinite, or a norm that is; nothing was changed. Clip "
                    "gradients, lower lr, or step through torch.amp.GradScaler, which skips such steps."
                )

    # What a constrained optimizer can be asked besides.

    @torch.no_grad()
    def init_(self) -> None:
        """Move all weights into their sets, once, before the first step; those inside stay where they are.

        A weight outside of a ball is scaled down to its boundary. Where the set has no such point (simplex, box), it
        becomes the vertex lmo(-x), the one that is most like it. (The LMO of an l1 ball would leave one weight.)
        """
        for group in self.param_groups:
            constraint = group["constraint"]
            for p in group["params"] if constraint is not None else ():
                shape = matrix_shape(constraint, tuple(p.shape))
                x = p.detach().to(torch.float64).reshape(shape)
                for _ in range(2):  # twice, for the rounding of the first
                    x = x / (1.0 + constraint.violation(x.numpy(force=True)))
                if not constraint.contains(x, 1e-6):
                    x = stack_lmo(constraint)(-p.detach().to(torch.float64).reshape(1, *shape))
                p.copy_(x.reshape(p.shape))

    def _require_inside(self, p: Tensor, constraint: Constraint) -> None:
        if not _can_look(p):
            return
        x = p.detach().double().reshape(matrix_shape(constraint, tuple(p.shape)))
        violation = constraint.violation(x.numpy(force=True))
        if not violation <= max(1e-5, 8.0 * torch.finfo(p.dtype).eps):
            raise ValueError(
                f"a weight of shape {tuple(p.shape)} lies outside of {constraint!r} (relative violation "
                f"{violation:.2g}); call init_() once before the first step."
            )

    def gap(self) -> list[float]:
        """<m, x - lmo(m)> of every group at the last step, before it was made: the Frank-Wolfe gap of the *estimate* m.

        It is that of the loss only as far as m is its gradient. nan for groups without a set and before a first step.
        """
        return [float(self._gaps[i]) if i in self._gaps else math.nan for i in range(len(self.param_groups))]

    # Saving.

    def state_dict(self) -> dict[str, Any]:
        """As every optimizer's; a set is written as its text and hash, so that ``torch.load`` needs no trust."""
        saved = super().state_dict()
        for group in saved["param_groups"]:
            c = group["constraint"]
            group["constraint"] = None if c is None else {"shown": repr(c), "fingerprint": c.fingerprint()}
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As every optimizer's (numbers of the saved groups win), but the *sets are those of this optimizer*.

        A set that differs from the saved one is kept with a warning. Buffers keep their float32.
        """
        own = [group["constraint"] for group in self.param_groups]
        super().load_state_dict(state_dict)
        saved_groups = state_dict["param_groups"]
        for number, (group, constraint, saved) in enumerate(zip(self.param_groups, own, saved_groups, strict=True)):
            group["constraint"], was = constraint, saved["constraint"]
            if (None if constraint is None else constraint.fingerprint()) != (was and was["fingerprint"]):
                warnings.warn(
                    f"group {number} was saved with the set {was and was['shown']}, but this optimizer has "
                    f"{constraint!r}, which is kept; call init_() if the weights may lie outside of it.",
                    stacklevel=2,
                )
        keys = chain.from_iterable(group["params"] for group in saved_groups)
        weights: Iterable[Tensor] = chain.from_iterable(group["params"] for group in self.param_groups)
        for key, p in zip(keys, weights, strict=True):
            for name in _BUFFERS:  # PyTorch has cast them to the dtype of the weight
                if name in state_dict["state"].get(key, {}):
                    buffer = state_dict["state"][key][name]
                    self.state[p][name] = buffer.to(device=p.device, dtype=_buffer_dtype(p), copy=True)


def frank_wolfe(
    params: list[Tensor], grads: list[Tensor], momenta: list[Tensor], weights: list[Tensor], group: dict[str, Any]
) -> Tensor:
    """One step on the weights of a group, in place. Returns the gap of their estimates, summed."""
    constraint, gaps = group["constraint"], []
    for i, g in enumerate(grads):
        g = g.to(momenta[i].dtype)
        momenta[i].lerp_(-g if group["maximize"] else g, 1.0 - group["momentum"])
    stacks: dict[Any, list[int]] = {}
    for i, p in enumerate(params):
        alone = i if group["foreach"] is False else -1
        stacks.setdefault((tuple(p.shape), p.dtype, p.device, alone), []).append(i)
    for (shape, *_), members in stacks.items():
        x = _stacked([_current(params[i], weights[i]) for i in members])
        m = _stacked([momenta[i] for i in members])
        target, length, gap = _target(m, x, constraint, matrix_shape(constraint, shape), group)
        gaps.append(gap)
        first = params[members[0]]
        if len(members) == 1 and weights[members[0]] is first and first.is_contiguous():
            x.lerp_(target, length)  # x is the weight itself
            continue
        for row, i in zip(torch.lerp(x, target, length).unbind(), members, strict=True):
            if weights[i] is not params[i]:
                weights[i].copy_(row.view(shape))
            params[i].copy_(row.view(shape))
    return gaps[0] if len(gaps) == 1 else torch.stack(gaps).sum()


def _target(
    m: Tensor, x: Tensor, constraint: Constraint, shape: tuple[int, ...], group: dict[str, Any]
) -> tuple[Tensor, Any, Tensor]:
    """Lines 3-13 of Algorithm BSFW for a stack: where x moves to, how far of the way, and the sum of the gaps."""
    formula, lr = stack_lmo(constraint), group["lr"]
    if isinstance(lr, Tensor):
        lr = lr.to(x).clamp(0.0, 1.0)  # checked in `step`, but for compiled ones

    def lmo(g: Tensor) -> Tensor:
        vertices: Tensor = formula(g.view(-1, *shape))
        return vertices.reshape(g.shape)

    if group["max_rounds"] == 1:
        vertex = lmo(m)
        return vertex, lr, dot(torch, m, x - vertex).sum()
    found = boost_stack(torch, m, x, lmo, group["max_rounds"], group["min_gain"], torch_loop)
    target, weight, _ = found.paper_step(torch, x, lr)
    return target, weight[:, None], found.gap.sum()


def matrix_shape(constraint: Constraint, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which a weight lives in the set: out x rest with more than two axes, unless the set fixes one."""
    if constraint.shape is None and len(shape) > 2:
        shape = (shape[0], math.prod(shape[1:]))
    try:
        constraint.check_shape(shape)
    except ValueError as error:
        raise ValueError(
            f"a weight of shape {shape} cannot live in {constraint!r}: {error} Give vectors and scalars a ball of "
            'their own, or "constraint": None to leave them to AdamW.'
        ) from None
    return shape


def _current(p: Tensor, weight: Tensor) -> Tensor:
    """The weight in the precision of its buffer; what somebody else has written into a 16-bit weight counts."""
    return p.detach() if weight is p else torch.where(weight.to(p.dtype) == p, weight, p.to(weight.dtype))


def _stacked(tensors: list[Tensor]) -> Tensor:
    return tensors[0].reshape(1, -1) if len(tensors) == 1 else torch.stack([t.reshape(-1) for t in tensors])


def _buffer_dtype(p: Tensor) -> torch.dtype:
    return torch.float32 if p.dtype.itemsize < 4 else p.dtype


def _total_norm(grads: list[Tensor]) -> float:
    """The sum of their norms, in at least float32: not finite if an entry is not, or if <m, m> would overflow."""
    wide = torch.float64 if any(g.dtype == torch.float64 for g in grads) else torch.float32
    norms = torch._foreach_norm(grads, 2, wide)
    if len(norms) == 1:
        return float(norms[0])
    return float(torch.stack([norm.to(norms[0].device) for norm in norms]).sum())


def _can_look(tensor: Tensor) -> bool:
    """Whether numbers of it can come to the host: not while PyTorch compiles, nor where it computes shapes only."""
    return not (torch.compiler.is_compiling() or tensor.is_meta)
