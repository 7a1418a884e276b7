"""The kernel's functions: entered and left, by fentry and fexit, whose context has the arguments in order, or by a
kprobe, whose context is struct pt_regs as the function is entered or has returned."""

from __future__ import annotations

from collections.abc import Callable, Set

from sonde.arch import convention, registers
from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Memory, Place, Remote
from sonde.codegen.expressions.access import load_bytes
from sonde.codegen.firings.cookies import index_by_cookie, numbered
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.errors import Position
from sonde.model.probe import KernelFunction, Probe
from sonde.model.program import ENTERED
from sonde.model.types import Array, Function, Int, Pointer, Struct, Type, Void, is_signed, resolve, size_of

Signature = Callable[[Probe], Function | None]
"""The type of a probe's function, None where it is not known."""

_UNKNOWN_OFFSET = -1
"""arg0 of a return: the kernel sees that the function has returned, not by which instruction."""


class FunctionContext:
    """One function, by fentry or fexit: u64 words, the arguments, and the result behind them."""

    kind = programs.TRACING
    has_kernel_stack = True
    own_frames = 2
    is_user = False
    errno = no_errno

    def __init__(self, probe: Probe, signature: Function) -> None:
        firing = probe.firing
        assert isinstance(firing, KernelFunction)
        self.probes: tuple[Probe, ...] = (probe,)
        self.index = numbered(self.probes)
        self.attach_type = programs.TRACE_FEXIT if firing.is_return else programs.TRACE_FENTRY
        self.attach_to: str | None = firing.name
        self._is_return = firing.is_return
        self._parameters = signature.parameters
        self._count = len(signature.parameters)
        self._returns = signature.returns
        self._has_result = not isinstance(resolve(signature.returns), Void)

    def enter(self, g: Generation) -> Operand:
        return Imm(0)

    def argument(self, g: Generation, number: int) -> Operand:
        if self._is_return:
            if number == 1 and self._has_result:
                return self._word(g, self._count, self._returns)
            return Imm(0 if number else _UNKNOWN_OFFSET)
        return self._word(g, number, self._parameters[number]) if number < self._count else Imm(0)

    def _word(self, g: Generation, number: int, kind: Type) -> Operand:
        if is_loaded(kind):
            return g.b.load(g.ctx, 8 * number, 8, invariant=True)
        memory = g.temporary(8)
        g.b.store(memory.base, memory.offset, 8, Imm(0))
        target = g.argument_of(memory.base, memory.offset)
        if number == self._count:
            g.call("get_func_ret", g.ctx, target)
        else:
            g.call("get_func_arg", g.ctx, Imm(number), target)
        return g.b.load(memory.base, memory.offset, 8)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        if self._is_return and number >= ENTERED:
            value = self._word(g, number - ENTERED, self._parameters[number - ENTERED])
            return g.b.extend(value, size_of(type_) or 8, is_signed(type_))
        return g.b.extend(self.argument(g, number), size_of(type_) or 8, is_signed(type_))

    def is_trusted(self, number: int) -> bool:
        """The verifier knows what an argument points to if that is a structure of the kernel's."""
        place = number - ENTERED if self._is_return else number
        if not 0 <= place < self._count:
            return False
        kind = resolve(self._parameters[place])
        return isinstance(kind, Pointer) and not kind.user and isinstance(resolve(kind.to), Struct)


def is_loaded(kind: Type) -> bool:
    """Whether the verifier lets a program load the argument: a number, or a pointer to a structure, to an integer or to
    void that nothing qualifies (btf_ctx_access, kernel/bpf/btf.c). Others a helper gives since Linux 5.17."""
    base = resolve(kind)
    return not isinstance(base, Pointer) or isinstance(base.to, Void) or isinstance(resolve(base.to), (Int, Struct))


class KprobeContext:
    """Functions by kprobes: all in one link where the kernel has such, unless they are to be raw, else each on its own.

    When a function has returned its own frame is not on the stack any more. `places` are where the functions have their
    typed arguments, the same in all of them; of the raw ones each is taken to be a word. Behind the first instruction
    only the registers are known to be something.
    """

    kind = programs.KPROBE
    attach_to: str | None = None
    has_kernel_stack = True
    is_user = False
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(
        self, probes: tuple[Probe, ...], places: tuple[convention.ParameterPlace, ...], features: Set[str]
    ) -> None:
        self.probes = probes
        self.index = numbered(probes)
        first = probes[0].firing
        assert isinstance(first, KernelFunction)
        is_multi = "kprobe_multi" in features and not first.is_raw
        self.attach_type = programs.TRACE_KPROBE_MULTI if is_multi else programs.ATTACH_NONE
        self._is_return = first.is_return
        self._is_inside = bool(first.offset)
        # The helper that tells the function came with the cookie.
        self.own_frames = -1 if first.is_return and "kprobe_cookie" in features else 0
        self._places = places

    def enter(self, g: Generation) -> Operand:
        return index_by_cookie(g, len(self.probes), "kprobe_cookie")

    def argument(self, g: Generation, number: int) -> Operand:
        if self._is_return:
            if number == 1:
                return g.b.load(g.ctx, registers.RESULTS[0], 8, invariant=True)
            return Imm(0 if number else _UNKNOWN_OFFSET)
        if number < len(registers.ARGUMENTS):
            return g.b.load(g.ctx, registers.ARGUMENTS[number], 8, invariant=True)
        if self._is_inside:
            return Imm(0)
        return load_bytes(g, self._on_stack(g, 8 * (number - len(registers.ARGUMENTS))), 8, False)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        if self._is_return:
            return self._typed_result(g, number, type_)
        if number >= len(self._places):
            raise Unsupported(f"args[{number}]", Position(None, 1, 1))
        place = self._places[number]
        if not place.registers:
            return self._on_stack(g, place.stack)
        if _is_value(type_):
            value = g.b.load(g.ctx, place.registers[0], 8, invariant=True)
            return g.b.extend(value, size_of(type_) or 8, is_signed(type_))
        return _gathered(g, place.registers)

    def _typed_result(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        size = size_of(type_)
        if number == 1 and not _is_value(type_):
            # A large structure is in memory that the caller has provided, and its address is the result.
            address = g.b.load(g.ctx, registers.RESULTS[0], 8, invariant=True)
            return Remote(address, 0) if size > 16 else _gathered(g, registers.RESULTS)
        return g.b.extend(self.argument(g, number), size or 8, is_signed(type_))

    def _on_stack(self, g: Generation, offset: int) -> Remote:
        """An address so far behind the first argument on the stack."""
        stack = g.b.load(g.ctx, registers.STACK_POINTER, 8, invariant=True)
        return Remote(stack, convention.STACK_ARGUMENTS + offset)


def _is_value(kind: Type) -> bool:
    return size_of(kind) <= 8 and not isinstance(resolve(kind), (Array, Struct))


def _gathered(g: Generation, places: tuple[int, ...]) -> Memory:
    """An object that is in registers, in memory."""
    memory = g.temporary(8 * len(places))
    for number, register in enumerate(places):
        g.b.store(memory.base, memory.offset + 8 * number, 8, g.b.load(g.ctx, register, 8, invariant=True))
    return memory
