"""From the context of one program type to that of a general probe: what each kind of firing has as arguments.

The functions take the environment and the caller's context, as the engine keeps it (verifier/contexts.py).
"""

from __future__ import annotations

import struct
from errno import EINTR

from sonde.arch import convention, registers, system_calls
from sonde.bpf import probe_context, programs
from sonde.bpf.helpers import MAX_ERRNO, RESTARTING
from sonde.runtime.environment import Environment
from sonde.runtime.kernel_types import TRACEPOINTS
from sonde.runtime.perf.trace_events import WORDS_AT
from sonde.runtime.structures import THREAD_STATUS
from sonde.runtime.verifier.contexts import CONTEXTS, RAW_ARGUMENTS, ContextTable, field_named
from sonde.typed import NamedTuple

_ON_STACK = "=4Q"
_RAW = struct.Struct(f"={RAW_ARGUMENTS}Q")
_WORDS = struct.Struct(f"={probe_context.REGISTERS_SIZE // 8}Q")
_U64 = (1 << 64) - 1


class ProbeValues(NamedTuple):
    """What a general probe sees: `registers` is a struct pt_regs or empty, arguments are u64."""

    arguments: tuple[int, ...]
    registers: bytes = b""
    errno: int = 0


def from_raw_tracepoint(environment: Environment, context: int) -> ProbeValues:
    """The tracepoint's arguments; of sys_enter and sys_exit, those of the system call, and its result twice."""
    arguments = _RAW.unpack(environment.memory.read(context, _RAW.size))
    if environment.tracepoint not in ("sys_enter", "sys_exit"):
        known = TRACEPOINTS.get(environment.tracepoint)
        count = probe_context.MAX_ARGUMENTS if known is None else len(known)
        return ProbeValues(arguments[:count])
    return _of_call(environment, arguments[0], arguments[1])


def from_trace_event(environment: Environment, context: int) -> ProbeValues:
    """The same of a system call as at the raw tracepoint, which makes the event happen."""
    (result,) = struct.unpack("=Q", environment.memory.read(context + WORDS_AT, 8))
    return _of_call(environment, environment.task.registers, result)


def _of_call(environment: Environment, address: int, result: int) -> ProbeValues:
    """Of a system call with the registers at that address; it has the result when it returns."""
    taken = environment.memory.read(address, probe_context.REGISTERS_SIZE)
    if environment.tracepoint == "sys_enter":
        return ProbeValues(_syscall_arguments(environment, taken), taken)
    error = -result & _U64
    if error in RESTARTING:
        error = EINTR
    return ProbeValues((result, result), taken, error if 0 < error <= MAX_ERRNO else 0)


def _syscall_arguments(environment: Environment, taken: bytes) -> tuple[int, ...]:
    """The six of the table, 64 or 32 bits, that the call went through."""
    status = environment.memory.read(environment.task.address + THREAD_STATUS, 4)
    if int.from_bytes(status, "little") & system_calls.COMPAT_BIT:
        return tuple(number & 0xFFFF_FFFF for number in _selected(taken, registers.COMPAT_CALL_ARGUMENTS))
    return _selected(taken, registers.CALL_ARGUMENTS)


def from_perf_event(environment: Environment, context: int) -> ProbeValues:
    """arg0 is the program counter in the kernel or 0, arg1 that in the process or 0, as probes of timers have them;
    arg2 the sample's period, arg3 its address."""
    table = CONTEXTS[programs.PERF_EVENT]
    taken = environment.memory.read(context + field_named(table, "regs").at, probe_context.REGISTERS_SIZE)
    counter, mode = _selected(taken, (registers.PROGRAM_COUNTER, registers.MODE))
    in_process = mode & registers.MODE_BITS != registers.KERNEL_MODE
    period, addr = (_number(environment, context, table, name) for name in ("sample_period", "addr"))
    return ProbeValues((0 if in_process else counter, counter if in_process else 0, period, addr), taken)


def from_registers(environment: Environment, context: int) -> ProbeValues:
    """A function that is entered: the six arguments in registers."""
    taken = environment.memory.read(context, probe_context.REGISTERS_SIZE)
    return ProbeValues(_selected(taken, registers.ARGUMENTS), taken)


def on_stack(environment: Environment, context: int) -> tuple[int, ...]:
    """The other arguments of such a function, which are on the stack behind the return address, if that can be read."""
    taken = environment.memory.read(context, probe_context.REGISTERS_SIZE)
    (stack,) = _selected(taken, (registers.STACK_POINTER,))
    try:
        found = environment.task.read_memory(stack + convention.STACK_ARGUMENTS, struct.calcsize(_ON_STACK))
    except OSError:
        return ()
    return struct.unpack(_ON_STACK, found)


def from_xdp(environment: Environment, context: int) -> ProbeValues:
    """arg0 is the packet's length over all its pieces, arg1 the interface it came in by, arg2 its queue there."""
    table = CONTEXTS[programs.XDP]
    where = (_number(environment, context, table, name) for name in ("ingress_ifindex", "rx_queue_index"))
    return ProbeValues((environment.packet.length, *where))


def from_skb(environment: Environment, context: int) -> ProbeValues:
    """arg0 is the packet's length over all its pieces, arg1 the interface it is at, arg2 its protocol in network byte
    order, arg3 its mark."""
    table = CONTEXTS[programs.SCHED_CLS]
    rest = (_number(environment, context, table, name) for name in ("ifindex", "protocol", "mark"))
    return ProbeValues((environment.packet.length, *rest))


def _number(environment: Environment, context: int, table: ContextTable, name: str) -> int:
    field = field_named(table, name)
    return int.from_bytes(environment.memory.read(context + field.at, field.size), "little")


def _selected(taken: bytes, offsets: tuple[int, ...]) -> tuple[int, ...]:
    words = _WORDS.unpack(taken)
    return tuple([words[at >> 3] for at in offsets])
