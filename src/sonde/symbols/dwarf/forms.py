"""Attribute forms of DWARF 2 to 5 (DWARF 5, section 7.5.6): how long a value is, and small values themselves."""

from __future__ import annotations

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

ADDR, BLOCK2, BLOCK4, DATA2, DATA4, DATA8, STRING, BLOCK, BLOCK1, DATA1, FLAG, SDATA, STRP, UDATA = (
    0x01, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F,
)  # fmt: skip
REF_ADDR, REF1, REF2, REF4, REF8, REF_UDATA, INDIRECT, SEC_OFFSET, EXPRLOC, FLAG_PRESENT = range(0x10, 0x1A)
STRX, ADDRX, REF_SUP4, STRP_SUP, DATA16, LINE_STRP, REF_SIG8, IMPLICIT_CONST, LOCLISTX, RNGLISTX, REF_SUP8 = range(
    0x1A, 0x25
)
STRX1, STRX2, STRX3, STRX4, ADDRX1, ADDRX2, ADDRX3, ADDRX4 = range(0x25, 0x2D)
GNU_ADDR_INDEX, GNU_STR_INDEX, GNU_REF_ALT, GNU_STRP_ALT = 0x1F01, 0x1F02, 0x1F20, 0x1F21

UNIT_REFERENCES = frozenset((REF1, REF2, REF4, REF8, REF_UDATA))
SHARED_REFERENCES = frozenset((GNU_REF_ALT, REF_SUP4, REF_SUP8))
STRING_INDEXES = frozenset((STRX, STRX1, STRX2, STRX3, STRX4, GNU_STR_INDEX))
ADDRESS_INDEXES = frozenset((ADDRX, ADDRX1, ADDRX2, ADDRX3, ADDRX4, GNU_ADDR_INDEX))

_FIXED = {
    DATA1: 1, FLAG: 1, REF1: 1, STRX1: 1, ADDRX1: 1, DATA2: 2, REF2: 2, STRX2: 2, ADDRX2: 2, STRX3: 3, ADDRX3: 3,
    DATA4: 4, REF4: 4, STRX4: 4, ADDRX4: 4, REF_SUP4: 4, DATA8: 8, REF8: 8, REF_SIG8: 8, REF_SUP8: 8, DATA16: 16,
    FLAG_PRESENT: 0, IMPLICIT_CONST: 0,
}  # fmt: skip
_OFFSETS = frozenset((STRP, SEC_OFFSET, LINE_STRP, STRP_SUP, GNU_REF_ALT, GNU_STRP_ALT))
LEB128 = frozenset((SDATA, UDATA, REF_UDATA, STRX, ADDRX, LOCLISTX, RNGLISTX, GNU_ADDR_INDEX, GNU_STR_INDEX))
_BLOCK_LENGTHS = {BLOCK1: 1, BLOCK2: 2, BLOCK4: 4}


class Sizes(NamedTuple):
    """What the length of some forms depends on: a unit's size of addresses and of offsets in bytes, its version."""

    address: int
    offset: int
    version: int


def fixed_size(form: int, sizes: Sizes) -> int | None:
    """How many bytes every value of the form has, None if they differ."""
    if form == ADDR:
        return sizes.address
    if form == REF_ADDR:
        return sizes.address if sizes.version < 3 else sizes.offset
    if form in _OFFSETS:
        return sizes.offset
    return _FIXED.get(form)


def uleb128(data: Part, at: int) -> tuple[int, int]:
    """An unsigned number and the offset behind it. Raises IndexError at the end of the data."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        if shift < 64:
            value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at


def sleb128(data: Part, at: int) -> tuple[int, int]:
    """A signed number and the offset behind it. Raises IndexError at the end of the data."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        if shift < 64:
            value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if byte & 0x40 and shift < 64:
        value |= -1 << shift
    value &= (1 << 64) - 1
    return value - (value >> 63 << 64), at


def skip(form: int, data: Part, at: int, sizes: Sizes) -> int:
    """The offset behind a value. Raises DebugInfoError for a form that is not known, IndexError at the end."""
    size = fixed_size(form, sizes)
    if size is not None:
        return at + size
    if form in LEB128:
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if form == STRING:
        return data.index(0, at) + 1
    if form in (BLOCK, EXPRLOC):
        size, at = uleb128(data, at)
        return at + size
    if form in _BLOCK_LENGTHS:
        width = _BLOCK_LENGTHS[form]
        return at + width + int.from_bytes(data[at : at + width], "little")
    if form == INDIRECT:
        form, at = uleb128(data, at)
        if form != INDIRECT:
            return skip(form, data, at, sizes)
    raise DebugInfoError(f"attribute form {form:#x} is not known")


def number(form: int, data: Part, at: int, sizes: Sizes) -> int:
    """The value of a form that is a number, a reference, an offset or an index."""
    size = fixed_size(form, sizes)
    if size is not None:
        return int.from_bytes(data[at : at + size], "little")
    return (sleb128 if form == SDATA else uleb128)(data, at)[0]
