"""assert() and fail(): what ends the run, and what is no program."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant, literal_text, test
from sonde.frontends.bpftrace.check.formats import conversions
from sonde.frontends.bpftrace.check.predicates import ABOUT_TYPES, known_truth
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import INT32
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.program import Statement
from sonde.model.types import INT


def assertion(call: nodes.Call, scope: BtScope) -> Statement:
    """assert(condition, message): unless it is true the message and, with status 1, the end."""
    if len(call.arguments) != 2 or isinstance(call.arguments[0], nodes.TypeName):
        raise scope.mistake(f"assert() requires 2 arguments ({len(call.arguments)} provided)", call.at)
    at = scope.at(call.at)
    condition = test(call.arguments[0], scope, None)
    message = literal_text(call.arguments[1], scope, "assert()", call.at).decode(errors="surrogateescape")
    text = f"{_ASSERTED}: ERROR: assert failed: {message}"
    told = tree.FormattedCommand(at, "errorf", (Conversion(text),), ())
    ended = tree.Exit(at, constant(1, at, INT32))
    return tree.If(at, tree.Unary(INT, at, "!", condition), (told, ended, tree.Return(at)), ())


_ASSERTED = "stdlib/base.bt:6:5-37"
"""Where the language's own library has the message of its macro."""


def failure(call: nodes.Call, scope: BtScope) -> Statement:
    """fail(format, literals ...): a mistake wherever the checker comes to it."""
    if not call.arguments:
        raise scope.mistake("fail() requires at least one argument (0 provided)", call.at)
    text = literal_text(call.arguments[0], scope, "fail()", call.at)
    pieces = conversions(text, call.at, scope)
    values = []
    for each in call.arguments[1:]:
        e = None if isinstance(each, nodes.TypeName) else scope.expression(each, scope)
        if not isinstance(e, (tree.Const, tree.StringConst)):
            raise scope.mistake("fail() arguments need to be literals", call.at)
        values.append(e.value)
    if len(values) != sum(1 for each in pieces if each.letters):
        raise scope.mistake("fail(): as many arguments as the format shows are needed", call.at)
    raise scope.mistake(_formatted(pieces, values), call.at)


def _formatted(pieces: tuple[Conversion, ...], values: list[int | bytes]) -> str:
    remaining = iter(values)
    return "".join(each.text + (_shown(next(remaining), each) if each.letters else "") for each in pieces)


def _shown(value: int | bytes, conversion: Conversion) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return f"{value:x}" if conversion.letters[-1] in "xp" else str(value)


def taken_branch(node: nodes.If, condition: tree.Expr) -> tuple[nodes.Statement, ...] | None:
    """The branch of an `if` that is decided when compiling, by `comptime` or by functions about types, None for others.
    The other one is no part of the program."""
    truth = known_truth(condition) if _is_comptime(node.test) else None
    return None if truth is None else node.then if truth else node.otherwise


ACTIONS: dict[str, Action] = {"assert": assertion, "fail": failure}


def _is_comptime(test: nodes.Expr) -> bool:
    match test:
        case nodes.Comptime():
            return True
        case nodes.Call(name=name):
            return name in ABOUT_TYPES
        case nodes.Unary(op="!", operand=operand):
            return _is_comptime(operand)
        case nodes.Binary(op="&&" | "||", left=left, right=right):
            return _is_comptime(left) and _is_comptime(right)
    return False
