"""Names cut to the room there is for them: what says least goes first. page/flame.js does the same in a browser."""

from __future__ import annotations

from collections.abc import Iterator

LEAST = 3
"""Fewer characters say nothing."""


def fitted(name: str, room: int) -> str:
    """The name in at most `room` characters, "" if not even its beginning fits."""
    if room < LEAST:
        return ""
    for shorter in _shorter(name):
        if len(shorter) <= room:
            return shorter
    return shorter[: room - 1] + "…"


def _shorter(name: str) -> Iterator[str]:
    """The name; without parameters; without what templates are of, too; at last without what it is in."""
    yield name
    bare = without(name, "(", ")")
    yield bare
    plain = without(bare, "<", ">")
    yield plain
    scope, colons, last = plain.rpartition("::")
    yield last if colons and scope and last else plain


def without(name: str, opening: str, closing: str) -> str:
    """Pairs of brackets, with what is in them, as `…` between them; () at the end go whole. Operators keep theirs."""
    parts = []
    depth = 0
    position = 0
    while position < len(name):
        operator = _operator(name, position) if not depth else ""
        if operator:
            parts.append(operator)
            position += len(operator)
            continue
        character = name[position]
        position += 1
        if character == opening:
            depth += 1
            if depth == 1:
                parts.append(opening + "…" + closing)
        elif character == closing and depth:
            depth -= 1
        elif not depth:
            parts.append(character)
    # What is not closed was no bracket.
    return "".join(parts).removesuffix("(…)") or name if not depth else name


_OPERATORS = ("operator<=>", "operator->*", "operator<<=", "operator>>=", "operator<<", "operator>>", "operator<=",
              "operator>=", "operator->", "operator()", "operator<", "operator>")  # fmt: skip


def _operator(name: str, position: int) -> str:
    """The operator's name that stands there."""
    if name[position] != "o":
        return ""
    return next((each for each in _OPERATORS if name.startswith(each, position)), "")
