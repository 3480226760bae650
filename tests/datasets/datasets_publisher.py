"""A stand-in for the publishers of the data sets; the fixture `publisher` runs it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Publisher:
    """Serves the files in `folder` at `url`; `requests` lists what was asked for.

    Some paths are served badly: `redirects` says where they lead, of those in `stalls` half is sent and then nothing,
    and of those in `drips` a byte at a time, without an end.
    """

    folder: Path
    url: str = ""
    requests: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    stalls: set[str] = field(default_factory=set)
    drips: set[str] = field(default_factory=set)
    closing: threading.Event = field(default_factory=threading.Event)
