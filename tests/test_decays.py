"""Decays: the table's values by hand, the range ]0, 1], the defaults and the errors."""

import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.decays import (
    DECAYS,
    AnytimeDecay,
    Decay,
    DeterministicHorizonDecay,
    HeavyBallConvexDecay,
    HeavyBallNonconvexDecay,
    InverseSqrtDecay,
    LogOpenLoopDecay,
    OpenLoopDecay,
    PiecewiseDecay,
    QuasarConvexDecay,
    StochasticHorizonDecay,
    choose_decay,
)

RHO = st.floats(0.01, 1.0)
HORIZON = st.integers(1, 5_000)
ANY_DECAY = st.one_of(
    st.builds(QuasarConvexDecay, RHO),
    st.just(InverseSqrtDecay()),
    st.builds(DeterministicHorizonDecay, HORIZON),
    st.builds(StochasticHorizonDecay, HORIZON),
    st.builds(AnytimeDecay.from_rates, RHO, RHO, RHO),
    st.builds(PiecewiseDecay.from_rates, HORIZON, RHO, RHO, RHO),
    st.builds(HeavyBallConvexDecay, RHO),
    st.just(HeavyBallNonconvexDecay()),
    st.builds(OpenLoopDecay, st.floats(1.0, 50.0)),
    st.just(LogOpenLoopDecay()),
)


@pytest.mark.parametrize(
    ("decay", "t", "value"),
    [
        (QuasarConvexDecay(), 0, 1.0),
        (QuasarConvexDecay(), 2, 1 / 2),
        (QuasarConvexDecay(), 98, 1 / 50),
        (QuasarConvexDecay(rho=0.5), 0, 1.0),  # 2 before the clip
        (QuasarConvexDecay(rho=0.5), 1, 1.0),  # 4/3 before the clip
        (QuasarConvexDecay(rho=0.5), 2, 1.0),
        (QuasarConvexDecay(rho=0.5), 8, 2 / 5),
        (InverseSqrtDecay(), 0, 1.0),
        (InverseSqrtDecay(), 3, 1 / 2),
        (InverseSqrtDecay(), 99, 1 / 10),
        (DeterministicHorizonDecay(99), 0, 1 / 10),
        (DeterministicHorizonDecay(99), 98, 1 / 10),
        (StochasticHorizonDecay(100), 0, 1 / 10),
        (StochasticHorizonDecay(100), 99, 1 / 10),
        (StochasticHorizonDecay(1), 0, 1.0),
        (AnytimeDecay(nu=8.0), 0, 1 / 4),
        (AnytimeDecay(nu=8.0), 12, 1 / 10),
        (AnytimeDecay(nu=8.0, rho=0.1), 0, 1.0),  # 5/2 before the clip
        (AnytimeDecay(nu=8.0, rho=0.1), 32, 1 / 2),
        (AnytimeDecay.from_rates(0.25, 1.0), 4, 2 / 20),  # nu = 16
        (AnytimeDecay.from_rates(1.0, 0.25), 4, 2 / 20),
        (AnytimeDecay.from_rates(1.0, 1.0), 0, 1 / 2),  # nu = 4
        # T = 11, d = 4, t0 = 5
        (PiecewiseDecay(11, 4.0), 0, 1 / 4),
        (PiecewiseDecay(11, 4.0), 4, 1 / 4),
        (PiecewiseDecay(11, 4.0), 5, 1 / 4),  # t0: 2/(2d)
        (PiecewiseDecay(11, 4.0), 6, 2 / 9),
        (PiecewiseDecay(11, 4.0), 10, 2 / 13),
        (PiecewiseDecay(11, 4.0, rho=0.5), 10, 4 / 13),
        (PiecewiseDecay(11, 4.0, rho=0.125), 0, 1.0),  # 2 before the clip
        (PiecewiseDecay(11, 4.0, rho=0.125), 10, 1.0),  # 16/13 before the clip
        (PiecewiseDecay(4, 4.0), 3, 1 / 4),  # T <= d: constant
        (PiecewiseDecay(5, 4.0), 4, 2 / 10),  # T > d, t0 = 2
        (PiecewiseDecay.from_rates(100, 0.5, 0.01), 99, 1 / 200),  # d = 200 >= T
        (PiecewiseDecay.from_rates(11, 1.0, 0.5), 10, 2 / 13),
        (HeavyBallConvexDecay(), 0, 2 / 9),
        (HeavyBallConvexDecay(), 11, 1 / 10),
        (HeavyBallConvexDecay(rho=0.1), 0, 1.0),
        (HeavyBallConvexDecay(rho=0.1), 31, 1 / 2),
        (HeavyBallNonconvexDecay(), 0, 2 ** (-3 / 4)),
        (HeavyBallNonconvexDecay(), 14, 1 / 8),
        (OpenLoopDecay(), 0, 1.0),
        (OpenLoopDecay(), 12, 1 / 4),
        (OpenLoopDecay(6.0), 18, 1 / 4),
        (LogOpenLoopDecay(), 0, 1.0),
        (LogOpenLoopDecay(), 7, (2 + 3 * np.log(2)) / (9 + 3 * np.log(2))),
    ],
)
def test_value_is_the_table_row(decay, t, value):
    assert decay(t) == pytest.approx(value, rel=1e-15)


