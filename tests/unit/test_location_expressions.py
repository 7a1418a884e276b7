"""Location expressions: random ones against a stack machine, each kind of place, and what cannot be evaluated."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.suite.example_counts import long_run
from support.symbols.dwarf_machine import concrete, run_operations

from sonde.model import location as values
from sonde.model.location import (
    Address,
    Binary,
    Constant,
    EntryRegister,
    InMemory,
    InRegister,
    IsBytes,
    IsValue,
    Load,
    Nowhere,
    Piece,
    PointsInto,
    Register,
    ThreadLocal,
)
from sonde.model.spec import Fetch, FetchStep
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.expressions import BaseType, ExpressionSurroundings, UnsupportedError, evaluate
from sonde.symbols.dwarf.fetching import fetches

pytestmark = pytest.mark.examples

FRAME = Binary("plus", Register(6), Constant(16))
TYPES = {1: BaseType(4, True), 2: BaseType(2, False), 3: BaseType(4, True, True), 4: BaseType(8, False)}
AROUND = ExpressionSurroundings(
    lambda: FRAME, lambda: Binary("plus", Register(7), Constant(8)), lambda index: 0x5000 + index, TYPES.__getitem__
)

BINARY = {
    "and": 0x1A, "div": 0x1B, "minus": 0x1C, "umod": 0x1D, "mul": 0x1E, "or": 0x21, "plus": 0x22, "shl": 0x24,
    "shr": 0x25, "shra": 0x26, "xor": 0x27, "eq": 0x29, "ge": 0x2A, "gt": 0x2B, "le": 0x2C, "lt": 0x2D, "ne": 0x2E,
}  # fmt: skip
SIMPLE = {"cfa": 0x9C, "dup": 0x12, "drop": 0x13, "swap": 0x16, "rot": 0x17, "abs": 0x19, "neg": 0x1F, "not": 0x20}
NEEDS = {"dup": 1, "drop": 2, "swap": 2, "rot": 3, "abs": 1, "neg": 1, "not": 1, "deref": 1, "plus_uconst": 1}


def uleb(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def sleb(number):
    out = bytearray()
    while not -64 <= number < 64:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number & 0x7F])


def encoded(operation):
    name, *operands = operation
    match name:
        case "lit":
            return bytes([0x30 + operands[0]])
        case "const":
            return b"\x0e" + operands[0].to_bytes(8, "little")
        case "breg":
            return bytes([0x70 + operands[0]]) + sleb(operands[1])
        case "fbreg":
            return b"\x91" + sleb(operands[0])
        case "plus_uconst":
            return b"\x23" + uleb(operands[0])
        case "deref":
            return b"\x94" + bytes(operands)
        case "pick":
            return b"\x15" + bytes(operands)
    return bytes([SIMPLE.get(name) or BINARY[name]])


numbers = st.integers(0, (1 << 64) - 1) | st.integers(0, 70) | st.sampled_from([1 << 63, (1 << 64) - 1])
offsets = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-200, 200)


@st.composite
def expressions(draw):
    """Operations that never take more from the stack than is there."""
    found, depth = [], 0
    for _ in range(draw(st.integers(1, 12))):
        choices = ["lit", "const", "breg", "fbreg", "cfa"]
        choices += [name for name, needed in NEEDS.items() if depth >= needed]
        choices += [*BINARY] if depth >= 2 else []
        choices += ["pick"] if depth else []
        name = draw(st.sampled_from(choices))
        operands = {
            "lit": lambda: [draw(st.integers(0, 31))],
            "const": lambda: [draw(numbers)],
            "breg": lambda: [draw(st.integers(0, 16)), draw(offsets)],
            "fbreg": lambda: [draw(offsets)],
            "plus_uconst": lambda: [draw(numbers)],
            "deref": lambda: [draw(st.sampled_from([1, 2, 4, 8]))],
            "pick": lambda: [draw(st.integers(0, 255)) % depth],  # noqa: B023 - called at once
        }.get(name, list)()
        depth += {"drop": -1}.get(name, -1 if name in BINARY else 0 if name in NEEDS and name != "dup" else 1)
        found.append((name, *operands))
    return found


def load(address, size):
    """Memory that has something else at every address."""
    return int.from_bytes(hashlib.blake2b(address.to_bytes(8, "little"), digest_size=size).digest(), "little")


@long_run(300)
@given(expressions(), st.lists(numbers, min_size=17, max_size=17))
def test_expressions_are_what_the_machine_computes(operations, registers):
    cfa, base = registers[7] + 8 & (1 << 64) - 1, registers[6] + 16 & (1 << 64) - 1
    expected = run_operations(operations, registers, load, base, cfa)[-1]
    code = b"".join(map(encoded, operations))
    (piece,) = evaluate(code, AROUND)
    assert concrete(piece.place.address, registers, load) == expected
    (piece,) = evaluate(code + b"\x9f", AROUND)
    assert concrete(piece.place.value, registers, load) == expected


@long_run(300)
@given(st.binary(max_size=24))
def test_any_bytes_are_evaluated_or_refused(code):
    message = ""
    try:
        assert evaluate(code, AROUND._replace(base_type=lambda offset: TYPES[1 + offset % 4]))
    except DebugInfoError as error:
        message = str(error)
    assert not message or "location expression" in message or "at the entry" in message


def place(code):
    (piece,) = evaluate(bytes(code), AROUND)
    return piece.place


def is_same(one, other):
    """Tuples of different classes are equal where their fields are."""
    return repr(one) == repr(other)


def test_each_kind_of_place():
    assert is_same(place([]), Nowhere())
    assert is_same(place([0x55]), InRegister(5))
    assert is_same(place([0x90, 20]), InRegister(20))
    assert is_same(place([0x91, 0x70]), InMemory(Register(6)))
    assert is_same(place([0x31, 0x9F]), IsValue(Constant(1)))
    assert is_same(place([0x9E, 2, 7, 8]), IsBytes(b"\7\x08"))
    assert is_same(place([0xA0, 1, 2, 0, 0, 4]), PointsInto(0x201, 4))
    assert is_same(place([0xA3, 1, 0x55, 0x9F]), IsValue(EntryRegister(5)))
    assert is_same(place([0x38, 0xE0]), InMemory(ThreadLocal(Constant(8))))
    assert is_same(place([0xA1, 3]), InMemory(Address(0x5003)))
    assert is_same(place([0x2F, 1, 0, 0x31, 0x32]), InMemory(Constant(2)))
    assert is_same(place([0x31, 0x28, 1, 0, 0x33, 0x32]), InMemory(Constant(2)))


def test_pieces():
    code = bytes([0x50, 0x93, 8, 0x93, 4, 0x91, 0, 0x93, 4, 0x52, 0x9D, 3, 5])
    expected = [Piece(InRegister(0), 64), Piece(Nowhere(), 32), Piece(InMemory(FRAME), 32), Piece(InRegister(2), 3, 5)]
    assert is_same(list(evaluate(code, AROUND)), expected)


def test_typed_values_wrap_as_their_types_do():
    # regval_type(rdi, int) < const_type(int, -1), both in 4 bytes.
    tree = place([0xA5, 5, 1, 0xA4, 1, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0x2D, 0x9F]).value
    for given_value, expected in ((0xFFFFFFFE, 1), (0x1_0000_0000, 0), (0x80000000, 1)):
        assert concrete(tree, [0] * 5 + [given_value], load) == expected
    tree = place([0xA5, 5, 2, 0x31, 0xA8, 2, 0x1C, 0x9F]).value
    assert concrete(tree, [0] * 6, load) == 0xFFFF
    with pytest.raises(UnsupportedError, match="floating-point"):
        place([0xA5, 5, 3, 0x31, 0xA8, 3, 0x22, 0x9F])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([0x22], "takes more from the stack"),
        ([0x0E, 1], "cut off"),
        ([0x50, 0x31], "goes on behind its end"),
        ([0x31, 0x2F, 0xFC, 0xFF], "does not end"),
        ([0x2F, 0x99, 0x00], "jumps out of itself"),
        ([0x31, *[0x12, 0x22] * 40], None),
        ([0x75, 0, *[0x12, 0x22] * 40], "too large"),
        ([0x75, 0, 0x28, 0, 0], "chooses by what it reads"),
        ([0x99, 0, 0, 0, 0], "operation 0x99"),
    ],
)
def test_what_makes_no_sense_is_refused(code, message):
    if message is None:
        assert isinstance(place(code), InMemory)
        return
    with pytest.raises(DebugInfoError, match=message):
        place(code)


def test_places_become_steps():
    register = FetchStep("register", 112)
    assert fetches((Piece(InRegister(5)),), 4) == (Fetch(0, 4, "value", (register,)),)
    deep = InMemory(Binary("plus", Load(Register(5), 8), Constant((1 << 64) - 8)))
    steps = (register, FetchStep("dereference", 8), FetchStep("offset", -8))
    assert fetches((Piece(deep),), 24, 16) == (Fetch(16, 24, "memory", steps),)
    with pytest.raises(UnsupportedError, match="parts of it are optimised out"):
        fetches((Piece(InRegister(5), 64),), 16)
    pieces = (Piece(InRegister(5), 64), Piece(IsBytes(b"\1\2\3"), 24))
    assert fetches(pieces, 11) == (
        Fetch(0, 8, "value", (register,)),
        Fetch(8, 2, "value", (FetchStep("constant", 0x201),)),
        Fetch(10, 1, "value", (FetchStep("constant", 3),)),
    )
    (fetch,) = fetches((Piece(InMemory(Address(0x4010))),), 4, 0, 0x10000)
    assert fetch == Fetch(0, 4, "memory", (FetchStep("constant", 0x14010),))
    extended = IsValue(values.Extend(Register(5), 4, True))
    assert fetches((Piece(extended),), 8) == (Fetch(0, 8, "value", (register, FetchStep("extend", 4))),)


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (Nowhere(), "optimised out"), (InRegister(17), "vector register"), (PointsInto(1, 0), "not kept"),
        (IsValue(EntryRegister(5)), "when the function was entered"),
        (InMemory(ThreadLocal(Constant(0))), "thread-local"),
        (IsValue(Binary("mul", Register(1), Register(2))), "computed"),
    ],
)  # fmt: skip
def test_what_no_steps_can_fetch_is_said(where, reason):
    with pytest.raises(UnsupportedError, match=reason):
        fetches((Piece(where),), 8)
