"""Numbers and addresses of networks as text.

Their working memory has words of state, then room for the text, then the bytes of the address.
"""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.work import WORDS, at, get, put, repeat, step_of_loop, stop_if

LENGTH = 0
"""The word that counts the characters of the text; `decimal` leaves there where its text begins."""

TEXT = WORDS
INPUT = TEXT + 64
SIZE = INPUT + 32
"""Offsets of the text and of the address's bytes, and the size of it all."""

DIGITS = 21
"""Where the text of a number ends: a sign and the digits of 2 to the 63rd are one less."""

_VALUE = 8
_RUN, _BEST, _BEST_START, _EMBEDDED = range(8, 40, 8)
"""Of `ipv6_text`: groups of zeros up to here, the longest run of them and its first group, and whether the last four
bytes are written as an IPv4 address."""

MAPPED_ALONE = 40
"""Set by the caller: an address that stands for an IPv4 address is written as that and nothing else."""

BYTES = 8
"""Set by the caller of `link_text`: how many bytes the address has."""


def decimal(name: str) -> BpfFunction:
    """(work, value): a signed number's text ends at TEXT + DIGITS; the index of its first character."""
    b = Builder(name, 2)
    work, value = b.function.parameters
    size = b.copy(value)
    with b.when("slt", value, Imm(0)):
        b.move(size, b.negate(value))
    put(b, work, _VALUE, size)
    put(b, work, LENGTH, Imm(DIGITS))
    repeat(b, "decimal_digit", Imm(DIGITS - 1), work)
    start = get(b, work, LENGTH)
    unsigned = b.label()
    b.branch("sge", value, Imm(0), unsigned)
    b.branch("gt", start, Imm(DIGITS), unsigned)
    b.branch("lt", start, Imm(1), unsigned)
    before = b.in_register(b.alu("sub", start, Imm(1)))
    b.store(at(b, work, TEXT, before), 0, 1, Imm(ord("-")))
    put(b, work, LENGTH, before)
    b.place(unsigned)
    b.ret(get(b, work, LENGTH))
    return b.function


def decimal_digit(name: str) -> BpfFunction:
    """The last digit, before those that are there."""
    b, _, work = step_of_loop(name)
    value, end = get(b, work, _VALUE), get(b, work, LENGTH)
    stop_if(b, "lt", end, Imm(1))
    stop_if(b, "gt", end, Imm(DIGITS))
    place = b.in_register(b.alu("sub", end, Imm(1)))
    digit = b.alu("add", b.alu("mod", value, Imm(10)), Imm(ord("0")))
    b.store(at(b, work, TEXT, place), 0, 1, digit)
    put(b, work, LENGTH, place)
    rest = b.in_register(b.alu("div", value, Imm(10)))
    put(b, work, _VALUE, rest)
    stop_if(b, "eq", rest, Imm(0))
    b.ret(Imm(0))
    return b.function


def _append(b: Builder, work: Reg, character: Operand) -> None:
    """One character more; no text is as long as its room, which the verifier must be told."""
    length = get(b, work, LENGTH)
    with b.when("lt", length, Imm(INPUT - TEXT)):
        b.store(at(b, work, TEXT, length), 0, 1, character)
        put(b, work, LENGTH, b.alu("add", length, Imm(1)))


def ipv4_text(name: str) -> BpfFunction:
    """(work, offset of the four bytes in the input): append them as decimal numbers between dots."""
    b = Builder(name, 2)
    work, offset = b.function.parameters
    with b.when("gt", offset, Imm(12)):
        b.ret(Imm(0))
    address = at(b, work, INPUT, offset)
    for number in range(4):
        if number:
            _append(b, work, Imm(ord(".")))
        value = b.load(address, number, 1)
        with b.when("ge", value, Imm(100)):
            _append(b, work, b.alu("add", b.alu("div", value, Imm(100)), Imm(ord("0"))))
        with b.when("ge", value, Imm(10)):
            tens = b.alu("mod", b.alu("div", value, Imm(10)), Imm(10))
            _append(b, work, b.alu("add", tens, Imm(ord("0"))))
        _append(b, work, b.alu("add", b.alu("mod", value, Imm(10)), Imm(ord("0"))))
    b.ret(Imm(0))
    return b.function


