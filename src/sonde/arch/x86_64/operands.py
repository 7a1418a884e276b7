"""The operands in the notes of static probes: `-4@8(%rsp,%rax,4)`, an assembler operand behind its size.

The size is in bytes, negative for a signed number, and ends in `f` for one of floating point; the operand is what gas
takes in AT&T syntax (info as, i386-Syntax). Where sizes are left out a register has its own and memory has 8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.model.location import MASK, Constant, Load, Register, ThreadPointer, Value, binary, extend
from sonde.model.probe import StaticArgument
from sonde.typed import NamedTuple

FindSymbol = Callable[[str], int | None]
"""The address of a symbol as it was linked, or the thread-local offset of `NAME@tpoff`; None if there is no such."""

_SIZES = (1, 2, 4, 8)

ARGUMENTS = {
    8: ("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    4: ("edi", "esi", "edx", "ecx", "r8d", "r9d"),
    2: ("di", "si", "dx", "cx", "r8w", "r9w"),
    1: ("dil", "sil", "dl", "cl", "r8b", "r9b"),
}
"""Where a call has its first integer arguments, by their size in bytes (System V ABI for x86-64, 3.2.3)."""

FLOAT = "%xmm0"
"""Where it has the first one of floating point."""

_RIP = 16


def argument(size: int, number: int) -> str:
    """The operand of an integer argument of so many bytes, one of the first."""
    return f"%{ARGUMENTS[size][number]}"


def on_stack(offset: int) -> str:
    """The operand of what is so many bytes above the stack pointer."""
    return f"{offset}(%rsp)"


def _registers() -> dict[str, tuple[int, int, bool]]:
    """Number, width in bytes and whether it is a high byte, by every name of a register (psABI, figure 3.36)."""
    found: dict[str, tuple[int, int, bool]] = {}
    for number, letter in enumerate("adcb"):
        found |= {
            f"r{letter}x": (number, 8, False),
            f"e{letter}x": (number, 4, False),
            f"{letter}x": (number, 2, False),
        }
        found |= {f"{letter}l": (number, 1, False), f"{letter}h": (number, 1, True)}
    for number, name in enumerate(("si", "di", "bp", "sp"), 4):
        found |= {f"r{name}": (number, 8, False), f"e{name}": (number, 4, False), name: (number, 2, False)}
        found[f"{name}l"] = (number, 1, False)
    for number in range(8, 16):
        for suffix, width in (("", 8), ("d", 4), ("w", 2), ("b", 1), ("l", 1)):
            found[f"r{number}{suffix}"] = (number, width, False)
    return found | {"rip": (_RIP, 8, False), "eip": (_RIP, 4, False)}


_REGISTERS = _registers()
_NUMBER = r"[-+~]*(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)"
_SYMBOL = r"[A-Za-z_.$][\w.$]*(?:@[\w]+)?"
_TERM = re.compile(rf"([-+]?)(?:({_NUMBER})|({_SYMBOL}))")
_SIZED = re.compile(r"(-?)(\d+)(f?)@")
_MEMORY = re.compile(
    r"(?:%([a-z]+):)?([^%(]*)"
    r"(?:\((?:%(\w+))?(?:,(?:%(\w+))?(?:,(\d*))?)?\))?"
)


class _Sum(NamedTuple):
    """What stands before the parenthesis: a number, and a symbol with its address if there is one."""

    number: int
    symbol: str = ""
    address: int = 0


class _MissingError(Exception):
    """The argument is nowhere that can be read."""


def parse(text: str, location: int, find: FindSymbol) -> StaticArgument:
    """The argument that an operand describes at the site linked at `location`."""
    sized = _SIZED.match(text)
    size = int(sized[2][:3]) if sized else 0
    signed, is_float = bool(sized and sized[1]), bool(sized and sized[3])
    operand = text[sized.end() :] if sized else text.removeprefix("@")
    try:
        if sized and size not in _SIZES:
            raise _MissingError(f"it has {size} bytes")
        value, size = _value(operand, size, location, find)
    except _MissingError as error:
        return StaticArgument(size if size in _SIZES else 8, signed, None, is_float, str(error))
    return StaticArgument(size, signed, extend(value, size, signed), is_float)


def _value(text: str, size: int, location: int, find: FindSymbol) -> tuple[Value, int]:
    """And its size, where it was not given: a register's own, or 8 bytes."""
    if text.startswith("$"):
        return _constant(_sum(text[1:], find), location), size or 8
    if text.startswith("%") and ":" not in text:
        number, width, is_high = _register(text[1:])
        value: Value = Register(number)
        value = binary("shr", value, Constant(8)) if is_high else value
        return extend(value, width, False), size or width
    return Load(_address(text, location, find), size or 8), size or 8


