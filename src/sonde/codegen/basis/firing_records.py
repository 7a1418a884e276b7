"""Programs that record their firings: what `--record` loads into the kernel.

Such a program runs its clauses as any other, since what it reads next may depend on what its variables have, but its
records go nowhere. In their place it builds one record of the firing in its scratch frame and sends that when it is
done: who, when, the context, then a piece for each read of memory that a clause has made, each stack, and each result
of a helper that no replay could have again. `model/firing_record.py` has the layout.

What a piece costs is a call of a routine and the copy of what was read (`codegen/routines/firing_pieces.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.arch import registers
from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.names import probe_id
from sonde.codegen.basis.outputs import RING
from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg
from sonde.model import firing_record as layout
from sonde.model.probe import RawTracepoint, Syscall, Tracepoint
from sonde.model.program import Clause
from sonde.model.spec import CPU_AT, PROBE_AT
from sonde.model.types import Struct

_NO_WAKEUP = 1
"""BPF_RB_NO_WAKEUP: whoever takes the records looks for them every few milliseconds."""


def begin(g: Generation) -> None:
    """The head of the record, at the start of a firing; from here on the clock shows the firing's time."""
    if not g.shared.settings.records or g.is_error_routine:
        return
    g.firing_record = g.lasting(layout.AREA)
    now = g.firing_time if g.firing_time is not None else g.call("ktime_get_ns")
    _store(g, 0, 4, Imm(layout.LAYOUT))
    _store(g, PROBE_AT, 4, probe_id(g))
    _store(g, CPU_AT, 4, g.call("get_smp_processor_id", pure="cpu"))
    program = g.intern(g.b.function.name.encode()) << layout.PROGRAM_SHIFT
    _store(g, layout.FLAGS_AT, 4, Imm(program | (0 if g.resumed is None else layout.CONTINUED)))
    _store(g, layout.TIME_AT, 8, now)
    g.firing_time = g.b.in_register(now)
    _identify(g)
    size = 0 if g.resumed is not None else _context(g)
    _store(g, layout.CONTEXT_SIZE_AT, 4, Imm(size))
    _store(g, layout.REGISTERS_SIZE_AT, 4, Imm(_registers(g, size)))


