"""Members are looked up as C++ does, and functions by the names that people have for them."""

from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st
from support.machine import compilers

from sonde.model.types import INT, LONG, Member, Pointer, Struct, resolve
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.source_names.functions import candidates, named

SOURCE = """
#include <memory>
struct Item { int price; };
volatile long sink;
struct Empty {};
struct Left { int shared, left; }; struct Right { int shared, right; };
struct Both : Left, Right { int own; };
struct Hiding : Both { long shared; };
__attribute__((noinline)) void use(std::unique_ptr<Item> &item, Hiding &hiding) { sink = item->price + hiding.shared; }
int main() { std::unique_ptr<Item> item(new Item{3}); Hiding hiding = {}; use(item, hiding); return 0; }
"""


def test_the_nearest_base_has_a_member():
    points = Points(open_information(compilers.built("bases.cc", SOURCE, "g++", "-g", "-O0")))
    (point,) = points.at_function("use")
    item, hiding = (resolve(resolve(each.variable.type).to) for each in points.named(point))
    head = resolve(resolve(item.find("_M_t").type).find("_M_t").type).find("_M_head_impl")
    assert isinstance(resolve(head.type), Pointer)
    assert resolve(resolve(head.type).to).find("price") is not None
    assert (hiding.find("shared").type, hiding.find("shared").offset) == (LONG, 192)


names = st.sampled_from("abcdef")


@st.composite
def structures(draw, depth=3):
    """Structures with members of the names, and anonymous ones; each member is where no other one is."""
    members = [Member(name, INT, 0) for name in draw(st.lists(names, max_size=2, unique=True))]
    if depth:
        members += [Member("", each, 0) for each in draw(st.lists(structures(depth - 1), max_size=3))]
    order = draw(st.permutations(members))
    at, placed = 0, []
    for each in order:
        placed.append(each._replace(offset=8 * at))
        at += each.type.size
    return Struct("struct", "", at, lambda: tuple(placed))


def places(struct, name, depth=0, offset=0):
    """(depth, offset) of every member of a name."""
    for each in struct.members:
        if each.name == name:
            yield depth, offset + each.offset
        elif not each.name:
            yield from places(each.type, name, depth + 1, offset + each.offset)


@given(structures(), names)
def test_no_member_is_nearer_than_the_one_that_is_found(struct, name):
    found, every = struct.find(name), sorted(places(struct, name))
    assert (found.offset if found else None) == (every[0][1] if every else None)


def test_versions_are_no_part_of_names():
    source = '#include <stdio.h>\nint main(void) { return fputs("", stdout); }\n'
    program = compilers.built("out.c", source, "gcc", "-no-pie")
    with open(program, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        (copied,) = [each["st_value"] for each in table.iter_symbols() if each.name.startswith("stdout")]
    assert ElfFile.open(program).symbolize(copied) == ("stdout", 0)


SYMBOLS = {
    "_RNvXCsjuXwbgGEXDB_6rsprogNtB2_5TokenNtB2_5Score5score": ("Token::score", "Score::score", "rsprog::Token::score"),
    "_ZN47_$LT$rsprog..Token$u20$as$u20$rsprog..Score$GT$5score17ha927a544c5dccb5aE": ("Token::score", "Score::score"),
    "_RNvMCs2wvwJDwge2F_6adler2NtB2_7Adler3211write_slice": ("Adler32::write_slice", "adler2::Adler32::write_slice"),
    "_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17hf3d1af126d4daebeE": ("Vec::push", "alloc::vec::Vec::push"),
    "_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE":
        ("Vec::drop", "Drop::drop"),
    "_RNvNtCs4X4t9plMPHF_6rsprog5parse4line": ("parse::line", "rsprog::parse::line"),
}  # fmt: skip


def test_functions_that_implement_something_have_the_names_of_their_types():
    for symbol, called in SYMBOLS.items():
        for name in (*called, called[0].rpartition("::")[2]):
            assert symbol in set(named(candidates(SYMBOLS, name), name)), (symbol, name)
        assert symbol not in set(named(candidates(SYMBOLS, "Other::score"), "Other::score"))
