"""Operators: the types they take, and what they come to."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check import address_spaces, arrays, folded_texts, implicit_casts, type_information
from sonde.frontends.bpftrace.check.aggregating import shown_function
from sonde.frontends.bpftrace.check.blocks import Branch, either, unhurried
from sonde.frontends.bpftrace.check.called_types import called
from sonde.frontends.bpftrace.check.conversions import (
    bare,
    constant,
    converted,
    is_pointer,
    memory_of,
    of_space,
    string,
    wide,
    wrapped,
)
from sonde.frontends.bpftrace.check.predicates import known_truth
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import (
    INT64,
    UINT64,
    base_name,
    is_bool,
    is_condition,
    is_flexible,
    is_integer,
    is_literal,
    is_shown_number,
    is_text,
    merged,
    spelled,
)
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr
from sonde.model.types import BOOL, INT, STRING, VOID, Array, Pointer, Type, is_signed, resolve, size_of

_COMPARING = ("==", "!=", "<", ">", "<=", ">=")
_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__, "^": int.__xor__,
    "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63),
}  # fmt: skip


def binary(node: nodes.Binary, scope: BtScope) -> Expr:
    if node.op in ("&&", "||"):
        left = scope.expression(node.left, scope)
        before, right = unhurried(node.right, scope)
        for operand, side in ((left, node.left), (right, node.right)):
            if not is_condition(operand.type):
                raise scope.mistake(
                    f"The {node.op} operator can not be used on expressions of type '{called(operand, scope)}'", side.at
                )
        if before:
            return _decided(node, left, (before, right), scope)
        made = tree.Binary(INT, scope.at(node.at), node.op, bare(left), bare(right))
        return tree.Cast(BOOL, made.position, made)
    if node.op in _EQUALITY and _are_type_information(node.left, node.right):
        return type_information.are_alike(node, scope)
    functions = shown_function(node.left, scope), shown_function(node.right, scope)
    if any(functions):
        sides = (
            f"{function}_t" if function else called(scope.expression(side, scope), scope)
            for function, side in zip(functions, (node.left, node.right), strict=True)
        )
        raise scope.mistake(f"Type mismatch for '{node.op}': comparing {' with '.join(sides)}", node.at)
    left, right = scope.expression(node.left, scope), scope.expression(node.right, scope)
    if isinstance(left, tree.StringConst) or isinstance(right, tree.StringConst):
        known = folded_texts.folded(node, left, right, scope)
        if known is not None:
            return known
    if node.op in _COMPARING:
        return _comparison(node, left, right, scope)
    return arithmetic(node.op, left, right, node, scope)


_EQUALITY = ("==", "!=")


def _are_type_information(*sides: nodes.Expr) -> bool:
    return all(isinstance(each, nodes.Call) and each.name == "typeinfo" for each in sides)


def _decided(node: nodes.Binary, left: Expr, right: Branch, scope: BtScope) -> Expr:
    """`&&` or `||` whose right side is a block: its statements are not always run."""
    ends = tree.Const(BOOL, scope.at(node.at), int(node.op == "||"))
    known: Branch = ([], ends)
    asked: Branch = (right[0], converted(right[1], BOOL))
    first, second = (known, asked) if node.op == "||" else (asked, known)
    return either(left, first, second, node.at, scope)


def _comparison(node: nodes.Binary, left: Expr, right: Expr, scope: BtScope) -> Expr:
    at = scope.at(node.at)
    if is_text(left.type) and is_text(right.type) and node.op in ("==", "!="):
        made: Expr = tree.Binary(INT, at, node.op, string(left), string(right))
    elif _can_be_compared(left, right):
        _warn_of_comparison(node, left, right, scope)
        kind = INT64 if _are_signed(left, right) else UINT64
        made = tree.Binary(INT, at, node.op, converted(left, kind), converted(right, kind))
    else:
        objects = arrays.compared_objects(node.op, left, right)
        if objects is None:
            raise _mismatch(node, left, right, scope)
        made = objects
    return tree.Cast(BOOL, at, made)


def _can_be_compared(left: Expr, right: Expr) -> bool:
    """As numbers: two users or addresses of one kind, too."""
    if is_shown_number(left.type):
        return left.type == right.type
    return is_condition(left.type) and is_condition(right.type)


def _warn_of_comparison(node: nodes.Binary, left: Expr, right: Expr, scope: BtScope) -> None:
    if is_pointer(left) and is_pointer(right) and left.type != right.type:
        implicit_casts.warn_of_pointers(node, left, right, scope)
    elif is_signed(left.type) != is_signed(right.type):
        implicit_casts.warn_of_operands(node.op, ((node.left, left), (node.right, right)), node, scope)


def _mismatch(node: nodes.Binary | nodes.Assign, left: Expr, right: Expr, scope: BtScope) -> BtError:
    one, other = called(left, scope), called(right, scope)
    if isinstance(resolve(left.type), Array) and isinstance(resolve(right.type), Array):
        text = "Only arrays of same size support comparison operators."
        if node.op not in ("==", "!="):
            text = f"The {node.op} operator cannot be used on arrays."
        return scope.mistake(text, node.at)
    if merged(left.type, right.type) is None:
        return scope.mistake(f"Type mismatch for '{node.op}': comparing {one} with {other}", node.at)
    return scope.mistake(f"The {node.op} operator can not be used on expressions of types {one}, {other}", node.at)


def arithmetic(op: str, left: Expr, right: Expr, node: nodes.Binary | nodes.Assign, scope: BtScope) -> Expr:
    """`+ - * / % & | ^ << >>`."""
    if is_pointer(left) or is_pointer(right):
        return _pointed(op, left, right, node, scope)
    if not (is_integer(left.type) and is_integer(right.type)):
        raise _mismatch(node, left, right, scope)
    sides = (node.left, node.right) if isinstance(node, nodes.Binary) else (node.target, node.value)
    if op in _SIGNED or is_signed(left.type) != is_signed(right.type):
        implicit_casts.warn_of_operands(op, ((sides[0], left), (sides[1], right)), node, scope)
    return _computed(op, left, right, node, scope)


_SIGNED = ("-", "/", "%")
"""Operators that make a signed number or are warned of between such ones."""


def _computed(op: str, left: Expr, right: Expr, node: nodes.Binary | nodes.Assign, scope: BtScope) -> Expr:
    at = scope.at(node.at)
    literals = [each.value for each in (left, right) if isinstance(each, tree.Const) and is_literal(each.type)]
    if len(literals) == 2:
        return constant(_folded(op, literals[0], literals[1], node, scope), at)
    # What is shifted has the type of the whole, as in C: an unsigned number is filled up with zeros.
    is_fixed = op in ("<<", ">>") and not is_flexible(left.type)
    is_negative = is_signed(left.type) if is_fixed else op == "-" or _are_signed(left, right)
    kind = INT64 if is_negative else UINT64
    if isinstance(left, tree.Const) and isinstance(right, tree.Const):
        known = _known(op, wrapped(left.value, kind), wrapped(right.value, kind))
        if known is not None:
            return constant(wrapped(known, kind), at, kind)
    return tree.Binary(kind, at, op, converted(left, kind), converted(right, kind))


def _are_signed(left: Expr, right: Expr) -> bool:
    """Whether what is made of both is signed: what is flexible is what the other one is."""
    known = [each.type for each in (left, right) if not is_flexible(each.type)]
    return not known or any(map(is_signed, known))


def _folded(op: str, left: int, right: int, node: nodes.Binary | nodes.Assign, scope: BtScope) -> int:
    """What is made of two literals, exactly. Raises BtError for one that no type holds."""
    is_shift = op in ("<<", ">>")
    value = None if is_shift and not 0 <= right < _BITS else _known(op, left, right)
    if op == "<<" and value is not None:
        # What is shifted out is lost, as with other numbers.
        value = wrapped(value, UINT64 if left >= 0 else INT64)
    if value is None or not _LEAST <= value <= _MOST:
        raise scope.mistake("unable to fold literals due to overflow or underflow", node.at)
    return value


_BITS = 64
_LEAST, _MOST = -(1 << _BITS - 1), (1 << _BITS) - 1
"""The numbers that there are types for."""


def _known(op: str, left: int, right: int) -> int | None:
    if op in _COMPUTED:
        return _COMPUTED[op](left, right)
    if not right:
        return None
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if op == "/" else left - quotient * right


def _pointed(op: str, left: Expr, right: Expr, node: nodes.Binary | nodes.Assign, scope: BtScope) -> Expr:
    at = scope.at(node.at)
    if op == "-" and is_pointer(left) and is_pointer(right):
        return tree.Binary(INT64, at, "-", tree.Cast(INT64, at, left), tree.Cast(INT64, at, right))
    pointer, other = (left, right) if is_pointer(left) else (right, left)
    if op not in ("+", "-") or not is_integer(other.type) or (op == "-" and pointer is right):
        text = f"The {op} operator can not be used on a pointer"
        raise scope.mistake(f"{text} ({spelled(left.type)}, {spelled(right.type)})", node.at)
    step = _step(pointer.type)
    moved = _computed("*", wide(other), constant(step, at, INT64), node, scope)
    whole = tree.Binary(UINT64, at, op, tree.Cast(UINT64, at, pointer), converted(moved, UINT64))
    return tree.Cast(pointer.type, at, whole)


def _step(kind: Type) -> int:
    base = resolve(kind)
    assert isinstance(base, Pointer)
    return size_of(base.to) or 1


def unary(node: nodes.Unary, scope: BtScope) -> Expr:
    at = scope.at(node.at)
    if node.op == "&" and isinstance(node.operand, nodes.ScratchVariable):
        # Who has the address may assign to it.
        scope.assigned(node.operand.name)
    operand = scope.expression(node.operand, scope)
    if node.op == "*":
        return _dereferenced(node, operand, scope)
    if node.op == "&":
        return tree.AddressOf(pointer_like(memory_of(operand), operand.type), at, operand)
    if node.op == "!" and is_condition(operand.type):
        return tree.Cast(BOOL, at, tree.Unary(INT, at, "!", bare(operand)))
    if not is_integer(operand.type) or is_bool(operand.type):
        raise scope.mistake(
            f"The {node.op} operator can not be used on expressions of type '{called(operand, scope)}'", node.at
        )
    if node.op == "+":
        return operand
    kind = UINT64 if node.op == "~" and not is_signed(operand.type) else INT64
    if isinstance(operand, tree.Const) and is_literal(operand.type):
        return _unary_literal(node, operand.value, scope)
    if isinstance(operand, tree.Const):
        known = -operand.value if node.op == "-" else ~operand.value
        return constant(wrapped(known, kind), at, kind)
    return tree.Unary(kind, at, node.op, converted(operand, kind))


def _unary_literal(node: nodes.Unary, value: int, scope: BtScope) -> Expr:
    """A literal that is `~` of one is not negative."""
    if node.op == "~":
        return constant(wrapped(~value, UINT64), scope.at(node.at))
    if -value < _LEAST:
        raise scope.mistake("negative value will underflow", node.at)
    return constant(-value, scope.at(node.at))


def _dereferenced(node: nodes.Unary, pointer: Expr, scope: BtScope) -> Expr:
    base = resolve(pointer.type)
    if isinstance(base, Pointer) and resolve(base.to) != VOID:
        return of_space(tree.Deref(base.to, scope.at(node.at), pointer))
    if is_integer(pointer.type) and not is_bool(pointer.type):
        at = scope.at(node.at)
        return tree.Deref(UINT64, at, tree.Cast(address_spaces.pointer_into(UINT64, pointer, scope), at, pointer))
    raise scope.mistake(f"Can not dereference type '{called(pointer, scope)}'. It is not a pointer.", node.at)


def ternary(node: nodes.Ternary, scope: BtScope) -> Expr:
    at = scope.at(node.at)
    test = scope.expression(node.test, scope)
    if node.is_if and (truth := known_truth(test)) is not None:
        taken = node.then if truth else node.otherwise
        assert taken is not None
        return scope.expression(taken, scope)
    if not is_condition(test.type):
        raise scope.mistake(f"Invalid condition: {base_name(test.type)}", node.at)
    first, then = ([], test) if node.then is None else unhurried(node.then, scope)
    second, otherwise = unhurried(node.otherwise, scope)
    _warn_of_branches(node, then, otherwise, scope)
    if first or second:
        return either(test, (first, then), (second, otherwise), node.at, scope)
    if is_text(then.type) and is_text(otherwise.type):
        return tree.Conditional(STRING, at, bare(test), string(then), string(otherwise))
    kind = merged(then.type, otherwise.type)
    if kind is None:
        text = "Branches must return the same type or compatible types"
        raise scope.mistake(f"{text}: have '{called(then, scope)}' and '{called(otherwise, scope)}'", node.at)
    return tree.Conditional(kind, at, bare(test), converted(then, kind), converted(otherwise, kind))


def _warn_of_branches(node: nodes.Ternary, then: Expr, otherwise: Expr, scope: BtScope) -> None:
    kind = None if then.type == otherwise.type else merged(then.type, otherwise.type)
    if kind is None:
        return

    implicit_casts.warn_of_cast(node.then or node.test, then, kind, scope)
    implicit_casts.warn_of_cast(node.otherwise, otherwise, kind, scope)
