"""Writes the pages of the reference before Sphinx reads them: every public name of every module, by part.

The names are those of each module's ``__all__``, so a new public name gets its page by itself.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

MODULES = {
    "bsfw": "The library",
    "bsfw.datasets": "Data",
    "bsfw.theory": "Bounds of the theorems",
    "bsfw.sklearn": "scikit-learn",
    "bsfw.torch": "PyTorch",
    "bsfw.jax": "JAX",
    "bsfw.quantum": "Quantum tomography",
}
PARTS = {
    "_minimize": "Running",
    "solver": "Running",
    "checkpoints": "Running",
    "state": "Running",
    "results": "Results",
    "comparisons": "Results",
    "models": "Results",
    "paths": "Choosing a radius",
    "completion_path": "Choosing a radius",
    "objectives": "Objectives",
    "constraints": "Sets",
    "estimators": "Estimators",
    "steps": "Steps",
    "decays": "Decays",
}
OTHERS = "Parts of the algorithm"


def part_of(module: str, name: str) -> str:
    """The heading a public name stands under."""
    if module != "bsfw":
        return ""
    inside = getattr(importlib.import_module(module), name).__module__.split(".")
    return PARTS.get(inside[1] if len(inside) > 1 else "", OTHERS)


def page(module: str, title: str) -> str:
    """The source of a module's page."""
    loaded = importlib.import_module(module)
    names = [name for name in loaded.__all__ if not inspect.ismodule(getattr(loaded, name))]
    parts: dict[str, list[str]] = {}
    for name in sorted(names, key=str.lower):
        parts.setdefault(part_of(module, name), []).append(name)
    order = [*dict.fromkeys(PARTS.values()), OTHERS, ""]
    heading = f"{title}: ``{module}``"
    lines = [heading, "=" * len(heading), "", f".. automodule:: {module}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {module}", ""]
    for part in sorted(parts, key=order.index):
        lines += [part, "-" * len(part), ""] if part else []
        lines += [".. autosummary::", "   :toctree: generated", ""]
        lines += [*(f"   {name}" for name in parts[part]), ""]
    return "\n".join(lines)


def write(app: Sphinx, config: Config) -> None:
    folder = Path(app.srcdir) / "reference"
    for module, title in MODULES.items():
        path, text = folder / f"{module}.rst", page(module, title)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def plain_text(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Docstrings say |x| and alpha_ as mathematicians and scikit-learn do; neither is markup."""
    literal = None  # indentation of the line that began a literal block
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith(">>>"):
            pieces = re.split(r"(`+[^`]*`+)", line)
            pieces[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", piece) for piece in pieces[::2]]
            lines[i] = "".join(pieces)
            if line.rstrip().endswith("::"):
                literal = indent


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write)
    app.connect("autodoc-process-docstring", plain_text, priority=900)  # after numpydoc's
    return {"parallel_read_safe": True, "parallel_write_safe": True}
