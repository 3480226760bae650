"""
Quantum process tomography from counts
======================================

From a dictionary of counts to a channel that is completely positive and trace-preserving.
"""

# %%
# Made counts of a CX gate with a tenth of depolarising noise; yours have the same form.
from bsfw import minimize, quantum
from bsfw.quantum import pictures

counts = quantum.simulate_counts(quantum.depolarised("cx", 0.1), shots=400, rng=0)
(key, outcomes), *_ = counts.items()
print(key, outcomes)

# %%
# No set and no settings: the objective knows them.
problem = quantum.ProcessTomography.from_counts(counts)
result = minimize(problem)
print(f"fidelity to CX {problem.fidelity(result.x, 'cx'):.4f}; a channel: {problem.choi(result.x).is_cptp()}")

# %%
# The Pauli transfer matrix.
figure = pictures.pauli_transfer(problem.ptm(result.x))

# %%
# **What to change.** ``from_counts`` takes qiskit's results too; ``readout=`` corrects readout errors, and
# :func:`bsfw.quantum.bootstrap` gives error bars (:doc:`/quantum`).
