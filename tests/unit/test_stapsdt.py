"""Notes of static probes: as they are, as they are damaged, and the operands in them."""

import random
import struct

import pytest

from sonde.arch.x86_64.operands import parse
from sonde.model.location import MASK, Binary, Constant, Load, Register, ThreadPointer
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.stapsdt import Note, StapsdtError, code_offset, counter_offset, notes, notes_of

TEXTS = (("prov", "one", "-4@%eax 8@8(%rbx)"), ("prov", "two__three", ""), ("other", "four", "8f@%xmm0"))


def note(provider, name, arguments, location=0x1010, base=0x3000, semaphore=0x4002, owner=b"stapsdt\0", kind=3):
    text = b"".join(each.encode() + b"\0" for each in (provider, name, arguments))
    data = struct.pack("<QQQ", location, base, semaphore) + text
    return struct.pack("<III", len(owner), len(data), kind) + owner + data + bytes(-len(data) % 4)


def elf(content, base=0x3000, machine=62):
    """A file with code at 0x1000, data at 0x4000 and the two sections, all of which are in the file at 0x1000."""
    names = b"\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0"
    at = 0x3000
    programs = b"".join(
        struct.pack("<IIQQQQQQ", 1, flags, offset, address, 0, size, memory, 0x1000)
        for flags, offset, address, size, memory in (
            (5, 0x1000, 0x1000, 0x100, 0x100),
            (6, 0x2000, 0x4000, 0x10, 0x2000),
        )
    )
    rows = (
        (0, 0, 0, 0, 0),
        (1, 7, 0, at, len(content)),
        (15, 1, base, 0, 1),
        (29, 3, 0, at + len(content), len(names)),
    )
    sections = b"".join(
        struct.pack("<IIQQQQIIQQ", name, kind, 0, address, offset, size, 0, 0, 1, 0)
        for name, kind, address, offset, size in rows
    )
    body = content + names
    table = at + len(body)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, machine, 1, 0, 64, table, 0, 64, 56, 2, 64, len(rows), 3
    )
    return (header + programs).ljust(at, b"\0") + body + sections


def test_notes_are_read():
    data = b"".join(note(*each) for each in TEXTS)
    assert [(each.provider, each.name, each.arguments) for each in notes(data)] == list(TEXTS)
    assert next(notes(data)) == Note("prov", "one", 0x1010, 0x3000, 0x4002, TEXTS[0][2])


def test_notes_of_others_are_passed_over():
    data = note("a", "b", "", owner=b"GNU\0") + note("a", "b", "", kind=2) + note("mine", "it", "")
    assert [each.provider for each in notes(data)] == ["mine"]


def test_prelinked_files_are_further_on():
    """Where .stapsdt.base has moved to, all has; a probe without a counter has none."""
    content = note("a", "b", "") + note("a", "c", "", semaphore=0)
    first, second = notes_of(ElfFile(elf(content, base=0x3000 + 0x500000)))
    assert (first.location, first.semaphore) == (0x501010, 0x504002)
    assert (second.location, second.semaphore) == (0x501010, 0)
    assert notes_of(ElfFile(elf(content)))[0].location == 0x1010


def test_other_machines_have_none():
    assert notes_of(ElfFile(elf(note("a", "b", ""), machine=183))) == []


def test_offsets_in_the_file():
    """Counters may lie behind the last byte of the file, in the page that has it, but not in the next."""
    file = ElfFile(elf(b""))
    assert code_offset(file, 0x1010) == 0x1010
    assert code_offset(file, 0x4000) is None
    assert counter_offset(file, 0x4002) == 0x2002
    assert counter_offset(file, 0x4FFE) == 0x2FFE
    assert counter_offset(file, 0x4FFF) is None
    assert counter_offset(file, 0x5000) is None
    assert counter_offset(file, 0x1010) is None


@pytest.mark.parametrize("seed", range(4))
def test_damage(seed):
    """Of 800 damaged files each has notes or one error; what is read of them can be looked at."""
    chance = random.Random(seed)
    whole = elf(b"".join(note(*each) for each in TEXTS))
    outcomes = set()
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 2, 8))):
            start, end = chance.choice(((0, 200), (0x3000, len(data)), (0x3000, len(data))))
            data[chance.randrange(start, end)] ^= 1 << chance.randrange(8)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        try:
            file = ElfFile(bytes(data))
            found = notes_of(file)
            places = [(code_offset(file, each.location), counter_offset(file, each.semaphore)) for each in found]
        except ElfError:
            outcomes.add("error")
            continue
        outcomes.add(len(found))
        assert len(places) == len(found) <= 100
        for each in found:
            for operand in each.arguments.split():
                argument = parse(operand, each.location, {"x": 8}.get)
                assert (argument.value is None) == bool(argument.reason)
    assert {"error", 3} <= outcomes


def test_a_note_that_is_cut_off():
    data = note("a", "b", "")
    for size in range(1, len(data) - 3):
        with pytest.raises(StapsdtError):
            list(notes(data[:size]))


@pytest.mark.parametrize(
    ("operand", "says"),
    [
        ("8f@%xmm0", "the kernel does not tell what is in register xmm0"),
        ("10f@-16(%rsp)", "it has 10 bytes"),
        ("16@(%rax)", "it has 16 bytes"),
        ("8@absent(%rip)", "the file has no symbol absent"),
        ("8@x@GOTPCREL(%rip)", "the file has no symbol x@GOTPCREL"),
        ("8@8(%rip)", "'8(%rip)' counts from an instruction that is not known"),
        ("8@(%ax)", "'(%ax)' is no address"),
        ("8@(%rax,%rbx,3)", "'(%rax,%rbx,3)' is no address"),
        ("8@(%rax", "'(%rax' is no operand"),
        ("8@", "'' is no operand"),
        ("", "'' is no operand"),
        ("8@x-x", "the file has no symbol x"),
        ("8@1 2", "'1 2' is no number and no symbol"),
        ("8@%nix:4", "the base of segment nix is not known"),
        ("8@$09", "'09' is no number"),
        (f"8@${'9' * 500}", f"'{'9' * 20}...' is too long a number"),
        (f"{'9' * 500}@%rax", "it has 999 bytes"),
    ],
)
def test_what_cannot_be_had_says_why(operand, says):
    argument = parse(operand, 0x1000, {"x": 0x2000}.get)
    assert (argument.value, argument.reason) == (None, says)


def test_symbols_are_as_far_from_the_site_as_they_were_linked():
    near = Binary("plus", Register(16), Constant(0x1008))
    assert parse("4@x+8(%rip)", 0x1000, {"x": 0x2000}.get).value == Load(near, 4)
    assert parse("8@$x", 0x1000, {"x": 0x2008}.get).value == near
    assert parse("4@%fs:x@tpoff", 0, {"x@tpoff": -8}.get).value == Load(
        Binary("plus", ThreadPointer(), Constant(-8 & MASK)), 4
    )
