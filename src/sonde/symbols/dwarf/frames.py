"""The canonical frame address at an address of code, by .eh_frame or .debug_frame (DWARF 5, section 6.4; LSB 10.6)."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import sleb128, uleb128
from sonde.symbols.dwarf.values import MASK, Constant, Register, Value, binary
from sonde.typed import NamedTuple

_PE_OMIT, _PE_PCREL, _PE_FORMATS = 0xFF, 0x10, {0: 8, 4: 8, 0xC: 8, 2: 2, 0xA: 2, 3: 4, 0xB: 4}


class Rule(NamedTuple):
    """The frame address is a register and an offset; or, with `expression`, what that gives."""

    register: int
    offset: int
    expression: bytes = b""

    @property
    def value(self) -> Value:
        return binary("plus", Register(self.register), Constant(self.offset & MASK))


class Frames:
    """The frame descriptions of one section, `address` is where it is loaded (0 for .debug_frame)."""

    def __init__(self, data: bytes, address: int, is_eh: bool) -> None:
        self._data = data
        self._address = address
        self._is_eh = is_eh

    def rule(self, address: int) -> Rule | None:
        """How the frame address is found at a link-time address; None if nothing describes it.

        Raises DebugInfoError where the section makes no sense.
        """
        try:
            for at, end, common in self._descriptions():
                start, length, at = self._range(at, common)
                if start <= address < start + length:
                    return self._run(at, end, common, start, address)
        except IndexError:
            raise DebugInfoError("the frame descriptions are cut off") from None
        return None

    def _descriptions(self) -> Iterator[tuple[int, int, _Common]]:
        commons: dict[int, _Common] = {}
        at = 0
        while at + 8 <= len(self._data):
            start, length = at, self._number(at, 4)
            at += 4
            if length == 0xFFFFFFFF:
                raise DebugInfoError("frame descriptions of 64-bit DWARF are not supported")
            if not length:
                # The end of one file's part.
                continue
            end = at + length
            pointer = self._number(at, 4)
            if pointer != (0 if self._is_eh else 0xFFFFFFFF):
                where = at - pointer if self._is_eh else pointer
                if where not in commons:
                    commons[where] = self._common(where)
                yield at + 4, min(end, len(self._data)), commons[where]
            at = max(end, start + 8)

    def _common(self, at: int) -> _Common:
        if at < 0:
            raise DebugInfoError("a frame description has nothing in common with any")
        end = at + 4 + self._number(at, 4)
        version, at = self._data[at + 8], at + 9
        if version not in (1, 3, 4):
            raise DebugInfoError(f"frame descriptions of version {version} are not known")
        finish = self._data.find(b"\0", at)
        augmentation, at = self._data[at:finish], finish + 1
        if version == 4:
            at += 2
        code, at = uleb128(self._data, at)
        data, at = sleb128(self._data, at)
        at = at + 1 if version == 1 else uleb128(self._data, at)[1]
        encoding = 0
        if augmentation[:1] == b"z":
            size, at = uleb128(self._data, at)
            encoding = self._encoding(augmentation, at)
            at += size
        return _Common(augmentation[:1] == b"z", encoding, code, data, at, min(end, len(self._data)))

    def _encoding(self, augmentation: bytes, at: int) -> int:
        """How addresses are written, of the data that the letters of the augmentation describe."""
        for letter in augmentation[1:].decode("latin-1"):
            if letter == "R":
                return self._data[at]
            if letter == "P":
                size = _PE_FORMATS.get(self._data[at] & 15)
                if size is None:
                    break
                at += 1 + size
            elif letter == "L":
                at += 1
        return 0

    def _range(self, at: int, common: _Common) -> tuple[int, int, int]:
        """The first address, the length, and where the instructions are."""
        encoding = common.encoding if self._is_eh else 0
        size = _PE_FORMATS.get(encoding & 15)
        if encoding == _PE_OMIT or size is None or encoding & 0x70 not in (0, _PE_PCREL):
            raise DebugInfoError(f"addresses of frame descriptions in encoding {encoding:#x} are not known")
        start = self._number(at, size)
        if encoding & 8:
            start -= start >> 8 * size - 1 << 8 * size
        if encoding & _PE_PCREL:
            start += self._address + at
        length, at = self._number(at + size, size), at + 2 * size
        if common.has_size:
            more, at = uleb128(self._data, at)
            at += more
        return start & MASK, length, at

    def _run(self, at: int, end: int, common: _Common, start: int, address: int) -> Rule:
        machine = _Machine(self._data, common.code, Rule(7, 8))
        machine.run(common.at, common.end, start, address)
        machine.run(at, end, start, address)
        return machine.rule

    def _number(self, at: int, size: int) -> int:
        if not 0 <= at <= len(self._data) - size:
            raise IndexError
        return int.from_bytes(self._data[at : at + size], "little")


class _Common(NamedTuple):
    """What descriptions have in common: whether they have extra data, how addresses are written, the factors of
    addresses and of offsets, and the first instructions."""

    has_size: bool
    encoding: int
    code: int
    data: int
    at: int
    end: int


_OPERANDS = {
    0x00: "", 0x05: "uu", 0x06: "u", 0x07: "u", 0x08: "u", 0x09: "uu", 0x10: "ub", 0x11: "us", 0x14: "uu", 0x15: "us",
    0x16: "ub", 0x2D: "", 0x2E: "u", 0x2F: "uu",
}  # fmt: skip
"""Instructions about other registers: u unsigned, s signed, b a block."""


class _Machine:
    """Runs the instructions for the rule of the frame address alone."""

    def __init__(self, data: bytes, factor: int, rule: Rule) -> None:
        self._data = data
        self._factor = factor
        self.rule = rule
        self._kept: list[Rule] = []

    def run(self, at: int, end: int, location: int, address: int) -> None:
        """Up to the row that is for `address`."""
        while at < end and location <= address:
            opcode, at = self._data[at], at + 1
            if opcode >> 6 == 1:
                location += (opcode & 0x3F) * self._factor
            elif opcode >> 6 == 2:
                at = uleb128(self._data, at)[1]
            elif opcode in (0x02, 0x03, 0x04):
                size = 1 << opcode - 2
                location += int.from_bytes(self._data[at : at + size], "little") * self._factor
                at += size
            elif opcode >> 6 == 0:
                # Instructions before the row that is too far have all been run: what follows an advance is for it.
                at = self._define(opcode, at)

    def _define(self, opcode: int, at: int) -> int:
        if opcode == 0x0A:
            self._kept.append(self.rule)
        elif opcode == 0x0B:
            self.rule = self._kept.pop()
        elif opcode == 0x0C:
            register, at = uleb128(self._data, at)
            offset, at = uleb128(self._data, at)
            self.rule = Rule(register, offset)
        elif opcode == 0x0D:
            register, at = uleb128(self._data, at)
            self.rule = Rule(register, self.rule.offset)
        elif opcode == 0x0E:
            offset, at = uleb128(self._data, at)
            self.rule = Rule(self.rule.register, offset)
        elif opcode == 0x0F:
            size, at = uleb128(self._data, at)
            self.rule = Rule(0, 0, self._data[at : at + size])
            at += size
        else:
            at = self._skip(opcode, at)
        return at

    def _skip(self, opcode: int, at: int) -> int:
        if opcode not in _OPERANDS:
            raise DebugInfoError(f"instruction {opcode:#x} of frame descriptions is not known")
        for operand in _OPERANDS[opcode]:
            value, at = (sleb128 if operand == "s" else uleb128)(self._data, at)
            if operand == "b":
                at += value
        return at
