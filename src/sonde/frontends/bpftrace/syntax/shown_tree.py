"""A syntax tree to be read: a line for each node, its parts indented below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.typed import Any

_INDENT = "  "


def shown(items: Iterable[Any]) -> str:
    """The items of a program, each with all that it is made of."""
    return "".join(f"{line}\n" for item in items for line in _lines(item, "", ""))


def _lines(value: Any, name: str, margin: str) -> Iterator[str]:
    """`name` is what the node above calls it."""
    title = f"{margin}{name}: " if name else margin
    if _is_node(value):
        pairs = zip(value._fields, value, strict=True)
        parts = [(field, each) for field, each in pairs if not isinstance(each, SourceSpan)]
        plain = [f"{field}={each!r}" for field, each in parts if not _has_nodes(each)]
        yield f"{title}{type(value).__name__}{_place(value)}{''.join(f' {each}' for each in plain)}"
        for field, each in parts:
            if _has_nodes(each):
                yield from _lines(each, field, margin + _INDENT)
    elif isinstance(value, tuple):
        for each in value:
            yield from _lines(each, name, margin)
    else:
        yield f"{title}{value!r}"


def _place(node: Any) -> str:
    """The line and column at which a node's text begins."""
    at = getattr(node, "at", None)
    return f" {at.line}:{at.column}" if isinstance(at, SourceSpan) else ""


def _is_node(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _has_nodes(value: object) -> bool:
    return _is_node(value) or (isinstance(value, tuple) and any(map(_has_nodes, value)))
