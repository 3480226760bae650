"""How kernels are compiled: without reference counts, by address, from the cache."""

import importlib
import pkgutil
import time

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import bsfw.kernels
from bsfw.kernels import _jit

MODULES = [
    importlib.import_module(found.name) for found in pkgutil.walk_packages(bsfw.kernels.__path__, "bsfw.kernels.")
]
ALLOCATES = {"mean_length"}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_kernels_neither_allocate_nor_count_references(module):
    # Two atomic operations for each array of each call cost more than a round of Boost.
    for name, function in vars(module).items():
        if isinstance(function, Dispatcher) and name not in ALLOCATES:
            assert function.targetoptions.get("_nrt") is False, f"{module.__name__}.{name}"


@_jit.phase()
def scaled_sum(numbers, factor):
    numbers[0] *= factor
    return int(numbers.sum())


@_jit.entry()
def through(address, numbers, factor):
    return _jit.call(address, (numbers, factor))


def test_a_phase_is_called_by_its_address():
    numbers = np.array([2.0, 3.0])
    address = _jit.address_of(scaled_sum, (numbers, 1.0))
    assert through(address, numbers, 5.0) == 13
    assert numbers[0] == 10.0


def test_numbers_are_those_of_the_generator():
    @numba.njit
    def take(random):
        return _jit.uniform(random)

    for name in ("PCG64", "MT19937", "Philox", "SFC64"):
        one, other = (np.random.Generator(getattr(np.random, name)(3)) for _ in range(2))
        assert [take(_jit.random_of(one)) for _ in range(9)] == other.random(9).tolist()
        assert one.bit_generator.state["state"].keys() == other.bit_generator.state["state"].keys()
        assert one.random() == other.random()


def test_compilation_is_announced_once_and_only_if_there_is_some():
    said = []

    def compile_both():
        with _jit.announced(lambda: said.append("now")):
            add(1)
            add(1.0)

    add = numba.njit(lambda x: x + 1)
    compile_both()
    assert said == ["now"]
    compile_both()
    assert said == ["now"]


def test_functions_compile_without_a_place_for_the_cache(monkeypatch):
    real = numba.njit

    def nowhere(*function, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*function, **options)

    monkeypatch.setattr(numba, "njit", nowhere)
    assert _jit.jit()(lambda x: x + 1)(2) == 3


def test_code_is_cached_by_a_hash_of_all_kernels() -> None:
    from bsfw.kernels import passes
    from bsfw.kernels._jit import source_key

    assert f"bsfw-{source_key()}" in str(passes.rows_adjoint._cache.cache_path)


def test_compilation_is_not_on_the_clock_of_a_run():
    objective = bsfw.Function(lambda x: float(x @ x), lambda x: numba.njit(lambda x: 2.0 * x)(x), shape=(3,))
    solver = bsfw.Solver(objective, bsfw.Simplex())
    state = solver.init(x0=np.ones(3) / 3)
    engine, before, started = solver.engine(state), bsfw.kernels.seconds_compiling(), time.perf_counter()
    engine.look(state)
    compiling = bsfw.kernels.seconds_compiling() - before
    assert compiling > 0.0
    assert state.seconds <= time.perf_counter() - started - compiling


def test_compilation_inside_of_a_run_is_announced_once(capsys):
    def slope(x):
        return numba.njit(lambda x: 2.0 * x)(x)  # compiled anew by each call

    objective = bsfw.Function(lambda x: float(x @ x), slope, shape=(3,))
    bsfw.minimize(objective, bsfw.Simplex(), x0=np.eye(3)[0], max_iter=3, verbose=True)
    assert capsys.readouterr().err.count("compiling, once") == 1
    quiet = bsfw.Function(lambda x: float(x @ x), lambda x: 2.0 * x, shape=(3,))
    bsfw.minimize(quiet, bsfw.Simplex(), x0=np.eye(3)[0], method="boosted", max_iter=3, verbose=True)
    assert "compiling" not in capsys.readouterr().err
