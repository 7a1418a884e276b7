"""CO-RE: numbers that follow from one layout of a structure become those of another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bpf.btf_blobs import Blob

from sonde.bpf import instructions as i
from sonde.bpf.btf import Btf
from sonde.objects import core
from sonde.objects.btf_ext import CoreRelocation
from sonde.objects.core import POISON, Relocator
from sonde.objects.errors import ObjectError

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")
KINDS = ("u8", "u16", "u32", "u64", "s32", "pointer", "inner", "array", "bits")


class Kernel:
    def __init__(self, *blobs):
        self.types = [Btf(each) for each in blobs]

    @property
    def main(self):
        return self.types[0]

    def candidates(self, name, kinds):
        return [(each, number) for each in self.types for number in each.find_all(name, *kinds)]


def layout(members, name="subject", padding=0):
    """A structure laid out as C does; its blob and the place of each member: (offset and width in bits, size)."""
    blob = Blob()
    byte, word = blob.integer("unsigned char", 1), blob.integer("unsigned int", 4)
    inner = blob.structure("inner", 12, [("a", word, 0, 0), ("b", word, 32, 0), ("c", word, 64, 0)])
    types = {
        "u8": (byte, 1), "u16": (blob.integer("unsigned short", 2), 2), "u32": (word, 4),
        "u64": (blob.integer("unsigned long", 8), 8), "s32": (blob.integer("int", 4, True), 4),
        "pointer": (blob.pointer(), 8), "inner": (inner, 12), "array": (blob.array(word, 5, word), 20),
        "bits": (word, 4),
    }  # fmt: skip
    listed, places, at = [], {}, 8 * padding
    for each, kind in members:
        type_, size = types[kind]
        align = 8 * (4 if kind in ("inner", "array") else size)
        at += -at % align
        bits = 5 if kind == "bits" else 0
        listed.append((each, type_, at, bits))
        places[each] = (at, bits or 8 * size, size, kind)
        at += bits or 8 * size
    size = (at + 63) // 64 * 8
    number = blob.structure(name, size, listed)
    return blob.build(), number, places, size


MEMBERS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS)), min_size=1, unique_by=lambda each: each[0]
)


def number_of(local, kernel, relocation, was):
    """What an instruction that loads a number becomes."""
    code = [i.mov_imm(i.R1, was)]
    relocator = Relocator(Btf(local), kernel)
    relocator.relocate(code, [CoreRelocation(0, *relocation)])
    return code[0].imm


def covering(place):
    """Offset and size of the aligned word around a bit-field, by trying all."""
    at, bits, size, _ = place
    for width in (size, 8):
        offset = at // 8 // width * width
        if at + bits <= 8 * (offset + width):
            return offset, width
    raise AssertionError(place)


def expected(place, kind):
    at, bits, size, type_ = place
    offset, width = covering(place) if type_ == "bits" else (at // 8, size)
    return {
        core.BYTE_OFFSET: offset, core.BYTE_SIZE: width, core.EXISTS: 1, core.SIGNED: int(type_ == "s32"),
        core.LSHIFT: 64 - (at + bits - 8 * offset), core.RSHIFT: 64 - bits,
    }[kind]  # fmt: skip


@given(MEMBERS, st.data())
def test_every_number_of_a_field_is_that_of_the_kernel(members, data):
    kernel_members = data.draw(st.permutations(members))
    extra = data.draw(st.integers(0, 100))
    local, number, here, _ = layout(members, "subject___mine")
    other, _, there, _ = layout([*kernel_members, ("more", "u64")], "subject", extra)
    for index, (name, type_) in enumerate(members):
        for kind in range(6):
            if type_ in ("inner", "array") and kind in (core.SIGNED, core.LSHIFT, core.RSHIFT):
                continue
            found = number_of(local, Kernel(other), (number, f"0:{index}", kind), expected(here[name], kind))
            assert found == expected(there[name], kind), (name, kind)


@given(MEMBERS, st.sampled_from(NAMES))
def test_a_field_that_is_not_there_does_not_exist_and_cannot_be_used(members, gone):
    local, number, here, _ = layout(members)
    other, _, _, _ = layout([each for each in members if each[0] != gone] or [("more", "u8")])
    for index, (name, _) in enumerate(members):
        assert number_of(local, Kernel(other), (number, f"0:{index}", core.EXISTS), 1) == (name != gone)
        if name == gone:
            was = expected(here[name], core.BYTE_OFFSET)
            assert number_of(local, Kernel(other), (number, f"0:{index}", core.BYTE_OFFSET), was) == POISON


def test_members_of_nameless_structures_and_elements_of_arrays_are_found():
    local = Blob()
    word = local.integer("unsigned int", 4)
    array = local.array(word, 4, word)
    subject = local.structure("subject", 20, [("value", word, 0, 0), ("list", array, 32, 0)])
    other = Blob()
    word2 = other.integer("unsigned int", 4)
    array2 = other.array(word2, 9, word2)
    nameless = other.structure("", 40, [("pad", word2, 0, 0), ("list", array2, 32, 0)])
    union = other.structure("", 40, [("", nameless, 0, 0), ("raw", word2, 0, 0)], kind=5)
    other.structure("subject", 56, [("pad", array2, 0, 0), ("", union, 64, 0), ("value", word2, 448, 0)])
    kernel = Kernel(other.build())
    assert number_of(local.build(), kernel, (subject, "0:0", core.BYTE_OFFSET), 0) == 56
    assert number_of(local.build(), kernel, (subject, "0:1:3", core.BYTE_OFFSET), 16) == 8 + 4 + 12
    assert number_of(local.build(), kernel, (subject, "2:1:3", core.BYTE_OFFSET), 56) == 112 + 8 + 4 + 12


def loads(size, local_kind, kernel_kind, code):
    local, number, _, _ = layout([("first", "u64"), ("value", local_kind)])
    other, _, there, _ = layout([("value", kernel_kind)], "subject", 40)
    Relocator(Btf(local), Kernel(other)).relocate(code, [CoreRelocation(0, number, "0:1", core.BYTE_OFFSET)])
    return code[0], there["value"][0] // 8


def test_loads_take_as_many_bytes_as_the_kernel_has():
    for local, kernel, size in (("u32", "u64", 8), ("u64", "u16", 2), ("u32", "u32", 4), ("pointer", "pointer", 8)):
        width = {"u32": 4, "u64": 8, "pointer": 8}[local]
        found, offset = loads(width, local, kernel, [i.load(width, i.R1, i.R2, 8)])
        assert found == i.load(size, i.R1, i.R2, offset), (local, kernel)
    with pytest.raises(ObjectError, match="with a sign"):
        loads(4, "s32", "u64", [i.load(4, i.R1, i.R2, 8)])


def test_relocations_of_gcc_may_be_for_the_next_instruction_that_fits():
    """It names the first of a statement, here one that is the linker's and has the same number by chance."""
    local, number, here, _ = layout([("first", "u64"), ("value", "u32")])
    other, _, there, _ = layout([("value", "u32")], "subject", 40)
    code = [*i.ld_imm64(i.R4, 8), i.load(8, i.R6, i.R6, 8), i.load(4, i.R5, i.R6, 8), i.store_reg(4, i.R4, 8, i.R5)]
    relocator = Relocator(Btf(local), Kernel(other), is_gnu=True)
    relocator.relocate(code, [CoreRelocation(0, number, "0:1", core.BYTE_OFFSET)], {0})
    assert here["value"][0] == 64
    assert code[3] == i.load(4, i.R5, i.R6, there["value"][0] // 8)
    assert [each.imm for each in code[:2]] + [code[2].offset, code[4].offset] == [8, 0, 8, 8]


def test_what_the_compiler_put_there_is_checked():
    with pytest.raises(ObjectError, match="in the place of 8"):
        loads(4, "u32", "u32", [i.load(4, i.R1, i.R2, 12)])


def test_types():
    local, number, _, size = layout([("first", "u64"), ("second", "u8")])
    other, there, _, bigger = layout([("first", "u64"), ("second", "u8"), ("third", "inner")])
    kernel, nothing = Kernel(other), Kernel(Blob().build())
    for kind, was, expected_, without in (
        (core.TYPE_EXISTS, 1, 1, 0), (core.TYPE_SIZE, size, bigger, 0), (core.TYPE_MATCHES, 1, 1, 0),
        (core.TARGET_ID, 0, there, 0), (core.LOCAL_ID, 0, number, number),
    ):  # fmt: skip
        assert number_of(local, kernel, (number, "0", kind), was) == expected_, kind
        assert number_of(local, nothing, (number, "0", kind), was) == without, kind
    reverse, number, _, _ = layout([("first", "u64"), ("second", "u8"), ("third", "inner")])
    fewer, _, _, _ = layout([("first", "u64"), ("second", "u32")])
    assert number_of(reverse, Kernel(fewer), (number, "0", core.TYPE_MATCHES), 1) == 0
    assert number_of(reverse, Kernel(fewer), (number, "0", core.TYPE_EXISTS), 1) == 1


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=3, max_size=3), st.booleans())
def test_enumerators(values, wide):
    local, other = Blob(), Blob()
    number = local.enumeration("color___old", [("RED", 1), ("GREEN___x", 2), ("GONE", 3)])
    other.enumeration("color", [("BLUE", values[0]), ("GREEN", values[1]), ("RED", values[2])], wide, True)
    kernel = Kernel(other.build())
    for index, was, right in ((0, 1, values[2]), (1, 2, values[1])):
        assert number_of(local.build(), kernel, (number, str(index), core.ENUMERATOR_VALUE), was) == right
        assert number_of(local.build(), kernel, (number, str(index), core.ENUMERATOR_EXISTS), 1) == 1
    assert number_of(local.build(), kernel, (number, "2", core.ENUMERATOR_EXISTS), 1) == 0
    assert number_of(local.build(), kernel, (number, "2", core.ENUMERATOR_VALUE), 3) == POISON


