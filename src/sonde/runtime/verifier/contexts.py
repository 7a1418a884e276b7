"""What programs of each type may access in their context, and where the engine keeps it.

Programs see the structures that the kernel documents: struct __sk_buff, struct xdp_md, struct bpf_perf_event_data,
struct pt_regs, arrays of arguments. The engine keeps others, *meta-structures*: an access is checked against the
table of the program's type, then rewritten, one instruction for one, to the place that the table gives. So what the
engine keeps can grow and be reordered while programs stay as they are.

The rules are those of the kernel's is_valid_access functions (net/core/filter.c, kernel/trace/bpf_trace.c,
kernel/bpf/syscall.c, and btf_ctx_access in kernel/bpf/btf.c, Linux 6.18).
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.arch import registers
from sonde.bpf import probe_context, programs
from sonde.runtime.verifier.values import PACKET, PACKET_END, PACKET_META
from sonde.typed import NamedTuple

SCALAR, POINTER = "scalar", "pointer"

_ANY = frozenset({1, 2, 4, 8})


class ContextField(NamedTuple):
    """Bytes `offset` to `offset + size` of the structure that programs see, kept at `at` in the engine's.

    `kind` tells what a read of it gives: SCALAR, a POINTER to a structure of type `type` (`task_struct`, `pt_regs`),
    or one of the three packet pointers. `reads` and `writes` are the sizes of the accesses that are allowed; each has
    to be aligned to its own size. `width` is how many bytes the engine loads in the place of a whole read: packet
    pointers are u32 to programs, and addresses to the engine; 0 means as many as the program.
    """

    name: str
    offset: int
    size: int
    at: int
    kind: str = SCALAR
    type: str = ""
    reads: frozenset[int] = _ANY
    writes: frozenset[int] = frozenset()
    width: int = 0


class ContextTable(NamedTuple):
    """The table of one program type: the name of what programs see, and the engine's structure, `size` bytes.

    `is_memory`: helpers take the context as plain memory too, and so the two structures are the same.
    """

    name: str
    fields: tuple[ContextField, ...]
    size: int
    is_memory: bool = False


class Access(NamedTuple):
    """An access as the engine makes it: `size` bytes at `at`; `field` tells what a read gives."""

    field: ContextField
    at: int
    size: int


class ContextError(Exception):
    """An access that the table does not allow; the text says why and what would be allowed."""


def find(context: ContextTable, offset: int, size: int, is_write: bool = False, is_signed: bool = False) -> Access:
    """The engine's access for one of `size` bytes at `offset` of what the program sees. Raises ContextError."""
    what = f"{'write' if is_write else 'read'} of {size} bytes at offset {offset} of {context.name}"
    for field in context.fields:
        if field.offset <= offset < field.offset + field.size:
            break
    else:
        raise ContextError(f"{what}: programs of this type have nothing there")
    allowed = field.writes if is_write else field.reads
    if is_write and not allowed:
        raise ContextError(f"{what}: {field.name} cannot be written")
    if size not in allowed:
        raise ContextError(f"{what}: {field.name} is accessed by {_sizes(allowed)} bytes")
    if offset % size or offset + size > field.offset + field.size:
        raise ContextError(f"{what}: not aligned, or beyond the end of {field.name}")
    if is_signed and field.kind != SCALAR:
        raise ContextError(f"{what}: {field.name} is a pointer, which has no sign to extend")
    return Access(field, field.at + offset - field.offset, field.width or size)


def _sizes(allowed: frozenset[int]) -> str:
    return " or ".join(str(size) for size in sorted(allowed))


def field_named(context: ContextTable, name: str) -> ContextField:
    """The field of that name, for whoever fills the engine's structure. Raises KeyError."""
    for field in context.fields:
        if field.name == name:
            return field
    raise KeyError(name)


def tracing(arguments: Iterable[str]) -> ContextTable:
    """The context of a tp_btf program: for each argument the name of the structure it points to, "" for a number."""
    fields = []
    for number, name in enumerate(arguments):
        reads = frozenset({8}) if name else _ANY
        kind = POINTER if name else SCALAR
        fields.append(ContextField(f"argument {number}", 8 * number, 8, 8 * number, kind, name, reads))
    return ContextTable("the tracepoint's arguments", tuple(fields), 8 * len(fields))


RAW_ARGUMENTS = 12
"""How many arguments a raw tracepoint can have at most (MAX_BPF_FUNC_ARGS, include/linux/bpf.h)."""

_RECORD_SIZE = 8192
"""Bytes of the largest record of a tracepoint (PERF_MAX_TRACE_SIZE, include/linux/trace_events.h)."""

_SYSCALL_SIZE = 65535

_RAW = ContextTable(
    "the raw tracepoint's arguments", (ContextField("arguments", 0, 8 * RAW_ARGUMENTS, 0),), 8 * RAW_ARGUMENTS
)

_RECORD = ContextTable("the tracepoint's record", (ContextField("fields", 8, _RECORD_SIZE - 8, 8),), _RECORD_SIZE)

_REGISTERS = ContextTable("struct pt_regs", (ContextField("registers", 0, registers.SIZE, 0),), registers.SIZE)

