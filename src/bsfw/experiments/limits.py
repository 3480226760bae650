"""How much a specification or a results folder may ask for: files may come from anywhere, and one line of text must not
fill the memory. Every limit is far above what an experiment needs; what exceeds one is refused with a sentence."""

SPECIFICATION_BYTES = 200_000
"""Of a TOML file."""

LINE = 4_000
"""Characters of a line of it (a list may go over many lines): the time to parse a key grows with the square of its
length."""

RECORD_BYTES = 100_000_000
"""Of a file in a results folder; a run with ten thousand recorded iterations takes about one million."""

TEXT = 2_000
"""Characters of a title, a claim, an error message."""

PANELS = 100
"""Of an experiment."""

RUNS = 10_000
"""Seeds of a method."""

TASKS = 100_000
"""Runs of an experiment, all methods and panels together."""

ITERATIONS = 1_000_000_000
"""Of a run."""

ROWS = 100_000
"""Recorded iterations of a run."""

ENTRIES = 50_000_000
"""Numbers of a problem that is made, not read: 400 MB."""

QUBITS = 6
"""Of a tomography: there are 4^6 Pauli strings of six qubits, and 16 times as many with each further pair."""
