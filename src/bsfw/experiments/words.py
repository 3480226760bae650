"""Values in words, for people who read tables and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def in_words(value: object) -> str:
    """A plain value: 8,124 or 0.0001 or "yes" or "(1, 2), (3, 4)"."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and 1000 <= abs(value) < 1e7 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {in_words(item)}" for name, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(f"({in_words(item)})" if isinstance(item, list | tuple) else in_words(item) for item in value)
    return str(value)
