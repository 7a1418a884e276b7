"""Records of firings as programs write them and files keep them, to values and back (`model/firing_record.py`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from sonde.arch import registers as registers_of
from sonde.engines.fired import FiringThread, KeptPacket, KeptStack, MemoryRead, RecordedFiring
from sonde.formats.bpf_ring import DISCARD, LENGTH, RING_HEADER, record_size
from sonde.model import firing_record as layout
from sonde.model.units import whole_words
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.symbols.unwinding.kept_stacks import KeptStacks

_PARTS = struct.Struct("<IIIIQ48sIIQ").unpack_from
"""`layout.HEADER` with what is told of the thread as one."""
_THREAD = struct.Struct("<QQQ16sq")
_MOST_THREADS = 1 << 12

_WORD = struct.Struct("<I").unpack_from
_U32 = 0xFFFF_FFFF
_KERNEL = 1 << 63
"""From here on addresses are the kernel's."""


class RecordError(Exception):
    """The bytes are no record of a firing."""


class FiringDecoder:
    """Makes firings of records, whose threads are few. `places` are those of probes by the number of the program's name
    and the probe's identifier, of records as they stood in the ring; those of files have places."""

    def __init__(self, places: Mapping[tuple[int, int], int] | None = None) -> None:
        self._places = places
        self._threads: dict[bytes, FiringThread] = {}

    def __call__(self, record: bytes) -> tuple[RecordedFiring, int]:
        """A firing, and its flags. Raises RecordError."""
        if len(record) < layout.HEAD:
            raise RecordError("a record is too short")
        kind, probe, cpu, flags, time, known, context, registers, used = _PARTS(record)
        start = layout.HEAD + context
        at = start + registers
        if kind != layout.LAYOUT or used > len(record) or at > used:
            raise RecordError("what stands there is no record of a firing")
        if self._places is not None:
            place = self._places.get((flags >> layout.PROGRAM_SHIFT, probe))
            if place is None:
                raise RecordError("a firing of a probe that is not described")
            probe, flags = place, flags & layout.FLAGS
        thread = self._threads.get(known) or self._thread(known)
        if at == used:
            return RecordedFiring(probe, time, cpu, thread, record[layout.HEAD : start], record[start:at]), flags
        return _with_pieces(record, RecordedFiring(probe, time, cpu, thread), start, at, used), flags

    def _thread(self, head: bytes) -> FiringThread:
        task, pids, ids, name, parent = _THREAD.unpack(head)
        if len(self._threads) >= _MOST_THREADS:
            self._threads.clear()
        comm = name[:15].partition(b"\0")[0]
        found = FiringThread(pids & _U32, pids >> 32, comm, _identity(ids & _U32), _identity(ids >> 32), parent, task)
        self._threads[head] = found
        return found


def decode(record: bytes) -> tuple[RecordedFiring, int]:
    """A firing, and its flags, of a record by itself. Raises RecordError."""
    return FiringDecoder()(record)


def ring_records(data: bytes) -> Iterator[bytes]:
    """The records of a piece of a ring as it was read. Raises RecordError."""
    at = 0
    while at < len(data):
        if at + RING_HEADER > len(data):
            raise RecordError("a ring ends within a record")
        (head,) = _WORD(data, at)
        start, end = at + RING_HEADER, at + RING_HEADER + (head & LENGTH)
        if end > len(data):
            raise RecordError("a ring ends within a record")
        if not head & DISCARD:
            yield data[start:end]
        at += record_size(head)


def _with_pieces(record: bytes, fired: RecordedFiring, start: int, at: int, used: int) -> RecordedFiring:
    """With its context, which ends at `start`, its registers, and the pieces from `at` on."""
    registers = record[start:at]
    reads: list[MemoryRead] = []
    results: list[tuple[int, int]] = []
    stacks: dict[int, tuple[int, ...]] = {}
    packet: KeptPacket | None = None
    taken, wanted, start_of_stack, bytes_of_stack = b"", 0, 0, bytearray()
    replaced: dict[int, bytes] = {}
    while at < used:
        if at + layout.PIECE.size > used:
            raise RecordError("a record ends within a piece")
        address, what, size = layout.PIECE.unpack_from(record, at)
        at += layout.PIECE.size
        data = record[at : at + size] if size > 0 else b""
        if len(data) < size:
            raise RecordError("a record ends within a piece")
        at += whole_words(max(size, 0))
        if what in (layout.USER_STACK, layout.KERNEL_STACK):
            stacks[what] = _addresses(data, stacks.get(what, ()))
        elif what == layout.RESULT:
            results.append((address, int.from_bytes(data, "little")))
        elif what == layout.REGISTERS:
            taken, wanted = data, address
        elif what == layout.STACK and not taken:
            replaced[address] = data
        elif what == layout.STACK:
            if not bytes_of_stack:
                start_of_stack = address
            if address == start_of_stack + len(bytes_of_stack):
                bytes_of_stack += data
        elif what == layout.PACKET:
            packet = KeptPacket(data, max(address, len(data)))
        elif what in layout.STRINGS:
            reads.append(MemoryRead(address, data[:-1] if size > 0 else None, True))
        elif what in (layout.USER, layout.KERNEL):
            reads.append(MemoryRead(address, data if size > 0 else None))
        else:
            raise RecordError(f"a piece of the unknown kind {what}")
    _put_back(bytes_of_stack, start_of_stack, replaced)
    return fired._replace(
        context=record[layout.HEAD : start], registers=registers, reads=tuple(reads),
        kernel_stack=stacks.get(layout.KERNEL_STACK), user_stack=stacks.get(layout.USER_STACK), results=tuple(results),
        packet=packet,
        kept_stack=KeptStack(taken, start_of_stack, bytes(bytes_of_stack), len(bytes_of_stack) >= wanted)
        if len(taken) == registers_of.SIZE else None,
    )  # fmt: skip


