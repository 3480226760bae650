"""When a fit has come as far as its data can tell."""

from __future__ import annotations

from typing import Any


class Settled:
    """A callback that ends a run once f falls by less than its data could tell.

    A fit of p free parameters to m numbers is left with f of about (m - p) / 2 in units of the noise's variance, and
    moves f by about p / 2 itself. The run ends where f has fallen by less than a `share` of that in ten iterations.

    Parameters
    ----------
    parameters, numbers : int
        p and m.
    variance : float
        The variance of the noise in units of f where it is known, else 0: then f itself tells it.
    share : float
    """

    def __init__(self, parameters: int, numbers: int, variance: float = 0.0, share: float = 1e-3) -> None:
        self.relative, self.absolute = share * min(1.0, parameters / numbers), 0.5 * share * parameters * variance
        self._last: tuple[int, float] | None = None

    def __call__(self, result: Any) -> None:
        now = int(result.nit), float(result.fun)
        if self._last is None:
            self._last = now
        elif now[0] >= self._last[0] + 10:
            fallen = (self._last[1] - now[1]) * 10 / (now[0] - self._last[0])
            self._last = now
            if fallen < max(self.relative * now[1], self.absolute):
                raise StopIteration
