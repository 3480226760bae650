"""Benchmarks of bsfw against a literal transcription of the paper and against other people's solvers.

``python -m benchmarks`` prints one table of ratios; ``python -m benchmarks.curves`` draws time-to-accuracy curves.
"""
