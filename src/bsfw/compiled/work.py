"""What kernels are given: the data and the loss, the rules of the method, and everything that changes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Model(NamedTuple):
    """The data and the loss: rows in CSR or dense form; columns in CSC form or as rows of the transpose, empty where
    nobody asks. Labels that are signs are in `signs` as well, a byte each: so they stay in the caches between batches.
    """

    data: Any
    indices: Any
    indptr: Any
    columns: Any
    column_indices: Any
    column_indptr: Any
    y: Any
    signs: Any
    sample_weight: Any
    loss: int
    parameter: float


class Rule(NamedTuple):
    """Set, estimator and step. `sparse` is what else is to know of a set whose vertices have several nonzeros: by its
    type Numba picks the code."""

    kind: int
    radius: float
    weights: Any
    max_rounds: int
    min_gain: float
    zero: float
    estimator: int
    size: int
    population: int
    probability: float
    difference: float
    at_current: bool
    zeros: bool
    refresh: int
    image: bool
    folds: bool
    bounded: bool
    floor: float
    exact: bool
    searches: bool
    sparse: Any = None


class KSparseRule(NamedTuple):
    """Of `KSparse`, beside the radius."""

    k: int


class GroupRule(NamedTuple):
    """Of `GroupBall`, beside the radius: the coordinates group by group (None: in their own order), and where each
    group begins, with the end of the last."""

    order: Any
    starts: Any


class Pool(NamedTuple):
    """Scratch of `ksparse`: the largest |m_j| of coordinates without a slot, by their bits, of which `blocks` has the
    largest of each block; `marks` says how many they are and where they end. `candidates`, again keys and coordinates,
    is for choosing among; `chosen` are the slots of the vertex."""

    blocks: Any
    keys: Any
    wheres: Any
    marks: Any
    candidate_keys: Any
    candidate_wheres: Any
    chosen: Any


class Log(NamedTuple):
    """Of `rounds`: the vertices, one after the other, where each ends, and the weights; with no rows none is kept."""

    coordinates: Any
    values: Any
    ends: Any
    weights: Any


class Work(NamedTuple):
    """Everything that changes: what a checkpoint saves, but for the scratch arrays at the end.

    `everyone` has a number per sample: the table of SAG and SAGA, the slopes at L-SVRG's reference point, scratch for
    the full gradients of the others. `keys` are the `blocks` as floats, `tops` the largest of each run of them; both
    are empty where no bounds are kept.
    `image` is for A vbar, where a step asks for it and there is room.
    `heads` and `links` are the lists of the support, `owners` and `shifts` the slots and the places of the entries of
    their blocks (see the module `lists`), so far for the first of the two numbers `listed` of slots, up to the second
    of blocks; all are empty where there are none.
    `gram` is A^T A over `places` (see the module of that name), so far for `formed` slots; `cursors`, `window` and
    `pair` are its scratch.
    Only sets whose vertices have several nonzeros have a `vertex`: s, by slot. For groups, `touched` are those that
    have slots, in the order of these, and `norms` the largest ||m_g||^2 of each block of others.
    """

    whole: Any
    real: Any
    g: Any
    slots: Any
    coordinates: Any
    x: Any
    previous: Any
    q: Any
    everyone: Any
    margins: Any
    batch: Any
    change: Any
    base: Any
    image: Any
    held: Any
    residual: Any
    blocks: Any
    tops: Any
    keys: Any
    marked: Any
    bits: Any
    heads: Any
    links: Any
    owners: Any
    shifts: Any
    listed: Any
    gram: Any
    places: Any
    formed: Any
    cursors: Any
    window: Any
    pair: Any
    here: Any
    there: Any
    labels: Any
    samples: Any
    nodes: Any
    log: Any
    vertex: Any = None
    touched: Any = None
    norms: Any = None
    pool: Any = None
