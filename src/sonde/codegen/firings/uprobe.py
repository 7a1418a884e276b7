"""Functions and instructions of a process: uprobes, whose context is struct pt_regs as the process had it.

Arguments are where the calling convention puts them: the first in registers, those behind them on the stack.
"""

from __future__ import annotations

from sonde.arch import convention, registers
from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Place, Remote
from sonde.codegen.expressions.access import load_bytes
from sonde.codegen.firings.cookies import index_in_process, numbered
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.errors import UNSUPPORTED, Position, SourceError
from sonde.model.probe import Probe, Uprobe
from sonde.model.types import Type

_UNKNOWN_OFFSET = -1
"""arg0 of a return: the kernel sees that the function has returned, not by which instruction."""


class UprobeContext:
    """Probes of one process, or of files for whoever runs them, and of one kind. At a function's entry the arguments
    from arg6 on are those on its stack; at another instruction only the registers are known to be something; a return
    has its value in arg1."""

    kind = programs.KPROBE
    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_user = True
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...], is_multi: bool) -> None:
        """`is_multi`: they are attached by multi-uprobe links."""
        self.probes = probes
        self.index = numbered(probes)
        self.attach_type = programs.TRACE_UPROBE_MULTI if is_multi else programs.ATTACH_NONE
        first = probes[0].firing
        assert isinstance(first, Uprobe)
        self._kind, self._pid, self._is_32_bit = first.kind, first.pid, first.is_32_bit

    def enter(self, g: Generation) -> Operand:
        return index_in_process(g, len(self.probes), self._pid)

    def argument(self, g: Generation, number: int) -> Operand:
        if self._is_32_bit and self._kind != "return":
            raise self._unknown(g, number)
        if self._kind == "return":
            return self._of_return(g, number)
        if number < len(registers.ARGUMENTS):
            return g.b.load(g.ctx, registers.ARGUMENTS[number], 8, invariant=True)
        if self._kind != "entry":
            return Imm(0)
        stack = g.b.load(g.ctx, registers.STACK_POINTER, 8, invariant=True)
        offset = convention.STACK_ARGUMENTS + 8 * (number - len(registers.ARGUMENTS))
        return load_bytes(g, Remote(stack, offset, True), 8, False)

    def _of_return(self, g: Generation, number: int) -> Operand:
        if number == 1:
            return g.b.load(g.ctx, registers.RESULTS[0], 4 if self._is_32_bit else 8, invariant=True)
        return Imm(0 if number else _UNKNOWN_OFFSET)

    def _unknown(self, g: Generation, number: int) -> SourceError:
        """Compilers pass the arguments of a file's own functions in registers, and nothing in the file tells."""
        position = g.clause.position if g.clause else Position(None, 1, 1)
        text = f"arg{number} of {self.probes[0]}: where 32-bit programs pass arguments is not known"
        hint = (
            "those of functions that other files call are on the stack: the first is *(int *)copyin(uregs[R_SP] + 4, 4)"
        )
        return SourceError(UNSUPPORTED, text, position, hint)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        raise Unsupported("args[] of this probe", Position(None, 1, 1))
