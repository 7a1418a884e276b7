"""Places of variables as compiled programs fetch them: random ones, run, against the same computed in Python."""

import hashlib
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bpf.bpf_machine import SPACING, Machine
from support.d.catalog import NODE, VARIABLES
from support.d.compiled import TAGGED, TARGET
from support.d.compiled import check as checked
from support.suite.example_counts import long_run
from support.symbols.dwarf_machine import concrete

from sonde.arch.x86_64.registers import BY_DWARF_NUMBER, SIZE
from sonde.bpf import instructions as bpf
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.model.catalog import Located
from sonde.model.errors import SourceError
from sonde.model.location import (
    Binary,
    Chosen,
    Constant,
    Extend,
    InMemory,
    InRegister,
    IsBytes,
    IsValue,
    Load,
    Nowhere,
    Piece,
    Register,
    Unary,
)
from sonde.model.named_maps import ACTIVE
from sonde.model.types import INT, LONG, UCHAR, ULONG, USHORT

pytestmark = pytest.mark.examples

CONTEXT = 1 << 40
MASK = (1 << 64) - 1
OPERATIONS = (
    "plus", "minus", "mul", "and", "or", "xor", "shl", "shr", "shra", "div", "mod", "udiv", "umod", "eq", "ne", "lt",
    "le", "gt", "ge", "ult", "ule", "ugt", "uge",
)  # fmt: skip
numbers = st.one_of(st.integers(0, 80), st.integers(0, MASK), st.sampled_from([MASK, 1 << 63, (1 << 63) - 1, 1 << 31]))
sizes = st.sampled_from([1, 2, 4, 8])


def extended(inner):
    return st.one_of(
        st.builds(Load, inner, sizes),
        st.builds(Extend, inner, sizes, st.booleans()),
        st.builds(Unary, st.sampled_from(["neg", "not", "abs"]), inner),
        st.builds(Binary, st.sampled_from(OPERATIONS), inner, inner),
    )


leaves = st.one_of(st.builds(Constant, numbers), st.builds(Register, st.integers(0, 16)))
trees = st.recursive(leaves, extended, max_leaves=6)
states = st.lists(numbers, min_size=17, max_size=17)


def content(address, size):
    """What is at an address of the process."""
    found = b"".join(hashlib.blake2b((address + at & MASK).to_bytes(8, "little")).digest()[:1] for at in range(size))
    return int.from_bytes(found, "little")


class Ran(NamedTuple):
    """What a program left in its variables, and how often it has read the process's memory."""

    variables: bytes
    reads: int

    def numbers(self):
        return [int.from_bytes(self.variables[at : at + 8], "little") for at in range(0, len(self.variables), 8)]


