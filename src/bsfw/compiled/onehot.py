"""Algorithm Boost on sets whose vertices have one nonzero: exact, and almost free.

With psi = sum_k c_k v_k - Lambda x, the residual outside of the support of x and the visited coordinates is -m_j in
every round. So one sweep over m per call stores the largest key of each block of coordinates; a round costs
O(support + visited + n/256), and a newly visited coordinate the scan of its block. Inner products with psi follow it by
recurrence; they are summed anew over the compact arrays now and then, where a difference has cancelled, and at the end.

Compact arrays hold one slot per coordinate of the support or visited; slot 0 stands for all others and holds zeros, so
that a gather needs no branch. `slots[j]` is the slot of coordinate j.
"""

from __future__ import annotations

import math

import numpy as np

from ._jit import bits_of, float_of, kernel
from .layout import (
    ACCEPTED,
    ALIGNMENT,
    BOUNDED,
    COUNT,
    DISTANCE,
    DONE,
    FLOOR,
    GAP,
    GROW,
    L1,
    LAMBDA,
    LMO_CALLS,
    MOST,
    NORM,
    NOT_FINITE,
    ROUNDS,
    SCALE,
    SLOPE,
    SOLID_SIMPLEX,
    SQUARES,
    VALUE,
    VERTEX,
    VERTEX_SLOT,
    WEIGHTED_L1,
)

BLOCK, RUN = 256, 64
"""Coordinates of which the largest key is stored, and blocks of which the largest bound is."""
LANES = 16
"""Numbers that a loop over compact arrays takes at once; one by one the rest of them takes as long as the others."""
ABSOLUTE = np.int64(0x7FFFFFFFFFFFFFFF)
"""All bits of a float but its sign."""
NOWHERE = np.int64(0x7FFFFFFFFFFFFFFF)
"""Beyond all coordinates."""
FAR = np.int64(1 << 62)
"""Puts a coordinate beyond all others; with NOWHERE in its place the compiler makes branches of a minimum."""
LOST = 1e-6
"""A kept ||g||^2 that has fallen to less than this fraction of what it was is summed anew."""
CANCELLED = 1e-4
"""With ||v - x||^2 below this fraction of ||x||^2, or the new ||psi||^2 below this fraction of the old, inner products
are summed anew: as differences of sums they would lose digits."""
ROUNDS_AT_ONCE = 32
"""Rounds after which what follows by recurrence is summed anew."""


@kernel(forceinline=True)
def key_of(kind, value, weight):
    """What an LMO maximises: |g| on the l1 ball, |g| / weight on the weighted one, -g on a simplex."""
    if kind == L1:
        return abs(value)
    if kind == WEIGHTED_L1:
        return abs(value) / weight
    return -value


@kernel(fastmath={"reassoc", "nsz", "contract"})
def sweep_absolute(g, blocks):
    """Largest |g| of every block, as the bits of a nonnegative float, and the sum of squares.

    Nonnegative floats are ordered like their bits, and an integer maximum is vectorised where a float one is not.
    """
    total = 0.0
    for b in range(blocks.size):
        part, best, squares = g[b * BLOCK : (b + 1) * BLOCK], np.int64(0), 0.0
        for k in range(np.uint64(part.size)):
            best = max(best, bits_of(part[k]) & ABSOLUTE)
            squares += part[k] * part[k]
        blocks[b] = best
        total += squares
    return total


@kernel(forceinline=True)
def filled(count):
    """`count`, rounded up to whole vectors. Beyond the coordinates, compact arrays hold zeros."""
    return (count + LANES - 1) & -LANES


@kernel(fastmath={"reassoc", "nsz", "contract"}, forceinline=True)
def survey(held, q, x, total, count, residual):
    """<psi, psi>, <psi, m>, <psi, x> for psi = q - total x, and m + psi into `residual`, of which the bits of the
    largest magnitude come last (as in `sweep_absolute`), -1 if there is none."""
    pp = pm = px = 0.0
    largest = np.int64(-1)
    for k in range(np.uint64(1), np.uint64(count + 1)):
        psi = q[k] - total * x[k]
        pp += psi * psi
        pm += psi * held[k]
        px += psi * x[k]
        entry = held[k] + psi
        largest = max(largest, bits_of(entry) & ABSOLUTE)
        residual[k] = entry
    return pp, pm, px, largest


