"""Calls in another process, with limits on time and memory: a segfault, a hang or 4 GB are seen, and by whose call.

One process serves many calls, for imports and compiled code take seconds to load. It is the fork of one that has done
the imports and nothing else; after a crash or a hang comes a new fork, and the call to blame is the one that was not
answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Outcome:
    """What became of a call.

    Attributes
    ----------
    kind : {"returned", "raised", "crash", "hang"}
    answer : Any
        What it returned, as JSON values.
    error, text, place : str
        Of what was raised: the name of the type, the message, and the line of bsfw. Of a crash: the signal, and the
        end of what was printed to stderr.
    bases : tuple of str
        Names of the type raised and of all its bases.
    """

    kind: str
    answer: Any = None
    error: str = ""
    text: str = ""
    place: str = ""
    bases: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether it is a ValueError or a TypeError, or says that a file is not what it should be, in a sentence."""
        known = {"ValueError", "TypeError", "ImportError", "OSError", "UsersOwnError"}
        if "LookupError" in self.bases:  # of a position or a name, as for lists and dictionaries, where we say so
            return self.text.rstrip("' ").endswith(".")
        return self.kind == "raised" and bool(known & set(self.bases)) and len(self.text.split()) >= 4

    @property
    def acceptable(self) -> bool:
        return self.kind == "returned" or self.refused


class Sandbox:
    """A process for calls ``sandbox.call("module:function", argument, ...)``, of functions that return JSON values.

    Parameters
    ----------
    seconds : float
        Without an answer for so long, a call hangs.
    megabytes : int
        That a call may take beyond what the imports took; then it meets a MemoryError.
    modules : tuple of str
        Imported before the first call.
    environment : dict, optional
        Further environment variables.
    """

    def __init__(
        self,
        seconds: float = 60.0,
        megabytes: int = 1500,
        modules: tuple[str, ...] = ("bsfw",),
        environment: dict[str, str] | None = None,
    ) -> None:
        self.seconds, self.megabytes, self.modules = seconds, megabytes, modules
        self.environment = environment or {}
        self.starts = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._fork: int | None = None
        self._unread = b""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._server is not None:
            self._kill_fork()
            self._server.kill()
            self._server.wait()
            for stream in (self._server.stdin, self._server.stdout):
                assert stream is not None
                with contextlib.suppress(BrokenPipeError):  # of a call that was not read any more
                    stream.close()
            self._errors.close()
            self._server = self._fork = None

    def call(self, target: str, *arguments: Any, unlimited: bool = False) -> Outcome:
        """Call the function `target`, "module:function", and say what became of it.

        `unlimited` memory is for code that reserves more than it uses.
        """
        if self._server is None:
            self._start()
        assert self._server is not None
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps([target, arguments, unlimited]).encode() + b"\n")
        self._server.stdin.flush()
        fields = self._answer(self.seconds)
        if fields is None:
            self.renew()
            return Outcome("hang", error="hang", text=f"no answer within {self.seconds:g} s")
        if fields["kind"] == "crash":
            code = int(fields["error"])
            name = signal.Signals(-code).name if code < 0 else f"exit {code}"
            return Outcome("crash", error=name, text=self._said())
        return Outcome(**{**fields, "bases": tuple(fields.get("bases", ()))})

    def renew(self) -> None:
        """Go on in a new fork."""
        if self._server is not None:
            self._kill_fork()
            self._answer(600.0)

    def _start(self) -> None:
        self._unread = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        paths = [str(HERE), *(path for path in sys.path if path)]
        self._server = subprocess.Popen(
            [sys.executable, str(HERE / "hostile_worker.py"), str(self.megabytes), *self.modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths), **self.environment},
        )
        try:
            ready = self._answer(600.0)
            said = self._said()
        except RuntimeError as error:
            ready, said = None, str(error)
        if ready is None:
            self.close()
            raise RuntimeError(f"the sandbox did not start: {said}")

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """The next answer, None if there is none for so long. What a new fork says of itself is noted on the way."""
        assert self._server is not None
        assert self._server.stdout is not None
        pipe = self._server.stdout.fileno()
        while True:
            while b"\n" not in self._unread:
                if not select.select([pipe], [], [], seconds)[0]:
                    return None
                read = os.read(pipe, 2**16)
                if not read:
                    raise RuntimeError(f"the sandbox has gone: {self._said()}")
                self._unread += read
            line, _, self._unread = self._unread.partition(b"\n")
            fields: dict[str, Any] = json.loads(line)
            if "process" in fields:
                self._fork = fields.pop("process")
                self.starts += fields["kind"] != "fresh"
            if fields["kind"] != "fresh":
                return fields

    def _kill_fork(self) -> None:
        if self._fork is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._fork, signal.SIGKILL)

    def _said(self) -> str:
        """The end of what was printed to stderr."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-2000:]
