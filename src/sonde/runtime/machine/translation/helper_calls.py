"""Calls as Python: of helpers, of what a helper does for one map, of functions of the program."""

from __future__ import annotations

from sonde.bpf import helpers as bpf
from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.execution import NO_TAIL_CALL, TAIL_CALL
from sonde.runtime.machine.translation.statements import Statements
from sonde.runtime.machine.translation.values import M64, RangedExpression, constant, masked, text

_LOOKUP = bpf.NUMBERS["map_lookup_elem"]


def call(block: Statements, slot: int, x: Instruction) -> None:
    """Any kind of call."""
    registers = block.unit.call_reads(slot)
    arguments = [masked(block.read(register)) for register in registers]
    block.settle_loads()
    if x.opcode & i.X:
        _through_register(block, slot, x, arguments)
    elif x.src == i.CALL_LOCAL:
        _local(block, slot, slot + 1 + x.imm, arguments)
    elif x.src != i.CALL_HELPER or x.imm not in block.unit.helpers:
        block.emit(f"raise CallError({x.imm})")
        block.define(slot, i.R0, constant(0))
    elif x.imm == TAIL_CALL:
        _tail(block, slot, arguments)
    else:
        _helper(block, slot, x.imm, arguments)
    for register in range(1, 6):
        block.define(slot, register, constant(0))


def _result(
    block: Statements, slot: int, expression: str, arguments: list[RangedExpression], is_register: bool
) -> None:
    """r0; `is_register` if the result needs no reducing to 64 bits."""
    reads = frozenset[str]().union(*[argument.reads for argument in arguments])
    lo, hi = (0, M64) if is_register else (-1 << 65, 1 << 65)
    block.define(slot, i.R0, RangedExpression(expression, 0, lo, hi, reads), is_pure=False)


def _listed(arguments: list[RangedExpression]) -> str:
    return ", ".join(map(text, arguments))


def _helper(block: Statements, slot: int, number: int, arguments: list[RangedExpression]) -> None:
    unit = block.unit
    function, is_register = unit.helpers[number], False
    name = bpf.name_of(number).replace("#", "_")
    if arguments and number in unit.by_map:
        found = unit.by_map[number].get(arguments[0].addend) if arguments[0].constant is not None else None
        if found is not None:
            function, is_register = found, number == _LOOKUP
            name = f"{name.removesuffix('_elem')}_{arguments[0].addend & 0xFFFF}"
            arguments = arguments[1:]
    _result(block, slot, f"{unit.bind(name, function)}({_listed(arguments)})", arguments, is_register)


def _local(block: Statements, slot: int, target: int, arguments: list[RangedExpression]) -> None:
    depth = ["depth=depth + 1"] if block.unit.counts_depth else []
    _result(block, slot, f"f{target}({', '.join([*map(text, arguments), *depth])})", arguments, True)


def _through_register(block: Statements, slot: int, x: Instruction, arguments: list[RangedExpression]) -> None:
    """The number of a helper or the handle of a function."""
    number = arguments.pop() if x.dst != i.R10 else masked(block.read(i.R10))
    _result(block, slot, f"call_number({_listed([number, *arguments])})", [number, *arguments], True)


def _tail(block: Statements, slot: int, arguments: list[RangedExpression]) -> None:
    rest = block.unit.temporary()
    name = block.unit.bind("bpf_tail_call", block.unit.helpers[TAIL_CALL])
    block.emit(f"{rest} = {name}({_listed(arguments)})")
    block.emit(f"if {rest} is not None: return {rest}() & {M64:#x}")
    block.define(slot, i.R0, constant(NO_TAIL_CALL))
