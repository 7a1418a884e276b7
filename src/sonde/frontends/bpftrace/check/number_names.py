"""Strings that stand for numbers: of errors, signals and system calls. The program itself chooses them, so they are
compared, kept and cut as other strings are."""

from __future__ import annotations

from collections.abc import Mapping
from os import strerror as text_of
from signal import strsignal

from sonde.arch import call_numbers
from sonde.frontends.bpftrace.check.conversions import constant, integer_value
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import STRING

_ERRORS = range(134)
"""Numbers of errors (include/uapi/asm-generic/errno.h)."""

_SIGNALS = range(65)


def strerror(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strerror(number): as strerror(3) has it; a negative number is the positive one's error."""
    names = {number: text_of(number) for number in _ERRORS}
    unknown = "Unknown error"
    return _named(call, arguments, scope, {n: name for n, name in names.items() if unknown not in name}, unknown, True)


def signal_name(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """signal_name(number): as strsignal(3) has it."""
    names = {number: (number and strsignal(number)) or f"Unknown signal {number}" for number in _SIGNALS}
    return _named(call, arguments, scope, names, "N/A")


def syscall_name(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """syscall_name(number): of a 64-bit system call."""
    return _named(call, arguments, scope, call_numbers.native_names(), "Unknown syscall")


def _named(
    call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope, names: Mapping[int, str], unknown: str,
    by_magnitude: bool = False,
) -> Expr:  # fmt: skip
    at = scope.at(call.at)
    number = integer_value(arguments[0], scope, f"{call.name}()")
    if isinstance(number, tree.Const):
        value = abs(number.value) if by_magnitude else number.value
        return tree.StringConst(STRING, at, names.get(value, unknown).encode())
    texts = [names.get(each, unknown) for each in range(max(names) + 1)]
    table = tree.StringConst(STRING, at, "\n".join([*texts, unknown]).encode())
    return tree.Call(STRING, at, "__named", (number, table, constant(int(by_magnitude), at)))


VALUES: dict[str, ValueCall] = {
    "strerror": ValueCall(1, 1, strerror),
    "signal_name": ValueCall(1, 1, signal_name),
    "syscall_name": ValueCall(1, 1, syscall_name),
}
