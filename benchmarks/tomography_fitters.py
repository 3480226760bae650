"""``python -m benchmarks.tomography_fitters``: bsfw's fitter beside those of qiskit-experiments, on the same counts.

Real gates and states with depolarising, amplitude damping and readout noise, which all fitters know of. Each fit is a
process of its own, with a limit of CPU seconds; what does not end within it is said so. Needs qiskit-experiments and
cvxpy (the extra ``bench``).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from bsfw.quantum import depolarised, fitter, process_fidelity, simulate_counts, simulate_state_counts, state_fidelity
from bsfw.quantum.counts import MEASURED, PREPARED
from bsfw.quantum.truths import state_factor

from .processes import ROOT

DEPOLARISING, DAMPING, READ_WRONG = 0.02, 0.03, (0.02, 0.04)
PROCESSES = {"cx": 2, "qft2": 2, "ccx": 3, "qft3": 3}
STATES = {"ghz5": 5, "ghz6": 6}
FITTERS = ("bsfw", "bsfw_squares", "cvxpy_gaussian_lstsq", "cvxpy_linear_lstsq", "linear_inversion")


def readout(qubits: int) -> list[np.ndarray]:
    zero, one = READ_WRONG
    return [np.array([[1 - zero, one], [zero, 1 - one]])] * qubits


def unitary(name: str) -> np.ndarray:
    if name.startswith("qft"):
        d = 2 ** int(name[3:])
        return np.exp(2j * np.pi * np.outer(np.arange(d), np.arange(d)) / d) / np.sqrt(d)
    d = 2 ** PROCESSES[name]
    out = np.eye(d, dtype=complex)
    out[-2:, -2:] = [[0, 1], [1, 0]]
    return out


def noisy_process(name: str) -> np.ndarray:
    """Kraus operators: the gate, depolarising noise, and amplitude damping of each qubit."""
    V = unitary(name)
    n = len(V).bit_length() - 1
    damped = [np.diag([1.0, np.sqrt(1 - DAMPING)]), np.array([[0, np.sqrt(DAMPING)], [0, 0]])]
    damping = [reduce(np.kron, factors) for factors in product(damped, repeat=n)]
    kraus = np.array([a @ k for a in damping for k in depolarised(V, DEPOLARISING)])
    left, sizes, _ = np.linalg.svd(kraus.reshape(len(kraus), -1).T, full_matrices=False)
    kept = sizes > 1e-9
    return np.ascontiguousarray((left[:, kept] * sizes[kept]).T).reshape(-1, *V.shape)


def noisy_state(name: str) -> np.ndarray:
    d = 2 ** STATES[name]
    ghz = np.zeros(d)
    ghz[[0, -1]] = np.sqrt(0.5)
    return (1 - DEPOLARISING) * np.outer(ghz, ghz) + DEPOLARISING * np.eye(d) / d


def as_arrays(counts: dict[Any, dict[str, int]], n: int, process: bool) -> tuple[np.ndarray, ...]:
    """outcome_data, shot_data, measurement_data and preparation_data, as qiskit-experiments has them."""
    outcomes = np.zeros((1, len(counts), 2**n), dtype=int)
    measured = np.zeros((len(counts), n), dtype=int)
    prepared = np.zeros((len(counts), n if process else 0), dtype=int)
    for row, (key, table) in enumerate(counts.items()):
        labels = key if process else ("", key)
        measured[row] = [MEASURED.index(letter) for letter in reversed(labels[1])]
        prepared[row] = [PREPARED.index(letter) for letter in reversed(labels[0])]
        for bits, count in table.items():
            outcomes[0, row, int(bits, 2)] = count
    return outcomes, outcomes.sum(axis=(0, 2)), measured, prepared


def fit(case: str, name: str, shots: int) -> dict[str, float]:
    """CPU seconds of one fit, and its fidelities to the noisy truth and to what was meant."""
    from qiskit_experiments.data_processing import LocalReadoutMitigator
    from qiskit_experiments.library.tomography import fitters
    from qiskit_experiments.library.tomography.basis import PauliMeasurementBasis, PauliPreparationBasis

    process = case in PROCESSES
    n = PROCESSES[case] if process else STATES[case]
    truth = noisy_process(case) if process else noisy_state(case)
    simulate = simulate_counts if process else simulate_state_counts
    data = as_arrays(simulate(truth, shots, rng=0, readout=readout(n)), n, process)
    basis = PauliMeasurementBasis(mitigator=LocalReadoutMitigator(readout(n), range(n)))
    bases: dict[str, Any] = {"measurement_basis": basis, "measurement_qubits": tuple(range(n))}
    if process:
        bases |= {"preparation_basis": PauliPreparationBasis(), "preparation_qubits": tuple(range(n))}
    call = fitter if name.startswith("bsfw") else getattr(fitters, name)
    if name == "bsfw_squares":  # the loss of the other fitters; that of processes is always squares
        bases["loss"] = "least-squares"
    if call is fitter:  # the first call imports
        call(*(part[:, :4] if part.ndim == 3 else part[:4] for part in data), **bases, max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        matrix, _ = call(*data, **bases)
        seconds = time.process_time() - started
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.conj().T))
    factor = vectors * np.sqrt(np.maximum(values, 0.0) / np.maximum(values, 0.0).sum())
    if not process:
        ghz = np.zeros(2**n)
        ghz[[0, -1]] = np.sqrt(0.5)
        meant = state_fidelity(factor, ghz[:, None])
        return {"seconds": seconds, "fidelity": state_fidelity(factor, state_factor(truth)), "meant": meant}
    d = 2**n
    columns = np.sqrt(d) * factor.reshape(d, d, -1).transpose(1, 0, 2).reshape(d * d, -1)  # row by row
    meant = process_fidelity(columns, unitary(case).reshape(-1, 1))
    known = truth.reshape(len(truth), -1).T
    return {"seconds": seconds, "fidelity": process_fidelity(columns, known), "meant": meant}


def limited(case: str, name: str, shots: int, limit: int) -> dict[str, float] | str:
    """`fit` in a process of its own, or why there is no answer."""
    command = [sys.executable, "-m", "benchmarks.tomography_fitters", "--fit", case, name, str(shots)]

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=bound)
    if done.returncode == 0:
        found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        return found
    if done.returncode < 0:
        return f"not done in {limit} CPU s" if done.returncode in (-24, -9) else f"killed by signal {-done.returncode}"
    return done.stderr.strip().splitlines()[-1][:60]


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tomography_fitters", description=__doc__.split("\n")[0])
    parser.add_argument("--cases", nargs="+", default=[*PROCESSES, *STATES], choices=[*PROCESSES, *STATES])
    parser.add_argument("--fitters", nargs="+", default=FITTERS, choices=FITTERS)
    parser.add_argument("--shots", type=int, default=1000, help="of each circuit (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds of a fit (default: %(default)s)")
    parser.add_argument("--fit", nargs=3, metavar=("CASE", "FITTER", "SHOTS"), help="one fit in this process, as JSON")
    options = parser.parse_args(arguments)
    if options.fit:
        case, name, shots = options.fit
        print(json.dumps(fit(case, name, int(shots))))
        return {}
    print(f"{'case':<7}{'fitter':<24}{'CPU s':>9}{'fidelity to truth':>19}{'to what was meant':>19}")
    found: dict[str, Any] = {}
    for case in options.cases:
        for name in options.fitters:
            if name == "bsfw_squares" and case in PROCESSES:
                continue
            got = limited(case, name, options.shots, options.limit)
            found.setdefault(case, {})[name] = got
            if isinstance(got, str):
                print(f"{case:<7}{name:<24}  {got}", flush=True)
            else:
                shown = f"{got['seconds']:>9.3g}{got['fidelity']:>19.4f}{got['meant']:>19.4f}"
                print(f"{case:<7}{name:<24}{shown}", flush=True)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
