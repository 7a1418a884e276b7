"""print()'s layout: types, names, what is left out and where it is cut."""

import struct

import pytest

from sonde.model.records import MemberSpec, TypeSpec
from sonde.report.typed_object import object_text

INT, CHAR, NAME, POINTER, COLOR, BYTE, FLOAT, STRING, LONG, LONGS = range(10)
SCALARS = (
    TypeSpec("integer", "int", 4, True),
    TypeSpec("char", "char", 1, True),
    TypeSpec("array", "char [5]", 5, element=CHAR),
    TypeSpec("pointer", "void *", 8),
    TypeSpec("enum", "enum color", 4, True, values=(("RED", 0), ("BLUE", 3))),
    TypeSpec("integer", "__u8", 1),
    TypeSpec("float", "double", 8),
    TypeSpec("string", "string", 8),
    TypeSpec("integer", "long", 8, True),
    TypeSpec("array", "long [4]", 32, element=LONG),
)
MARGIN = " " * 44


def shown(data, *more, number=None, address=0xA0, limit=8192):
    """The lines below the address, without their margin; the type shown is the last of `more`."""
    types = (*SCALARS, *more)
    text = object_text(types, len(types) - 1 if number is None else number, data, address, limit).decode()
    head, *lines = text.splitlines()
    assert head == f"{address:#x} = *"
    assert all(line.startswith(MARGIN) for line in lines)
    return [line.removeprefix(MARGIN) for line in lines]


def structure(*members, size=64, name="struct s"):
    return TypeSpec("struct", name, size, members=tuple(MemberSpec(*member) for member in members))


def test_every_kind_of_scalar():
    assert shown(struct.pack("<i", -7), number=INT) == ["(int)-7"]
    assert shown(b"\xff", number=BYTE) == ["(__u8)255"]
    assert shown(b"x", number=CHAR) == ["(char)'x'"]
    assert shown(b"\n", number=CHAR) == ["(char)'\\n'"]
    assert shown(b"'", number=CHAR) == ["(char)'\\''"]
    assert shown(b'"', number=CHAR) == ["(char)'\"'"]
    assert shown(struct.pack("<Q", 2**64 - 1), number=POINTER) == ["(void *)0xffffffffffffffff"]
    assert shown(struct.pack("<i", 3), number=COLOR) == ["(enum color)BLUE"]
    assert shown(struct.pack("<i", 2), number=COLOR) == ["(enum color)2"]
    assert shown(struct.pack("<d", 1.5), number=FLOAT) == ["(double)1.5"]
    assert shown(b'a"b\0rest', number=STRING) == ['(string)"a\\"b"']


def test_a_value_without_an_address_begins_where_the_output_stands():
    assert object_text(SCALARS, INT, b"\5\0\0\0", None, 8) == b"(int)5\n"
    assert object_text(SCALARS, STRING, b"", None, 8) == b'(string)""\n'
    whole = object_text((*SCALARS, structure(("x", INT, 0))), len(SCALARS), b"\1\0\0\0", None, 8192)
    assert whole.decode().splitlines() == ["(struct s) {", f"{MARGIN} .x = (int)1,", f"{MARGIN}}}"]


def test_members_that_are_zero_are_left_out():
    kind = structure(("a", INT, 0), ("b", INT, 32), ("p", POINTER, 64), size=16)
    assert shown(struct.pack("<iiQ", 0, 1, 0), kind) == ["(struct s) {", " .b = (int)1,", "}"]


def test_zero_alone_is_shown():
    assert shown(bytes(4), number=INT) == ["(int)0"]
    assert shown(bytes(64), structure(("a", INT, 0))) == ["(struct s) {", "}"]


def test_characters_end_at_the_first_nul():
    assert shown(b"te\0st", number=NAME) == ["(char [5]) [", " (char)'t',", " (char)'e',", "]"]
    # Something is there, so the array is, too.
    kind = structure(("b", NAME, 0), size=5)
    assert shown(b"\0est\0", kind) == ["(struct s) {", " .b = (char [5]) [", " ],", "}"]
    assert shown(bytes(5), kind) == ["(struct s) {", "}"]


