"""Probe descriptions: `provider:module:function:name`, each field empty (anything), a plain name or a glob.

Globs are those of gmatch(3GEN): `*`, `?`, `[set]`, `[!set]` with ranges, and `\\x` for a literal x.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.typed import NamedTuple

FIELDS = ("provider", "module", "function", "name")
_SPECIAL = frozenset("*?[\\")


class Pattern(NamedTuple):
    """The four fields of a probe description; "" matches anything."""

    provider: str = ""
    module: str = ""
    function: str = ""
    name: str = ""

    def __str__(self) -> str:
        return ":".join(self)


def plain(field: str) -> str | None:
    """The one name the field matches, None where it is empty or a glob."""
    return None if not field or not _SPECIAL.isdisjoint(field) else field


def matcher(field: str) -> Callable[[str], bool]:
    """A test whether a name matches the field; names are compiled to a regular expression only if it is a glob."""
    if not field:
        return _anything
    if _SPECIAL.isdisjoint(field):
        return field.__eq__
    expression = re.compile(_translate(field), re.DOTALL).fullmatch
    return lambda name: expression(name) is not None


def matches(field: str, name: str) -> bool:
    """Whether `name` matches the field."""
    return matcher(field)(name)


def _anything(name: str) -> bool:
    return True


def _translate(glob: str) -> str:
    """The regular expression of a glob; an unclosed set or a lone `\\` at the end matches nothing, as in gmatch."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[":
            expression, at = _set(glob, at)
            out.append(expression)
        elif char == "\\":
            out.append(re.escape(glob[at]) if at < len(glob) else "(?!)")
            at += 1
        else:
            out.append(re.escape(char))
    return "".join(out)


def _set(glob: str, at: int) -> tuple[str, int]:
    """The regular expression of the set whose `[` stands before `at`, and where the glob goes on."""
    negated = glob.startswith("!", at)
    at += negated
    members: list[str] = []
    while at < len(glob) and (glob[at] != "]" or not members):
        at += glob[at] == "\\"
        if at >= len(glob):
            break
        low = glob[at]
        at += 1
        if glob.startswith("-", at) and at + 1 < len(glob) and glob[at + 1] != "]":
            high = glob[at + 1]
            at += 2
            if low <= high:
                members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    if at >= len(glob):
        return "(?!)", at
    return f"[{'^' if negated else ''}{''.join(members)}]", at + 1


def is_word(text: str) -> bool:
    """Whether it is letters, digits and underscores, as an event's name is, which may begin with a digit
    (9p_client_req)."""
    return text.isascii() and text.replace("_", "a").isalnum()
