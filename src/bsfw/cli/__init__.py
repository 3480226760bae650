"""The command ``bsfw``: one module per subcommand, each with `add_parser` and `run`.

Exit codes: 0 a finished run, 1 a numerical failure, a failed run of a sweep or a damaged file in a report, 2 bad input
or a package that is not installed (one sentence on stderr, never a traceback), 3 a run that missed its --gap-tol, 130
Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bsfw import __version__
from bsfw._extras import missing
from bsfw.cli import blocks, datasets, demo, predict, report, reproduce, solve

_EPILOG = """\
examples:
  bsfw demo
  bsfw solve mushrooms --loss logistic --constraint l1 --radius 50 \\
      --estimator saga --out model.npz
  bsfw reproduce mushrooms --quick && bsfw report results
  bsfw datasets

'bsfw COMMAND --help' shows the options of a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process) and return its exit code."""
    try:
        asks_for_help = {"-h", "--help", "--version"} & set(sys.argv[1:] if argv is None else argv)
        if not asks_for_help and (lacking := missing()):
            print(f"bsfw: the command needs {', '.join(lacking)}: pip install 'bsfw[cli]'", file=sys.stderr)
            return 2
        args = _parser().parse_args(argv)
        code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has gone: nobody is left to tell, and Python must not try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"\nbsfw: {interrupt or 'interrupted.'}", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OSError, MemoryError) as error:
        print(f"bsfw: {_sentence(error)}", file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bsfw",
        description="Projection-free optimisation by boosted stochastic Frank-Wolfe.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"bsfw {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in (demo, solve, predict, blocks, reproduce, report, datasets):
        module.add_parser(subparsers)
    return parser


def _sentence(error: Exception) -> str:
    """What went wrong, on one line."""
    if isinstance(error, OSError) and error.errno is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}."
    return " ".join(str(error).split()) or f"{type(error).__name__}."
