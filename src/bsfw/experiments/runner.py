"""Running the tasks of experiments: in parallel, one record each, and never twice what is there already.

Whoever runs a task holds a lock of the operating system on it, which is freed even if the process is killed, and
writes its record whole or not at all. So a sweep may be interrupted, killed, continued, or run by several processes on
one folder: what is lost is at most the runs in flight.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from .. import __version__
from . import limits, workers
from .model import Environment, Experiment, Record
from .progress import SweepProgress
from .records import find_record, find_records, runs_folder, write_manifest, write_record
from .schema import checked
from .tasks import AnyData, AnyTask


@dataclass(frozen=True)
class Outcome:
    """What became of a sweep.

    Attributes
    ----------
    done : int
        Runs that this sweep made and that ended well.
    found : int
        Runs whose record was there already, or was written by another process meanwhile.
    failures : dict
        For every run that failed, its task and its error, by key.
    """

    done: int
    found: int
    failures: dict[str, tuple[AnyTask, str]]


@dataclass(frozen=True)
class _Ended:
    """How one task ended: "done", "found" or "busy" (another process is at it); with the error of its record."""

    task: AnyTask
    how: str
    error: str | None = None


def run(experiments: Iterable[Experiment], folder: str | os.PathLike[str], *, jobs: int | None = None) -> Outcome:
    """Run every task of these experiments that has no record in the folder yet, or one that says that it failed.

    Parameters
    ----------
    experiments : iterable of Experiment
        Tasks that they share are run once.
    folder : path
        The results folder; made if need be.
    jobs : int, optional
        Runs at a time. Default: what the active joblib backend says; with ``joblib.parallel_config(backend="dask")``
        around this call the runs go to a Dask cluster (which must see the folder under the same path).

    Returns
    -------
    Outcome
    """
    import joblib

    folder = Path(folder).resolve()
    runs_folder(folder).mkdir(parents=True, exist_ok=True)
    experiments = list(experiments)
    for experiment in experiments:
        write_manifest(folder, experiment)
    tasks = {task.key: task for experiment in experiments for task in experiment.tasks}
    errors = {key: record.error for key, record in find_records(folder, tasks.values()).items()}
    todo = [task for key, task in tasks.items() if errors.get(key, "missing") is not None]
    done, found, failures = 0, len(tasks) - len(todo), {}
    with SweepProgress(len(todo)) as progress:
        for task_list, width in (
            ([task for task in todo if not task.timed], joblib.effective_n_jobs(jobs)),
            ([task for task in todo if task.timed], 1),
        ):
            for ended in _execute_all(task_list, folder, width):
                done += ended.how == "done" and ended.error is None
                found += ended.how == "found" and ended.error is None
                if ended.error is not None:
                    failures[ended.task.key] = (ended.task, ended.error)
                progress.advance(ended.error is not None)
    return Outcome(done, found, failures)


def _execute_all(tasks: Sequence[AnyTask], folder: Path, jobs: int) -> Iterator[_Ended]:
    """All of these tasks in the order in which they end; at last those that another process had begun."""
    busy = []
    for ended in _parallel(tasks, folder, jobs, wait=False):
        if ended.how == "busy":
            busy.append(ended.task)
        else:
            yield ended
    yield from _parallel(busy, folder, jobs, wait=True)


def _parallel(tasks: Sequence[AnyTask], folder: Path, jobs: int, wait: bool) -> Iterator[_Ended]:
    """These tasks in the order in which they end, also those that take their process with them."""
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    while tasks:
        with workers.configured(jobs):
            # Batches of one: a run is long, and its end is to be seen at once.
            parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        left = {task.key: task for task in tasks}
        try:
            with workers.deaf_to_ctrl_c():
                endings = parallel(joblib.delayed(execute)(task, folder, jobs, wait) for task in tasks)
            for ended in endings:
                del left[ended.task.key]
                yield ended
            return
        except TerminatedWorkerError:
            pass
        # A process was killed, and joblib has ended the others. The runs in flight have left their locks behind: one of
        # them is to blame, perhaps for the memory it took. Each is given a second chance, alone.
        if len(tasks) == 1:
            error = "ChildProcessError: its process was killed, perhaps for want of memory."
            write_record(folder, Record(task=tasks[0], error=error, environment=_environment(jobs), seconds=0.0))
            yield _Ended(tasks[0], "done", error)
            return
        suspects = [task for task in left.values() if _lock_path(folder, task).exists()] or [*left.values()][:1]
        for task in suspects:
            yield from _parallel([task], folder, jobs, wait)
        tasks = [task for task in left.values() if task not in suspects]


def _lock_path(folder: Path, task: AnyTask) -> Path:
    return runs_folder(folder) / f".{task.key}.lock"


def execute(task: AnyTask, folder: Path, jobs: int, wait: bool) -> _Ended:
    """Run one task and write its record, unless it is there or another process is at it; `wait` for that one then."""
    from filelock import FileLock, Timeout

    lock = FileLock(_lock_path(folder, task), timeout=-1 if wait else 0)
    try:
        with lock:
            record = find_record(folder, task)
            # Who has waited takes what the other left behind, failed or not, instead of failing once more.
            how = "found" if record is not None and (record.error is None or wait) else "done"
            if record is None or how == "done":
                record = _record(task, jobs)
                write_record(folder, record)
            # Only now: whoever locks the removed file looks for the record first, and finds it.
            Path(lock.lock_file).unlink(missing_ok=True)
            return _Ended(task, how, record.error)
    except Timeout:
        return _Ended(task, "busy")


def _record(task: AnyTask, jobs: int) -> Record:
    started, data, error = time.perf_counter(), None, None
    try:
        data = _valid(task.run())
    except Exception as caught:
        # Whatever went wrong in one run is no reason to lose the others: it is kept, and counted in the end.
        error = " ".join(f"{type(caught).__name__}: {caught}".split())[: limits.TEXT]
    seconds = time.perf_counter() - started
    return Record(task=task, data=data, error=error, environment=_environment(jobs), seconds=seconds)


def _valid(data: AnyData) -> AnyData:
    """The data as a reader will accept them: what a run leaves behind and nobody can read would be run for ever."""
    return checked(msgspec.to_builtins(data), type(data), "the data of the run")


def _environment(jobs: int) -> Environment:
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return msgspec.structs.replace(machine(), jobs=jobs, ended=ended)


@lru_cache(maxsize=1)
def machine() -> Environment:
    """The machine and the versions that a record is made with."""
    from importlib.metadata import version

    return Environment(
        platform=platform.platform(),
        processor=_processor(),
        cpus=os.cpu_count(),
        python=platform.python_version(),
        numpy=version("numpy"),
        scipy=version("scipy"),
        numba=version("numba"),
        bsfw=__version__,
    )


def _processor() -> str:
    """The name of the processor: Linux has it in /proc, other systems tell Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
