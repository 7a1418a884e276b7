"""Programs that record their firings: what `--record` loads into the kernel.

Such a program runs its clauses as any other, since what it reads next may depend on what its variables have, but its
records go nowhere. In their place it builds one record of the firing in its scratch frame and sends that when it is
done: who, when, the context, then a piece for each read of memory that a clause has made, each stack, and each result
of a helper that no replay could have again. `model/firing_record.py` has the layout.

What a piece costs is a call of a routine and the copy of what was read (`codegen/routines/firing_pieces.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.arch import registers
from sonde.bpf import programs
from sonde.codegen.basis import identity
from sonde.codegen.basis.generation import Generation, RecordedPacket
from sonde.codegen.basis.names import probe_id
from sonde.codegen.basis.outputs import LARGEST_RECORD, RING, is_perf, write_image
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.uses import known_packets
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg
from sonde.formats.bpf_ring import RING_HEADER
from sonde.model import firing_record as layout
from sonde.model.probe import Packet, RawTracepoint, Syscall, Tracepoint
from sonde.model.program import Clause
from sonde.model.records import CPU_AT, PROBE_AT
from sonde.model.types import Struct, Type

_NO_WAKEUP = 1
"""BPF_RB_NO_WAKEUP: whoever takes the records looks for them every few milliseconds."""

_INTERFACE, _XDP_INTERFACE = 40, 12
"""In struct __sk_buff: ifindex; in struct xdp_md: ingress_ifindex (include/uapi/linux/bpf.h)."""

_ONLY_SKB = 4, 20, 24, 28
"""In struct __sk_buff: pkt_type, vlan_present, vlan_tci, vlan_proto."""


def begin(g: Generation, clauses: Sequence[Clause]) -> None:
    """The head of the record, at the start of a firing that runs these clauses; from here on the clock shows the
    firing's time."""
    if not g.shared.settings.records or g.is_error_routine:
        return
    image = g.lasting(RING_HEADER + layout.AREA + layout.stack_room(g.shared.settings.record_stack))
    g.firing_record = Memory(image.base, image.offset + RING_HEADER)
    packets = known_packets(clauses)
    if len(packets) == 1:
        g.firing_packet = RecordedPacket(next(iter(packets)), g.b.copy(Imm(0)))
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
    task = g.current_task()
    _store(g, layout.TASK_AT, 8, task)
    _store(g, layout.PIDS_AT, 8, identity.identity(g))
    structure = g.shared.kernel_type("struct", "task_struct")
    _store(g, layout.IDS_AT, 8, _credentials(g, structure))
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


