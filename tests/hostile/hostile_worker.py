"""The other side of `hostile_sandbox`: calls what it is told to, one line of JSON in, one line of JSON out.

Run as a script, never imported. The calls are made in a fork, so that after a crash the next fork has all imports
already. It limits its own memory, so that the limit is for the calls.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import resource
import sys
import warnings
from typing import Any, NoReturn, TextIO

RENEW = 5000
"""Calls before a fork gives way to a new one: what calls leave behind does not add up for ever."""
FINISHED, RENEWED = 100, 101
"""Exit codes of a fork that did what it should."""


def outcome_of(target: str, arguments: list[Any]) -> dict[str, Any]:
    module, _, name = target.partition(":")
    try:
        answer = getattr(importlib.import_module(module), name)(*arguments)
    except Exception as error:  # everything is an outcome, the judging is done elsewhere
        return {
            "kind": "raised",
            "error": type(error).__name__,
            "bases": [base.__name__ for base in type(error).__mro__],
            "text": str(error)[:2000],
            "place": _place(error),
        }
    return {"kind": "returned", "answer": answer}


def _place(error: BaseException) -> str:
    """Where in bsfw it was raised, the innermost frame: what to look at first."""
    found, trace = "", error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if f"{os.sep}bsfw{os.sep}" in path:
            found = f"bsfw/{path.rpartition(f'{os.sep}bsfw{os.sep}')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def main() -> None:
    megabytes, first = int(sys.argv[1]), sys.argv[2:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the calls print is no answer
    faulthandler.enable()
    warnings.simplefilter("ignore")
    for module in first:
        importlib.import_module(module)
    answer: dict[str, Any] = {"kind": "ready"}
    while True:
        process = os.fork()
        if not process:
            try:
                serve(answers, megabytes, answer)
            except BrokenPipeError:  # nobody asks any more
                os._exit(FINISHED)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code == FINISHED:
            return
        # Of a child that ended as planned the last answer is given already; of another the one that it owes is this.
        answer = {"kind": "fresh" if code == RENEWED else "crash", "error": str(code)}


def serve(answers: TextIO, megabytes: int, answer: dict[str, Any]) -> NoReturn:
    """In the fork: answer the calls, until there are no more or so many were made."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers.write(json.dumps({**answer, "process": os.getpid()}) + "\n")
    for _ in range(RENEW):
        line = read_line()
        if not line:
            os._exit(FINISHED)
        target, arguments, unlimited = json.loads(line)
        limit = resource.RLIM_INFINITY if unlimited else reserved() + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        answers.write(json.dumps(outcome_of(target, arguments)) + "\n")
    os._exit(RENEWED)


def reserved() -> int:
    """Bytes of address space by now: what calls without a limit leave behind is not for the next one to pay."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def read_line() -> bytes:
    """A line of stdin and not a byte more, for the rest is another process's."""
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(0, 2**16)
        if not read:
            return b""
        line += read
    return line


if __name__ == "__main__":
    main()
