"""Syntax trees as D text, and trees without positions, for the parser's tests."""

from __future__ import annotations

from typing import Any

from sonde.frontends.d import syntax
from sonde.frontends.d.expressions import PRECEDENCE
from sonde.model.errors import Position

COMMA, ASSIGNMENT, CONDITIONAL, UNARY, POSTFIX = -2, -1, 0, 12, 13


def bare(node: Any) -> Any:
    """The tree as nested tuples that begin with the node's class name, positions left out."""
    if isinstance(node, Position):
        return None
    if isinstance(node, tuple):
        content = tuple(bare(child) for child in node if not isinstance(child, Position))
        return (type(node).__name__, *content) if hasattr(node, "_fields") else content
    return node


def text_of(node: syntax.Expr, least: int = COMMA) -> str:
    """The expression with no more parentheses than it needs where operators bind at least as tightly as `least`."""
    text, binding = _text_and_binding(node)
    return f"({text})" if binding < least else text


def _text_and_binding(node: syntax.Expr) -> tuple[str, int]:
    match node:
        case syntax.Comma():
            return f"{text_of(node.left)}, {text_of(node.right, ASSIGNMENT)}", COMMA
        case syntax.Assign():
            return f"{text_of(node.target, UNARY)} {node.op} {text_of(node.value, ASSIGNMENT)}", ASSIGNMENT
        case syntax.Conditional():
            test, otherwise = text_of(node.test, 1), text_of(node.otherwise, CONDITIONAL)
            return f"{test} ? {text_of(node.then)} : {otherwise}", CONDITIONAL
        case syntax.Binary():
            level = PRECEDENCE[node.op]
            return f"{text_of(node.left, level)} {node.op} {text_of(node.right, level + 1)}", level
    text = _unary_text(node)
    return (text, UNARY) if text else (_postfix_text(node), POSTFIX)


def _unary_text(node: syntax.Expr) -> str:
    match node:
        case syntax.Unary():
            return f"{node.op} {text_of(node.operand, UNARY)}"
        case syntax.Increment(is_prefix=True):
            return f"{node.op} {text_of(node.target, UNARY)}"
        case syntax.Cast():
            return f"({type_text(node.type)}) {text_of(node.operand, UNARY)}"
        case syntax.SizeofExpr():
            # In `sizeof (int) 0` the parentheses would hold the operand.
            return f"sizeof {text_of(node.operand, POSTFIX if isinstance(node.operand, syntax.Cast) else UNARY)}"
        case syntax.SizeofType():
            return f"sizeof ({type_text(node.type)})"
        case syntax.Stringof():
            return f"stringof {text_of(node.operand, UNARY)}"
    return ""


def _postfix_text(node: syntax.Expr) -> str:
    match node:
        case syntax.Integer():
            return str(node.value)
        case syntax.StringLiteral():
            return '"' + "".join(f"\\{byte:03o}" for byte in node.value) + '"'
        case syntax.Identifier():
            return node.name if node.module is None else f"{node.module}`{node.name}"
        case syntax.ScopedVariable():
            return f"{node.scope}->{node.name}"
        case syntax.Aggregation():
            return f"@{node.name}" if node.keys is None else f"@{node.name}[{_listed(node.keys)}]"
        case syntax.Increment():
            return f"{text_of(node.target, POSTFIX)} {node.op}"
        case syntax.Member():
            return f"{text_of(node.object, POSTFIX)}{'->' if node.arrow else ' .'}{node.name}"
        case syntax.Index():
            # The bracket after `@a` would be its keys.
            needs = POSTFIX + 1 if isinstance(node.object, syntax.Aggregation) and node.object.keys is None else POSTFIX
            return f"{text_of(node.object, needs)}[{_listed(node.subscripts)}]"
        case syntax.Call():
            return f"{text_of(node.function, POSTFIX)}({_listed(node.arguments)})"
        case syntax.Offsetof():
            return f"offsetof({type_text(node.type)}, {node.member})"
        case syntax.Xlate():
            return f"xlate <{type_text(node.type)}> ({text_of(node.operand)})"
    raise TypeError(node)


def _listed(nodes: tuple[syntax.Expr, ...]) -> str:
    return ", ".join(text_of(node, ASSIGNMENT) for node in nodes)


def type_text(node: syntax.TypeName) -> str:
    """Types of words and pointers only."""
    words = [word.text if isinstance(word, syntax.TypeWord) else _named(word) for word in node.specifiers.types]
    return " ".join([*words, *("*" for _ in node.declarator.parts)])


def _named(specifier: syntax.Specifier) -> str:
    if isinstance(specifier, syntax.StructSpecifier):
        return f"{specifier.keyword} {specifier.tag}"
    assert isinstance(specifier, syntax.TypedefName)
    return specifier.name
