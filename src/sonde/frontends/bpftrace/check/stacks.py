"""Stacks and the names of addresses: kstack(), ustack(), ksym(), usym(), and len() of stacks."""

from __future__ import annotations

from sonde.arch import languages
from sonde.frontends.bpftrace.check import addresses, unstable
from sonde.frontends.bpftrace.check.conversions import constant, wide
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT64, is_scalar, structure_of
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.object_names import GLUE_FRAMES
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import Array

FRAMES = 127
"""Frames of a stack, unless the program says how many."""
_OF_FILES = "build_id"
_MODES = ("bpftrace", "perf", "raw", _OF_FILES)


def trace(name: str, mode: str, frames: int, span: SourceSpan, scope: BtScope) -> Expr:
    """A stack of the kernel or, `ustack`, of the process."""
    if mode == _OF_FILES and name == "kstack":
        scope.remark("'build_id' stack mode can only be used for ustack. Falling back to 'raw' mode.", span)
        mode = "raw"
    keyword = name if mode == "bpftrace" else f"{name}_{mode}"
    if name == "ustack":
        kind = structure_of(keyword, ("process", "frames"), (UINT64, Array(UINT64, frames)))
    else:
        kind = structure_of(keyword, ("frames",), (Array(UINT64, frames + GLUE_FRAMES),))
    return tree.StackTrace(kind, scope.at(span), name == "ustack", frames)


def stack(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """kstack([mode, ][frames]), and ustack."""
    mode, frames = scope.stack_mode, FRAMES
    name = _STACKS[call.name]
    if call.name == _BY_TABLES:
        _require_ready(call.at, scope)
    rest = list(arguments)
    first = rest[0] if rest else None
    if isinstance(first, nodes.Name):
        mode = _mode(call, first, scope)
        del rest[0]
    if rest:
        if len(rest) > 1 and rest[0] is first:
            raise scope.mistake("Expected stack mode as first argument", call.at)
        limit = scope.expression(rest[0], scope)
        if not isinstance(limit, tree.Const):
            raise scope.mistake(f"{call.name}: invalid limit value", call.at)
        frames = limit.value
        if frames < 0 or frames > FRAMES:
            text = f"{call.name}([int limit]): limit shouldn't exceed {FRAMES}, {frames} given"
            raise scope.mistake(text, call.at)
    return trace(name, mode, frames or FRAMES, call.at, scope)


_BY_TABLES = "dw_ustack"
_STACKS = {"kstack": "kstack", "ustack": "ustack", _BY_TABLES: "ustack"}
"""Stacks of processes are walked by the tables of files that have no frame pointers anyway."""


def _require_ready(span: SourceSpan, scope: BtScope) -> None:
    unstable.require_enabled("dw_ustack (DWARF stack unwinding)", "unstable_dw_ustack", span, scope)


def _mode(call: nodes.Call, node: nodes.Name, scope: BtScope) -> str:
    name = node.name
    if name == _OF_FILES and call.name == "kstack":
        raise scope.mistake("'build_id' stack mode can only be used for ustack", call.at)
    if name not in _MODES:
        text = f"Error parsing stack mode: {call.name}: Invalid value for stack_mode: valid values are "
        raise scope.mistake(f"{text}{', '.join(_MODES[:-1])}, and {_MODES[-1]}.", node.at)
    return name


def symbol(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """ksym(address) and usym(address): the name of the function that has it."""
    at = scope.at(call.at)
    given = scope.expression(arguments[0], scope)
    if not is_scalar(given.type):
        raise scope.mistake(f"{call.name}() expects an integer or pointer argument", call.at)
    address = tree.Cast(UINT64, at, wide(given))
    scope.known.has_symbols = True
    return _symbol(call.name, address)


def _symbol(name: str, address: Expr) -> Expr:
    at = address.position
    if name == "ksym":
        return tree.Compose(structure_of("ksym", ("address",), (UINT64,)), at, (address,))
    process = tree.Builtin(UINT64, at, "__image")
    return tree.Compose(structure_of("usym", ("process", "address"), (UINT64, UINT64)), at, (process, address))


def of_probe(span: SourceSpan, scope: BtScope) -> Expr:
    """`func` as ksym() and usym() have it: the function that the probe is in, by its address."""
    at, probes = scope.at(span), scope.attached.probes
    if scope.attached.kind in _OF_PROCESSES:
        if scope.attached.kind == "uretprobe":
            raise scope.mistake("func is no symbol at uretprobes, which know their function by its name alone", span)
        pointer = nodes.StringLiteral(span, languages.PROGRAM_COUNTER.encode())
        return _symbol("usym", addresses.register(nodes.Call(span, "reg", (pointer,)), [pointer], scope))
    scope.needs_each = scope.needs_each or len({each.function for each in probes}) > 1
    found = scope.catalog.symbol(probes[0].function)
    if found is None or not found.address:
        raise scope.mistake(f"Failed to resolve kernel symbol: {probes[0].function}", span)
    return _symbol("ksym", constant(found.address, at, UINT64))


_OF_PROCESSES = ("uprobe", "uretprobe", "usdt")


def bare(name: str, span: SourceSpan, scope: BtScope) -> Expr:
    """kstack and ustack without parentheses."""
    return trace(name, scope.stack_mode, FRAMES, span, scope)


VALUES: dict[str, ValueCall] = {
    "kstack": ValueCall(0, 2, stack),
    "ustack": ValueCall(0, 2, stack),
    "dw_ustack": ValueCall(0, 2, stack),
    "ksym": ValueCall(1, 1, symbol),
    "usym": ValueCall(1, 1, symbol),
}
