"""Quantum tomography of processes (paper, section "Quantum Process Tomography") and states, from counts."""

from .error_bars import Bootstrap as Bootstrap
from .error_bars import bootstrap as bootstrap
from .fidelity import process_fidelity as process_fidelity
from .fidelity import state_fidelity as state_fidelity
from .qiskit_fitter import fitter as fitter
from .ranks import RankChoice as RankChoice
from .ranks import choose_rank as choose_rank
from .states import StateTomography as StateTomography
from .tomography import ProcessTomography as ProcessTomography
from .truths import depolarised as depolarised
from .truths import haar_unitary as haar_unitary
from .truths import simulate_counts as simulate_counts
from .truths import simulate_state_counts as simulate_state_counts
