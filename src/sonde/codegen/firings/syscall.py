"""System calls: one raw tracepoint for all of them, told apart by number.

sys_enter has (struct pt_regs *, long number), sys_exit (struct pt_regs *, long result); the arguments are read from
the task's saved registers, to which bpf_task_pt_regs gives a trusted pointer.
"""

from __future__ import annotations

from errno import EINTR

from sonde.arch import registers, system_calls
from sonde.bpf import programs
from sonde.bpf.helpers import MAX_ERRNO, RESTARTING
from sonde.codegen.basis.generation import Generation, ProbeIndex
from sonde.codegen.basis.names import probe_id
from sonde.codegen.basis.places import Place
from sonde.codegen.firings.cookies import numbered
from sonde.codegen.firings.plain import trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand, Reg
from sonde.model.probe import Probe, Syscall
from sonde.model.types import Struct, Type, is_signed, size_of


class SyscallContext:
    """Entries or returns; 64-bit calls have the table's indexes from 0 on, 32-bit ones behind them."""

    kind = programs.RAW_TRACEPOINT
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = True
    own_frames = 2
    is_user = False
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...], apart: bool = False, only_native: bool = False) -> None:
        """`apart`: the program is attached to each call, and else once to all that there are. `only_native`: it is run
        for 64-bit calls alone."""
        self.probes = probes
        self._apart = apart
        self._only_native = only_native
        self._firings = {p.id: p.firing for p in probes if isinstance(p.firing, Syscall)}
        native = [f.number for f in self._firings.values() if not f.compat]
        compat = [f.number for f in self._firings.values() if f.compat]
        self._native = max(native, default=-1) + 1
        self._compat = max(compat, default=-1) + 1
        self.is_return = next(iter(self._firings.values())).is_return
        self.index = self._numbered()

    def _numbered(self) -> ProbeIndex:
        """By system call number, 32-bit ones behind the others."""
        if len(self.probes) == 1:
            return numbered(self.probes)
        places = tuple(f.number + (self._native if f.compat else 0) for f in self._firings.values())
        attached = self.probes if self._apart else self.probes[:1]
        return ProbeIndex(self._native + self._compat, places, tuple((probe, 0) for probe in attached))

    def enter(self, g: Generation) -> Operand:
        if len(self.probes) == 1:
            return self._enter_one(g)
        index = g.b.register()
        number = self._number(g)
        if self._only_native:
            g.b.move(index, number)
        else:
            self._choose_table(g, number, index)
        g.b.branch("ge", index, Imm(self.index.size), g.leave)
        g.probe_index = index
        if len(self.probes) < self.index.size:
            g.b.branch("eq", probe_id(g), Imm(0), g.leave)
        return index

    def _choose_table(self, g: Generation, number: Operand, index: Reg) -> None:
        native, found = g.b.label(), g.b.label()
        compat = g.b.label()
        g.b.branch("set", self._status(g), Imm(system_calls.COMPAT_BIT), compat, native)
        g.b.place(compat)
        g.b.branch("ge", number, Imm(self._compat), g.leave)
        g.b.move(index, g.b.alu("add", number, Imm(self._native)))
        g.b.jump(found)
        g.b.place(native)
        g.b.branch("ge", number, Imm(self._native), g.leave)
        g.b.move(index, number)
        g.b.place(found)

    def _enter_one(self, g: Generation) -> Operand:
        firing = self._firings[self.probes[0].id]
        g.b.branch("ne", self._number(g), Imm(firing.number), g.leave)
        if not self._only_native:
            bit = g.b.alu("and", self._status(g), Imm(system_calls.COMPAT_BIT))
            g.b.branch("eq" if firing.compat else "ne", bit, Imm(0), g.leave)
        return Imm(0)

    def _number(self, g: Generation) -> Operand:
        """The call's number, as 32 bits: negative numbers are none."""
        if not self.is_return:
            return g.b.extend(g.b.load(g.ctx, 8, 8, invariant=True), 4, False)
        return g.b.extend(g.b.load(self._registers(g), registers.CALL_NUMBER, 8, invariant=True), 4, False)

    def _status(self, g: Generation) -> Operand:
        return g.b.load(g.current_task(), self._status_offset(g), 4, invariant=True)

    def _status_offset(self, g: Generation) -> int:
        info = g.shared.kernel_type("struct", "thread_info")
        member = info.find(system_calls.COMPAT_MEMBER) if isinstance(info, Struct) else None
        return member.offset // 8 if member else system_calls.COMPAT_OFFSET

    def _registers(self, g: Generation) -> Reg:
        return g.call("task_pt_regs", g.current_task(), pure="registers")

    def argument(self, g: Generation, number: int) -> Operand:
        if self.is_return:
            return g.b.load(g.ctx, 8, 8, invariant=True) if number < 2 else Imm(0)
        if number >= len(registers.CALL_ARGUMENTS):
            return Imm(0)
        native = registers.CALL_ARGUMENTS[number]
        compat = registers.COMPAT_CALL_ARGUMENTS[number]
        saved = self._registers(g)
        kinds = {f.compat for f in self._firings.values()}
        if kinds == {False}:
            return g.b.load(saved, native, 8, invariant=True)
        if kinds == {True}:
            return g.b.load(saved, compat, 4, invariant=True)
        return g.b.choose(
            "set", self._status(g), Imm(system_calls.COMPAT_BIT),
            lambda: g.b.load(saved, compat, 4, invariant=True),
            lambda: g.b.load(saved, native, 8, invariant=True),
        )  # fmt: skip

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        value = self.argument(g, number)
        return g.b.extend(value, size_of(type_) or 8, is_signed(type_))

    def errno(self, g: Generation) -> Operand:
        if not self.is_return:
            return Imm(0)
        result = g.b.load(g.ctx, 8, 8, invariant=True)
        negative = g.b.negate(result)

        def error() -> Operand:
            restarts = g.b.alu("sub", negative, Imm(RESTARTING.start))
            return g.b.choose("lt", restarts, Imm(len(RESTARTING)), lambda: Imm(EINTR), lambda: negative)

        return g.b.choose("le", g.b.alu("sub", negative, Imm(1)), Imm(MAX_ERRNO - 1), error, lambda: Imm(0))
