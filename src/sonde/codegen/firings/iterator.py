"""Iterators of the kernel: the program is run for each object of a kind, such as each task, when somebody reads.

The context has u64 words, the arguments of the function bpf_iter_NAME: what the kernel knows of the run, and the
object, of which there is none when all have been (Documentation/bpf/bpf_iterators.rst).
"""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Place
from sonde.codegen.firings.cookies import numbered
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand, SlotAddress
from sonde.model.probe import KernelIterator, Probe
from sonde.model.types import Function, Pointer, Type, is_signed, resolve, size_of

FUNCTION = "bpf_iter_"
"""Before an iterator's name: the function whose arguments programs have."""


class IteratorContext:
    """One iterator. Its program writes a byte for each object, so that whoever reads so many bytes has had it run for
    so many objects, and can look at its records in between."""

    kind = programs.TRACING
    attach_type = programs.TRACE_ITER
    has_kernel_stack = False
    own_frames = 0
    is_user = False
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probe: Probe, signature: Function) -> None:
        assert isinstance(probe.firing, KernelIterator)
        self.probes: tuple[Probe, ...] = (probe,)
        self.index = numbered(self.probes)
        self.attach_to: str | None = f"{FUNCTION}{probe.firing.name}"
        self._parameters = signature.parameters

    def enter(self, g: Generation) -> Operand:
        byte = g.b.slot(8)
        g.b.store(byte, 0, 8, Imm(0))
        # struct bpf_iter_meta begins with the seq_file (include/linux/bpf.h).
        file = g.b.load(g.b.in_register(self.argument(g, 0)), 0, 8)
        g.call("seq_write", file, SlotAddress(byte), Imm(1))
        for number, kind in enumerate(self._parameters):
            if number and isinstance(resolve(kind), Pointer):
                g.b.branch("eq", self.argument(g, number), Imm(0), g.leave)
        return Imm(0)

    def argument(self, g: Generation, number: int) -> Operand:
        return g.b.load(g.ctx, 8 * number, 8, invariant=True) if number < len(self._parameters) else Imm(0)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return g.b.extend(self.argument(g, number), size_of(type_) or 8, is_signed(type_))
