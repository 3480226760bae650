"""Quantum process tomography (paper, section "Quantum Process Tomography"), for as many qubits as fit."""

from .fidelity import process_fidelity as process_fidelity
from .tomography import ProcessTomography as ProcessTomography
from .truths import depolarised as depolarised
from .truths import haar_unitary as haar_unitary