_PERF_EVENT = ContextTable(
    "struct bpf_perf_event_data",
    (
        ContextField("regs", 0, registers.SIZE, 16, reads=frozenset({8})),
        ContextField("sample_period", 168, 8, 0),
        ContextField("addr", 176, 8, 8),
    ),
    16 + registers.SIZE,
)

_PROBE = ContextTable(
    "the probe's context",
    (
        ContextField("registers", probe_context.REGISTERS, registers.SIZE, 104, reads=frozenset({8})),
        ContextField("arguments", probe_context.ARGUMENTS, 8 * probe_context.MAX_ARGUMENTS, 16, reads=frozenset({8})),
        ContextField("cookie", probe_context.COOKIE, 8, 0),
        ContextField("count", probe_context.COUNT, 4, 8),
        ContextField("errno", probe_context.ERRNO, 4, 12),
        ContextField("probe", probe_context.PROBE, 4, 96),
        ContextField("kind", probe_context.KIND, 4, 100),
    ),
    104 + registers.SIZE,
)

_SYSCALL = ContextTable(
    "the context", (ContextField("bytes", 0, _SYSCALL_SIZE, 0, writes=_ANY),), _SYSCALL_SIZE, is_memory=True
)

_XDP_MD = """
data 0 4 packet            data_end 4 4 packet_end    data_meta 8 4 packet_meta
ingress_ifindex 12 4       rx_queue_index 16 4
"""
"""struct xdp_md: name, offset, size, kind if no number."""

_SK_BUFF = """
len 0 4                    pkt_type 4 4               mark 8 4               queue_mapping 12 4
protocol 16 4              vlan_present 20 4          vlan_tci 24 4          vlan_proto 28 4
priority 32 4              ingress_ifindex 36 4       ifindex 40 4           tc_index 44 4
cb 48 20                   hash 68 4                  tc_classid 72 4        data 76 4 packet
data_end 80 4 packet_end   napi_id 84 4               data_meta 140 4 packet_meta
tstamp 152 8               wire_len 160 4             gso_segs 164 4         gso_size 176 4
tstamp_type 180 1          hwtstamp 184 8
"""
"""struct __sk_buff, likewise, without its pointers to what this engine has none of: flow keys and sockets."""

_FILTER_LACKS = frozenset(
    {"tc_classid", "data", "data_end", "data_meta", "tstamp", "wire_len", "tstamp_type", "hwtstamp"}
)
_FILTER_WRITES = frozenset({"cb"})
_CLASSIFIER_WRITES = frozenset({"mark", "tc_index", "priority", "tc_classid", "cb", "tstamp", "queue_mapping"})


def _declared(text: str) -> list[tuple[str, int, int, str]]:
    """Name, offset, size and kind of each field of such a text."""
    words = text.split()
    fields = []
    while words:
        name, offset, size, *words = words
        kind = words.pop(0) if words and words[0] in (PACKET, PACKET_META, PACKET_END) else SCALAR
        fields.append((name, int(offset), int(size), kind))
    return fields


def _packet(name: str, text: str, writes: frozenset[str], lacks: frozenset[str], narrow: bool) -> ContextTable:
    """The table for a packet: the engine's structure has packet pointers as addresses, and is laid out anew.

    Every field has a place, also in the table of a type that may not see it, so that one structure serves them all.
    """
    fields, end = [], 0
    # Large fields first: each is then aligned to its size.
    for field, offset, size, kind in sorted(_declared(text), key=lambda entry: (entry[3] == SCALAR, -entry[2])):
        width = size if kind == SCALAR else 8
        exact = frozenset({size})
        if field == "cb":
            reads = stores = _ANY
        else:
            narrowed = narrow and kind == SCALAR and size == 4
            reads = frozenset({1, 2, 4}) if narrowed else exact
            stores = exact
        place = -(-end // min(width, 8)) * min(width, 8) if field != "cb" else -(-end // 8) * 8
        end = place + width
        if field not in lacks:
            writable = stores if field in writes else frozenset()
            fields.append(
                ContextField(field, offset, size, place, kind, "", reads, writable, 0 if kind == SCALAR else 8)
            )
    return ContextTable(name, tuple(sorted(fields, key=lambda field: field.offset)), -(-end // 8) * 8)


CONTEXTS: dict[int, ContextTable] = {
    programs.RAW_TRACEPOINT: _RAW,
    programs.TRACEPOINT: _RECORD,
    programs.PERF_EVENT: _PERF_EVENT,
    programs.KPROBE: _REGISTERS,
    programs.SOCKET_FILTER: _packet("struct __sk_buff", _SK_BUFF, _FILTER_WRITES, _FILTER_LACKS, True),
    programs.SCHED_CLS: _packet("struct __sk_buff", _SK_BUFF, _CLASSIFIER_WRITES, frozenset(), True),
    programs.XDP: _packet("struct xdp_md", _XDP_MD, frozenset(), frozenset(), False),
    programs.SYSCALL: _SYSCALL,
    programs.PROBE: _PROBE,
}
"""Tables by program type; TRACING has one for each tracepoint, which `tracing` makes."""