@given(ANY_DECAY, st.integers(0, 10**6))
@settings(deadline=None, max_examples=200)
def test_values_are_in_the_unit_interval_and_never_increase(decay, t):
    assert 0.0 < decay(t + 1) <= decay(t) <= 1.0
    assert type(decay(t)) is float


@given(ANY_DECAY, st.integers(0, 10**6), st.integers(1, 40))
@settings(deadline=None, max_examples=100)
def test_a_solver_takes_many_values_at_once(decay, first, count):
    objective = bsfw.LeastSquares(np.eye(2), np.ones(2))
    solver = bsfw.Solver(objective, bsfw.L1Ball(1.0), decay=decay)
    own = bsfw.Solver(objective, bsfw.L1Ball(1.0), decay=lambda t: decay(t))  # a function is asked one by one
    expected = [decay(t) for t in range(first, first + count)]
    np.testing.assert_allclose(solver.plan.etas(first, count), expected, rtol=1e-15)
    np.testing.assert_array_equal(own.plan.etas(first, count), expected)


@given(ANY_DECAY)
@settings(deadline=None, max_examples=50)
def test_class_name_and_fields_restore_a_decay(decay):
    text = json.dumps([type(decay).__name__, dataclasses.asdict(decay)])
    name, values = json.loads(text)
    restored = {cls.__name__: cls for cls in DECAYS.values()}[name](**values)
    assert restored == decay
    assert type(restored) is type(decay)


def test_numpy_parameters_become_plain_numbers():
    decay = PiecewiseDecay(np.int64(11), np.float32(4.0), np.float64(0.5))
    assert [type(value) for value in dataclasses.astuple(decay)] == [int, float, float]


def test_decays_are_frozen():
    decay = QuasarConvexDecay()
    with pytest.raises(dataclasses.FrozenInstanceError):
        decay.rho = 0.5