def test_wide_numbers():
    local, other = Blob(), Blob()
    number = local.enumeration("flags", [("HIGH", 1 << 40)], wide=True)
    other.enumeration("flags", [("HIGH", 1 << 50 | 7)], wide=True)
    code = i.ld_imm64(i.R1, 1 << 40)
    relocator = Relocator(Btf(local.build()), Kernel(other.build()))
    relocator.relocate(code, [CoreRelocation(0, number, "0", core.ENUMERATOR_VALUE)])
    assert code == i.ld_imm64(i.R1, 1 << 50 | 7)


def test_types_that_differ_are_ambiguous():
    local, number, here, _ = layout([("first", "u8"), ("second", "u64")])
    one, other = (layout([("second", "u64")], "subject", padding)[0] for padding in (8, 16))
    with pytest.raises(ObjectError, match="several types"):
        number_of(local, Kernel(one, other), (number, "0:1", core.BYTE_OFFSET), here["second"][0] // 8)


@pytest.mark.parametrize(
    ("access", "kind"), [("", 0), ("0:9", 0), ("0:0:0", 0), ("x", 0), ("0:-1", 2), ("0", 77), ("9", 11)]
)
def test_nonsense_is_refused(access, kind):
    local, number, _, _ = layout([("first", "u8")])
    with pytest.raises(ObjectError):
        number_of(local, Kernel(local), (number, access, kind), 0)
