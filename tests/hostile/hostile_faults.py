"""Faults made on purpose, to see that the sandbox sees them."""

from __future__ import annotations

import ctypes


def crash() -> None:
    ctypes.string_at(0)


def hang() -> None:
    while True:
        pass


def memory() -> int:
    return len(bytes(10**9))


def short() -> None:
    raise ValueError("no")


def sentence() -> None:
    raise ValueError("x must be larger than y.")


def sound() -> int:
    return 1
