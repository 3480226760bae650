"""What a report of measurements says of the machine, and how it is written."""

from __future__ import annotations

import json
import math
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from bsfw._files import atomic_write

PACKAGES = ("bsfw", "numpy", "scipy", "numba", "scikit-learn", "copt", "skglm", "celer")


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "NUMBA_NUM_THREADS": os.environ.get("NUMBA_NUM_THREADS"),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _plain(value: Any) -> Any:
    """JSON knows neither inf nor nan: null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: Path, report: dict[str, Any]) -> None:
    """The whole report, or nothing."""
    with atomic_write(path, "w") as file:
        file.write(json.dumps(_plain(report), indent=1) + "\n")
