"""A stand-in for the publishers of the data sets; the fixture `publisher` runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Publisher:
    """Serves the files in `folder` at `url`; `requests` lists what was asked for."""

    folder: Path
    url: str = ""
    requests: list[str] = field(default_factory=list)
