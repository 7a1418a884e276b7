"""Comparisons whose result is known beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.arch import call_numbers
from sonde.frontends.d.warnings.warning import Warning
from sonde.model.kinds import is_integer, spell
from sonde.model.program import (
    Argument,
    Assign,
    Binary,
    Builtin,
    Cast,
    Clause,
    Const,
    Deref,
    Element,
    Expr,
    Index,
    MemberOf,
    StringConst,
    Var,
    Variable,
)
from sonde.model.ranges import word
from sonde.model.types import Enum, Type, is_signed, resolve, size_of
from sonde.model.walk import nodes

_LONGEST_NAME = 15
"""Characters of a task's name (TASK_COMM_LEN in linux/sched.h, less the NUL)."""

_LOADS = (Argument, Builtin, Deref, Element, Index, MemberOf, Var)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def settled_comparisons(clause: Clause) -> Iterator[Warning]:
    for node in nodes(clause):
        if isinstance(node, Binary) and node.op in _TURNED:
            yield from _with_long_name(node)
            yield from _with_range(node)


def names_of_calls(clauses: Sequence[Clause]) -> Iterator[Warning]:
    """Variables that hold `probefunc`, compared with the name of a system call that is called otherwise as a probe.
    `probefunc` itself is found equal to both names."""
    every = [node for clause in clauses for node in nodes(clause)]
    assigned = (node for node in every if isinstance(node, Assign) and _is_function(node.value))
    holding = {found for node in assigned if (found := _variable(node.target)) is not None}
    if not holding:
        return

    for node in every:
        if not isinstance(node, Binary) or node.op not in ("==", "!="):
            continue
        for value, text in ((node.left, node.right), (node.right, node.left)):
            if isinstance(text, StringConst) and _variable(value) in holding:
                function = call_numbers.implemented_by(text.value.decode(errors="surrogateescape"))
                if function:
                    call = text.value.decode(errors="replace")
                    yield Warning(text.position, f"probefunc of {call}(2) is {function}", f'compare with "{function}"')


def _variable(target: Expr) -> Variable | None:
    return target.variable if isinstance(target, (Var, Element)) else None


def _is_function(value: Expr) -> bool:
    while isinstance(value, Cast):
        value = value.operand
    return isinstance(value, Builtin) and value.name == "probefunc"


def _with_long_name(node: Binary) -> Iterator[Warning]:
    for name, text in ((node.left, node.right), (node.right, node.left)):
        is_name = isinstance(name, Builtin) and name.name == "execname"
        if is_name and isinstance(text, StringConst) and len(text.value) > _LONGEST_NAME and node.op in ("==", "!="):
            said = f"execname is never this: the kernel keeps {_LONGEST_NAME} characters of a name"
            short = text.value[:_LONGEST_NAME].decode(errors="replace")
            yield Warning(text.position, said, f'compare with "{short}"')


def _with_range(node: Binary) -> Iterator[Warning]:
    for operand, other, op in ((node.left, node.right, node.op), (node.right, node.left, _TURNED[node.op])):
        constant, value = _bare(other), _bare(operand)
        if not isinstance(constant, Const) or not isinstance(value, _LOADS) or not _is_counted(value.type):
            continue
        result = _settled(op, value.type, operand.type, constant.value)
        if result is not None:
            said = f"this is always {'true' if result else 'false'}: {_range(value.type)}"
            kept = word(constant.value, value.type) & ((1 << 8 * size_of(value.type)) - 1)
            remedy = f"write {kept}" if op in ("==", "!=") else "compare a signed value, as (int64_t)x"
            yield Warning(node.position, said, remedy)


def _is_counted(kind: Type) -> bool:
    return is_integer(kind) and not isinstance(resolve(kind), Enum) and spell(kind) != "_Bool"


def _settled(op: str, kind: Type, compared: Type, constant: int) -> bool | None:
    """What the comparison with a constant always gives, if it does; `compared` has the sign it is done with."""
    bits = 8 * size_of(kind)
    if is_signed(kind):
        if not is_signed(compared):
            return None
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    else:
        low, high = 0, (1 << bits) - 1
    value = word(constant, compared)
    results = {_compare(op, each, value) for each in _samples(low, high, value)}
    return results.pop() if len(results) == 1 else None


def _samples(low: int, high: int, value: int) -> list[int]:
    """Values of the range that show all that a comparison with `value` can give."""
    return [low, high, *(each for each in (value - 1, value, value + 1) if low <= each <= high)]


def _compare(op: str, left: int, right: int) -> bool:
    if op in ("==", "!="):
        return (left == right) == (op == "==")
    if op in ("<", "<="):
        return left < right or (op == "<=" and left == right)
    return left > right or (op == ">=" and left == right)


def _range(kind: Type) -> str:
    bits = 8 * size_of(kind)
    if is_signed(kind):
        return f"{spell(kind)} has {bits} bits, from {-(1 << (bits - 1))} to {(1 << (bits - 1)) - 1}"
    return f"{spell(kind)} has no negative values" + ("" if bits == 64 else f", and none above {(1 << bits) - 1}")


def _bare(value: Expr) -> Expr:
    """Without the conversions to 64 bits that the checker has put around it."""
    while isinstance(value, Cast) and value.position == value.operand.position:
        value = value.operand
    return value
