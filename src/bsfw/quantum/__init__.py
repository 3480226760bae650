"""Quantum tomography of processes (paper, section "Quantum Process Tomography") and states, from counts."""

from .error_bars import Bootstrap, bootstrap
from .fidelity import process_fidelity, state_fidelity
from .qiskit_fitter import fitter
from .ranks import RankChoice, choose_rank
from .states import StateTomography
from .tomography import ProcessTomography
from .truths import depolarised, haar_unitary, simulate_counts, simulate_state_counts

__all__ = [
    "Bootstrap",
    "ProcessTomography",
    "RankChoice",
    "StateTomography",
    "bootstrap",
    "choose_rank",
    "depolarised",
    "fitter",
    "haar_unitary",
    "process_fidelity",
    "simulate_counts",
    "simulate_state_counts",
    "state_fidelity",
]
