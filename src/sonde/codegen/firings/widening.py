"""What recordings of `--record-reads` keep besides what scripts ask for: strings behind arguments, arguments of static
probes that are in memory, and stacks. What cannot be read is left out; a replay that asks for it is told."""

from __future__ import annotations

from sonde.codegen.basis.clause_state import FaultExit
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.locations import number as number_of
from sonde.codegen.expressions.resident import read_user
from sonde.codegen.expressions.stacks import USER_STACK, call_stack
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import firing_record as layout
from sonde.model.probe import Internal, StaticArgument, StaticProbe, Syscall, Uprobe
from sonde.model.static_values import address_of, is_in_registers

_LOWEST, _HIGHEST = 1 << 16, 1 << 56
"""There is nothing below and above these in usual processes (vm.mmap_min_addr, TASK_SIZE_MAX)."""


def widen(g: Generation) -> None:
    """At the start of a firing that is recorded, before its clauses."""
    if g.firing_record is None or g.resumed is not None:
        return
    end = g.b.label()
    # A fault is the end of what is kept besides, and of nothing else.
    g.fault = FaultExit(end, g.b.register(), g.b.register(), g.b.register())
    firing = g.context.probes[0].firing
    text = g.lasting(layout.TEXT)
    if (isinstance(firing, Syscall) and not firing.is_return) or (
        isinstance(firing, Uprobe) and firing.kind == "entry"
    ):
        for number in range(layout.TEXT_ARGUMENTS):
            _string_behind(g, g.context.argument(g, number), text)
    if isinstance(firing, StaticProbe):
        for each in firing.sites[0].arguments[: layout.TEXT_ARGUMENTS]:
            _static_argument(g, each, text)
    stack = g.lasting(8 * layout.DEPTH)
    if g.context.has_kernel_stack:
        call_stack(g, stack, 8 * layout.DEPTH, 0)
    if not isinstance(firing, Internal):
        call_stack(g, stack, 8 * layout.DEPTH, USER_STACK)
    g.b.place(end)
    g.fault = None


def _static_argument(g: Generation, argument: StaticArgument, text: Memory) -> None:
    if argument.value is None:
        return
    address = address_of(argument.value)
    if address is not None:
        slot = g.b.slot(8)
        g.b.store(slot, 0, 8, Imm(0))
        place = g.b.in_register(number_of(g, address))
        read_user(g, "probe_read_user", Memory(slot, 0), Imm(argument.size), place, False)
        if argument.size == 8:
            _string_behind(g, g.b.load(slot, 0, 8), text)
        g.b.release(slot)
    elif argument.size == 8 and is_in_registers(argument.value):
        _string_behind(g, number_of(g, argument.value), text)


def _string_behind(g: Generation, argument: Operand, text: Memory) -> None:
    """Where an argument may be an address: the characters there, if there are any."""
    end = g.b.label()
    address = g.b.in_register(argument)
    g.b.branch("lt", address, Imm(_LOWEST), end)
    g.b.branch("ge", address, Imm(_HIGHEST), end)
    read_user(g, "probe_read_user_str", text, Imm(layout.TEXT), address, False)
    g.b.place(end)