def _put_back(stack: bytearray, start: int, replaced: dict[int, bytes]) -> None:
    """True return addresses into a stack in which a trampoline's stands for them; a function that longjmp has left is
    among them yet."""
    trampoline = replaced.pop(0, b"")
    for address, true in replaced.items():
        at = address - start
        if trampoline and at >= 0 and stack[at : at + len(true)] == trampoline:
            stack[at : at + len(true)] = true


def _identity(number: int) -> int:
    return -1 if number == _U32 else number


def _addresses(data: bytes, known: tuple[int, ...]) -> tuple[int, ...]:
    """Of several looks at a stack the deepest counts."""
    found = struct.unpack(f"<{len(data) // 8}Q", data[: len(data) & -8])
    return max(found, known, key=len)


def walked_later(fired: RecordedFiring, stacks: KeptStacks) -> RecordedFiring:
    """With what walks the stack that is kept of it, if one is."""
    kept = fired.kept_stack
    if kept is None:
        return fired
    room = len(kept.data) if kept.is_full else 0
    data = memoryview(kept.data)
    return fired._replace(unwound=stacks.unwound(fired.thread.pid, kept.registers, kept.start, data, room))


def joined(first: RecordedFiring, more: RecordedFiring) -> RecordedFiring:
    """A firing that was broken off, with what it read where it went on."""
    got = {(each.address, each.is_string) for each in more.reads if each.data is not None}
    kept = tuple(each for each in first.reads if each.data is not None or (each.address, each.is_string) not in got)
    return first._replace(
        reads=kept + more.reads, results=first.results + more.results,
        kernel_stack=first.kernel_stack or more.kernel_stack, user_stack=first.user_stack or more.user_stack,
        packet=first.packet or more.packet, kept_stack=first.kept_stack or more.kept_stack,
    )  # fmt: skip


def encode(fired: RecordedFiring, flags: int = 0) -> bytes:
    """The record of a firing."""
    thread = fired.thread
    pieces = [_piece(each.address, _kind(each), _kept(each)) for each in fired.reads]
    for kind, stack in ((layout.KERNEL_STACK, fired.kernel_stack), (layout.USER_STACK, fired.user_stack)):
        if stack is not None:
            pieces.append(_piece(8 * len(stack), kind, struct.pack(f"<{len(stack)}Q", *stack)))
    pieces += [_piece(helper, layout.RESULT, result.to_bytes(8, "little")) for helper, result in fired.results]
    if fired.kept_stack is not None:
        kept, size = fired.kept_stack, len(fired.kept_stack.data)
        pieces.append(_piece(size if kept.is_full else size + 1, layout.REGISTERS, kept.registers))
        pieces.append(_piece(kept.start, layout.STACK, kept.data))
    if fired.packet is not None:
        pieces.append(_piece(fired.packet.present, layout.PACKET, fired.packet.data))
    body = fired.context + fired.registers + b"".join(pieces)
    head = layout.HEADER.pack(
        layout.LAYOUT, fired.probe, fired.cpu, flags, fired.time, thread.address, thread.pid << 32 | thread.tid,
        (thread.gid & _U32) << 32 | thread.uid & _U32, thread.comm, thread.ppid, len(fired.context),
        len(fired.registers), layout.HEAD + len(body),
    )  # fmt: skip
    return head + body


def _kind(read: MemoryRead) -> int:
    if read.address >= _KERNEL:
        return layout.KERNEL_STRING if read.is_string else layout.KERNEL
    return layout.USER_STRING if read.is_string else layout.USER


def _kept(read: MemoryRead) -> bytes | None:
    return None if read.data is None else read.data + b"\0" if read.is_string else read.data


def _piece(address: int, kind: int, data: bytes | None) -> bytes:
    if data is None:
        return layout.PIECE.pack(address, kind, -1)
    return layout.PIECE.pack(address, kind, len(data)) + data + bytes(-len(data) % 8)
