"""Who may import whom: the layers of docs/design.md, as import-linter reads them from pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import bsfw

ROOT = Path(__file__).parents[1]


def test_imports_go_down_and_kernels_import_nothing() -> None:
    # Data goes one way, from objectives to the loop: a part is read, tested and replaced without what is above.
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_every_module_has_its_layer() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layered = {name.strip(" ()") for layer in contract["layers"] for name in layer.replace("|", ":").split(":")}
    package = Path(bsfw.__file__).parent
    modules = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert modules - {"__init__", "kernels"} <= layered
