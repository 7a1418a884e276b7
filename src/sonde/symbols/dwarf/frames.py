"""The canonical frame address at an address of code, by .eh_frame or .debug_frame (DWARF 5, section 6.4; LSB 10.6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from sonde.arch import unwinding
from sonde.model.location import MASK, Constant, Register, Value, binary
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import sleb128, uleb128
from sonde.symbols.dwarf.frame_table import FrameTable
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple, TypeAlias

_FOUND_SIZE = 300
"""Bytes of memory that a description takes, about."""

_LOOK = 64
"""Of so many places of descriptions one is used to ask what passing them has taken."""

_PE_OMIT, _PE_PCREL, _PE_FORMATS = 0xFF, 0x10, {0: 8, 4: 8, 0xC: 8, 2: 2, 0xA: 2, 3: 4, 0xB: 4}


class FrameAddress(NamedTuple):
    """The frame address is a register and an offset; or, with `expression`, what that gives."""

    register: int
    offset: int
    expression: bytes = b""

    @property
    def value(self) -> Value:
        return binary("plus", Register(self.register), Constant(self.offset & MASK))


class FrameRow(NamedTuple):
    """Of an address of code: how the frame address is found; where registers are kept, as `FrameDescriptions.saved` has
    them; whether the frame is one that the kernel has made for a signal."""

    rule: FrameAddress
    saved: dict[int, int | None]
    is_signal: bool


class FrameDescriptions:
    """The frame descriptions of one section, `address` is where it is loaded (0 for .debug_frame)."""

    def __init__(
        self,
        data: Part,
        address: int,
        is_eh: bool,
        table: FrameTable | None = None,
        costs: Costs | None = None,
        searches: bool = True,
    ) -> None:
        """`table` says where descriptions are, of .eh_frame; `searches`: what it does not have is looked for, which
        takes time once."""
        self._costs = costs or Costs()
        self._searches = searches
        self._data = data
        self._address = address
        self._is_eh = is_eh
        self._table = table
        self._passed = _Passed()

    def rule(self, address: int) -> FrameAddress | None:
        """How the frame address is found at a link-time address; None if nothing describes it.

        Raises DebugInfoError where the section makes no sense.
        """
        found = self._row(address)
        return None if found is None else found.rule

    def saved(self, address: int) -> dict[int, int | None] | None:
        """Where the caller's registers are kept at a link-time address, as offsets from the frame address; None for one
        that is kept in another way. What is not there is in the register still. None if nothing describes the frame.

        Raises DebugInfoError where the section makes no sense.
        """
        found = self._row(address)
        return None if found is None else found.saved

    def extent(self, address: int) -> tuple[int, int] | None:
        """Where the code begins that is described with a link-time address, which is a function or a part of one, and
        how long it is. None if nothing describes it. Raises DebugInfoError where the section makes no sense."""
        try:
            found = self._found(address)
        except IndexError:
            raise DebugInfoError("the frame descriptions are cut off") from None
        return None if found is None else (found.start, found.length)

    def row(self, address: int) -> FrameRow | None:
        """All that is said of a link-time address. Raises DebugInfoError where the section makes no sense."""
        found = self._row(address)
        return None if found is None else FrameRow(found.rule, found.saved, found.common.is_signal)

    def common_row(self, at: int) -> tuple[Common, FrameRow]:
        """What is in common at an offset in the section, and what that says before a description's own instructions.
        Raises DebugInfoError where it makes no sense."""
        try:
            common = self._common(at)
            machine = _Machine(self._data, common)
            machine.run(common.at, common.end, 0, 0)
        except IndexError:
            raise DebugInfoError("the frame descriptions are cut off") from None
        return common, FrameRow(machine.rule, machine.saved, common.is_signal)

    def descriptions(self) -> Iterator[FrameDescription]:
        """All there are, in the section's order. Raises DebugInfoError where the section makes no sense."""
        try:
            for at, end, common in self._descriptions():
                start, length, at = self._range(at, common)
                yield FrameDescription(
                    start, length, (self._data, common.at, common.end), (self._data, at, end), common
                )
        except IndexError:
            raise DebugInfoError("the frame descriptions are cut off") from None

    def _row(self, address: int) -> _Machine | None:
        try:
            found = self._found(address)
            return self._run(found, address) if found is not None else None
        except IndexError:
            raise DebugInfoError("the frame descriptions are cut off") from None

    def _found(self, address: int) -> _Found | None:
        found = self._looked_up(address)
        return self._searched(address) if found is None and self._searches else found

    def _looked_up(self, address: int) -> _Found | None:
        """The description that the table names, if it is for the address."""
        where = self._table.description(address) if self._table is not None else None
        if where is None or not 0 <= where - self._address < len(self._data):
            return None
        for at, end, common in self._descriptions(where - self._address):
            found = _Found(*self._range(at, common), end, common)
            return found if found.start <= address < found.start + found.length else None
        return None

    def _searched(self, address: int) -> _Found | None:
        """All descriptions are passed once, at the first question. Raises what there was behind the last whole one."""
        passed = self._passed
        if not passed.is_whole:
            passed.is_whole = True
            every: list[_Found] = []
            try:
                for at, end, common in self._descriptions():
                    every.append(_Found(*self._range(at, common), end, common))
                    self._costs.take(_FOUND_SIZE)
            except (IndexError, DebugInfoError) as error:
                passed.error = error
            # Of those that begin at one address the first is the one that counts.
            every.sort(key=lambda each: each.start)
            passed.found.extend(every)
            passed.starts.extend(each.start for each in every)
        index = bisect_right(passed.starts, address) - 1
        while index > 0 and passed.starts[index - 1] == passed.starts[index]:
            index -= 1
        found = passed.found[index] if index >= 0 else None
        if found is not None and address < found.start + found.length:
            return found
        if passed.error is not None:
            raise passed.error
        return None

    def _descriptions(self, at: int = 0) -> Iterator[tuple[int, int, Common]]:
        commons = self._passed.commons
        while at + 8 <= len(self._data):
            start, length = at, self._number(at, 4)
            if not start % _LOOK:
                self._costs.check()
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

    def _common(self, at: int) -> Common:
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
        is_signal = b"S" in augmentation
        return Common(augmentation[:1] == b"z", encoding, code, data, at, min(end, len(self._data)), is_signal)

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

    def _range(self, at: int, common: Common) -> tuple[int, int, int]:
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

    def _run(self, found: _Found, address: int) -> _Machine:
        machine = _Machine(self._data, found.common)
        machine.run(found.common.at, found.common.end, found.start, address)
        machine.run(found.at, found.end, found.start, address)
        return machine

    def _number(self, at: int, size: int) -> int:
        if not 0 <= at <= len(self._data) - size:
            raise IndexError
        return int.from_bytes(self._data[at : at + size], "little")


