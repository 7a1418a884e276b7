"""Probe descriptions: `provider:module:function:name` with its macros replaced and split into fields."""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.frontends.d.errors import DError
from sonde.model.errors import Position

FIELDS = ("provider", "module", "function", "name")

_FUNCTION = FIELDS.index("function")
_OF_PROCESSES = ("pid", "uprobe")
"""The providers whose functions may have names of C++ and Rust."""

_MACRO = re.compile(r"\$\$?([0-9]+|[a-zA-Z_]+)")


def split_description(
    text: str, kind: str, macro: Callable[[str], str | None], position: Position | None = None
) -> tuple[str, str, str, str]:
    """The four fields, "" where the description leaves one open.

    The last field written is the one that `kind` names, those before it go to the left. `macro` gives the value of a
    macro by its name or number.
    """
    given = text.split(":")
    # A colon at the very beginning only says that everything before it is open.
    if len(given) > 1 and not given[0]:
        del given[0]
    last = FIELDS.index(kind) + 1
    given = _with_scopes(given, last)
    if len(given) > last:
        hint = "a name with `::` is a function's, behind the object: pid1234:a.out:scope::name:entry"
        raise _invalid(text, "Overspecified probe description", position, hint if "::" in text else "")
    fields = [""] * (last - len(given)) + [_expand(field, text, macro, position) for field in given]
    fields += [""] * (4 - last)
    return fields[0], fields[1], fields[2], fields[3]


def _with_scopes(given: list[str], last: int) -> list[str]:
    """The fields, those of a function's name in the source put together: pid1234:a.out:scope::name:entry.

    A description with more fields than there are has no other meaning.
    """
    behind = last - _FUNCTION - 1
    if len(given) <= last or behind < 0 or not given[0].startswith(_OF_PROCESSES):
        return given
    end = len(given) - behind
    parts = given[_FUNCTION:end]
    scopes = parts[::2]
    # A name that begins with `::` is in no scope.
    if any(parts[1::2]) or not all(scopes[1:] if len(scopes) > 1 else scopes):
        return given
    return [*given[:_FUNCTION], "::".join(scopes), *given[end:]]


def _expand(field: str, text: str, macro: Callable[[str], str | None], position: Position | None) -> str:
    if "$" not in field:
        return field

    def value(match: re.Match[str]) -> str:
        found = macro(match[1])
        if found is None:
            raise _invalid(text, "Undefined macro variable in probe description", position)
        return found

    expanded = _MACRO.sub(value, field)
    if "$" in _MACRO.sub("", field):
        raise _invalid(text, "Undefined macro variable in probe description", position)
    return expanded


def _invalid(text: str, why: str, position: Position | None, hint: str = "") -> DError:
    return DError("D_PDESC_INVAL", f'invalid probe description "{text}": {why}', position, hint=hint)
