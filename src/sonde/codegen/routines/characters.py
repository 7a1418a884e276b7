"""Subroutines that look at each character of a text by itself: toupper, tolower and strtoll."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Reg
from sonde.codegen.routines.work import Work, at, get, put, repeat, step_of_loop, stop_if

LENGTH, BASE, VALUE, DIGITS, NEGATIVE, BEGUN = range(0, 48, 8)
"""Words of the state: the text's length and the base of its digits are the caller's."""

_CASE = 0x20
"""The bit that capital and small letters differ in."""


def upper(name: str, capacity: int) -> BpfFunction:
    """(work): the text with capital letters for small ones."""
    return _for_each(name, f"upper_letter_{capacity}")


def lower(name: str, capacity: int) -> BpfFunction:
    """(work): the text with small letters for capital ones."""
    return _for_each(name, f"lower_letter_{capacity}")


def _for_each(name: str, step: str) -> BpfFunction:
    b = Builder(name, 1)
    work = b.function.parameters[0]
    repeat(b, step, get(b, work, LENGTH), work)
    b.ret(Imm(0))
    return b.function


def upper_letter(name: str, capacity: int) -> BpfFunction:
    return _other_case(name, capacity, "az")


def lower_letter(name: str, capacity: int) -> BpfFunction:
    return _other_case(name, capacity, "AZ")


def _other_case(name: str, capacity: int, letters: str) -> BpfFunction:
    """Turn one character, if it is one of these letters."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(capacity))
    place = at(b, work, Work(capacity).first, index)
    character = b.in_register(b.load(place, 0, 1))
    with b.when("ge", character, Imm(ord(letters[0]))), b.when("le", character, Imm(ord(letters[1]))):
        b.store(place, 0, 1, b.alu("xor", character, Imm(_CASE)))
    b.ret(Imm(0))
    return b.function


def number(name: str, capacity: int) -> BpfFunction:
    """(work): the number that the text begins with, behind blanks and a sign; 0 where it begins with none."""
    b = Builder(name, 1)
    work = b.function.parameters[0]
    for word in (VALUE, DIGITS, NEGATIVE, BEGUN):
        put(b, work, word, Imm(0))
    repeat(b, f"digit_{capacity}", get(b, work, LENGTH), work)
    value = b.copy(get(b, work, VALUE))
    with b.when("ne", get(b, work, NEGATIVE), Imm(0)):
        b.move(value, b.negate(value))
    b.ret(value)
    return b.function


def digit(name: str, capacity: int) -> BpfFunction:
    """Pass over what may stand before the number, or add one digit to it."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(capacity))
    character = b.in_register(b.load(at(b, work, Work(capacity).first, index), 0, 1))
    inside = b.label()
    b.branch("ne", get(b, work, BEGUN), Imm(0), inside)
    with b.when("eq", character, Imm(ord(" "))):
        b.ret(Imm(0))
    with b.when("ge", character, Imm(ord("\t"))), b.when("le", character, Imm(ord("\r"))):
        b.ret(Imm(0))
    put(b, work, BEGUN, Imm(1))
    with b.when("eq", character, Imm(ord("+"))):
        b.ret(Imm(0))
    with b.when("eq", character, Imm(ord("-"))):
        put(b, work, NEGATIVE, Imm(1))
        b.ret(Imm(0))
    b.place(inside)
    _hexadecimal_prefix(b, work, character)
    base = get(b, work, BASE)
    value = _value_of_digit(b, character)
    stop_if(b, "ge", value, base)
    put(b, work, VALUE, b.alu("add", b.alu("mul", get(b, work, VALUE), base), value))
    put(b, work, DIGITS, b.alu("add", get(b, work, DIGITS), Imm(1)))
    b.ret(Imm(0))
    return b.function


def _hexadecimal_prefix(b: Builder, work: Reg, character: Reg) -> None:
    """The x of 0x."""
    small = b.in_register(b.alu("or", character, Imm(_CASE)))
    is_behind_0 = b.in_register(b.alu("or", b.alu("xor", get(b, work, DIGITS), Imm(1)), get(b, work, VALUE)))
    is_of_16 = b.when("eq", get(b, work, BASE), Imm(16))
    with b.when("eq", small, Imm(ord("x"))), is_of_16, b.when("eq", is_behind_0, Imm(0)):
        put(b, work, DIGITS, Imm(2))
        b.ret(Imm(0))


def _value_of_digit(b: Builder, character: Reg) -> Reg:
    """0 to 35; the loop ends at what is no digit in any base."""
    stop_if(b, "lt", character, Imm(ord("0")))
    value = b.copy(b.alu("sub", character, Imm(ord("0"))))
    with b.when("gt", character, Imm(ord("9"))):
        small = b.in_register(b.alu("or", character, Imm(_CASE)))
        stop_if(b, "lt", small, Imm(ord("a")))
        stop_if(b, "gt", small, Imm(ord("z")))
        b.move(value, b.alu("sub", small, Imm(ord("a") - 10)))
    return value
