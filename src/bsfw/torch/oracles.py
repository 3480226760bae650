"""Oracles on stacks of weights: the formulas of the sets, and two that matrix products answer faster than an SVD."""

from __future__ import annotations

import torch
from torch import Tensor

from ..constraints import Constraint, NuclearBall, SpectralBall
from ..constraints._array_oracles import Formula, array_lmo

# The first steps of Polar Express (Amsel, Persson, Musco, Gower, 2025): the composition of odd polynomials
# a s + b s^3 + c s^5 that comes closest to 1 on [1e-3, 1]. After five of them the singular values lie in [0, 1.13].
_POLAR_STEPS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
)
_SUBSPACE, _POWERS = 6, 5
_SMALL = 32
"""Up to so many rows or columns LAPACK is faster than the products."""


def stack_lmo(constraint: Constraint) -> Formula:
    """The oracle on stacks of weights, or a ValueError if the set has none on tensors."""
    if type(constraint) is SpectralBall:
        return lambda g: polar(g, -constraint.radius)
    if type(constraint) is NuclearBall:
        return lambda g: -constraint.radius * leading_pair(g)
    formula = array_lmo(constraint, torch)
    if formula is None:
        raise ValueError(
            f"the oracle of {constraint!r} works on NumPy arrays only; for weights choose a set whose oracle has a "
            "formula: L1Ball, L2Ball, LinfBall, LpBall, Simplex, Box, KSparse, GroupBall, NuclearBall, SpectralBall."
        )
    return formula


def polar(g: Tensor, scale: float = 1.0) -> Tensor:
    """`scale` times the polar factors of a stack of matrices, with all singular values at most |scale|.

    Matrix products only. The last step, 1.5 s - 0.5 s^3, is at most 1 wherever s <= sqrt(3): it is what keeps the
    result inside of the ball, to rounding and whatever g is. Singular values of g above a hundredth of the largest
    come out above 0.97, smaller ones in proportion: where that matters, `SpectralBall.lmo` has the SVD. A zero matrix
    gives zero, the one answer that prefers no direction.
    """
    wide = _unit_scaled(g.mT if g.shape[-2] > g.shape[-1] else g)
    length = torch.linalg.vector_norm(wide, dim=(-2, -1), keepdim=True)
    x = wide / (1.01 * length).clamp_(min=_tiny(g))
    x = _on_gram(x) if 2 * x.shape[-2] <= x.shape[-1] else _on_matrix(x)
    x = torch.baddbmm(x, torch.bmm(x, x.mT), x, beta=1.5 * scale, alpha=-0.5 * scale)
    return x.mT if g.shape[-2] > g.shape[-1] else x


def _on_matrix(x: Tensor) -> Tensor:
    for a, b, c in _POLAR_STEPS:
        gram = torch.bmm(x, x.mT)  # on one matrix @ has a third more overhead
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def _on_gram(x: Tensor) -> Tensor:
    """The same for a wide x: the polynomials of its small Gram matrix first, then one product with x."""
    gram, product = torch.bmm(x, x.mT), None
    for k, (a, b, c) in enumerate(_POLAR_STEPS):
        factor = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        factor.diagonal(dim1=-2, dim2=-1).add_(a)
        product = factor if product is None else factor @ product
        if k + 1 < len(_POLAR_STEPS):
            gram = factor @ gram @ factor
    assert product is not None
    return product @ x


def leading_pair(g: Tensor) -> Tensor:
    """u v^T of the leading singular pairs of a stack of matrices, by subspace iteration from fixed columns.

    A few products with thin matrices instead of an SVD; u and v have length 1 whatever the accuracy, so that the answer
    is a vertex of the nuclear ball always, and its best one up to (sigma_7 / sigma_1)^10 or so.
    """
    if min(g.shape[-2:]) <= _SMALL:
        left: Tensor
        right: Tensor
        left, _, right = torch.linalg.svd(g, full_matrices=False)
        return left[..., :, :1] * right[..., :1, :]
    h = _unit_scaled(g)
    # Columns of a cosine transform: they miss no direction, need no random numbers, and are the same on every device.
    n = g.shape[-1]
    grid = torch.arange(n, dtype=g.dtype, device=g.device)[:, None] + 0.5
    basis = torch.cos(grid * torch.arange(1, _SUBSPACE + 1, dtype=g.dtype, device=g.device) ** 2 * (2.399963 / 7))
    basis = basis.expand(g.shape[0], n, _SUBSPACE)
    for _ in range(_POWERS):
        basis = torch.linalg.qr(h.mT @ (h @ basis)).Q
    image = h @ basis
    left, _, right = torch.linalg.svd(image, full_matrices=False)
    return left[..., :, :1] * (basis @ right.mT[..., :, :1]).mT


def _unit_scaled(g: Tensor) -> Tensor:
    """g divided by its largest entry, so that no square overflows or vanishes."""
    return g / g.abs().amax((-2, -1), keepdim=True).clamp_(min=_tiny(g))


def _tiny(g: Tensor) -> float:
    return float(torch.finfo(g.dtype).tiny)