def _credentials(g: Generation, task: Type | None) -> Operand:
    """Group and user, as the helper has them, which programs for packets have not got."""
    if g.context.kind not in programs.FOR_PACKETS:
        return g.call("get_current_uid_gid", pure="uid")
    structure = g.shared.kernel_type("struct", "cred")
    place = task.find("cred") if isinstance(task, Struct) else None
    user, group = (structure.find(name) if isinstance(structure, Struct) else None for name in ("uid", "gid"))
    if place is None or user is None or group is None:
        return Imm(-1)
    found = g.b.in_register(g.b.load(g.current_task(), place.offset // 8, 8, invariant=True))
    high = g.b.alu("lsh", g.b.load(found, group.offset // 8, 4), Imm(32))
    return g.b.alu("or", high, g.b.load(found, user.offset // 8, 4))


def _passing(g: Generation) -> int:
    """What the context tells of a packet."""
    is_xdp = g.context.kind == programs.XDP
    _store(g, layout.HEAD, 4, g.context.argument(g, 0))
    fields = (_XDP_INTERFACE,) if is_xdp else (_INTERFACE, *_ONLY_SKB)
    for number in range(1, layout.PASSING.size // 4):
        at = fields[number - 1] if number <= len(fields) else None
        _store(g, layout.HEAD + 4 * number, 4, Imm(0) if at is None else g.b.load(g.ctx, at, 4, invariant=True))
    return layout.PASSING.size


def _context(g: Generation) -> int:
    """What the program was given, behind the head; its size."""
    firing = g.context.probes[0].firing
    kind = g.context.kind
    if isinstance(firing, Packet):
        return _passing(g)
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
    if area is None or g.is_kept_already:
        return
    place = g.b.in_register(address)
    source = g.argument_of(memory.base, memory.offset)
    g.routine(f"firing_piece_{kind}", g.address(area), place, g.b.in_register(size), source)


def value(g: Generation, kind: int, address: Operand, number: Operand, size: int = 8) -> None:
    """A number that was loaded from `address`, or for another kind what stands there."""
    area = g.firing_record
    if area is None or g.is_kept_already:
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
    lost = g.b.label()
    room = layout.AREA
    if g.shared.settings.record_stack and g.context.kind not in programs.FOR_PACKETS:
        room += layout.stack_room(g.shared.settings.record_stack)
    used = g.b.in_register(g.b.load(area.base, area.offset + layout.USED_AT, 8))
    g.b.branch("gt", used, Imm(room - layout.PIECE.size), end)
    if isinstance(g.context.probes[0].firing, Packet):
        _send_with_packet(g, area, used, g.context.argument(g, 0), None, lost)
        g.b.jump(end)
    else:
        if g.firing_packet is not None:
            _send_with_other(g, area, used, g.firing_packet, lost, end)
        g.b.branch("sge", _send(g, area, used, lost), Imm(0), end, lost)
    g.b.place(lost)
    g.count("records")
    g.b.place(end)


def ask_for_stack(g: Generation) -> None:
    """A clause looks at the process's stack: it is kept as bytes, too, where that was asked for."""
    if g.firing_record is not None and g.shared.settings.record_stack:
        note(g, layout.STACK_ASKED)


def _send(g: Generation, area: Memory, used: Reg, lost: int) -> Reg:
    """What the kernel says of a record of so many bytes."""
    if not is_perf(g):
        return g.call("ringbuf_output", MapDescriptor(RING), g.address(area), used, Imm(_NO_WAKEUP))
    _store(g, -RING_HEADER, 8, used)
    return write_image(g, _image(g, area), g.b.alu("add", used, Imm(RING_HEADER)), lost)


def _image(g: Generation, area: Memory) -> Reg:
    return g.b.in_register(g.address(Memory(area.base, area.offset - RING_HEADER)))


def _send_with_other(
    g: Generation, area: Memory, used: Reg, packet: RecordedPacket, lost: int, end: int
) -> None:  # fmt: skip
    """If a clause has recorded that argument as a packet, send its bytes with the record, and go on to `end`."""
    there, absent = g.b.label(), g.b.label()
    g.b.branch("ne", packet.wanted, Imm(0), there, absent)
    g.b.place(there)
    skb = g.b.in_register(g.context.argument(g, packet.argument))
    _send_with_packet(g, area, used, packet.wanted, skb, lost)
    g.b.jump(end)
    g.b.place(absent)


def _send_with_packet(
    g: Generation, area: Memory, used: Reg, present: Operand, skb: Operand | None, lost: int
) -> None:  # fmt: skip
    """Have the kernel put the packet's first bytes behind the record, as its last piece."""
    at = g.b.in_register(g.b.alu("add", g.address(area), used))
    whole = g.b.in_register(g.b.alu("add", used, Imm(layout.PIECE.size)))
    kept = g.b.copy(present)
    with g.b.when("gt", kept, Imm(g.shared.settings.packet_bytes)):
        g.b.move(kept, Imm(g.shared.settings.packet_bytes))
    room = g.b.alu("sub", Imm(LARGEST_RECORD), whole)
    with g.b.when("gt", kept, room):
        g.b.move(kept, room)
    g.b.store(at, 0, 8, present)
    g.b.store(at, 8, 4, Imm(layout.PACKET))
    g.b.store(at, 12, 4, kept)
    length = g.b.alu("add", whole, kept)
    _store(g, layout.USED_AT, 8, length)
    _store(g, -RING_HEADER, 8, length)
    size = g.b.alu("add", whole, Imm(RING_HEADER))
    result = write_image(g, _image(g, area), size, lost, kept, skb)
    g.b.branch("slt", result, Imm(0), lost)
