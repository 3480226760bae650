"""Pictures of channels and states, with error bars. Each returns a matplotlib `Figure`; save it with ``savefig``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from .._extras import extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITIVE, NEGATIVE, ERROR = "#2166ac", "#b2182b", "#e08214"


def pauli_labels(qubits: int) -> list[str]:
    """II, IX, IY, IZ, XI, ...: the rows of chi and Pauli transfer matrices."""
    return ["".join(letters) for letters in product("IXYZ", repeat=qubits)]


def bit_labels(dimension: int) -> list[str]:
    """00, 01, ...: the rows of density matrices, and of Choi matrices of half as many qubits (input, then output)."""
    width = dimension.bit_length() - 1
    return [format(row, f"0{width}b") for row in range(dimension)]


def city(matrix: Any, errors: Any = None, labels: Sequence[str] | None = None, title: str = "") -> Figure:
    """Real and imaginary part of a Choi, chi or density matrix as bars, with vertical error bars.

    Parameters
    ----------
    matrix : array (m, m)
    errors : array (m, m), optional
        Standard errors; of real and imaginary part if complex, as `Bootstrap.error` gives them.
    labels : sequence of str, optional
        Of rows and columns; default: bits.
    title : str
    """
    matrix, errors = _checked(matrix, errors)
    labels = bit_labels(len(matrix)) if labels is None else labels
    figure = _figure(figsize=(13, 6))
    columns = np.arange(len(matrix))
    parts: Array = np.stack([matrix.real, matrix.imag])
    spread: Array = np.zeros(1)
    if errors is not None:
        spread = np.stack([errors.real, errors.imag])
    lowest, highest = min(0.0, float((parts - spread).min())), max(0.0, float((parts + spread).max())) or 1.0
    thinnest = 0.003 * (highest - lowest)  # top and bottom of a bar without any height would flicker
    for place, (name, part) in enumerate((("real part", np.real), ("imaginary part", np.imag)), 1):
        axes: Any = figure.add_subplot(1, 2, place, projection="3d")
        axes.computed_zorder = False
        heights = part(matrix)
        # From the last row to the first, which is the nearest: bars hide what is behind them, error bars as well.
        for order, row in enumerate(reversed(columns)):
            values = heights[row]
            axes.bar3d(
                columns - 0.35, row - 0.35, np.minimum(values, 0.0), 0.7, 0.7, np.maximum(np.abs(values), thinnest),
                color=np.where(values >= 0, POSITIVE, NEGATIVE), edgecolor="white", linewidth=0.2, zorder=2 * order,
            )  # fmt: skip
            if errors is not None:
                for column, value, error in zip(columns, values, part(errors)[row], strict=True):
                    ends = [value - error, value + error]
                    axes.plot([column] * 2, [row] * 2, ends, color=ERROR, linewidth=2.0, zorder=2 * order + 1)
        axes.set_zlim(lowest, highest)  # of both parts, so that their heights can be compared
        axes.set_title(name)
        axes.view_init(elev=32, azim=-58)
        _ticks(axes, labels, rotation=0, every=max(1, len(labels) // 8))
    figure.suptitle(title)
    return figure


def hinton(matrix: Any, errors: Any = None, labels: Sequence[str] | None = None, title: str = "") -> Figure:
    """Real and imaginary part as squares of an area in proportion to the entry, in blue where positive, red where not.

    A line around a square shows the entry with one standard error more. Parameters are those of `city`.
    """
    rectangle = extra("matplotlib.patches", "a picture").Rectangle
    matrix, errors = _checked(matrix, errors)
    labels = bit_labels(len(matrix)) if labels is None else labels
    figure = _figure(figsize=(10, 5))
    highest = float(np.abs(np.stack([matrix.real, matrix.imag])).max()) or 1.0
    for place, (name, part) in enumerate((("real part", np.real), ("imaginary part", np.imag)), 1):
        axes = figure.add_subplot(1, 2, place)
        axes.set_facecolor("#e8e8e8")
        for (row, column), value in np.ndenumerate(part(matrix)):
            side = 0.9 * np.sqrt(abs(value) / highest)
            color = POSITIVE if value >= 0 else NEGATIVE
            axes.add_patch(rectangle((column - side / 2, row - side / 2), side, side, color=color, linewidth=0))
            if errors is not None:
                outer = 0.9 * np.sqrt((abs(value) + part(errors)[row, column]) / highest)
                corner = column - outer / 2, row - outer / 2
                axes.add_patch(rectangle(corner, outer, outer, fill=False, edgecolor=ERROR, linewidth=0.9))
        axes.set(xlim=(-0.6, len(matrix) - 0.4), ylim=(len(matrix) - 0.4, -0.6), aspect="equal", title=name)
        _ticks(axes, labels, rotation=90)
    figure.suptitle(title)
    return figure


def pauli_transfer(matrix: Any, labels: Sequence[str] | None = None, title: str = "") -> Figure:
    """A Pauli transfer matrix as a map of colours from -1 to 1; with the numbers where there is room.

    Parameters
    ----------
    matrix : array (4^n, 4^n)
        Real, as `ProcessTomography.ptm` gives it.
    labels : sequence of str, optional
        Default: the Pauli products.
    title : str
    """
    matrix = np.asarray(matrix, dtype=float)
    labels = pauli_labels((len(matrix).bit_length() - 1) // 2) if labels is None else labels
    figure = _figure(figsize=(7, 6))
    axes = figure.add_subplot()
    shown = axes.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1)
    figure.colorbar(shown, ax=axes, shrink=0.85)
    _ticks(axes, labels, rotation=90)
    axes.set(xlabel="Pauli product in", ylabel="Pauli product out", title=title)
    if len(matrix) <= 16:
        for (row, column), value in np.ndenumerate(matrix):
            if abs(value) >= 0.05:
                color = "white" if abs(value) > 0.6 else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color=color)
    return figure


def fidelity_against_shots(
    shots: Sequence[int], fidelities: Any, errors: Any = None, title: str = "", name: str = "fidelity"
) -> Figure:
    """1 - fidelity against the shots of a setting, both on logarithmic axes.

    Parameters
    ----------
    shots : sequence of int
    fidelities : array (len(shots),) or dict
        By the name of the curve, if there are several.
    errors : as `fidelities`, optional
        Standard errors.
    title, name : str
    """
    curves = fidelities if isinstance(fidelities, dict) else {"": fidelities}
    spreads = errors if isinstance(errors, dict) else {"": errors}
    figure = _figure(figsize=(6, 4.2))
    axes = figure.add_subplot()
    for label, values in curves.items():
        spread = spreads.get(label)
        axes.errorbar(shots, 1.0 - np.asarray(values), yerr=spread, marker="o", capsize=3, label=label or None)
    axes.set(xscale="log", yscale="log", xlabel="shots of each setting", ylabel=f"1 - {name}", title=title)
    axes.grid(alpha=0.3, which="both")
    if len(curves) > 1:
        axes.legend()
    return figure


def _figure(figsize: tuple[float, float]) -> Figure:
    figure: Figure = extra("matplotlib.figure", "a picture").Figure(figsize=figsize, layout="constrained")
    return figure


def _checked(matrix: Any, errors: Any) -> tuple[Array, Array | None]:
    matrix = np.asarray(matrix.data if hasattr(matrix, "input_dims") else matrix, dtype=complex)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"the picture is of a square matrix, got an array of shape {matrix.shape}.")
    if errors is None:
        return matrix, None
    errors = np.asarray(errors)
    if errors.shape != matrix.shape:
        raise ValueError(f"errors have the shape {errors.shape}, but the matrix has {matrix.shape}.")
    # A real error is one of the absolute value: it stands for both parts.
    return matrix, errors if np.iscomplexobj(errors) else errors * (1 + 1j)


def _ticks(axes: Any, labels: Sequence[str], rotation: int, every: int = 1) -> None:
    shown = range(0, len(labels), every if len(labels) <= 32 else max(every, len(labels) // 16))
    named = [labels[k] for k in shown]
    size = 8 if len(named) <= 16 else 5
    axes.set_xticks(shown, named, fontsize=size, rotation=rotation)
    axes.set_yticks(shown, named, fontsize=size)