def run(text, registers):
    """A program of one clause, once."""
    reads = []

    def read_user(machine, to, size, address, *_):
        reads.append(address)
        machine.write(to, size, content(address, size))
        return 0

    def copy(machine, to, size, address, *_):
        machine.write(to, size, machine.read(address, size))
        return 0

    made = Compilation(
        checked(text), Settings(), TARGET, lambda *key: TAGGED.get(key), lambda _: (), {None: [text]}
    ).spec()
    (one,) = made.programs
    values = {each.name: bytearray(max(each.value_size, 8)) for each in made.maps if each.name != "ring"}
    values["state"][:4] = ACTIVE.to_bytes(4, "little")
    helpers = {number: lambda *_: 0 for number in NUMBERS.values()}
    helpers |= {
        NUMBERS["get_current_pid_tgid"]: lambda *_: 7 << 32,
        NUMBERS["probe_read_user"]: read_user,
        NUMBERS["probe_read_kernel"]: copy,
    }
    machine = Machine(bpf.decode(one.code), one.map_references, values, helpers)
    context = bytearray(SIZE)
    for offset, number in zip(BY_DWARF_NUMBER, registers, strict=True):
        context[offset : offset + 8] = number.to_bytes(8, "little")
    machine.run(machine.add_memory(CONTEXT // SPACING * SPACING, context))
    return Ran(bytes(values.get("globals", b"")), len(reads))


def fetched(kind, variables, registers, declared="long"):
    """What a program finds in variables of that type and these places: a number for each, or a structure's bytes."""
    names = [f"v{at}" for at in range(len(variables))]
    VARIABLES.update({(20, name): Located(kind, pieces) for name, pieces in zip(names, variables, strict=True)})
    declarations = "".join(f"{declared} {name}; " for name in names)
    assignments = "".join(f"{name} = args->{name}; " for name in names)
    return run(f"{declarations} pid7::first:entry {{ {assignments} }}", registers)


@long_run(25)
@given(st.lists(trees, min_size=1, max_size=8), states)
def test_values_of_trees(several, registers):
    found = fetched(ULONG, [(Piece(IsValue(tree)),) for tree in several], registers)
    assert found.numbers() == [concrete(tree, registers, content) for tree in several]


@long_run(10)
@given(st.lists(trees, min_size=1, max_size=8), states, st.sampled_from([UCHAR, USHORT, INT, LONG, ULONG]))
def test_what_is_in_memory_has_the_size_and_sign_of_its_type(several, registers, kind):
    expected = [content(concrete(tree, registers, content), kind.size) for tree in several]
    if kind.signed:
        expected = [(number ^ 1 << 8 * kind.size - 1) - (1 << 8 * kind.size - 1) & MASK for number in expected]
    assert fetched(kind, [(Piece(InMemory(tree)),) for tree in several], registers).numbers() == expected


def bits_of(piece, registers):
    """All the bits that a piece's place has."""
    match piece.place:
        case InMemory(address):
            return content(concrete(address, registers, content), 32)
        case InRegister(number):
            return registers[number]
        case IsValue(value):
            return concrete(value, registers, content)
    return int.from_bytes(piece.place.content, "little")


places = st.one_of(
    st.builds(InMemory, leaves),
    st.builds(InRegister, st.integers(0, 16)),
    st.builds(IsValue, leaves),
    st.builds(IsBytes, st.binary(min_size=16, max_size=16)),
)


@st.composite
def sixteen_bytes(draw):
    """Pieces of a structure of 16 bytes, whole bytes or not, each from some bit of its place on."""
    left, pieces = 128, []
    while left:
        step = draw(st.sampled_from([1, 8]))
        bits = min(draw(st.integers(1, 64 // step)) * step, left)
        offset = draw(st.integers(0, 64 - bits)) // step * step
        pieces.append(Piece(draw(places), bits, offset))
        left -= bits
    return tuple(pieces)


@long_run(15)
@given(st.lists(sixteen_bytes(), min_size=1, max_size=4), states)
def test_structures_in_pieces(several, registers):
    expected = []
    for pieces in several:
        number = at = 0
        for piece in pieces:
            number |= (bits_of(piece, registers) >> piece.offset & (1 << piece.bits) - 1) << at
            at += piece.bits
        expected += [number & MASK, number >> 64]
    assert fetched(NODE, several, registers, "struct node").numbers() == expected


def test_one_of_several_values_is_chosen_by_a_number():
    """Where none is, the clause stops."""
    cases = ((Constant(5), Register(1)), (Register(2), Constant(77)))
    chosen = (Piece(IsValue(Chosen(Register(0), cases))),)
    registers = [0, 11, 9, *range(14)]
    for key, expected in ((5, 11), (9, 77), (6, 0)):
        assert fetched(LONG, [chosen], [key, *registers[1:]]).numbers() == [expected]


@pytest.mark.parametrize(("number", "expected"), [(0x1_8000_0001, -0x7FFF_FFFF & MASK), (3, 3)])
def test_a_register_holds_no_more_than_the_type(number, expected):
    assert fetched(INT, [(Piece(InRegister(5)),)], [number] * 17).numbers() == [expected]


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("/args->count == 3/ { x = args->tree; }", {3: 1, 2: 0}),
        ("{ x = args->count == 3 ? args->tree : args->tree + args->node->value; }", {3: 1, 2: 2}),
        ("{ if (args->count == 3) { x = args->tree; } else { x = 1; } }", {3: 1, 2: 0}),
        ("/args->count == 3 && args->tree != 1/ { x = args->count; }", {3: 1, 2: 0}),
        ("{ x = args->count; y = args->pair; }", {3: 0, 2: 0}),
    ],
)
def test_only_the_path_that_uses_a_variable_fetches_it(body, reads):
    """What is behind a predicate that is false, or in a branch that is not taken, is not read of the process."""
    VARIABLES[20, "tree"] = Located(LONG, (Piece(InMemory(Register(1))),))
    for count, expected in reads.items():
        assert run(f"pid7::first:entry {body}", [count] * 17).reads == expected


@pytest.mark.parametrize(
    ("use", "is_there"),
    [
        ("args->part.value", True), ("args->part.value + args->part.value", True), ("args->part.next->value", False),
        ("(long)args->part.next", False),
    ],
)  # fmt: skip
def test_parts_of_a_variable_that_are_optimised_out_may_not_be_used(use, is_there):
    """Nor may it be as a whole, but what is between its members is not missed."""
    VARIABLES[20, "part"] = Located(NODE, (Piece(InRegister(4), 32), Piece(Nowhere(), 32), Piece(Nowhere(), 64)))
    VARIABLES[20, "padded"] = Located(NODE, (Piece(InRegister(4), 32), Piece(Nowhere(), 32), Piece(InRegister(5), 64)))
    assert run("struct node n; pid7::first:entry { n = args->padded; }", [9] * 17).numbers() == [9, 9]
    for text in ("struct node n; pid7::first:entry { n = args->part; }", f"pid7::first:entry {{ x = {use}; }}"):
        if is_there and "x =" in text:
            assert run(text, [9] * 17).numbers()[0] in (9, 18)
        else:
            with pytest.raises(SourceError, match="optimised out"):
                run(text, [9] * 17)