@kernel(fastmath={"reassoc", "nsz", "contract"}, forceinline=True)
def descend(residual, x, lam, slot, step, count):
    """`residual` += step at the slot, less lam x; returns the bits of its largest magnitude, as `survey` does.

    The step is taken in the loop, as a vector load would have to wait for a number that was just stored.
    """
    largest = np.int64(-1)
    for k in range(np.uint64(1), np.uint64(count + 1)):
        entry = residual[k] - lam * x[k] + (step if k == np.uint64(slot) else 0.0)
        largest = max(largest, bits_of(entry) & ABSOLUTE)
        residual[k] = entry
    return largest


@kernel(forceinline=True)
def best_held(kind, residual, largest, weights, coordinates, slots, count):
    """Largest key in the compact arrays, its slot and its coordinate, of equal keys that of the first coordinate.

    On the l1 ball `largest` has the bits of the key already.
    """
    if count == 0:
        return -math.inf, 0, -1
    if kind != L1:
        best, slot, where = -math.inf, 0, -1
        for k in range(1, count + 1):
            key = key_of(kind, residual[k], weights[coordinates[k]] if kind == WEIGHTED_L1 else 1.0)
            if key > best or (key == best and coordinates[k] < where):
                best, slot, where = key, k, coordinates[k]
        return best, slot, where
    where = NOWHERE  # without a branch, for it would be foreseen wrongly once
    for k in range(np.uint64(1), np.uint64(filled(count) + 1)):
        where = min(where, coordinates[k] + (0 if bits_of(residual[k]) & ABSOLUTE == largest else FAR))
    slot = np.int64(slots[where])
    return abs(residual[slot]), slot, where


@kernel()
def largest_bits(blocks):
    """The largest number of integer blocks."""
    largest = np.int64(-1)
    for b in range(np.uint64(blocks.size)):
        largest = max(largest, blocks[b])
    return largest


@kernel()
def largest_block(kind, blocks):
    """The largest number of all blocks, and the first block that has it."""
    keys = blocks.view(np.float64)
    if kind == L1:
        largest = largest_bits(blocks)
        for b in range(blocks.size):
            if blocks[b] == largest:
                return keys[b], b
    top, block = -math.inf, -1
    for b in range(blocks.size):
        if keys[b] > top:
            top, block = keys[b], b
    return top, block


@kernel()
def scan_block(kind, g, weights, b):
    """Largest key in block b."""
    first, last = np.uint64(b * BLOCK), np.uint64(min(g.size, (b + 1) * BLOCK))
    if kind == L1:  # as in `sweep_absolute`
        largest = np.int64(0)
        for j in range(first, last):
            largest = max(largest, bits_of(g[j]) & ABSOLUTE)
        return float_of(largest)
    best = -math.inf
    for j in range(first, last):
        best = max(best, key_of(kind, g[j], weights[j] if kind == WEIGHTED_L1 else 1.0))
    return best


@kernel()
def first_in_block(kind, g, weights, b, key):
    """The first coordinate in block b that has this key, which is its largest."""
    for j in range(b * BLOCK, min(g.size, (b + 1) * BLOCK)):
        if key_of(kind, g[j], weights[j] if kind == WEIGHTED_L1 else 1.0) == key:
            return j
    return b * BLOCK


@kernel()
def gather_tops(blocks, tops):
    """The largest of each RUN of blocks."""
    for r in range(tops.size):
        tops[r] = largest_bits(blocks[r * RUN : (r + 1) * RUN])


@kernel()
def best_bounded(g, blocks, tops, real):
    """As `largest_block` for blocks that hold upper bounds: the largest is made exact until the largest is exact.

    If that is not above the FLOOR, all of g is swept, and all bounds are exact. O(n / (RUN BLOCK) + RUN + BLOCK) for
    each bound that was not exact.
    """
    while True:
        _, run = largest_block(L1, tops)
        part = blocks[run * RUN : (run + 1) * RUN]
        top, place = largest_block(L1, part)
        block = run * RUN + place
        exact = bits_of(scan_block(L1, g, g, block))
        if exact != part[place]:
            part[place] = exact
            tops[run] = largest_bits(part)
        elif top > real[FLOOR] or real[FLOOR] == 0.0:
            return top, block
        else:
            sweep_absolute(g, blocks)
            real[FLOOR] = 0.0
            gather_tops(blocks, tops)


