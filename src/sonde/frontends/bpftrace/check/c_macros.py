"""Macros of C in expressions: what they stand for, read as an expression of the language."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.expressions import expression
from sonde.frontends.bpftrace.syntax.program import stream_of
from sonde.typed import Any


def c_macro(node: nodes.Name, text: str, scope: BtScope) -> nodes.Expr:
    """The expression that a name stands for, which is a macro of this text. Raises BtError."""
    stream = stream_of(text, scope.arguments)
    stream.types = frozenset(scope.types.named)
    try:
        found = expression(stream)
        if stream.peek().kind:
            stream.missing("the end of the macro")
    except BtError as error:
        raise scope.mistake(f"the macro {node.name} is no expression: {text}: {error.text}", node.at) from None
    placed: nodes.Expr = _placed(found, node.at)
    return placed


def _placed(node: Any, at: SourceSpan) -> Any:
    """The same at another place."""
    if isinstance(node, SourceSpan):
        return at
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        return tuple(_placed(each, at) for each in node)
    if not hasattr(node, "_fields"):
        return node
    return type(node)(**{name: _placed(getattr(node, name), at) for name in node._fields})
