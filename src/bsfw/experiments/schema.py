"""What is read is checked by msgspec before it is used: specifications, and the files of a results folder.

A table of a specification becomes a `Checked` structure, whose fields say what is accepted, in types for msgspec and in
words for people. What does not fit is refused in one sentence that names the table, the key and what is accepted.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from . import limits


class Checked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A structure without surprises: fixed fields, and values that do not change."""


Count = Annotated[int, Meta(ge=1, le=limits.ITERATIONS, description="a whole number of at least 1")]
Seed = Annotated[int, Meta(ge=0, le=2**32, description="a whole number of at least 0")]
Positive = Annotated[float, Meta(gt=0, le=1e100, description="a positive finite number")]
Number = Annotated[float, Meta(ge=-1e100, le=1e100, description="a finite number")]
Point = Annotated[tuple[Number, Number], Meta(description="two numbers such as [0.5, 1.0]")]
Text = Annotated[
    str,
    Meta(
        max_length=limits.TEXT,
        pattern=r"\A[^\x00-\x1f\x7f-\x9f]*\Z",  # what a terminal would obey
        description=f"text of one line and at most {limits.TEXT:,} characters",
    ),
]
Slug = Annotated[
    str,
    Meta(max_length=120, pattern=r"\A[A-Za-z0-9]+(-[A-Za-z0-9]+)*\Z", description="letters, digits and single hyphens"),
]
"""A name that is safe as that of a file."""

Kind = TypeVar("Kind")


def checked(table: Any, kind: type[Kind], where: str) -> Kind:
    """The table as a structure of this kind; a ValueError with one sentence about the table `where` if it is none."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_sentence(str(error), table, kind, where)) from None


def read_json(path: str | os.PathLike[str], kind: type[Kind]) -> Kind:
    """The content of a JSON file; a ValueError with the reason if it is not of this kind."""
    path = Path(path)
    if not path.is_file():
        raise ValueError("it is not a file.")
    if (size := path.stat().st_size) > limits.RECORD_BYTES:
        raise ValueError(f"it has {size:,} bytes; at most {limits.RECORD_BYTES:,} are read.")
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        raise ValueError(f"{str(error).rstrip('.')}.") from None


def known(keys: Iterable[str], accepted: Iterable[str], where: str) -> None:
    """Raise a ValueError that names the first key that is not accepted."""
    accepted = list(accepted)
    for key in keys:
        if key not in accepted:
            raise ValueError(f"unknown key {_shown(key)} in {where}; known are {', '.join(accepted)}.")


def _sentence(message: str, table: Any, kind: Any, where: str) -> str:
    """What msgspec says, in the words of the specification."""
    reason, _, place = message.partition(" - at `$")
    names = re.findall(r"\.(\w+)", place)
    owner, field = _struct(inspect.type_info(kind), names)
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", reason, re.DOTALL):
        accepted = [] if owner is None else [other.encode_name for other in owner.fields]
        return f"unknown key {_shown(found[1])} in {where}; known are {', '.join(accepted)}."
    if found := re.fullmatch(r"Object missing required field `(.*)`", reason):
        needed = [] if owner is None else [other.encode_name for other in owner.fields if other.required]
        return f"{where} has no {found[1]}; it needs {', '.join(needed)}."
    if field is None:
        # A check of ours, which is a sentence already; or the table itself is none.
        if isinstance(table, Mapping):
            return reason
        return f"{where} must be a table of keys and values, got {_shown(table)}."
    if reason.startswith("Invalid enum value"):
        value = _value(table, re.findall(r"\.(\w+)|\[(\d+)\]", place))
        return f"unknown {names[-1]} {_shown(value)} in {where}; known are {', '.join(_choices(field.type))}."
    if not reason.startswith(("Expected", "Number out of range", "Integer")):
        return reason
    value = _value(table, [(name, "") for name in names])
    return f"{names[-1]} in {where} must be {_in_words(field.type)}, got {_shown(value)}."


def _struct(info: inspect.Type, names: list[str]) -> tuple[inspect.StructType | None, inspect.Field | None]:
    """The structure that the last of these names is a field of, and that field; if the field is a structure itself (or
    there are no names), that one."""
    owner, field = (info if isinstance(info, inspect.StructType) else None), None
    for name in names:
        field = None if owner is None else next((f for f in owner.fields if f.encode_name == name), None)
        if field is None:
            break
        inner = _plain(field.type)
        owner = inner if isinstance(inner, inspect.StructType) else owner
    return owner, field


def _plain(info: inspect.Type) -> inspect.Type:
    while isinstance(info, inspect.Metadata):
        info = info.type
    return info


def _value(table: Any, path: Iterable[tuple[str, str]]) -> Any:
    for name, number in path:
        table = table[name] if name else table[int(number)]
    return table


def _choices(info: inspect.Type) -> list[str]:
    """The values that a field accepts, itself or in a list."""
    info = _plain(info)
    if isinstance(info, inspect.LiteralType):
        return [str(value) for value in info.values]
    if isinstance(info, inspect.UnionType):
        return _choices(info.types[0])
    if isinstance(info, (inspect.ListType, inspect.VarTupleType)):
        return _choices(info.item_type)
    return []


def _in_words(info: inspect.Type) -> str:
    """What a field accepts."""
    if isinstance(info, inspect.Metadata) and (info.extra_json_schema or {}).get("description"):
        return str((info.extra_json_schema or {})["description"])
    info = _plain(info)
    if choices := _choices(info):
        return f"one of {', '.join(choices)}"
    if isinstance(info, (inspect.ListType, inspect.VarTupleType)):
        return f"a list, each of it {_in_words(info.item_type)}"
    words = {inspect.BoolType: "true or false", inspect.StrType: "text in quotes", inspect.DictType: "a table"}
    if isinstance(info, inspect.UnionType):
        return _in_words(info.types[0])
    return words.get(type(info), "of another type")


def _shown(value: Any) -> str:
    """A value of any size in a few words."""
    short = reprlib.Repr()
    short.maxlevel, short.maxstring, short.maxlong, short.maxother = 2, 60, 30, 60
    return short.repr(value)
