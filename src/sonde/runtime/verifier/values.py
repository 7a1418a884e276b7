"""What a register or a spilled slot can hold: a `ScalarValue`, a `PointerValue`, or nothing that may be read (None)."""

from __future__ import annotations

from sonde.model.spec import MapSpec
from sonde.runtime.verifier.scalar import MASK64, MAX64, MIN64, ZERO, ScalarValue
from sonde.typed import NamedTuple, TypeAlias

CONTEXT, STACK, MAP, VALUE = "context", "stack", "map", "value"
RECORD, SLOT = "record", "slot"
RESERVED = frozenset({RECORD, SLOT})
PACKET, PACKET_META, PACKET_END = "packet", "packet_meta", "packet_end"
OBJECT, MEMORY, FUNCTION = "object", "memory", "function"
KEY = "key"
PACKETS = frozenset({PACKET, PACKET_META, PACKET_END})


class PointerValue(NamedTuple):
    """An address: `offset` + `variable` bytes from the start of what it points to.

    `kind` is
      `context`    the program's context;
      `stack`      a frame's end, that of frame number `referent`, so that offsets are negative;
      `map`        a map itself, the MapSpec `referent`: it can only be given to helpers;
      `value`      a value of the map `referent`, `size` bytes;
      `record`     a reserved record of a ring buffer, `size` bytes; `id` is the reference to be released;
      `slot`       the same of a perf ring;
      `packet`, `packet_meta`
                   the packet, of which `size` bytes from its start have been compared with its end; pointers with the
                   same `id` differ by constants only;
      `packet_end` behind its last byte, for comparisons only;
      `object`     a structure of the kernel, the name of its type is `referent`, "" where it is not known;
      `memory`     `size` bytes; `referent` KEY are those of a map's key, which cannot be written;
      `function`   the program's function that begins at instruction `referent`.
    `maybe_null`: it may be 0 instead; the pointers with the same `id` are then copies of one.
    """

    kind: str
    offset: int = 0
    variable: ScalarValue = ZERO
    size: int = 0
    referent: MapSpec | str | int = 0
    maybe_null: bool = False
    id: int = 0


Value: TypeAlias = ScalarValue | PointerValue | None

_NAMES = {
    CONTEXT: "ctx", STACK: "fp", MAP: "map", VALUE: "map_value", RECORD: "ringbuf_mem", SLOT: "perf_mem", PACKET: "pkt",
    PACKET_META: "pkt_meta", PACKET_END: "pkt_end", OBJECT: "object", MEMORY: "mem", FUNCTION: "func",
}  # fmt: skip


def show(value: Value) -> str:
    """A value as the kernel's verifier log writes it, in short."""
    if value is None:
        return "uninitialised"
    if type(value) is ScalarValue:
        return _scalar(value)
    assert isinstance(value, PointerValue)
    details = []
    if value.kind == STACK:
        text = f"fp{value.offset:+}" if value.offset else "fp"
    else:
        text = _NAMES[value.kind] + ("_or_null" if value.maybe_null else "")
        if isinstance(value.referent, MapSpec):
            details.append(f"map={value.referent.name}")
        elif isinstance(value.referent, str) and value.referent:
            details.append(value.referent)
        if value.size:
            details.append(f"{'range' if value.kind in (PACKET, PACKET_META) else 'size'}={value.size}")
        if value.offset:
            details.append(f"off={value.offset}")
    if value.variable.mask or value.variable.value:
        details.append(f"var={_scalar(value.variable)}")
    if value.id:
        details.append(f"id={value.id}")
    return f"{text}({','.join(details)})" if details else text


def _scalar(scalar: ScalarValue) -> str:
    if not scalar.mask:
        return f"{scalar.smin}" if -4096 < scalar.smin < 1 << 32 else f"{scalar.value:#x}"
    details = [f"id={scalar.id}"] if scalar.id else []
    if scalar.smin != MIN64 and scalar.smin != scalar.umin:
        details.append(f"smin={scalar.smin}")
    if scalar.smax != MAX64 and scalar.smax != scalar.umax:
        details.append(f"smax={scalar.smax}")
    if scalar.umin:
        details.append(f"umin={scalar.umin}")
    if scalar.umax != MASK64:
        details.append(f"umax={scalar.umax}")
    if scalar.mask != MASK64:
        details.append(f"bits=({scalar.value:#x}; {scalar.mask:#x})")
    return f"scalar({','.join(details)})"
