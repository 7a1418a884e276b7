"""Where the instructions of x86-64 code begin: their lengths, by opcode maps (Intel SDM volume 2, appendix A; AMD APM
volume 3, appendix A). What they do is not looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.typed import NamedTuple

LONGEST = 15

_FEW = 1 << 12
"""Instructions that are decoded between two looks at what it costs."""

_LEGACY_PREFIXES = frozenset((0x66, 0x67, 0xF2, 0xF3, 0xF0, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65))
_LOCK, _OPERAND_SIZE, _ADDRESS_SIZE = 0xF0, 0x66, 0x67
_NOT_MOVABLE_PREFIXES = frozenset((_LOCK, 0x2E, 0x36, 0x3E, 0x26))


class MachineInstruction(NamedTuple):
    """`length` in bytes; `is_probeable` is False where the kernel is known not to put a uprobe."""

    length: int
    is_probeable: bool


# How the bytes behind an opcode are counted: a ModRM byte with what it asks for, then so many of immediate.
_MODRM = 0x100
_Z = 0x20
"""Four bytes, two with the operand-size prefix."""
_V = 0x40
"""Four bytes, two with the operand-size prefix, eight with REX.W."""
_ADDRESS = 0x60
"""Eight bytes, four with the address-size prefix."""
_TEST = 0x80
"""The immediate is there only where ModRM's middle field is 0 or 1: test, among not, neg, mul and div."""
_INVALID = -1


def _fill(table: list[int], value: int, codes: Iterable[int]) -> None:
    for code in codes:
        table[code] = value


def _one_byte() -> tuple[int, ...]:
    table = [0] * 256
    for row in range(0, 0x40, 8):
        _fill(table, _MODRM, range(row, row + 4))
        table[row + 4], table[row + 5] = 1, _Z
    _fill(table, _MODRM, (0x63, *range(0x84, 0x90), *range(0xD0, 0xD4), *range(0xD8, 0xE0), 0xFE, 0xFF))
    table[0xF6], table[0xF7] = _MODRM | _TEST | 1, _MODRM | _TEST | _Z
    _fill(table, _MODRM | 1, (0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6))
    _fill(table, _MODRM | _Z, (0x69, 0x81, 0xC7))
    _fill(table, 1, (0x6A, *range(0x70, 0x80), 0xA8, *range(0xB0, 0xB8), 0xCD, *range(0xE0, 0xE8), 0xEB))
    _fill(table, _Z, (0x68, 0xA9))
    _fill(table, _V, range(0xB8, 0xC0))
    _fill(table, _ADDRESS, range(0xA0, 0xA4))
    _fill(table, 2, (0xC2, 0xCA))
    table[0xC8] = 3
    _fill(table, 4, (0xE8, 0xE9))
    invalid = (
        0x06, 0x07, 0x0E, 0x16, 0x17, 0x1E, 0x1F, 0x27, 0x2F, 0x37, 0x3F, 0x60, 0x61, 0x82, 0x9A, 0xD4, 0xD5, 0xD6,
        0xEA, 0xCE,
    )  # fmt: skip
    _fill(table, _INVALID, invalid)
    return tuple(table)


def _two_byte() -> tuple[int, ...]:
    table = [_MODRM] * 256
    _fill(table, 0, (0x05, 0x06, 0x07, 0x08, 0x09, 0x0B, 0x0E, *range(0x30, 0x36), 0x37, 0x77, 0xA0, 0xA1, 0xA2))
    _fill(table, 0, (0xA8, 0xA9, 0xAA, *range(0xC8, 0xD0)))
    _fill(table, 4, range(0x80, 0x90))
    _fill(table, _MODRM | 1, (0x0F, 0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6))
    _fill(table, _INVALID, (0x04, 0x0A, 0x0C, 0x24, 0x25, 0x26, 0x27, 0x36, 0x39, *range(0x3B, 0x40)))
    return tuple(table)