def ipv6_text(name: str) -> BpfFunction:
    """(work): the input's sixteen bytes as inet_ntop(3) writes them: the longest run of zero groups, if there are two,
    is "::", and the last four bytes are an IPv4 address behind ::ffff: or behind six zero groups.
    """
    b = Builder(name)
    work = b.function.parameters[0]
    for word in (LENGTH, _RUN, _BEST, _BEST_START, _EMBEDDED):
        put(b, work, word, Imm(0))
    repeat(b, "ipv6_run", Imm(8), work)
    best = get(b, work, _BEST)
    with b.when("lt", best, Imm(2)):
        put(b, work, _BEST, Imm(0))
        put(b, work, _BEST_START, Imm(16))
    _embed(b, work, best)
    alone, written, whole = b.label(), b.label(), b.label()
    b.branch("eq", get(b, work, _EMBEDDED), Imm(0), whole)
    b.branch("ne", get(b, work, MAPPED_ALONE), Imm(0), alone, whole)
    b.place(whole)
    repeat(b, "ipv6_group", Imm(8), work)
    b.branch("ne", get(b, work, _EMBEDDED), Imm(0), alone)
    end = b.alu("add", get(b, work, _BEST_START), get(b, work, _BEST))
    b.branch("ne", end, Imm(8), written)
    _append(b, work, Imm(ord(":")))
    b.ret(Imm(0))
    b.place(alone)
    b.call_local("ipv4_text", work, Imm(12))
    b.place(written)
    b.ret(Imm(0))
    return b.function


def _embed(b: Builder, work: Reg, best: Reg) -> None:
    yes, no, five = b.label(), b.label(), b.label()
    b.branch("ne", get(b, work, _BEST_START), Imm(0), no)
    b.branch("eq", best, Imm(6), yes)
    b.branch("eq", best, Imm(5), five, no)
    b.place(five)
    b.branch("eq", b.load(work, INPUT + 10, 2), Imm(0xFFFF), yes, no)
    b.place(yes)
    put(b, work, _EMBEDDED, Imm(1))
    b.place(no)


def _group(b: Builder, work: Reg, index: Operand) -> Operand:
    """Sixteen bits of the address; they come in network order."""
    return b.swap(b.load(at(b, work, INPUT, b.alu("lsh", index, Imm(1))), 0, 2), 2)


def ipv6_run(name: str) -> BpfFunction:
    """Count one group in, if it is zero."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(8))
    with b.when("ne", _group(b, work, index), Imm(0)):
        put(b, work, _RUN, Imm(0))
        b.ret(Imm(0))
    run = b.in_register(b.alu("add", get(b, work, _RUN), Imm(1)))
    put(b, work, _RUN, run)
    with b.when("gt", run, get(b, work, _BEST)):
        put(b, work, _BEST, run)
        put(b, work, _BEST_START, b.alu("sub", b.alu("add", index, Imm(1)), run))
    b.ret(Imm(0))
    return b.function


def ipv6_group(name: str) -> BpfFunction:
    """Append one group, or the second colon of "::"; end where the IPv4 address begins."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(8))
    start = get(b, work, _BEST_START)
    outside, inside, go_on, digits = b.label(), b.label(), b.label(), b.label()
    b.branch("lt", index, start, outside)
    b.branch("lt", index, b.alu("add", start, get(b, work, _BEST)), inside, outside)
    b.place(inside)
    with b.when("eq", index, start):
        _append(b, work, Imm(ord(":")))
    b.ret(Imm(0))
    b.place(outside)
    with b.when("ne", index, Imm(0)):
        _append(b, work, Imm(ord(":")))
    b.branch("ne", index, Imm(6), digits, go_on)
    b.place(go_on)
    stop_if(b, "ne", get(b, work, _EMBEDDED), Imm(0))
    b.place(digits)
    value = _group(b, work, index)
    for shift in (12, 8, 4):
        with b.when("ge", value, Imm(1 << shift)):
            _append(b, work, _hexadecimal(b, b.alu("rsh", value, Imm(shift))))
    _append(b, work, _hexadecimal(b, value))
    b.ret(Imm(0))
    return b.function


def _hexadecimal(b: Builder, value: Operand) -> Operand:
    """The digit of the low four bits."""
    digit = b.alu("and", value, Imm(15))
    is_letter = b.alu("rsh", b.alu("add", digit, Imm(6)), Imm(4))
    letters = b.alu("mul", is_letter, Imm(ord("a") - ord("0") - 10))
    return b.alu("add", b.alu("add", digit, Imm(ord("0"))), letters)


def link_text(name: str) -> BpfFunction:
    """(work): the input's bytes as pairs of hexadecimal digits between colons."""
    b = Builder(name)
    work = b.function.parameters[0]
    put(b, work, LENGTH, Imm(0))
    repeat(b, "link_byte", get(b, work, BYTES), work)
    b.ret(Imm(0))
    return b.function


def link_byte(name: str) -> BpfFunction:
    """Append one byte."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(SIZE - INPUT))
    with b.when("ne", index, Imm(0)):
        _append(b, work, Imm(ord(":")))
    value = b.load(at(b, work, INPUT, index), 0, 1)
    _append(b, work, _hexadecimal(b, b.alu("rsh", value, Imm(4))))
    _append(b, work, _hexadecimal(b, value))
    b.ret(Imm(0))
    return b.function
