"""``python -m benchmarks.tomography``: what a gradient and an iteration of quantum process tomography cost.

One table against the limits of the project at 3 qubits (run it with OMP_NUM_THREADS=1), one of the growth with the
number of qubits, each of those in a process of its own, so that its memory is known. Fits beside those of
qiskit-experiments: ``python -m benchmarks.tomography --fitters`` (`benchmarks.tomography_fitters` has its options).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bsfw
from bsfw.quantum import ProcessTomography

from . import timing
from .processes import _resident, python

RADIUS = 10.0


def dense_gradient(problem: ProcessTomography) -> Callable[[np.ndarray], np.ndarray]:
    """The gradient of the least squares with the sensing vectors of all measurements as rows of one matrix."""
    effects, states = problem.design.effects(), problem.design.input_states()
    rows = np.einsum("kc,ei->ikce", effects.conj(), states).reshape(problem.n_samples, -1)
    adjoint, frequencies = np.ascontiguousarray(rows.conj().T), problem.frequencies.ravel()

    def gradient(x: np.ndarray) -> np.ndarray:
        amplitudes = rows @ x[:, 0]
        residual = amplitudes.real**2 + amplitudes.imag**2 - frequencies
        return 2.0 * (adjoint @ (residual * amplitudes))[:, None]

    return gradient


def two_products(problem: ProcessTomography) -> Callable[[np.ndarray], np.ndarray]:
    """The same by a = Phi^H M Psi and 2 Phi (r o a) Psi^H, which still passes over the measurements."""
    d = problem.design.dimension
    effects, states = problem.design.effects(), problem.design.input_states()
    bras, kets, adjoint = effects.conj(), np.ascontiguousarray(effects.T), np.ascontiguousarray(states.conj().T)
    frequencies = np.ascontiguousarray(problem.frequencies.reshape(states.shape[1], -1).T)

    def gradient(x: np.ndarray) -> np.ndarray:
        amplitudes = bras @ (x.reshape(d, d) @ states)
        residual = amplitudes.real**2 + amplitudes.imag**2 - frequencies
        return (2.0 * (kets @ (residual * amplitudes)) @ adjoint).reshape(-1, 1)

    return gradient


def iteration(problem: ProcessTomography, max_rounds: int, iterations: int) -> float:
    """Seconds of one iteration on all measurements, in the algorithm."""
    result = bsfw.minimize(
        problem, bsfw.SpectralBall(RADIUS), x0=problem.start(0), max_rounds=max_rounds, max_iter=iterations,
        record_every=iterations, decay="inverse-sqrt",
    )  # fmt: skip
    return result.seconds / iterations


def against_limits(qubits: int, iterations: int, repeats: int) -> list[tuple[str, float, str, float, str]]:
    """Rows of (what, value, unit, limit, "at least" or "at most"), from interleaved repeats; 0, inf: no limit."""
    problem = ProcessTomography.random(qubits, 0.05, rng=0, penalty=0.0)
    x, dense, products = problem.start(0), dense_gradient(problem), two_products(problem)
    for other in (dense, products):
        np.testing.assert_allclose(problem.gradient(x), other(x), atol=1e-9)
    problem = ProcessTomography.random(qubits, 0.05, rng=0)
    middle = timing.medians(
        timing.interleaved(
            {
                "dense": lambda _: timing.calls(lambda: dense(x)),
                "products": lambda _: timing.calls(lambda: products(x)),
                "gradient": lambda _: timing.calls(lambda: problem.gradient(x)),
                "K = 1": lambda _: iteration(problem, 1, iterations),
                "K = 3": lambda _: iteration(problem, 3, iterations),
            },
            repeats,
        )
    )
    us = {name: 1e6 * seconds for name, seconds in middle.items()}
    return [
        ("gradient", us["gradient"], "us", np.inf, "at most"),
        ("dense product form / gradient", us["dense"] / us["gradient"], "", 8.0, "at least"),
        ("two products on M / gradient", us["products"] / us["gradient"], "", 0.0, "at least"),
        ("iteration, K = 1", us["K = 1"], "us", np.inf, "at most"),
        ("iteration, K = 3", us["K = 3"], "us", np.inf, "at most"),
        ("K = 3 / K = 1", us["K = 3"] / us["K = 1"], "", 1.15, "at most"),
        ("K = 3 less the gradient", us["K = 3"] - us["gradient"], "us", 120.0, "at most"),
    ]


def growth(qubits: int) -> dict[str, float]:
    """Seconds of a gradient and an iteration, and bytes of the run at its peak, in this process."""
    problem = ProcessTomography.random(qubits, 0.05, rng=0)
    x = problem.start(0)
    _resident("VmRSS", reset=True)  # the peak of making the data is not that of the run
    gradient = timing.calls(lambda: problem.gradient(x))
    count = min(1000, max(5, int(0.3 / gradient)))
    found = {"gradient": gradient, "iteration": iteration(problem, 3, count), "measurements": problem.n_samples}
    return found | {"bytes": _resident("VmHWM")}


def print_limits(rows: Sequence[tuple[str, float, str, float, str]], qubits: int) -> None:
    print(f"{qubits} qubits, all {24**qubits:,} measurements")
    for what, value, unit, limit, sense in rows:
        wanted = met = ""
        if 0 < limit < np.inf:
            wanted = f"{sense} {limit:g} {unit}"
            met = "ok" if (value <= limit if sense == "at most" else value >= limit) else "MISSED"
        print(f"  {what:<32}{value:>9.3g} {unit:<3}{wanted:<18}{met}")


def print_growth(found: dict[int, dict[str, float]]) -> None:
    print(f"{'qubits':>6}{'measurements':>15}{'gradient':>12}{'iteration':>12}{'memory':>10}")
    for qubits, row in found.items():
        times = "".join(f"{1e3 * row[name]:>9.3g} ms" for name in ("gradient", "iteration"))
        print(f"{qubits:>6}{int(row['measurements']):>15,}{times}{row['bytes'] / 1e6:>7,.0f} MB")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tomography", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 5 qubits, fewer repeats")
    parser.add_argument("--qubits", type=int, default=3, help="of the first table (default: %(default)s)")
    parser.add_argument("--largest", type=int, help="qubits of the last row of the second table (default: 6, quick 5)")
    parser.add_argument("--fitters", action="store_true", help="fits beside those of qiskit-experiments instead")
    options = parser.parse_args(arguments)
    if options.fitters:
        from . import tomography_fitters

        return tomography_fitters.main([])
    rows = against_limits(options.qubits, 300 if options.quick else 2000, 5 if options.quick else 11)
    print_limits(rows, options.qubits)
    largest = options.largest or (5 if options.quick else 6)
    command = "import json; from benchmarks.tomography import growth; print(json.dumps(growth({})))"
    found = {qubits: python("-c", command.format(qubits)) for qubits in range(1, largest + 1)}
    print_growth(found)
    return {"limits": rows, "growth": found}


if __name__ == "__main__":
    main(sys.argv[1:])
