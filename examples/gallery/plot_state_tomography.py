"""
Quantum state tomography with error bars
========================================

From a dictionary of counts to a density matrix, a certificate that no other explains the counts better, and the
errors of its entries.
"""

# %%
# Made counts of a Bell state with a tenth of noise, its readout wrong in 2 and 4 of 100; yours have the same form.
import numpy as np

from bsfw import minimize, quantum
from bsfw.quantum import pictures

bell = np.array([1, 0, 0, 1j]) / np.sqrt(2)
truth = 0.9 * np.outer(bell, bell.conj()) + 0.1 * np.eye(4) / 4
readout = [np.array([[0.98, 0.04], [0.02, 0.96]])] * 2  # A[read, true] of each letter
counts = quantum.simulate_state_counts(truth, shots=300, rng=0, readout=readout)
(setting, outcomes), *_ = counts.items()
print(setting, outcomes)

# %%
# The likelihood is convex in the density matrix: the gap bounds how far it is from its greatest value.
problem = quantum.StateTomography.from_counts(counts, readout=readout)
result = minimize(problem)
print(f"fidelity to the Bell state {problem.fidelity(result.x, bell):.3f}, gap {result.gap:.1e}")

# %%
# Counts drawn from the fit and fitted again tell the errors; the truth has 0.925.
ask = {"fidelity": lambda problem, x: problem.fidelity(x, bell), "matrix": lambda problem, x: problem.matrix(x)}
bars = quantum.bootstrap(problem, result.x, samples=20, rng=0, quantities=ask)
low, high = bars.interval("fidelity", 0.68)
print(f"{bars}; 68 % interval {low:.3f} to {high:.3f}")

# %%
# The density matrix, with one standard error up and down.
figure = pictures.city(problem.matrix(result.x), bars.error("matrix"))

# %%
# **What to change.** ``rank=1`` or another low rank for many qubits, ``loss="least-squares"``, and
# ``n_jobs=-1, progress=True`` for many fits (:doc:`/quantum`).
