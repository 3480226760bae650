"""Gradient estimators: the exact gradient and the eight of the paper."""

from .base import Estimator
from .coordinate import JAGUAR, SEGA, ZOJA
from .full import FullGradient
from .heavy_ball import HeavyBall
from .lsvrg import LSVRG
from .sag import SAG
from .saga import SAGA
from .sarah import SARAH

ESTIMATORS: dict[str, type[Estimator]] = {
    kind.name: kind for kind in (FullGradient, SAG, SAGA, LSVRG, SARAH, HeavyBall, SEGA, JAGUAR, ZOJA)
}
"""By the name that the command and checkpoints use."""

__all__ = [
    "ESTIMATORS",
    "JAGUAR",
    "LSVRG",
    "SAG",
    "SAGA",
    "SARAH",
    "SEGA",
    "ZOJA",
    "Estimator",
    "FullGradient",
    "HeavyBall",
]