@kernel()
def careful_products(x, held, q, total, count, slot, value, mj):
    """||u||^2, <u, m> and <u, psi> for u = v - x, v = `value` at `slot`, summed coordinate by coordinate."""
    uu, um, upsi = value * value, value * mj, 0.0
    if slot > 0:
        step = value - x[slot]
        uu, um, upsi = step * step, step * mj, step * (q[slot] - total * x[slot])
    for k in range(1, count + 1):
        if k != slot:
            uu += x[k] * x[k]
            um -= x[k] * held[k]
            upsi -= x[k] * (q[k] - total * x[k])
    return uu, um, upsi


@kernel(error_model="numpy")
def boost(
    kind,
    radius,
    weights,
    max_rounds,
    min_gain,
    zero,
    share,
    g,
    slots,
    coordinates,
    x,
    q,
    held,
    residual,
    blocks,
    tops,
    whole,
    real,
    log,
):
    """One Boost call for m = SCALE g at the x of the compact arrays. Fills q, and whole and real as `layout` says.

    On return q holds sum_k c_k v_k by slot, with LAMBDA = sum_k c_k; g is unchanged. Boost is scale-equivariant in m,
    so that it runs on g itself. `log` has three columns (slot or -1 for the zero vertex, value, c_k) or no rows.
    `zero` is ||v - x||^2 / ||x||^2 at which v is x up to rounding. Returns GROW, with nothing changed, if there is no
    slot left for a visited coordinate or no row in the log.

    With `tops`, which is for the l1 ball, there is no sweep: the blocks hold upper bounds of |g| outside of the slots,
    raised by whoever writes into g (`estimates.write`, `rows.row_add_kept`), and ||g||^2 is kept likewise. That is
    exact, and pays where an iteration writes few coordinates; where it writes more of them, only what exceeds the
    FLOOR, a `share` of the largest key that is left without a slot.
    """
    count = before = whole[COUNT]
    keys, bounded = blocks.view(np.float64), tops.size > 0
    neutral = 0.0 if kind in (L1, WEIGHTED_L1) else math.inf
    xx = mx = squares = 0.0
    if kind != L1:
        for j in range(g.size):
            squares += g[j] * g[j]
    for k in range(1, count + 1):
        j = coordinates[k]
        held[k], q[k] = g[j], 0.0
        g[j] = neutral
        xx += x[k] * x[k]
        mx += held[k] * x[k]
    if kind == L1:
        known = bounded and real[SQUARES] > LOST * real[MOST]
        if known and whole[BOUNDED]:
            squares = real[SQUARES]
        else:
            squares = sweep_absolute(g, blocks)
            real[FLOOR] = 0.0
            for k in range(1, count + 1):
                squares += held[k] * held[k]
            whole[BOUNDED] = bounded
            if known:  # what follows must not depend on when the blocks were lost
                squares = real[SQUARES]
            else:
                real[SQUARES] = real[MOST] = squares
        real[MOST] = max(real[MOST], squares)
    else:
        for b in range(blocks.size):
            keys[b] = scan_block(kind, g, weights, b)
    norm_m = math.sqrt(squares)
    status = DONE if math.isfinite(norm_m) else NOT_FINITE
    total, alignment, rounds, accepted = 0.0, -1.0, 0, 0
    slot, value, lam, anew = 0, 0.0, 0.0, True
    pp = pm = px = 0.0
    if bounded:
        gather_tops(blocks, tops)
        top, block = best_bounded(g, blocks, tops, real)
    else:
        top, block = largest_block(kind, blocks)
    while rounds < max_rounds and status == DONE:
        if anew:
            pp, pm, px, largest = survey(held, q, x, total, filled(count), residual)
        else:
            largest = descend(residual, x, lam, slot, lam * value, filled(count))
        best, slot, where = best_held(kind, residual, largest, weights, coordinates, slots, count)
        # A key equal to that of a neutralised coordinate is no candidate: every coordinate may be in the slots.
        if top > -neutral and top >= best:
            j = first_in_block(kind, g, weights, block, top)
            if top > best or j < where:
                slot, where = 0, j
        gj = 0.0
        if norm_m == 0.0 or where < 0:  # every coordinate ties: the first one, as every LMO does
            slot, where = int(slots[0]), 0
        elif slot > 0:
            gj = residual[slot]
        else:
            gj = g[where]
        mj = held[slot] if slot > 0 else gj
        if kind == L1:
            value = -radius if gj >= 0 else radius
        elif kind == WEIGHTED_L1:
            value = (-radius if gj >= 0 else radius) / weights[where]
        elif kind == SOLID_SIMPLEX and gj >= 0:
            slot, where, value, mj = 0, 0, 0.0, 0.0
        else:
            value = radius
        xj = x[slot] if value != 0.0 else 0.0
        psi_j = q[slot] - total * xj if slot > 0 else 0.0
        rounds += 1
        uu, um, upsi = value * value - 2.0 * value * xj + xx, value * mj - mx, value * psi_j - px
        anew = uu <= CANCELLED * xx
        if anew:
            uu, um, upsi = careful_products(x, held, q, total, count, slot, value, mj)
        if rounds == 1:
            real[VALUE], real[DISTANCE], real[GAP] = value, math.sqrt(uu), -real[SCALE] * um
            whole[VERTEX], whole[VERTEX_SLOT] = where, slot
        if norm_m == 0.0 or uu <= zero * xx:
            break
        ru = -um - upsi  # <r, u> with u = v - x and r = -m - psi
        if pm + pp > ru * math.sqrt(pp):
            break  # the away candidate only rescales psi, so that min_gain > 0 rejects it
        lam = ru / uu
        if lam <= 0.0:
            break
        phi_squared = pp + 2.0 * lam * upsi + lam * lam * uu
        phi_m = pm + lam * um
        gained = -phi_m / (norm_m * math.sqrt(phi_squared)) if phi_squared > 0.0 else -1.0
        if gained - alignment < min_gain:
            break
        if log.shape[0] > 0:
            if accepted == log.shape[0]:
                status = GROW
                break
            log[accepted, 1], log[accepted, 2] = value, lam
        if value != 0.0 and slot == 0:
            if count + 1 + LANES >= x.size:
                status = GROW
                break
            count += 1
            slot = count
            coordinates[slot], x[slot], q[slot] = where, 0.0, 0.0
            held[slot] = residual[slot] = g[where]
            slots[where] = slot
            g[where] = neutral
            if bounded:
                top, block = best_bounded(g, blocks, tops, real)
            else:
                keys[where // BLOCK] = scan_block(kind, g, weights, where // BLOCK)
                top, block = largest_block(kind, blocks)
            if rounds == 1:
                whole[VERTEX_SLOT] = slot
        if log.shape[0] > 0:
            log[accepted, 0] = slot if value != 0.0 else -1.0
        accepted += 1
        anew = anew or phi_squared < CANCELLED * pp or accepted % ROUNDS_AT_ONCE == 0
        pp, pm, px = phi_squared, phi_m, px + lam * (value * xj - xx)
        q[slot] += lam * value
        total += lam
        alignment = gained
    q[0] = 0.0
    if accepted > 0:
        pp, pm, _, _ = survey(held, q, x, total, filled(count), residual)
    for k in range(1, count + 1):
        g[coordinates[k]] = held[k]
    if status != DONE:
        whole[BOUNDED] = 0  # bounds do not hold for the coordinates that lose their slots
        for k in range(before + 1, count + 1):
            slots[coordinates[k]] = 0
            q[k] = 0.0
        return status
    if bounded:
        real[FLOOR] = max(real[FLOOR], share * top)
    whole[COUNT], whole[ROUNDS], whole[ACCEPTED] = count, rounds, accepted
    whole[LMO_CALLS] += rounds
    real[LAMBDA], real[ALIGNMENT] = total, alignment
    real[NORM] = math.sqrt(pp) / total if total > 0.0 else 0.0
    real[SLOPE] = real[SCALE] * pm / total if total > 0.0 else 0.0
    return DONE
