"""scikit-learn's callbacks, in the versions that have them: a run tells them of its recorded iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        return method


from ..results import Result

__all__ = ["CallbackSupportMixin", "FitTask", "with_callbacks"]


class FitTask:
    """The task "fit" of an estimator: begun when made; iterations are its subtasks.

    Parameters
    ----------
    estimator : estimator
    X, y : array
        The training data.
    max_iter : int
        Most iterations.
    fitted : callable
        From an intermediate `Result` to the fitted attributes that it gives.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, max_iter: int, fitted: Callable[[Result], dict[str, Any]]):
        self._estimator, self._data, self._fitted = estimator, {"X": X, "y": y}, fitted
        self._context = estimator._init_callback_context(max_subtasks=max_iter + 1)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def iteration(self, result: Result) -> None:
        """A callback of `minimize`; StopIteration where a callback of scikit-learn wants an end."""
        task = self._context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        if self._end(task, result):
            raise StopIteration

    def end(self, result: Result) -> None:
        """The run is over."""
        self._end(self._context, result)

    def _end(self, context: Any, result: Result) -> bool:
        attributes = lambda: self._fitted(result)  # noqa: E731  # asked for where a callback wants a fitted estimator
        return bool(
            context.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes=attributes)
        )


def listens(estimator: Any) -> bool:
    """Whether somebody has set callbacks."""
    return bool(getattr(estimator, "_skl_callbacks", None))
