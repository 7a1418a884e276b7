"""The facts of arch/x86_64 about registers, against struct pt_regs as the kernel's headers order it."""

import struct

import pytest

from sonde.arch.x86_64 import operands, perf_registers, registers
from sonde.runtime.kernel_types import layout

PT_REGS = [
    "r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di",
    "orig_ax", "ip", "cs", "flags", "sp", "ss",
]  # fmt: skip
"""arch/x86/include/asm/ptrace.h."""

PERF = [
    "ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", "ds", "es", "fs", "gs", "r8",
    "r9", "r10", "r11", "r12", "r13", "r14", "r15",
]  # fmt: skip
"""enum perf_event_x86_regs (arch/x86/include/uapi/asm/perf_regs.h)."""

DWARF = [
    "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    "ip",
]  # fmt: skip
"""System V ABI for x86-64, figure 3.36."""


@pytest.mark.parametrize("name", PT_REGS)
def test_each_register_is_where_the_kernel_has_it(name):
    at = 8 * PT_REGS.index(name)
    assert getattr(registers, name.upper()) == at
    assert layout("struct pt_regs").offsets[name] == at


def test_the_size_is_that_of_all():
    assert 8 * len(PT_REGS) == registers.SIZE


def test_dwarf_numbers_them_so():
    assert [PT_REGS[at // 8] for at in registers.BY_DWARF_NUMBER] == DWARF


def test_samples_have_them_in_the_order_of_perf():
    """Each register's value is its number in struct pt_regs."""
    whole = struct.pack(f"={len(PT_REGS)}Q", *range(len(PT_REGS)))
    there = [number for number, name in enumerate(PERF) if name in PT_REGS]
    assert sum(1 << number for number in there) == perf_registers.REGISTERS
    found = perf_registers.user_registers(whole, perf_registers.REGISTERS)
    names = [PT_REGS[value] for (value,) in struct.iter_unpack("=Q", found)]
    assert names == [PERF[number] for number in there]


def test_arguments_are_the_same_however_they_are_named():
    assert [PT_REGS[at // 8].removeprefix("r") for at in registers.ARGUMENTS] == [
        name.removeprefix("r") for name in operands.ARGUMENTS[8]
    ]


def test_the_way_back_gives_the_same():
    taken = tuple(range(101, 101 + perf_registers.REGISTERS.bit_count()))
    whole, stack = perf_registers.pt_regs(taken, 7)
    assert stack == taken[PERF.index("sp")]
    assert struct.unpack_from("=Q", whole, registers.ORIG_AX) == (7,)
    assert perf_registers.user_registers(whole, perf_registers.REGISTERS) == struct.pack(f"={len(taken)}Q", *taken)