_ONE, _TWO = _one_byte(), _two_byte()
_VECTOR_IMMEDIATE = frozenset((0x70, 0x71, 0x72, 0x73, 0xC2, 0xC4, 0xC5, 0xC6))
"""Those of the VEX and EVEX opcodes of map 1 that have one."""

_MAP_IMMEDIATE, _XOP_IMMEDIATE = {2: 0, 3: 1, 5: 0, 6: 0}, {8: 1, 9: 0, 10: 4}
"""Bytes of immediate by opcode map, of the maps that have instructions."""

_NOT_PROBEABLE = frozenset(
    (
        0x62,
        *range(0x6C, 0x70),
        0xCC,
        0xCD,
        0xCF,
        *range(0xE4, 0xE8),
        *range(0xEC, 0xF0),
        0xF1,
        0xF4,
        0xFA,
        0xFB,
        *(code for code in range(256) if _ONE[code] == _INVALID),
    )
)
"""Opcodes of one byte that are bad, privileged or trap, in good_insns_64 of arch/x86/kernel/uprobes.c. The kernel looks
up the opcodes behind VEX and EVEX prefixes there, too, where they are other instructions: vmovdqa (6f) for one."""

_NOT_PROBEABLE_VECTOR = _NOT_PROBEABLE.union(
    range(0x70, 0x80), (0x90, 0x9D, 0xC2, 0xC3, 0xCA, 0xCB, 0xE8, 0xE9, 0xEB, 0xFF)
)
"""Behind VEX and EVEX prefixes the kernel also takes these for what they are without: it emulates jumps, calls and nops
in the place of vpbroadcastb (7a) or a store by vmovdqu (7f), and returns into nowhere from vcmpps (c2), as
branch_setup_xol_ops and arch_uprobe_analyze_insn look at the opcode's byte alone. The process would be changed."""

_MAP_OF_FMA4 = 3
_FMA4 = frozenset((*range(0x5C, 0x60), *range(0x68, 0x70), *range(0x78, 0x80)))
"""Instructions of some processors of AMD (vfmaddsd with four operands and its like), which the kernel's table of
opcodes does not have (arch/x86/lib/x86-opcode-map.txt). glibc has functions that begin with one."""

_NOT_PROBEABLE_TWO = frozenset((0x05, 0x07, 0x34, 0x35))
"""System calls: executed elsewhere, and with signals held back meanwhile, they would be different ones."""


def decode(code: bytes, at: int) -> MachineInstruction | None:
    """The instruction that begins at `at`, None if the bytes are none, or not all there."""
    try:
        found = _decode(code, at)
    except IndexError:
        return None
    if found is None or found.length > LONGEST or at + found.length > len(code):
        return None
    return found


def starts(code: bytes, check: Callable[[], None]) -> dict[int, MachineInstruction]:
    """The instructions by their offsets, from the first byte on, as far as the bytes are instructions. `check` is
    called now and then, and may raise to end it."""
    found = {}
    at = 0
    while at < len(code):
        instruction = decode(code, at)
        if instruction is None:
            break
        found[at] = instruction
        at += instruction.length
        if not len(found) % _FEW:
            check()
    return found