def _identify(g: Generation) -> None:
    from sonde.codegen.basis.identity import identity  # as the numbers are needed here alone

    task = g.current_task()
    _store(g, layout.TASK_AT, 8, task)
    _store(g, layout.PIDS_AT, 8, identity(g))
    _store(g, layout.IDS_AT, 8, g.call("get_current_uid_gid", pure="uid"))
    structure = g.shared.kernel_type("struct", "task_struct")
    name, parent, group = (
        structure.find(each) if isinstance(structure, Struct) else None for each in ("comm", "real_parent", "tgid")
    )
    if name is not None:
        for start in (0, 8):
            word = g.b.load(task, name.offset // 8 + start, 8, invariant=True)
            _store(g, layout.NAME_AT + start, 8, word)
    else:
        area = g.firing_record
        assert area is not None
        g.call("get_current_comm", g.argument_of(area.base, area.offset + layout.NAME_AT), Imm(16))
    number: Operand = Imm(-1)
    if parent is not None and group is not None and g.shared.target.initial_namespace:
        above = g.b.in_register(g.b.load(task, parent.offset // 8, 8, invariant=True))
        number = g.b.load(above, group.offset // 8, 4)
    _store(g, layout.PARENT_AT, 8, number)


def _context(g: Generation) -> int:
    """What the program was given, behind the head; its size."""
    firing = g.context.probes[0].firing
    kind = g.context.kind
    if isinstance(firing, Syscall):
        return 0
    if kind in (programs.RAW_TRACEPOINT, programs.TRACING) and isinstance(firing, RawTracepoint):
        count = min(max(firing.arguments, 0), layout.MOST_ARGUMENTS)
        for number in range(count):
            _store(g, layout.HEAD + 8 * number, 8, g.b.load(g.ctx, 8 * number, 8, invariant=True))
        return 8 * count
    if isinstance(firing, Tracepoint):
        size = layout.RECORD
        area = g.firing_record
        assert area is not None
        g.call("probe_read_kernel", g.argument_of(area.base, area.offset + layout.HEAD), Imm(size), g.ctx)
        return size
    return 0


def _registers(g: Generation, behind: int) -> int:
    """struct pt_regs behind the context; its size."""
    at = layout.HEAD + behind
    firing = g.context.probes[0].firing
    area = g.firing_record
    assert area is not None
    if isinstance(firing, Syscall) and g.resumed is None:
        saved: Reg = g.call("task_pt_regs", g.current_task(), pure="registers")
        target = g.argument_of(area.base, area.offset + at)
        g.call("probe_read_kernel", target, Imm(registers.SIZE), saved)
    elif g.context.kind in (programs.KPROBE, programs.PERF_EVENT):
        for start in range(0, registers.SIZE, 8):
            _store(g, at + start, 8, g.b.load(g.ctx, start, 8, invariant=True))
    else:
        _store(g, layout.USED_AT, 8, Imm(at))
        return 0
    _store(g, layout.USED_AT, 8, Imm(at + registers.SIZE))
    return registers.SIZE


def _store(g: Generation, offset: int, size: int, value: Operand) -> None:
    area = g.firing_record
    assert area is not None
    g.b.store(area.base, area.offset + offset, size, value)


def read(g: Generation, kind: int, address: Operand, size: Operand, result: Operand, memory: Memory) -> None:
    """What a helper has read of memory: `size` bytes, or of a string as many as its result says; less than 0: none."""
    if g.firing_record is None:
        return
    if kind not in layout.STRINGS:
        result = g.b.choose("slt", result, Imm(0), lambda: Imm(-1), lambda: size)
    piece(g, kind, address, result, memory)


def piece(g: Generation, kind: int, address: Operand, size: Operand, memory: Memory) -> None:
    """What has been read from `address` and is in `memory` now, `size` bytes of it, or less than 0: it failed."""
    area = g.firing_record
    if area is None:
        return
    place = g.b.in_register(address)
    source = g.argument_of(memory.base, memory.offset)
    g.routine(f"firing_piece_{kind}", g.address(area), place, g.b.in_register(size), source)


def value(g: Generation, kind: int, address: Operand, number: Operand, size: int = 8) -> None:
    """A number that was loaded from `address`, or for another kind what stands there."""
    area = g.firing_record
    if area is None:
        return
    word = g.b.in_register(number)
    g.routine(f"firing_value_{kind}", g.address(area), g.b.in_register(address), g.b.copy(Imm(size)), word)


def note(g: Generation, flag: int) -> None:
    """Say something of the firing."""
    area = g.firing_record
    if area is not None:
        flags = g.b.load(area.base, area.offset + layout.FLAGS_AT, 4)
        _store(g, layout.FLAGS_AT, 4, g.b.alu("or", flags, Imm(flag)))


def are_filtered(clauses: Iterable[Clause]) -> bool:
    """Whether firings are recorded only if they meet the condition of the probe, which follows from another: all its
    clauses look at it."""
    return all(each.condition is not None for each in clauses)


def submit(g: Generation) -> None:
    """Send the record, at the end of the firing; without room it is counted as lost."""
    area = g.firing_record
    if area is None:
        return
    end = g.b.label()
    if g.meets is not None:
        g.b.branch("eq", g.meets, Imm(0), end)
    used = g.b.load(area.base, area.offset + layout.USED_AT, 8)
    g.b.branch("gt", used, Imm(layout.AREA), end)
    result = g.call("ringbuf_output", MapDescriptor(RING), g.address(area), used, Imm(_NO_WAKEUP))
    with g.b.when("slt", result, Imm(0)):
        g.count("records")
    g.b.place(end)
