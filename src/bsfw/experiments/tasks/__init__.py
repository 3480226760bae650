"""The kinds of tasks of an experiment, and the data that each of them leaves behind."""

from __future__ import annotations

from .base import Data, Task
from .minimum import Certified, Minimum
from .plane import BoostingStep, Path, Rounds, Trajectory
from .solve import Solve, Solved
from .tables import ConstantRows, Constants, Cost, Costs, Facts, Parameters

__all__ = [
    "AnyData", "AnyTask", "BoostingStep", "Certified", "ConstantRows", "Constants", "Cost", "Costs", "Data", "Facts",
    "Minimum", "Parameters", "Path", "Rounds", "Solve", "Solved", "Task", "Trajectory",
]  # fmt: skip

AnyTask = Solve | Trajectory | BoostingStep | Cost | Facts | Constants | Minimum
AnyData = Solved | Path | Rounds | Costs | Parameters | ConstantRows | Certified
