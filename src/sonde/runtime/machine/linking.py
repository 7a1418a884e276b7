"""From a program of the spec to one that can run: every 64-bit immediate has its number.

A map's descriptor becomes its handle, a direct value the address of the value in Memory, a function's address a handle
that the session's table of functions knows. Handles lie outside of any region.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction, decode, ld_imm64
from sonde.bpf.maps import ARRAY
from sonde.model.spec import MapSpec, ProgramSpec, Stamp
from sonde.runtime.machine import structure
from sonde.typed import NamedTuple, Protocol

Functions = dict[int, Callable[..., int]]
"""What helpers call by a function's handle: one table for all programs of a session."""

FIRST_FUNCTION = 0xFFFF_6000_0000_0000
"""The first handle of a function; further ones are counted up."""

_HALF = 0xFFFFFFFF
_KEY = bytes(4)


class LinkedMap(Protocol):
    """What linking asks of a map (`maps/base.py`): `lookup` gives the address of a key's value, or 0."""

    spec: MapSpec
    handle: int

    def lookup(self, key: bytes) -> int: ...


class LinkedProgram(NamedTuple):
    """`code` has plain numbers in its LD_IMM64. `functions` pairs the handles of functions whose address is taken with
    the slots they begin at. `values` are the slots of LD_IMM64 that hold an address within a map's only value: its
    region stays where it is as long as the program runs. `lines` as ProgramSpec has them."""

    name: str
    code: tuple[Instruction, ...]
    functions: tuple[tuple[int, int], ...] = ()
    values: frozenset[int] = frozenset()
    lines: tuple[tuple[int, str], ...] = ()


class LinkError(Exception):
    """The program cannot run here, for what the message says."""


def link(
    spec: ProgramSpec, maps: Mapping[str, LinkedMap], stamp_value: Callable[[Stamp], int], functions: Functions
) -> LinkedProgram:
    """Link one program. `stamp_value` gives the number of each stamp, the firing's cookie included; each function whose
    address is taken gets a handle, reserved in `functions` until an execution of the program puts itself there. Raises
    LinkError, or StructureError if the code is none."""
    code = decode(spec.code)
    structure.check(code)
    names = dict(spec.map_references)
    handles: dict[int, int] = {}
    values: set[int] = set()
    for slot in sorted(slot - 1 for slot in structure.second_slots(code)):
        first = code[slot]
        if first.src in (i.PSEUDO_MAP_FD, i.PSEUDO_MAP_VALUE):
            if slot not in names:
                raise LinkError(f"{spec.name}: instruction {slot} refers to a map that has no name")
            value = _map_value(maps[names[slot]], first.src, code[slot + 1].imm)
            if first.src == i.PSEUDO_MAP_VALUE:
                values.add(slot)
        elif first.src == i.PSEUDO_FUNC:
            target = slot + 1 + first.imm
            value = handles[target] = handles.get(target) or _reserve(functions)
        elif first.src == i.PSEUDO_VALUE:
            continue
        else:
            raise LinkError(f"{spec.name}: instruction {slot} asks for an address that only a kernel has")
        code[slot : slot + 2] = ld_imm64(first.dst, value)
    for stamp in spec.stamps:
        code[stamp.at : stamp.at + 2] = ld_imm64(code[stamp.at].dst, stamp_value(stamp))
    pairs = tuple((handle, slot) for slot, handle in handles.items())
    return LinkedProgram(spec.name, tuple(code), pairs, frozenset(values), spec.lines)


def immediate(code: Sequence[Instruction], slot: int) -> int:
    """The 64-bit number that the LD_IMM64 at `slot` of linked code loads."""
    return code[slot].imm & _HALF | (code[slot + 1].imm & _HALF) << 32


def _map_value(found: LinkedMap, kind: int, offset: int) -> int:
    """The handle, or the address of byte `offset` of an array's first value."""
    if kind == i.PSEUDO_MAP_FD:
        return found.handle
    if found.spec.kind != ARRAY:
        raise LinkError(f"{found.spec.name} is no array: its values have no address that a program could have")
    address = found.lookup(_KEY)
    if not address or not 0 <= offset < found.spec.value_size * max(1, found.spec.max_entries):
        raise LinkError(f"{found.spec.name} has no byte {offset} that a program could refer to")
    return address + offset


def _reserve(functions: Functions) -> int:
    handle = max(functions, default=FIRST_FUNCTION - 1) + 1

    def unready(*_arguments: int) -> int:
        raise LinkError(f"the function {handle:#x} was called before its program was made ready")

    functions[handle] = unready
    return handle
