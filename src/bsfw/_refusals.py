"""Calls that cannot work are refused in a sentence: a wrong kind of argument is named, whatever it broke deep inside.

What a function takes stands in its signature. Checking that at each call would cost time in every iteration, so it is
looked at when a call has failed: what does not fit its annotation is to blame, and a TypeError says so. The error that
it led to stays attached as the cause. Errors of the user's own functions pass unchanged.

Sparse matrices in the place of arrays and numbers are looked for beforehand: SciPy's compiled code trusts their
indices, and would crash rather than fail.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Sequence
from types import FunctionType, TracebackType
from typing import Any, TypeVar

import numpy as np

from ._arrays import is_foreign, shown

F = TypeVar("F", bound=Callable[..., Any])

_SLIPS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, NotImplementedError, RecursionError,
    SystemError, TypeError, ValueError, np.ma.MAError,
)  # fmt: skip
"""What a wrong kind of argument leads to."""
_LIBRARIES = frozenset(("bsfw", "numpy", "scipy", "numba", "array_api_compat", "jax", "jaxlib", "torch", "sklearn"))
"""Whose code may stand between the call and the error; with other code in between, the error is the user's."""
_DENSE = re.compile(r"\b(Array|NDArray|int|float|complex)\b")
"""In the annotation of a parameter with which one reckons."""
_NUMBERS: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool, np.bool_), "b"),
    "int": ((int, np.integer), "iu"),
    "float": ((int, float, np.integer, np.floating), "iuf"),
    "complex": ((int, float, complex, np.number), "iufc"),
}


class Refusing:
    """A class whose public methods, and those of its subclasses, are `refusing`."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name not in ("__init__", "__post_init__"):
                continue
            if isinstance(member, FunctionType):
                setattr(cls, name, refusing(member))
            elif isinstance(member, (classmethod, staticmethod)) and isinstance(member.__func__, FunctionType):
                setattr(cls, name, type(member)(refusing(member.__func__)))


def refusing(function: F) -> F:
    """`function`, which answers to arguments of a wrong kind by a TypeError or ValueError that names them."""
    if hasattr(function, "_refuses"):  # a dataclass with slots is made twice
        return function

    names = inspect.unwrap(function)
    kinds = {name: str(kind) for name, kind in names.__annotations__.items() if name != "return"}
    dense = {name for name, kind in kinds.items() if _DENSE.search(kind) and "sp." not in kind}
    places = [place for place, name in enumerate(names.__code__.co_varnames[: names.__code__.co_argcount])
              if name in dense]  # fmt: skip

    @functools.wraps(function)
    def refuses(*arguments: Any, **options: Any) -> Any:
        count = len(arguments)
        for place in places:
            if place < count and type(arguments[place]) is not np.ndarray and hasattr(arguments[place], "tocsr"):
                raise _no_sparse(function, names.__code__.co_varnames[place], arguments[place])
        for name in options:
            if name in dense and hasattr(options[name], "tocsr"):
                raise _no_sparse(function, name, options[name])
        try:
            return function(*arguments, **options)
        except _SLIPS as error:
            refusal = _refusal(function, arguments, options, error)
            if refusal is None:
                raise
            raise refusal from error

    refuses._refuses = True  # type: ignore[attr-defined]
    return typing.cast(F, refuses)


def _no_sparse(function: Callable[..., Any], name: str, value: Any) -> TypeError:
    return TypeError(f"{function.__qualname__} takes {name} as a dense array or a number, got {shown(value)}.")


def _refusal(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any], error: Exception
) -> Exception | None:
    """The error to raise instead, or None where `error` says it already, in a sentence, or is not ours to judge."""
    if str(error).rstrip("' ").endswith(".") or not _ours(error.__traceback__):
        return None
    try:
        given = inspect.signature(function).bind(*arguments, **options).arguments
    except TypeError:  # one too many, or too few: Python's own sentence is clear
        return None
    inner = inspect.unwrap(function)
    kinds = inner.__annotations__
    for name, value in given.items():
        if name in kinds and not _fits(value, str(kinds[name]), inner.__globals__):
            return TypeError(f"{function.__qualname__} takes {name} as {kinds[name]}, got {_described(value)}.")
    if isinstance(error, (TypeError, ValueError, MemoryError)):
        return None
    listed = ", ".join(f"{name} = {_described(value)}" for name, value in given.items() if name not in ("self", "cls"))
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return ValueError(f"{function.__qualname__} cannot work with {listed or 'what it is'} ({reason}).")


def _ours(trace: TracebackType | None) -> bool:
    """Whether only known libraries stand between here and the error."""
    while trace is not None:
        library = str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0]
        if library not in _LIBRARIES and library not in sys.stdlib_module_names:
            return False
        trace = trace.tb_next
    return True


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return shown(value)


def _fits(value: Any, annotation: str, names: dict[str, Any]) -> bool:
    """Whether a value is of one of the kinds in an annotation; kinds that are unknown here admit everything."""
    return any(_is_a(value, kind.strip(), names) for kind in _alternatives(annotation))


def _alternatives(annotation: str) -> list[str]:
    """ "Array | dict[str, int | float]" in two: parted at the bars outside of brackets."""
    found, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def _is_a(value: Any, kind: str, names: dict[str, Any]) -> bool:
    head = kind.partition("[")[0]
    if head in _NUMBERS:
        return _is_number(value, head)
    if head in ("Array", "npt.NDArray"):
        numeric = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc"
        return (numeric and not np.ma.isMaskedArray(value)) or is_foreign(value)
    if head == "npt.DTypeLike":
        return _is_dtype(value)
    if head == "None":
        return value is None
    if head == "Sequence":
        return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if head == "tuple" and kind.startswith("tuple[int"):
        return isinstance(value, tuple) and all(_is_number(size, "int") for size in value)
    known: Any = names.get("__builtins__", {})
    for part in head.split("."):
        known = names.get(part, known.get(part)) if isinstance(known, dict) else getattr(known, part, None)
    known = typing.get_origin(known) or known
    if known is Any:  # a class since Python 3.11
        return True
    if known is None:  # imported for type checkers only
        known = _class_named(head)
    return known is None or not isinstance(known, type) or isinstance(value, known)


def _class_named(name: str) -> type | None:
    """The class of ours of that name, if it is loaded; None for what is no class, such as a union."""
    found = (vars(module).get(name) for key, module in list(sys.modules.items()) if key.startswith("bsfw."))
    return next((known for known in found if isinstance(known, type)), None)


def _is_number(value: Any, kind: str) -> bool:
    """Whether a value is a number of that kind in 64 bits, or an array of no dimension that holds one."""
    types, letters = _NUMBERS[kind]
    if isinstance(value, int):
        return isinstance(value, types) and (kind == "bool" or -(2**63) <= value < 2**64)
    held = (isinstance(value, np.ndarray) or is_foreign(value)) and value.shape == ()
    return isinstance(value, types) or (held and np.dtype(str(value.dtype).removeprefix("torch.")).kind in letters)


def _is_dtype(value: Any) -> bool:
    try:
        np.dtype(value)
    except (TypeError, ValueError, SyntaxError, OverflowError):
        return False
    return True
