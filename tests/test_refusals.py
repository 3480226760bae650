"""What a wrong kind of argument gets: its name in a TypeError, from every public part, at no other price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw

WRONG = {
    "an estimator's objective": (lambda: bsfw.SAGA().check(-1, (3,)), "takes objective as Objective, got -1"),
    "limits of a state": (lambda: bsfw.Limits().used_up("x"), "takes state as State, got 'x'"),
    "an atom": (lambda: bsfw.ActiveSet((4,)).add(np.nan, 1.0), "takes vertex as Vertex, got nan"),
    "a point": (lambda: bsfw.L2Ball(1.0).boost("x", np.ones(3), 1, 0.1), "takes m as Array, got 'x'"),
    "a type": (lambda: bsfw.Dense(np.ones(3)).dense("no such type"), "takes dtype as npt.DTypeLike"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_kind_of_argument_is_named(what: str) -> None:
    call, sentence = WRONG[what]
    with pytest.raises(TypeError) as caught:
        call()
    assert sentence in str(caught.value)


def test_what_fits_its_kind_but_cannot_work_is_told_with_its_reason() -> None:
    with pytest.raises(ValueError, match=r"out = an array of float64 of shape \(0,\).*IndexError") as caught:
        bsfw.OneHot(1, 1.0, (4,)).add_to(np.zeros(0), 1.0)
    assert isinstance(caught.value.__cause__, IndexError)


@pytest.mark.parametrize("error", [KeyError("mine"), AttributeError("mine"), AssertionError(), TypeError("mine")])
def test_errors_of_the_users_own_code_pass_unchanged(error: Exception) -> None:
    def mine(x: Any) -> float:
        raise error

    with pytest.raises(type(error)) as caught:
        bsfw.minimize(bsfw.Function(mine, lambda x: x, shape=3), bsfw.L2Ball(1.0), max_iter=2)
    assert caught.value is error
    with pytest.raises(type(error)) as caught:
        bsfw.Oracle(mine).lmo(np.ones(3))
    assert caught.value is error


def test_a_class_of_the_users_refuses_too() -> None:
    class Half(bsfw.L2Ball):
        def start(self, shape: Any, dtype: Any = float) -> Any:
            return super().start(shape, dtype)

    with pytest.raises(TypeError, match=r"takes dtype as npt\.DTypeLike"):
        Half(1.0).start((3,), "no such type")


def test_sparse_matrices_in_the_place_of_arrays_never_reach_compiled_code() -> None:
    A = sp.csr_array(np.eye(3))
    A.indices = np.array([0, 2**30, 1])  # SciPy would write there
    for call in (
        lambda: bsfw.RankOne(1.0, np.ones(3), np.ones(3)).add_to(A, 1.0),
        lambda: bsfw.LinfBall(1.0).lmo(A),
        lambda: bsfw.L1Ball(1.0).violation(A),
        lambda: bsfw.Dense(np.ones(3)).inner(A),
    ):
        with pytest.raises(TypeError, match=r"as a dense array or a number, got <.*sparse"):
            call()


def test_signatures_and_abstract_methods_stay() -> None:
    import inspect

    assert list(inspect.signature(bsfw.L2Ball.boost).parameters) == ["self", "m", "x", "max_rounds", "min_gain"]
    assert inspect.isabstract(bsfw.Constraint)
    assert bsfw.Constraint.__abstractmethods__ == {"lmo", "violation", "diameter"}


def test_a_diameter_takes_no_memory() -> None:
    assert bsfw.Box(-1.0, 1.0).diameter((10**9, 10**9)) == pytest.approx(2e9)
    assert bsfw.Box(np.zeros(2), np.array([3.0, 4.0])).diameter((2,)) == pytest.approx(5.0)