class Common(NamedTuple):
    """What descriptions have in common: whether they have extra data, how addresses are written, the factors of
    addresses and of offsets, the first instructions, and whether they are of a signal handler's caller."""

    has_size: bool
    encoding: int
    code: int
    data: int
    at: int
    end: int
    is_signal: bool


class _Found(NamedTuple):
    """A description by its place: `length` bytes of code from `start` on, and its own instructions."""

    start: int
    length: int
    at: int
    end: int
    common: Common


class _Passed:
    """What is known of a section that has been gone through: descriptions by where they start, what they have in
    common, and what was wrong at the end."""

    def __init__(self) -> None:
        self.commons: dict[int, Common] = {}
        self.starts: list[int] = []
        self.found: list[_Found] = []
        self.is_whole = False
        self.error: Exception | None = None


Code: TypeAlias = "tuple[Part, int, int]"
"""Instructions: the bytes that they are in, where they begin and where they end."""


class FrameDescription(NamedTuple):
    """What is said of `length` bytes of code from the link-time address `start` on, by the instructions of all
    descriptions like it and its own."""

    start: int
    length: int
    first: Code
    own: Code
    common: Common


_OPERANDS = {
    0x00: "", 0x05: "uu", 0x06: "u", 0x07: "u", 0x08: "u", 0x09: "uu", 0x10: "ub", 0x11: "us", 0x14: "uu", 0x15: "us",
    0x16: "ub", 0x2D: "", 0x2E: "u", 0x2F: "uu",
}  # fmt: skip
"""Instructions about other registers: u unsigned, s signed, b a block."""
_RESTORED = (0x06, 0x08)
_AT_OFFSETS = {0x05: 1, 0x11: 1, 0x2F: -1}
"""Instructions that say that a register is kept at an offset, and that one's sign."""
_IN_ANOTHER_WAY = (0x07, 0x09, 0x10, 0x14, 0x15, 0x16)


