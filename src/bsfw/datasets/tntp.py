"""Reader of road networks in the TNTP format of "Transportation Networks for Research" (bstabler on GitHub).

Three text files make a network: ``_net`` has the links, ``_trips`` what must travel between the zones, ``_flow`` the
best known flows, if any. Each begins with lines ``<KEY> value`` up to ``<END OF METADATA>``; ``~`` begins a comment.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bsfw._arrays import positive
from bsfw._refusals import Refusing, refusing
from bsfw.constraints.flows import PathPolytope
from bsfw.datasets.archives import decompress, read_file
from bsfw.objectives.link_costs import LinkCosts

Floats = npt.NDArray[np.float64]

_ENDINGS = ("", ".xz", ".gz", ".bz2")
_MOST_NODES = 10**7
"""A claim of more nodes, for which nobody has the memory, is not believed."""
_METADATA = re.compile(r"<([^<>]*)>(.*)")
_END = "END OF METADATA"
_DEMAND = re.compile(r"\s*(\d+)\s*:\s*([^\s;:]+)\s*$")
_COLUMNS = ("init node", "term node", "capacity", "length", "free flow time", "b", "power", "speed", "toll", "type")
_LEAST_COLUMNS = 7


@dataclass(frozen=True, eq=False)
class Network(Refusing):
    """A road network with its demands, as `read_tntp` reads it. Nodes are numbered from 0, one less than in the files.

    Attributes
    ----------
    name : str
    edges : ndarray (E, 2)
        Where each link begins and ends.
    capacity, length, free_flow, b, power, speed, toll, kind : ndarray (E,)
        The columns of the file, in its units; `free_flow` is the time, `kind` the type of link.
    demands : ndarray (K, 3)
        Rows (origin, destination, trips); those of zero, and those within a zone, are left out.
    intrazonal : float
        Trips within a zone, which use no link.
    centroids : ndarray
        The nodes that no path may pass through.
    zones, nodes : int
        How many there are.
    flow : ndarray (E,) or None
        The best known flows, if there is such a file.
    """

    name: str
    edges: npt.NDArray[np.int64] = field(repr=False)
    capacity: Floats = field(repr=False)
    length: Floats = field(repr=False)
    free_flow: Floats = field(repr=False)
    b: Floats = field(repr=False)
    power: Floats = field(repr=False)
    speed: Floats = field(repr=False)
    toll: Floats = field(repr=False)
    kind: Floats = field(repr=False)
    demands: Floats = field(repr=False)
    intrazonal: float
    centroids: npt.NDArray[np.int64] = field(repr=False)
    zones: int
    nodes: int
    flow: Floats | None = field(default=None, repr=False)

    def polytope(self, trips: float = 1.0) -> PathPolytope:
        """The flows that carry the demands, each multiplied by `trips`."""
        demands = self.demands * [1.0, 1.0, positive(trips, "trips")]
        ends = int(max(self.edges.max(), demands[:, :2].max(initial=0)))
        return PathPolytope(self.edges, demands, self.centroids[self.centroids <= ends])

    def costs(self, toll: float = 0.0, distance: float = 0.0) -> LinkCosts:
        """The costs of the links: time, `toll` a unit of toll and `distance` a unit of length, in units of time."""
        weights = (("toll", toll, self.toll), ("distance", distance, self.length))
        fixed = sum((positive(w, name) * column for name, w, column in weights if w != 0.0), np.zeros(len(self.toll)))
        return LinkCosts(self.free_flow, self.capacity, self.b, self.power, fixed)


@refusing
def read_tntp(prefix: str | os.PathLike[str]) -> Network:
    """Read a road network from ``prefix_net.tntp``, ``prefix_trips.tntp`` and, if it is there, ``prefix_flow.tntp``.

    Each may be compressed, with the ending .xz, .gz or .bz2 (within the limits of `read_libsvm`).

    Parameters
    ----------
    prefix : path
        Such as ``"networks/SiouxFalls"``.

    Returns
    -------
    Network

    Raises
    ------
    FileNotFoundError
        If the links or the trips are not there.
    ValueError
        With the number of the line, for anything that is not TNTP text: a number that is none or not finite, a node
        outside of those that the file declares, as many links as it does not declare, negative trips.
    """
    if not isinstance(prefix, (str, os.PathLike)):
        raise TypeError(f"read_tntp takes the common beginning of the files' paths, got {type(prefix).__name__}.")
    base = os.fsdecode(prefix)
    links = _required(base, "net")
    nodes, zones, columns = _links(links)
    demands, intrazonal = _demands(_required(base, "trips"), min(zones, nodes))
    through = links.number("FIRST THRU NODE", 1, _MOST_NODES + 1, default=1)
    edges = columns[:, :2].astype(np.int64) - 1
    flows = _found(base, "flow")
    capacity, length, free_flow, b, power, speed, toll, kind = columns[:, 2:].T.copy()
    return Network(
        Path(base).name, edges, capacity, length, free_flow, b, power, speed, toll, kind, demands, intrazonal,
        np.arange(min(through - 1, nodes)), zones, nodes, None if flows is None else _flows(flows, edges),
    )  # fmt: skip


class _Text:
    """One file: its metadata, and the lines after them with their numbers, without comments."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        lines = decompress(read_file(path), str(path)).decode("utf-8", errors="replace").split("\n")
        self.metadata: dict[str, str] = {}
        self.first = 0
        for number, line in enumerate(lines):
            found = _METADATA.match(line.strip())
            if found:
                key = found[1].strip().upper()
                self.first = number + 1
                if key == _END:
                    break
                self.metadata[key] = found[2].partition("~")[0].strip(" \t\r;")
        self._lines = lines

    def lines(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self._lines[self.first :], self.first + 1):
            content = line.partition("~")[0].strip()
            if content:
                yield number, content

    def number(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number of the metadata."""
        if key not in self.metadata and default is not None:
            return default
        text = self.metadata.get(key, "nothing")
        if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise ValueError(
                f"{self.name} must say <{key}> with a whole number from {least} to {most}, but says {text[:40]!r}."
            )
        return int(text)

    def wrong(self, number: int, complaint: str) -> ValueError:
        return ValueError(f"{self.name}, line {number}: {complaint}")

    def floats(self, number: int, tokens: list[str]) -> list[float]:
        try:
            found = [float(token) for token in tokens]
        except ValueError:
            found = [math.nan]
        if not all(map(math.isfinite, found)):
            raise self.wrong(number, f"{' '.join(tokens)[:80]!r} should be finite numbers.")
        return found


def _found(base: str, part: str) -> _Text | None:
    for ending in _ENDINGS:
        path = Path(f"{base}_{part}.tntp{ending}")
        if "\0" not in base and path.exists():
            return _Text(path)
    return None


def _required(base: str, part: str) -> _Text:
    text = _found(base, part)
    if text is None:
        raise FileNotFoundError(
            f"there is no file {base!r}_{part}.tntp (nor with {', '.join(_ENDINGS[1:])}); give the common beginning of "
            "the network's files, such as 'networks/SiouxFalls'."
        )
    return text


def _links(text: _Text) -> tuple[int, int, Floats]:
    """Numbers of nodes and zones, and the columns of the links."""
    nodes = text.number("NUMBER OF NODES", 1, _MOST_NODES)
    zones = text.number("NUMBER OF ZONES", 1, _MOST_NODES)
    declared = text.number("NUMBER OF LINKS", 1, 10**9)
    rows = []
    for number, line in text.lines():
        tokens = line.replace(";", " ").split()
        if not _LEAST_COLUMNS <= len(tokens) <= len(_COLUMNS):
            raise text.wrong(
                number, f"a link has {_LEAST_COLUMNS} to {len(_COLUMNS)} columns ({', '.join(_COLUMNS)}), not "
                f"{len(tokens)}."
            )  # fmt: skip
        row = text.floats(number, tokens)
        if any(not (1 <= end <= nodes and end == int(end)) for end in row[:2]):
            raise text.wrong(number, f"a link ends at nodes 1 to {nodes}, not {tokens[0]} and {tokens[1]}.")
        rows.append(row + [0.0] * (len(_COLUMNS) - len(row)))
    if len(rows) != declared:
        raise ValueError(f"{text.name} declares {declared} links, but holds {len(rows)}; get it again.")
    return nodes, zones, np.array(rows)


def _demands(text: _Text, zones: int) -> tuple[Floats, float]:
    """Rows (origin, destination, trips), and the trips within zones."""
    rows: list[tuple[int, int, float]] = []
    intrazonal, origin = 0.0, None

    def zone(number: int, digits: str) -> int:
        if len(digits) > 12 or not 1 <= int(digits) <= zones:
            raise text.wrong(number, f"zones are numbered from 1 to {zones}, but this one is {digits[:40]}.")
        return int(digits) - 1

    for number, line in text.lines():
        begins = re.match(r"origin\s+(\d+)\s*(.*)", line, re.IGNORECASE)
        if begins:
            origin, line = zone(number, begins[1]), begins[2]
        for piece in filter(str.strip, line.split(";")):
            found = _DEMAND.match(piece)
            if found is None or origin is None:
                raise text.wrong(number, f"{piece.strip()[:40]!r} should read 'zone : trips;', below an 'Origin zone'.")
            target, trips = zone(number, found[1]), text.floats(number, [found[2]])[0]
            if trips < 0:
                raise text.wrong(number, f"{found[2]} trips are negative.")
            if target == origin:
                intrazonal += trips
            elif trips > 0:
                rows.append((origin, target, trips))
    if not rows:
        raise ValueError(f"{text.name} holds no trips between different zones.")
    return np.array(rows), intrazonal


def _flows(text: _Text, edges: npt.NDArray[Any]) -> Floats:
    """The volumes in the order of the links; parallel ones in the order of their rows."""
    places: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for k, (tail, head) in enumerate((edges + 1).tolist()):
        places[tail, head].append(k)
    flow = np.full(len(edges), np.nan)
    for number, line in text.lines():
        tokens = re.sub(r"[:;]", " ", line).split()
        if not tokens[0].isdigit():  # the heading
            continue
        row = text.floats(number, tokens)
        place = places.get((int(row[0]), int(row[1]))) if len(row) >= 3 else None
        if not place:
            raise text.wrong(number, f"{line[:40]!r} should read 'from to volume cost', a row for each link.")
        flow[place.popleft()] = row[2]
    if np.isnan(flow).any():
        raise ValueError(f"{text.name} lacks the flow of {int(np.isnan(flow).sum())} links; get it again.")
    return flow