def _constant(found: _Sum, location: int) -> Value:
    return _near(found.address + found.number, location) if found.symbol else Constant(found.number & MASK)


def _near(address: int, location: int) -> Value:
    """An address of the same object: wherever that is loaded, it is as far from the instruction as it was linked."""
    return binary("plus", Register(_RIP), Constant(address - location & MASK))


def _register(name: str) -> tuple[int, int, bool]:
    known = _REGISTERS.get(name)
    if known is None:
        raise _MissingError(f"the kernel does not tell what is in register {name}")
    return known


def _address(text: str, location: int, find: FindSymbol) -> Value:
    matched = _MEMORY.fullmatch(text)
    if matched is None or not text:
        raise _MissingError(f"'{text}' is no operand")
    segment, before, base, index, scale = matched.groups()
    if segment not in (None, "fs", "ds", "ss", "es", "cs"):
        raise _MissingError(f"the base of segment {segment} is not known")
    found = _sum(before, find) if before else _Sum(0)
    if base == "rip" or (found.symbol and "@" not in found.symbol and not base and not index):
        if not found.symbol or index:
            raise _MissingError(f"'{text}' counts from an instruction that is not known")
        value = _near(found.address + found.number, location)
    else:
        value = _indexed(text, base, index, _scale(scale, text), found.address + found.number)
    return binary("plus", ThreadPointer(), value) if segment == "fs" else value


def _indexed(text: str, base: str | None, index: str | None, scale: int, number: int) -> Value:
    registers = [_register(each) for each in (base, index) if each]
    if any(width < 4 or each == _RIP for each, width, _ in registers):
        raise _MissingError(f"'{text}' is no address")
    value: Value = Constant(0)
    if index:
        value = binary("mul", Register(_register(index)[0]), Constant(scale))
    if base:
        value = binary("plus", Register(_register(base)[0]), value)
    value = binary("plus", value, Constant(number & MASK))
    # Registers of 32 bits make an address of 32 bits.
    return extend(value, min((width for _, width, _ in registers), default=8), False)


def _scale(text: str | None, operand: str) -> int:
    if text and text not in ("1", "2", "4", "8"):
        raise _MissingError(f"'{operand}' is no address")
    return int(text) if text else 1


def _sum(text: str, find: FindSymbol) -> _Sum:
    """A sum of numbers and at most one symbol."""
    total, symbol, address, at = 0, "", 0, 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at and not term[1] and not (term[2] or "").startswith(("+", "-"))):
            raise _MissingError(f"'{text}' is no number and no symbol")
        at = term.end()
        if term[2]:
            total += _number(term[2]) * (-1 if term[1] == "-" else 1)
            continue
        place = None if symbol or term[1] == "-" else find(term[3])
        if place is None:
            raise _MissingError(f"the file has no symbol {term[3]}")
        symbol, address = term[3], place
    return _Sum(total, symbol, address)


def _number(text: str) -> int:
    digits = text.lstrip("+-~")
    if len(digits) > 66:
        raise _MissingError(f"'{text[:20]}...' is too long a number")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        raise _MissingError(f"'{text}' is no number") from None
    for sign in reversed(text[: len(text) - len(digits)]):
        value = -value if sign == "-" else ~value if sign == "~" else value
    return value
