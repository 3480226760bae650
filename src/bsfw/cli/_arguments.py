"""Numbers on the command line, refused by argparse with the name of their option."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1)


def seed(text: str) -> int:
    """A whole number of at least 0, as NumPy's generators take it."""
    return _whole(text, 0)


def size(text: str) -> int | float:
    """How many of the samples or coordinates: '404' is a count, '0.05' a fraction."""
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a count such as 404 nor a fraction such as 0.05"
        ) from None


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return number
