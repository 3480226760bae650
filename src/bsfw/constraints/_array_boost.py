"""Algorithm Boost on a stack of variables, with masks instead of branches: for PyTorch and JAX, on their device.

Equal to `bsfw.boosting.boost` up to rounding. The away candidate -psi/||psi|| only rescales psi, so that it never gains
alignment and a round in which it wins is the last: it needs no arithmetic. All else a round decides follows from inner
products of m, psi and v - x, three of which are new in a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from .._arrays import host_dtype
from ..boosting import Direction, zero_squared
from ..vertices import Dense
from ._array_oracles import array_lmo, module_of
from .base import Constraint


class Rounds(NamedTuple):
    """Where Boost is, for each variable of the stack; vectors have one more axis than numbers.

    Attributes
    ----------
    psi : array
        Sum of c_k (v_k - x).
    total : array
        Lambda, the sum of c_k; 0 while no round was accepted.
    m_psi, psi_psi : array
        <m, psi> and <psi, psi>.
    alignment : array
        align(-m, psi), -1 for psi = 0.
    calls : array
        LMO calls made, the rejected last round included.
    active : array of bool
        Whether the last round was accepted.
    """

    psi: Any
    total: Any
    m_psi: Any
    psi_psi: Any
    alignment: Any
    calls: Any
    active: Any


class Boosted(NamedTuple):
    """What Boost found: x + psi / total is the convex combination vbar; `vertex` is s, with `gap` and `distance`."""

    rounds: Rounds
    vertex: Any
    gap: Any
    distance: Any

    def direction_length(self, xp: Any) -> Any:
        """||d~||, and 0 where no round was accepted."""
        total = self.rounds.total
        return xp.sqrt(self.rounds.psi_psi) / xp.where(total > 0, total, xp.ones_like(total))

    def combination(self, xp: Any, x: Any) -> Any:
        """vbar, and x where no round was accepted."""
        total = self.rounds.total
        return x + self.rounds.psi / xp.where(total > 0, total, xp.ones_like(total))[..., None]

    def paper_step(self, xp: Any, x: Any, eta: Any) -> tuple[Any, Any, Any]:
        """Where x moves to, how far of the way, and whether along d~ (Algorithm BSFW, lines 7-13; `PaperStep`)."""
        length = self.direction_length(xp)
        gamma = eta * self.distance / xp.where(length > 0, length, xp.ones_like(length))
        boosted = (gamma < 1.0) & (length > 0)
        target = xp.where(boosted[..., None], self.combination(xp, x), self.vertex)
        return target, xp.where(boosted, gamma, xp.zeros_like(gamma) + eta), boosted


def dot(xp: Any, a: Any, b: Any) -> Any:
    """Real inner products along the last axis."""
    if "complex" in str(a.dtype):
        return xp.sum((a.conj() * b).real, -1)
    if xp.__name__ == "torch":  # BLAS, in one pass; XLA fuses product and sum itself
        return (a[..., None, :] @ b[..., :, None])[..., 0, 0]
    return xp.sum(a * b, -1)


def boost_stack(
    xp: Any, m: Any, x: Any, lmo: Callable[[Any], Any], max_rounds: int, min_gain: Any, loop: Callable[..., Rounds]
) -> Boosted:
    """Boost for each variable of a stack.

    Parameters
    ----------
    xp : module
        torch or jax.numpy.
    m, x : array
        Estimates and iterates, flat: (b, n), or (n,) for one.
    lmo : callable
        The oracle, on arrays of this shape.
    max_rounds, min_gain
        K and delta.
    loop : callable
        ``loop(body, rounds, count)`` applies `body` up to `count` times, as long as one variable is active.
    """
    lengths = xp.sqrt(dot(xp, m, m))
    nothing = zero_squared(host_dtype(x)) * dot(xp, x, x)

    def grown(at: Rounds, to_v: Any) -> tuple[Rounds, Any, Any]:
        a, b, c = dot(xp, m, to_v), dot(xp, at.psi, to_v), dot(xp, to_v, to_v)
        progress = -a - b  # <r, v - x> of the residual r = -m - psi
        away = at.m_psi + at.psi_psi > xp.sqrt(at.psi_psi) * progress
        step = progress / xp.where(c > 0, c, xp.ones_like(c))  # lambda
        m_phi, squared = at.m_psi + step * a, at.psi_psi + step * (2.0 * b + step * c)
        alignment = -m_phi / (lengths * xp.sqrt(squared))  # nan for m = 0, which gains nothing
        gains = (alignment - at.alignment >= min_gain) & (step > 0) & (c > nothing) & ~away & at.active
        step = xp.where(gains, step, xp.zeros_like(step))
        return Rounds(
            at.psi + step[..., None] * to_v,
            at.total + step,
            xp.where(gains, m_phi, at.m_psi),
            xp.where(gains, squared, at.psi_psi),
            xp.where(gains, alignment, at.alignment),
            at.calls + at.active,
            gains,
        ), a, c  # fmt: skip

    zero, one = xp.zeros_like(lengths), xp.ones_like(lengths)
    start = Rounds(xp.zeros_like(x), zero, zero, zero, -one, zero, one > 0)
    vertex = lmo(m)
    first, a, c = grown(start, vertex - x)
    rounds = first
    if max_rounds > 1:
        rounds = loop(lambda at: grown(at, lmo(m + at.psi) - x)[0], first, max_rounds - 1)
    return Boosted(rounds, vertex, -a, xp.sqrt(c))


def torch_loop(body: Callable[[Rounds], Rounds], rounds: Rounds, count: int) -> Rounds:
    """In Python: one bool a round comes to the host, none while PyTorch compiles or computes shapes only."""
    import torch

    looks = not (torch.compiler.is_compiling() or rounds.psi.is_meta)
    for _ in range(count):
        if looks and not bool(rounds.active.any()):
            break
        rounds = body(rounds)
    return rounds


def jax_loop(body: Callable[[Rounds], Rounds], rounds: Rounds, count: int) -> Rounds:
    """One loop of the compiled program."""
    from jax import lax

    def go_on(at: tuple[Any, Rounds]) -> Any:
        return (at[0] < count) & at[1].active.any()

    return lax.while_loop(go_on, lambda at: (at[0] + 1, body(at[1])), (0, rounds))[1]


def boost_on_device(constraint: Constraint, m: Any, x: Any, max_rounds: int, min_gain: float) -> Direction | None:
    """Algorithm Boost on one PyTorch or JAX variable; None where the set has no formula or the arrays do not match.

    Tensors in the memory of the host are NumPy arrays by another name, for which the sets have compiled code.
    """
    if m.dtype != x.dtype or m.shape != x.shape:
        return None
    xp = module_of(x)
    if xp.__name__ == "torch" and in_host_memory(x) and in_host_memory(m):
        here = x.numpy()
        found = constraint.boost(m.numpy(), here, max_rounds, min_gain)
        if not found.vertices:
            return found
        return replace(found, vertices=[Dense(xp.from_numpy(here + found.dense(here)))], weights=[1.0])
    formula = array_lmo(constraint, xp)
    if formula is None:
        return None
    if xp.__name__ == "torch":
        vertex, combination, numbers = _boosted(xp, formula, m, x, max_rounds, min_gain, torch_loop)
    else:
        vertex, combination, numbers = _program(constraint)(m, x, max_rounds, min_gain)
    gap, slope, alignment, length, distance, calls, total = numbers.tolist()
    shown = Dense(vertex)
    if total == 0.0:
        return Direction([], [], shown, gap, 0.0, -1.0, 0.0, distance, round(calls))
    return Direction([Dense(combination)], [1.0], shown, gap, slope, alignment, length, distance, round(calls))


def in_host_memory(tensor: Any) -> bool:
    """Whether ``tensor.numpy()`` is a view of it."""
    return bool(tensor.device.type == "cpu" and not (tensor.requires_grad or tensor.is_conj() or tensor.is_neg()))


def _boosted(
    xp: Any, formula: Callable[[Any], Any], m: Any, x: Any, max_rounds: int, min_gain: Any, loop: Callable[..., Rounds]
) -> tuple[Any, Any, Any]:
    """s, vbar, and the numbers of a `Direction` as one array, so that they come to the host together."""

    def lmo(g: Any) -> Any:
        return formula(g.reshape((1, *x.shape))).reshape(-1)

    flat = x.reshape(-1)
    found = boost_stack(xp, m.reshape(-1), flat, lmo, max_rounds, min_gain, loop)
    at = found.rounds
    total = xp.where(at.total > 0, at.total, xp.ones_like(at.total))
    numbers = xp.stack(
        [found.gap, at.m_psi / total, at.alignment, found.direction_length(xp), found.distance, at.calls, at.total]
    )
    return found.vertex.reshape(x.shape), found.combination(xp, flat).reshape(x.shape), numbers


@lru_cache(maxsize=32)
def _program(constraint: Constraint) -> Callable[..., tuple[Any, Any, Any]]:
    """The same by JAX, compiled once for a set, a shape and a number of rounds."""
    import jax

    formula = array_lmo(constraint, jax.numpy)
    assert formula is not None

    def run(m: Any, x: Any, max_rounds: int, min_gain: Any) -> tuple[Any, Any, Any]:
        return _boosted(jax.numpy, formula, m, x, max_rounds, min_gain, jax_loop)

    return jax.jit(run, static_argnums=2)
