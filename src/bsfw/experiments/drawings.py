"""Pictures that are no curves: the trajectories of the toy problem and the panels of one boosting step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .model import Drawing, StepInRounds, Trajectories
from .style import BOOSTED_PATH, BOUNDARY, MINIMISER, VANILLA_PATH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FADED, _GRADIENT, _MOMENTUM, _ESTIMATE, _RESIDUAL, _VERTEX, _DIRECTION = (
    "#999999", "#0b4f8a", "#8a7d00", VANILLA_PATH, "#b85c00", "#1a7a4c", BOOSTED_PATH,
)  # fmt: skip


def draw(drawing: Drawing) -> Figure:
    """The picture of a drawing."""
    return _trajectories(drawing) if isinstance(drawing, Trajectories) else _boosting_step(drawing)


def _polygon(axes: Axes, corners: np.ndarray, fill: str = "none") -> None:
    from matplotlib.patches import Polygon

    axes.add_patch(Polygon(corners, closed=True, facecolor=fill, edgecolor=BOUNDARY, linewidth=1.5, zorder=2))
    axes.set_aspect("equal")
    axes.set_axis_off()


def _room(axes: Axes, points: np.ndarray, margin: float) -> None:
    """Limits around these points."""
    low, high = points.min(axis=0), points.max(axis=0)
    pad = margin * float(max(high - low))
    axes.set_xlim(low[0] - pad, high[0] + pad)
    axes.set_ylim(low[1] - pad, high[1] + pad)


def _trajectories(drawing: Trajectories) -> Figure:
    """fig: boosting_vs_zigzag: the set black, the minimiser green, FW red, BFW purple, contours of f faint."""
    from matplotlib.figure import Figure

    corners, minimiser = np.array(drawing.problem.corners), np.array(drawing.minimiser)
    figure = Figure(figsize=(6.4, 4.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    _polygon(axes, corners)
    paths = [np.array(path.points) for path in drawing.paths]
    _room(axes, np.vstack([corners, minimiser[None], *paths]), 0.06)
    _contours(axes, np.diag(drawing.problem.curvature), np.array(drawing.problem.target))
    # The long path below the short one.
    for path, points in sorted(zip(drawing.paths, paths, strict=True), key=lambda pair: pair[0].boosted):
        axes.plot(
            *points.T,
            color=BOOSTED_PATH if path.boosted else VANILLA_PATH,
            linewidth=1.8 if path.boosted else 1.2,
            marker="s" if path.boosted else "o",
            markersize=5 if path.boosted else 3.5,
            markeredgecolor="white",
            markeredgewidth=0.5,
            label=path.name,
            zorder=5 if path.boosted else 4,
        )
    axes.plot(*minimiser, color=MINIMISER, marker="*", markersize=15, markeredgecolor="white", linestyle="none",
              label="minimiser $x^\\star$", zorder=6)  # fmt: skip
    start = paths[0][0]
    axes.annotate("$x^0$", start, xytext=(7, 6), textcoords="offset points", fontsize=11, zorder=7)
    figure.legend(loc="outside lower center", ncols=len(paths) + 1, frameon=False)
    axes.set_title(drawing.title, fontsize=10.5)
    return figure


def _contours(axes: Axes, quadratic: np.ndarray, center: np.ndarray) -> None:
    x, y = np.meshgrid(np.linspace(*axes.get_xlim(), 200), np.linspace(*axes.get_ylim(), 200))
    away = np.stack([x - center[0], y - center[1]], axis=-1)
    # The root of the quadratic makes rings at equal distances.
    heights = np.sqrt(np.einsum("...i,ij,...j->...", away, quadratic, away))
    axes.contour(x, y, heights, levels=14, colors="0.85", linewidths=0.8, zorder=0)


# --- one boosting step -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """The vectors of a `Rounds`, as arrays."""

    corners: np.ndarray
    x: np.ndarray
    gradient: np.ndarray
    batch_gradients: np.ndarray
    momentum_before: np.ndarray
    estimate: np.ndarray
    vertices: np.ndarray
    residuals: np.ndarray
    psi: np.ndarray
    lambdas: np.ndarray
    direction: np.ndarray
    next: np.ndarray


def _boosting_step(drawing: StepInRounds) -> Figure:
    """fig: boosting_expln: six panels, from the gradients of a batch to the next iterate."""
    from matplotlib.figure import Figure

    step = _Step(**{name: np.array(getattr(drawing.step, name), dtype=float) for name in _Step.__dataclass_fields__})
    # Arrows for gradients are as long as suits the set; their directions and proportions are kept.
    size = float(np.ptp(step.corners, axis=0).max())
    vectors = (step.gradient, step.batch_gradients, step.estimate)
    longest = max(float(np.linalg.norm(vector, axis=-1).max()) for vector in vectors)
    scale = 0.45 * size / (longest or 1.0)
    tips = step.x - scale * np.vstack([step.batch_gradients, step.estimate, step.gradient])
    figure = Figure(figsize=(12, 8.8), dpi=150, layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for panel, paint in zip(panels, (_sampled, _estimated, _first_round, _next_round, _sum, _scaled), strict=True):
        _polygon(panel, step.corners, fill="0.97")
        paint(panel, step, scale)
        _room(panel, np.vstack([step.corners, tips]), 0.1)
        panel.plot(*step.x, marker="o", color="black", markersize=5.5, zorder=8)
        _label(panel, step.x, "$x^t$", "black", step.estimate)
        panel.title.set_fontsize(10.5)
        # Names below the panel: beside the arrows they would cover each other whenever two arrows are close.
        if panel.get_legend_handles_labels()[0]:
            panel.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False, fontsize=10,
                         handlelength=2.2, columnspacing=1.4, labelspacing=0.3)  # fmt: skip
    figure.suptitle(f"{drawing.title}: one boosting step of a run, with γ = {drawing.step.gamma:.2f}", fontsize=12)
    return figure


def _arrow(axes: Axes, start: np.ndarray, by: np.ndarray, colour: str, name: str = "", **looks: Any) -> None:
    """An arrow from `start`, with its name in the legend."""
    looks = {"lw": 2.0, "linestyle": "-", **looks}
    arrow = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13, **looks}
    axes.annotate("", tuple(start + by), tuple(start), zorder=6, arrowprops=arrow)
    if name:
        axes.plot([], [], color=colour, label=name, **looks)


def _label(axes: Axes, at: np.ndarray, text: str, colour: str, towards: np.ndarray) -> None:
    """Words beside a point, on the side that `towards` points to."""
    x, y = 13 * towards / (float(np.linalg.norm(towards)) or 1.0)
    axes.annotate(text, tuple(at), xytext=(x, y), textcoords="offset points", color=colour, fontsize=11, zorder=9,
                  ha="center", va="center")  # fmt: skip


def _vertices(axes: Axes, step: _Step, numbers: range) -> None:
    """The vertices of these rounds, a vertex that came twice with both names, outside of the set."""
    names: dict[tuple[float, ...], list[str]] = {}
    for number in numbers:
        names.setdefault(tuple(step.vertices[number]), []).append(f"v^{number}")
    for vertex, words in names.items():
        at = np.array(vertex)
        axes.plot(*at, marker="D", color=_VERTEX, markersize=6, zorder=7)
        axes.plot(*np.array([step.x, at]).T, color=_VERTEX, linewidth=1.2, linestyle=":", zorder=4)
        _label(axes, at, f"${', '.join(words)}$", _VERTEX, at - step.corners.mean(axis=0))


def _sampled(axes: Axes, step: _Step, scale: float) -> None:
    axes.set_title("1. Gradients of a batch are sampled")
    for number, gradient in enumerate(step.batch_gradients):
        _arrow(axes, step.x, -scale * gradient, _FADED, "$-\\nabla f_i(x^t)$" if number == 0 else "", lw=1.4)
    _arrow(axes, step.x, -scale * step.gradient, _GRADIENT, "$-\\nabla f(x^t)$", linestyle="--")


def _estimated(axes: Axes, step: _Step, scale: float) -> None:
    axes.set_title("2. Momentum and batch form the estimate $-m^t$")
    mean = step.batch_gradients.mean(axis=0)
    _arrow(axes, step.x, -scale * mean, _FADED, "mean of the batch", lw=1.4)
    _arrow(axes, step.x, -scale * step.momentum_before, _MOMENTUM, "$-m^{t-1}$", lw=1.4)
    _arrow(axes, step.x, -scale * step.gradient, _GRADIENT, "$-\\nabla f(x^t)$", linestyle="--", lw=1.4)
    _arrow(axes, step.x, -scale * step.estimate, _ESTIMATE, "$-m^t$")


def _round(axes: Axes, step: _Step, scale: float, number: int) -> None:
    """Round `number`: the residual, the vertex that its LMO gives, and what the projection leaves."""
    projection = step.lambdas[number] * (step.vertices[number] - step.x)
    _vertices(axes, step, range(number, number + 1))
    colour, name = (_ESTIMATE, "$r^0 = -m^t$") if number == 0 else (_RESIDUAL, f"$r^{number}$")
    _arrow(axes, step.x, scale * step.residuals[number], colour, name)
    _arrow(axes, step.x, scale * projection, _VERTEX, f"$\\lambda_{number}(v^{number} - x^t)$")
    # The residual is what is left from the tip of the projection to the tip of the one before.
    _arrow(axes, step.x + scale * projection, scale * step.residuals[number + 1], _RESIDUAL,
           f"$r^{number + 1}$", linestyle="--", lw=1.4)  # fmt: skip


def _first_round(axes: Axes, step: _Step, scale: float) -> None:
    axes.set_title("3. The LMO gives $v^0$; projecting $-m^t$\non $v^0 - x^t$ leaves the residual $r^1$")
    _round(axes, step, scale, 0)


def _next_round(axes: Axes, step: _Step, scale: float) -> None:
    if len(step.lambdas) == 1:
        axes.set_title("4. Here the procedure ends after one round")
        return
    axes.set_title("4. The same for $r^1$, and so on")
    _round(axes, step, scale, 1)


def _sum(axes: Axes, step: _Step, scale: float) -> None:
    rounds = len(step.lambdas)
    axes.set_title(f"5. The projections add up to $\\psi^{rounds}$;\na further round would not align it enough better")
    at = step.x
    for number, (weight, vertex) in enumerate(zip(step.lambdas, step.vertices, strict=False)):
        by = scale * weight * (vertex - step.x)
        _arrow(axes, at, by, _VERTEX, "$\\lambda_k(v^k - x^t)$" if number == 0 else "", lw=1.4)
        at = at + by
    _arrow(axes, step.x, -scale * step.estimate, _ESTIMATE, "$-m^t$")
    _arrow(axes, step.x, scale * step.psi[-1], _DIRECTION, f"$\\psi^{rounds}$")


def _scaled(axes: Axes, step: _Step, scale: float) -> None:
    rounds = len(step.lambdas)
    axes.set_title("6. Scaled to stay in $\\mathcal{C}$, then by the step size")
    _vertices(axes, step, range(rounds))
    total = " + ".join(f"\\lambda_{number}" for number in range(rounds)) if rounds <= 3 else "\\Lambda"
    name = f"$\\tilde{{d}}^t = \\psi^{rounds} / ({total})$"
    _arrow(axes, step.x, step.direction, _DIRECTION, name, lw=1.4)
    axes.plot(*step.next, marker="o", color=_DIRECTION, markersize=7, linestyle="none", zorder=9,
              label="$x^{t+1} = x^t + \\gamma_t d^t$")  # fmt: skip
