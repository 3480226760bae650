"""What works with the core dependencies alone, and what the rest says that it needs."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bsfw
from bsfw import _extras

CORE = ("numpy", "scipy", "numba", "llvmlite", "lazy_loader", "packaging", "threadpoolctl", "bsfw")
"""What the five core dependencies bring, with what these need themselves."""

REFUSING = f"""
import sys
from importlib.metadata import packages_distributions

refused = set(packages_distributions()) - set({CORE!r})

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refusing())
"""


def run(code):
    """Run code in a process in which only the core dependencies can be imported."""
    return subprocess.run([sys.executable, "-c", REFUSING + code], capture_output=True, text=True, timeout=300)


def project():
    for folder in Path(__file__).parents:
        if (folder / "pyproject.toml").exists():
            return tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return None


def names(requirements):
    return {re.match(r"[A-Za-z0-9-]+", requirement)[0] for requirement in requirements}


def test_the_package_needs_five_others_and_the_extra_brings_the_rest():
    assert names(project()["dependencies"]) == {"numpy", "scipy", "numba", "lazy-loader", "threadpoolctl"}
    extras = project()["optional-dependencies"]
    assert names(extras["cli"]) == set(_extras.COMMAND)
    assert "bsfw[cli]" in extras["test"]


def test_a_run_on_bundled_data_needs_the_core_alone():
    done = run(
        "import bsfw\n"
        "A, y = bsfw.datasets.load('breast-cancer')\n"
        "result = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(5.0))\n"
        "saga = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(5.0), estimator=bsfw.SAGA(), max_iter=20, rng=0)\n"
        "print(result.success, len(saga.trace))"
    )
    assert done.stderr == ""
    assert done.stdout.split()[0] == "True"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("bsfw.minimize(bsfw.Quadratic(np.ones(2), np.ones(2)), bsfw.L2Ball(1.0), max_iter=3).trace.plot()", "Trace"),
        ("bsfw.datasets.load('a9a')", "cache"),
    ],
)
def test_what_needs_the_extra_says_so(code, what, monkeypatch):
    for name in ("BSFW_DATA", "BSFW_CACHE"):
        monkeypatch.delenv(name, raising=False)
    done = run(f"import bsfw, numpy as np\ntry: {code}\nexcept ImportError as error: print(error)")
    assert done.stderr == ""
    assert what in done.stdout
    assert re.search(r"needs (matplotlib|pooch): pip install 'bsfw\[cli\]'$", done.stdout)


def test_a_module_that_needs_a_library_says_what_to_install():
    """Each in the same process: nothing of a refused module stays behind."""
    parts = {"sklearn": "sklearn", "torch": "torch", "jax": "jax"}
    lines = "".join(f"try: import bsfw.{part}\nexcept ModuleNotFoundError as error: print(error)\n" for part in parts)
    done = run(lines)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"bsfw.{part} needs {library}: pip install 'bsfw[{part}]'" for part, library in parts.items()
    ]


def test_quantum_needs_the_core_alone_but_for_qiskit_pictures_and_error_bars():
    done = run(
        "import bsfw\n"
        "from bsfw import quantum\n"
        "from bsfw.quantum import pictures\n"
        "V = quantum.haar_unitary(1, 0)\n"
        "problem = quantum.ProcessTomography.from_counts(quantum.simulate_counts(V, 100, rng=0), truth=V)\n"
        "x = bsfw.minimize(problem).x\n"
        "print(problem.fidelity(x) > 0.9)\n"
        "for ask in (lambda: problem.choi(x), lambda: quantum.simulate_counts('x', 10),\n"
        "            lambda: pictures.pauli_transfer(problem.ptm(x)), lambda: quantum.bootstrap(problem, x)):\n"
        "    try: ask()\n"
        "    except ImportError as error: print(error)"
    )
    assert done.stderr == ""
    qiskit = "a conversion to or from qiskit needs qiskit: pip install 'bsfw[quantum]'"
    assert done.stdout.splitlines() == [
        "True",
        qiskit,
        qiskit,
        "a picture needs matplotlib: pip install 'bsfw[cli]'",
        "quantum.bootstrap needs joblib: pip install 'bsfw[cli]'",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "",
        "demo",
        "solve mushrooms --loss logistic --constraint l1 --radius 5",
        "datasets",
        "datasets mushrooms",
        "reproduce",
        "reproduce toy",
        "report results",
    ],
)
def test_a_command_without_its_extra_says_what_to_install(command):
    done = run(f"from bsfw.cli import main\nraise SystemExit(main({command.split()!r}))")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"bsfw: the command needs {', '.join(_extras.COMMAND)}: pip install 'bsfw[cli]'\n"


@pytest.mark.parametrize("option", ["--help", "--version", "solve --help", "reproduce --help"])
def test_help_and_version_need_no_extra(option):
    done = run(f"from bsfw.cli import main\nraise SystemExit(main({option.split()!r}))")
    assert (done.returncode, done.stderr) == (0, "")
    assert "bsfw" in done.stdout


def test_the_version_is_written_once():
    assert "version" in project()["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", bsfw.__version__)


def test_the_two_commands_of_the_readme():
    lines = next(folder / "README.md" for folder in Path(__file__).parents if (folder / "README.md").exists())
    text = lines.read_text().splitlines()
    assert "python -m pip install '.[cli]' && bsfw demo" in text
    assert "python -m pip install '.[test]' && python -m pytest" in text
