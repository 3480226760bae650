"""The package as a whole: public names, docstrings, cost of import."""

import enum
import inspect
import subprocess
import sys

import pytest

import bsfw

PUBLIC = [
    name for name in bsfw.__all__ if inspect.isclass(getattr(bsfw, name)) or inspect.isfunction(getattr(bsfw, name))
]


def test_every_public_name_can_be_imported_and_the_issue_names_are_there():
    for name in bsfw.__all__:
        assert getattr(bsfw, name) is not None
    assert {"minimize", "resume", "Logistic", "L1Ball", "Simplex", "SAGA", "Trace", "theory", "datasets"} <= set(
        bsfw.__all__
    )


def issubclass_of_enum(thing):
    return inspect.isclass(thing) and issubclass(thing, enum.Enum)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_docstrings_describe_every_parameter(name):
    thing = getattr(bsfw, name)
    doc = inspect.getdoc(thing)
    assert doc, f"{name} has no docstring"
    described = doc + (inspect.getdoc(thing.__init__) or "" if inspect.isclass(thing) else "")
    if inspect.isabstract(thing) or "Attributes\n" in doc or issubclass_of_enum(thing):
        return
    for parameter in inspect.signature(thing).parameters:
        assert parameter.lstrip("*") in described, f"{name} does not describe {parameter}"


def run_python(code, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, **environment}
    ).stdout


def test_import_loads_no_heavy_library():
    loaded = run_python("import sys, bsfw; print(*sys.modules)").split()
    assert not {"scipy", "numba", "matplotlib", "pandas", "sklearn", "torch", "jax"} & set(loaded)


def test_a_first_run_loads_only_what_it_needs():
    code = (
        "import sys, numpy as np, bsfw\n"
        "bsfw.minimize(bsfw.LeastSquares(np.eye(3), np.ones(3)), bsfw.L1Ball(1.0), max_iter=5)\n"
        "print(*sys.modules)"
    )
    assert not {"matplotlib", "pandas", "sklearn", "pooch", "rich", "torch", "jax"} & set(run_python(code).split())


def test_version_is_the_one_of_the_distribution():
    from importlib.metadata import version

    assert bsfw.__version__ == version("bsfw")