class _Machine:
    """Runs the instructions for the rule of the frame address, and for where other registers are kept."""

    def __init__(self, data: Part, common: Common) -> None:
        self._data = data
        self.common = common
        self._factor = common.code
        self._data_factor = common.data
        self.rule = FrameAddress(unwinding.STACK_POINTER, unwinding.AT_ENTRY)
        self.saved: dict[int, int | None] = {}
        self._kept: list[tuple[FrameAddress, dict[int, int | None]]] = []

    def run(self, at: int, end: int, location: int, address: int) -> None:
        """Up to the row that is for `address`."""
        while at < end and location <= address:
            opcode, at = self._data[at], at + 1
            if opcode >> 6 == 1:
                location += (opcode & 0x3F) * self._factor
            elif opcode >> 6 == 2:
                offset, at = uleb128(self._data, at)
                self.saved[opcode & 0x3F] = offset * self._data_factor
            elif opcode >> 6 == 3:
                self.saved.pop(opcode & 0x3F, None)
            elif opcode in (0x02, 0x03, 0x04):
                size = 1 << opcode - 2
                location += int.from_bytes(self._data[at : at + size], "little") * self._factor
                at += size
            else:
                # Instructions before the row that is too far have all been run: what follows an advance is for it.
                at = self._define(opcode, at)

    def _define(self, opcode: int, at: int) -> int:
        if opcode == 0x0A:
            self._kept.append((self.rule, dict(self.saved)))
        elif opcode == 0x0B:
            self.rule, self.saved = self._kept.pop()
        elif opcode == 0x0C:
            register, at = uleb128(self._data, at)
            offset, at = uleb128(self._data, at)
            self.rule = FrameAddress(register, offset)
        elif opcode == 0x0D:
            register, at = uleb128(self._data, at)
            self.rule = FrameAddress(register, self.rule.offset)
        elif opcode == 0x0E:
            offset, at = uleb128(self._data, at)
            self.rule = FrameAddress(self.rule.register, offset)
        elif opcode == 0x0F:
            size, at = uleb128(self._data, at)
            self.rule = FrameAddress(0, 0, self._data[at : at + size])
            at += size
        else:
            at = self._other(opcode, at)
        return at

    def _other(self, opcode: int, at: int) -> int:
        """An instruction about another register than what the frame address is found from."""
        if opcode not in _OPERANDS:
            raise DebugInfoError(f"instruction {opcode:#x} of frame descriptions is not known")
        operands = []
        for operand in _OPERANDS[opcode]:
            value, at = (sleb128 if operand == "s" else uleb128)(self._data, at)
            operands.append(value)
            if operand == "b":
                at += value
        if opcode in _RESTORED:
            self.saved.pop(operands[0], None)
        elif opcode in _AT_OFFSETS:
            self.saved[operands[0]] = operands[1] * self._data_factor * _AT_OFFSETS[opcode]
        elif opcode in _IN_ANOTHER_WAY:
            self.saved[operands[0]] = None
        return at