def _decode(code: bytes, start: int) -> MachineInstruction | None:
    at = start
    while code[at] in _LEGACY_PREFIXES:
        at += 1
    prefixes = code[start:at]
    wide = False
    opcode = code[at]
    if opcode & 0xF0 == 0x40:
        wide = bool(opcode & 8)
        at += 1
        opcode = code[at]
    if opcode in (0xC4, 0xC5, 0x62) or (opcode == 0x8F and code[at + 1] & 0x1F >= 8):
        opcode_at, end = _vector(code, at)
        # XOP the kernel takes for pop.
        is_probeable = opcode != 0x8F and code[opcode_at] not in _NOT_PROBEABLE_VECTOR
        if opcode == 0xC4 and code[at + 1] & 0x1F == _MAP_OF_FMA4 and code[opcode_at] in _FMA4:
            is_probeable = False
        return MachineInstruction(end - start, is_probeable) if end else None
    probeable = not _NOT_MOVABLE_PREFIXES.intersection(prefixes)
    if opcode != 0x0F:
        end = _after(code, at, _ONE[opcode], prefixes, wide)
        return MachineInstruction(end - start, probeable and opcode not in _NOT_PROBEABLE) if end else None
    opcode = code[at + 1]
    if opcode in (0x38, 0x3A):
        end = _behind_modrm(code, at + 3) + (opcode == 0x3A)
        return MachineInstruction(end - start, probeable)
    end = _after(code, at + 1, _TWO[opcode], prefixes, wide)
    if opcode == 0x78 and end and (_OPERAND_SIZE in prefixes or 0xF2 in prefixes):
        end += 2  # extrq and insertq
    return MachineInstruction(end - start, probeable and opcode not in _NOT_PROBEABLE_TWO) if end else None


def _after(code: bytes, at: int, shape: int, prefixes: Sequence[int], wide: bool) -> int:
    """Where the instruction with the opcode at `at` ends, 0 if there is none."""
    if shape == _INVALID:
        return 0
    end = at + 1
    if shape & _MODRM:
        end = _behind_modrm(code, end)
    if shape & _TEST and code[at + 1] & 0x30:
        return end
    immediate = shape & 0x7F
    if immediate == _ADDRESS:
        return end + (4 if _ADDRESS_SIZE in prefixes else 8)
    if immediate == _V and wide:
        return end + 8
    if immediate in (_Z, _V):
        return end + (2 if _OPERAND_SIZE in prefixes and not wide else 4)
    return end + immediate


def opcode_place(code: bytes) -> int:
    """Where the opcode of a whole instruction is, behind its prefixes, or its VEX, EVEX or XOP prefix itself, or 0f."""
    at = 0
    while code[at] in _LEGACY_PREFIXES:
        at += 1
    return at + (code[at] & 0xF0 == 0x40)


def modrm_place(code: bytes) -> int:
    """Where a whole instruction has its ModRM byte, -1 if it has none."""
    at = opcode_place(code)
    opcode = code[at]
    if opcode in (0xC4, 0xC5, 0x62) or (opcode == 0x8F and code[at + 1] & 0x1F >= 8):
        place, end = _vector(code, at)
        return -1 if end == place + 1 else place + 1
    if opcode != 0x0F:
        return at + 1 if _ONE[opcode] & _MODRM else -1
    if code[at + 1] in (0x38, 0x3A):
        return at + 3
    return at + 2 if _TWO[code[at + 1]] & _MODRM else -1


def _behind_modrm(code: bytes, at: int) -> int:
    """Where the ModRM byte at `at`, its SIB byte and its displacement end."""
    modrm = code[at]
    mode, base = modrm >> 6, modrm & 7
    at += 1
    if mode == 3:
        return at
    if base == 4:
        base = code[at] & 7
        at += 1
    if mode == 0:
        return at + (4 if base == 5 else 0)
    return at + (1 if mode == 1 else 4)


def _vector(code: bytes, at: int) -> tuple[int, int]:
    """Where the opcode is of an instruction that begins with a VEX, EVEX or XOP prefix, and where the instruction ends,
    0 if there is none."""
    first = code[at]
    if first == 0xC5:
        map_, at = 1, at + 2
    elif first == 0x62:
        map_, at = code[at + 1] & 7, at + 4
    else:
        map_, at = code[at + 1] & 0x1F, at + 3
    if map_ == 1:
        if first != 0x62 and code[at] == 0x77:
            return at, at + 1  # vzeroupper
        return at, _behind_modrm(code, at + 1) + (code[at] in _VECTOR_IMMEDIATE)
    immediate = (_XOP_IMMEDIATE if first == 0x8F else _MAP_IMMEDIATE).get(map_)
    return at, 0 if immediate is None else _behind_modrm(code, at + 1) + immediate
