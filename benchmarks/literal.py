"""The paper's algorithm transcribed to NumPy and SciPy, on the l1 ball and logistic loss.

Boost has one statement per printed line; the estimators are vectorised, with batches as slices of a CSR matrix. No
structure is exploited: psi and the vertices are dense, a boosting round is some passes over n. (Keeping norms and
alignments from one round to the next, and working in place, would make a round about twice as fast.) It is what the
fast paths are measured against, and it imports nothing of bsfw.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Array = npt.NDArray[Any]
Gradients = Iterator[Array]
Boosted = tuple[Array, Array, int]

MAX_ROUNDS = 10_000
"""K of the paper's experiments."""
MIN_GAIN = 1e-4
"""delta of the paper's experiments."""


def align(d: Array, d_hat: Array) -> float:
    """Cosine of the angle between d and d_hat, and -1 for d_hat = 0."""
    length = np.linalg.norm(d_hat)
    return float(d @ d_hat / (np.linalg.norm(d) * length)) if length > 0 else -1.0


def lmo(direction: Array, tau: float) -> Array:
    """The vertex of the l1 ball that minimises <direction, v>."""
    v = np.zeros_like(direction)
    j = int(np.abs(direction).argmax())
    v[j] = -tau if direction[j] >= 0 else tau
    return v


def boost(m: Array, x: Array, tau: float, max_rounds: int = MAX_ROUNDS, min_gain: float = MIN_GAIN) -> Boosted:
    """Algorithm Boost, one NumPy statement per printed line. Returns d~ = psi / Lambda, the vertex s, and K_t."""
    psi = np.zeros_like(x)
    total, k = 0.0, 0
    while k <= max_rounds - 1:
        r = -m - psi
        v = lmo(-r, tau)
        if k == 0:
            s = v
        k += 1
        u, away, psi_norm = v - x, False, np.linalg.norm(psi)
        if psi_norm > 0 and r @ (-psi / psi_norm) > r @ u:
            u, away = -psi / psi_norm, True
        if not u.any():
            break
        lam = (r @ u) / (u @ u)
        phi = psi + lam * u
        if align(-m, phi) - align(-m, psi) < min_gain:
            break
        psi = phi
        total = total * (1 - lam / psi_norm) if away else total + lam
    return psi / total if total > 0 else psi, s, k


class Data:
    """A, y and the random draws: what every estimator below reads. `x` is changed in place by the loop."""

    def __init__(self, A: Any, y: Array, batch: int, seed: int) -> None:
        self.A, self.y, self.batch = A, y, batch
        self.m, self.n = A.shape
        self.p = batch / self.m
        self.rng = np.random.default_rng(seed)

    def derivatives(self, A: Any, y: Array, x: Array) -> Array:
        """phi'(<a_i, x>, y_i) = -y_i / (1 + exp(y_i <a_i, x>))."""
        return -y * expit(-y * (A @ x))

    def gradient(self, x: Array) -> Array:
        return self.A.T @ self.derivatives(self.A, self.y, x) / self.m

    def draw(self) -> tuple[Array, Any, Array]:
        rows = self.rng.choice(self.m, self.batch, replace=False, shuffle=False)
        return rows, self.A[rows], self.y[rows]

    def coin(self) -> bool:
        return bool(self.rng.random() < self.p)


def sag(data: Data, x: Array) -> Gradients:
    alpha = data.derivatives(data.A, data.y, x) / data.m
    m = data.A.T @ alpha
    while True:
        yield m
        rows, A, y = data.draw()
        fresh = data.derivatives(A, y, x) / data.m
        m += A.T @ (fresh - alpha[rows])
        alpha[rows] = fresh


def saga(data: Data, x: Array) -> Gradients:
    table = data.derivatives(data.A, data.y, x)
    mean = data.A.T @ table / data.m
    yield mean
    while True:
        rows, A, y = data.draw()
        fresh = data.derivatives(A, y, x)
        change = A.T @ (fresh - table[rows])
        table[rows] = fresh
        yield mean + change / data.batch
        mean += change / data.m


def l_svrg(data: Data, x: Array) -> Gradients:
    w = previous = x.copy()
    full = data.gradient(w)
    yield full
    while True:
        if data.coin():
            w = previous
            full = data.gradient(w)
        _, A, y = data.draw()
        previous = x.copy()
        yield A.T @ (data.derivatives(A, y, x) - data.derivatives(A, y, w)) / data.batch + full


def sarah(data: Data, x: Array) -> Gradients:
    previous = x.copy()
    m = data.gradient(x)
    while True:
        yield m
        if data.coin():
            m = data.gradient(x)
        else:
            _, A, y = data.draw()
            m += A.T @ (data.derivatives(A, y, x) - data.derivatives(A, y, previous)) / data.batch
        previous = x.copy()


def heavy_ball(data: Data, x: Array) -> Gradients:
    m = np.zeros(data.n)
    t = 0
    while True:
        _, A, y = data.draw()
        r = min(1.0, 4 / (t + 8) ** (2 / 3))
        m *= 1 - r
        m += A.T @ (data.derivatives(A, y, x) * (r / data.batch))
        yield m
        t += 1


ESTIMATORS: dict[str, Callable[[Data, Array], Gradients]] = {
    "SAG": sag,
    "SAGA": saga,
    "L-SVRG": l_svrg,
    "SARAH": sarah,
    "Heavy Ball": heavy_ball,
}


def decay(estimator: str, boosted: bool, q: float, horizon: int) -> Callable[[int], float]:
    """eta_t for a convex f; q = b/m. Boosted: 2/(t + nu), nu = 4/min(rho1, rho2); vanilla: the baseline's own."""
    rate = q if estimator == "SARAH" else q / 2  # min(rho1, rho2)
    if estimator == "Heavy Ball":
        return lambda t: 2 / (t + 9)
    if boosted:
        return lambda t: 2 / (t + max(2.0, 4 / rate))
    if estimator == "SAG":
        return lambda t: 2 / (t + 2)
    d, t0 = 2 / rate, horizon // 2
    return lambda t: 1 / d if horizon <= d or t < t0 else 2 / (2 * d + t - t0)


def run(
    A: Any, y: Array, tau: float, *, estimator: str, batch: int, iterations: int, boosted: bool = True, seed: int = 0
) -> tuple[Array, Array, float]:
    """Algorithm BSFW, or vanilla stochastic Frank-Wolfe. Returns x^T, the last estimate, and the seconds it took after
    the first iteration."""
    data = Data(A, y, batch, seed)
    eta_at = decay(estimator, boosted, batch / data.m, iterations)
    x = np.zeros(data.n)
    m = data.gradient(x)
    j = int(np.abs(m).argmax())
    x[j] = -tau if m[j] >= 0 else tau
    gradients = ESTIMATORS[estimator](data, x)
    for t in range(iterations):
        if t <= 1:
            started = time.perf_counter()
        m, eta = next(gradients), min(1.0, eta_at(t))
        if boosted:
            direction, s, _ = boost(m, x, tau)
            vertex = s - x
            if estimator == "SAG":  # the paper's step for SAG measures lengths in the image
                length, target = np.linalg.norm(A @ direction), np.linalg.norm(A @ vertex)
            else:
                length, target = np.linalg.norm(direction), np.linalg.norm(vertex)
            gamma = eta * target / length if length > 0 else 1.0
            x += gamma * direction if gamma < 1 else eta * vertex
        else:
            j = int(np.abs(m).argmax())
            x *= 1 - eta
            x[j] += -eta * tau if m[j] >= 0 else eta * tau
    return x, m, time.perf_counter() - started