def test_an_element_of_zero_is_shown_where_others_follow():
    numbers = struct.pack("<4q", 0, 5, 0, 0)
    assert shown(numbers, number=LONGS) == ["(long [4]) [", " (long)0,", " (long)5,", "]"]


def test_bit_fields():
    kind = structure(("a", INT, 0, 3), ("b", BYTE, 3, 5), ("c", INT, 8, 9), size=4)
    assert shown(struct.pack("<I", 0b110 | 17 << 3 | 300 << 8), kind) == [
        "(struct s) {", " .a = (int)-2,", " .b = (__u8)17,", " .c = (int)-212,", "}",
    ]  # fmt: skip
    # The type of a bit-field may be wider than what is left of the object.
    assert shown(b"\1", structure(("a", INT, 0, 3), size=1)) == ["(struct s) {", " .a = (int)1,", "}"]


def test_nested_and_anonymous_members():
    union = structure(("u", INT, 0), ("c", BYTE, 0), size=4, name="union")
    outer = structure(("", len(SCALARS), 0), ("in", len(SCALARS), 32), size=8)
    assert shown(struct.pack("<ii", 258, 1), union, outer) == [
        "(struct s) {",
        " (union) {", "  .u = (int)258,", "  .c = (__u8)2,", " },",
        " .in = (union) {", "  .u = (int)1,", "  .c = (__u8)1,", " },",
        "}",
    ]  # fmt: skip


def test_printsize_cuts_between_members():
    kind = structure(("a", LONG, 0), ("b", LONG, 64), ("c", LONG, 128), size=24)
    data = struct.pack("<qqq", 1, 2, 3)
    assert shown(data, kind, limit=8) == ["(struct s) {", " .a = (long)1,", " ...", "}"]
    assert shown(data, kind, limit=16)[-3:] == [" .b = (long)2,", " ...", "}"]
    assert shown(data, kind, limit=24)[-2:] == [" .c = (long)3,", "}"]


def test_the_dots_stand_with_the_member_that_is_missing():
    inner = structure(("d", LONG, 0), size=8, name="struct in")
    kind = structure(("i", len(SCALARS), 0), ("x", LONG, 64), size=16)
    assert shown(struct.pack("<qq", 1, 2), inner, kind, limit=8) == [
        "(struct s) {", " .i = (struct in) {", "  .d = (long)1,", " ...", " },", "}",
    ]  # fmt: skip


def test_printsize_cuts_arrays():
    numbers = struct.pack("<4q", 1, 2, 3, 4)
    assert shown(numbers, number=LONGS, limit=16) == ["(long [4]) [", " (long)1,", " (long)2,", " ...", "]"]
    # What an array of characters lacks may as well lie behind its NUL.
    assert shown(b"abcde", number=NAME, limit=2) == ["(char [5]) [", " (char)'a',", " (char)'b',", "]"]


def test_what_is_nested_too_deep_is_not_shown():
    nested = [structure(("in", len(SCALARS) + level, 0), size=4) for level in range(12)]
    kinds = [structure(("x", INT, 0), size=4), *nested]
    lines = shown(b"\1\0\0\0", *kinds)
    assert lines[10:12] == [" " * 10 + ".in = (struct s) {", " " * 11 + "..."]
    assert len(lines) == 11 + 1 + 11


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", ["struct", "array"])
def test_a_description_that_multiplies_itself_ends_soon(kind):
    """A recording's types are whatever its writer likes: 300 members to the power of nine, or elements without size."""
    types = [TypeSpec("integer", "int", 1), TypeSpec("opaque", "nothing", 0)]
    for level in range(9):
        below = 0 if level == 0 else len(types) - 1
        members = tuple(MemberSpec(f"m{number}", below, 0) for number in range(300))
        if kind == "array":
            types.append(TypeSpec("array", "a", 4096, element=1))
            members = tuple(MemberSpec(f"m{number}", (below, len(types) - 1)[number % 2], 0) for number in range(300))
        types.append(TypeSpec("struct", "s", 1, members=members))
    text = object_text(types, len(types) - 1, b"\1" * 4096, 1, 8192)
    assert b"...\n" in text
    assert len(text) < 20_000_000