@pytest.mark.parametrize("cls", DECAYS.values())
def test_docstring_cites_its_theorem(cls):
    assert "Thm " in cls.__doc__


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuasarConvexDecay(rho=0.0), "rho must be a positive finite number"),
        (lambda: QuasarConvexDecay(rho=1.5), "rho must be at most 1"),
        (lambda: QuasarConvexDecay(rho=math.nan), "rho must be a positive finite number"),
        (lambda: HeavyBallConvexDecay(rho=-1.0), "rho must be a positive finite number"),
        (lambda: AnytimeDecay(nu=1.0), "nu = .* is at least 2"),
        (lambda: AnytimeDecay(nu=4.0, rho=2.0), "rho must be at most 1"),
        (lambda: AnytimeDecay.from_rates(0.0, 1.0), "rho1 must be a positive finite number"),
        (lambda: PiecewiseDecay.from_rates(10, 1.0, 1.1), "rho2 must be at most 1"),
        (lambda: PiecewiseDecay(10, d=1.0), "d = .* is at least 2"),
        (lambda: PiecewiseDecay(0, d=2.0), "horizon must be a whole number of at least 1"),
        (lambda: PiecewiseDecay(10, d=2.0, rho=0.0), "rho must be a positive finite number"),
        (lambda: DeterministicHorizonDecay(1.5), "horizon must be a whole number of at least 1"),
        (lambda: StochasticHorizonDecay(0), "horizon must be a whole number of at least 1"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Choosing

CONSTANTS = SimpleNamespace(rho1=0.5, rho2=0.1)  # nu = 40, d = 20
EXACT = SimpleNamespace(decay_family="deterministic", vanilla_family="open-loop")
SAG = SimpleNamespace(decay_family="variance-reduced", vanilla_family="open-loop")
SAGA = SimpleNamespace(decay_family="variance-reduced", vanilla_family="piecewise")
HEAVY_BALL = SimpleNamespace(decay_family="heavy-ball", vanilla_family="heavy-ball")


def choose(name="auto", *, estimator=SAGA, quasar_rho=1.0, horizon=100, vanilla=False):
    return choose_decay(
        name, estimator=estimator, constants=CONSTANTS, quasar_rho=quasar_rho, horizon=horizon, vanilla=vanilla
    )


@pytest.mark.parametrize(
    ("estimator", "vanilla", "quasar_rho", "expected"),
    [
        (EXACT, False, 1.0, QuasarConvexDecay()),
        (EXACT, False, 0.25, QuasarConvexDecay(0.25)),
        (EXACT, False, None, InverseSqrtDecay()),
        (SAG, False, 1.0, AnytimeDecay(40.0)),
        (SAGA, False, 0.25, AnytimeDecay(40.0, 0.25)),
        (SAGA, False, None, InverseSqrtDecay()),
        (HEAVY_BALL, False, 0.25, HeavyBallConvexDecay(0.25)),
        (HEAVY_BALL, False, None, HeavyBallNonconvexDecay()),
        (EXACT, True, 1.0, QuasarConvexDecay()),
        (EXACT, True, None, InverseSqrtDecay()),
        (SAG, True, 1.0, QuasarConvexDecay()),
        (SAG, True, None, InverseSqrtDecay()),
        (SAGA, True, 0.25, PiecewiseDecay(100, 20.0, 0.25)),
        (SAGA, True, None, StochasticHorizonDecay(100)),
        (HEAVY_BALL, True, 1.0, HeavyBallConvexDecay()),
        (HEAVY_BALL, True, None, HeavyBallNonconvexDecay()),
    ],
)
def test_auto_is_the_decay_of_the_pair(estimator, vanilla, quasar_rho, expected):
    chosen = choose(estimator=estimator, vanilla=vanilla, quasar_rho=quasar_rho)
    assert type(chosen) is type(expected)
    assert chosen == expected


@pytest.mark.parametrize("vanilla", [False, True])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("quasar-convex", QuasarConvexDecay(0.25)),
        ("inverse-sqrt", InverseSqrtDecay()),
        ("deterministic-horizon", DeterministicHorizonDecay(100)),
        ("stochastic-horizon", StochasticHorizonDecay(100)),
        ("anytime", AnytimeDecay(40.0, 0.25)),
        ("piecewise", PiecewiseDecay(100, 20.0, 0.25)),
        ("heavy-ball-convex", HeavyBallConvexDecay(0.25)),
        ("heavy-ball-nonconvex", HeavyBallNonconvexDecay()),
    ],
)
def test_explicit_name_wins_over_the_pair(name, expected, vanilla):
    chosen = choose(name, estimator=EXACT, quasar_rho=0.25, vanilla=vanilla)
    assert isinstance(chosen, Decay)
    assert type(chosen) is type(expected)
    assert chosen == expected


def test_explicit_convex_decay_on_a_nonconvex_function_takes_rho_one():
    assert choose("anytime", quasar_rho=None) == AnytimeDecay(40.0)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="no decay 'fast'") as error:
        choose("fast")
    assert all(repr(name) in str(error.value) for name in ("auto", *DECAYS))


@pytest.mark.parametrize("name", ["deterministic-horizon", "stochastic-horizon", "piecewise"])
def test_horizon_decay_without_horizon_asks_for_max_iter(name):
    with pytest.raises(ValueError, match=f"'{name}'.*give max_iter"):
        choose(name, horizon=None)


def test_vanilla_baseline_without_horizon_asks_for_max_iter():
    with pytest.raises(ValueError, match="give max_iter"):
        choose(vanilla=True, horizon=None)


@pytest.mark.parametrize("name", ["quasar-convex", "inverse-sqrt", "anytime", "heavy-ball-convex", "auto"])
def test_anytime_decays_need_no_horizon(name):
    choose(name, horizon=None)
