"""Refusals of a specification: one sentence that says what was given and lists what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._arrays import positive, positive_int


def only_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise a ValueError that names the first key of `table` that is not known."""
    known = list(known)
    for key in table:
        if key not in known:
            raise ValueError(f"unknown key {key!r} in {where}; known are {', '.join(known)}.")


def as_table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a table of keys and values, got {value!r}.")
    return value


def as_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where} must be text in quotes, got {value!r}.")
    return value


def as_name(value: Any, known: Iterable[str], where: str) -> str:
    known = list(known)
    if value not in known:
        raise ValueError(f"unknown {where} {value!r}; known are {', '.join(known)}.")
    return str(value)


def as_names(value: Any, known: Iterable[str], where: str) -> list[str]:
    known, values = list(known), as_list(value)
    if not values:
        raise ValueError(f"{where} is an empty list; known are {', '.join(known)}.")
    return [as_name(item, known, where) for item in values]


def as_list(value: Any) -> list[Any]:
    """A value where a list may be given: one of them stands for a list of one. Repeated values count once."""
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]


def as_counts(value: Any, where: str) -> list[int]:
    return [positive_int(item, where) for item in as_list(value)]


def as_number(value: Any, where: str) -> float:
    if isinstance(value, (bool, str)):
        raise ValueError(f"{where} must be a positive number, got {value!r}.")
    return positive(value, where)


def as_point(value: Any, where: str) -> list[float]:
    """Two finite numbers."""
    numbers = isinstance(value, list) and all(type(item) in (int, float) and abs(item) < 1e300 for item in value)
    if not numbers or len(value) != 2:
        raise ValueError(f"{where} must be two numbers such as [0.5, 1.0], got {value!r}.")
    return [float(item) for item in value]
