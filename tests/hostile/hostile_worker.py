"""The other side of `hostile_sandbox`: calls what it is told to, one line of JSON in, one line of JSON out.

Run as a script, never imported. It limits its own memory after the imports, so that the limit is for the calls.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import resource
import sys
import warnings
from typing import Any


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
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers.write(json.dumps({"kind": "ready"}) + "\n")
    for line in sys.stdin:
        target, arguments = json.loads(line)
        answers.write(json.dumps(outcome_of(target, arguments)) + "\n")


if __name__ == "__main__":
    main()
