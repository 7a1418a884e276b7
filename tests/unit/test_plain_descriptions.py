"""Frame descriptions that programs run themselves until rows have been made of them: the program, in the embedded
engine's machine, has the same rules as the rows."""

import itertools
import random
import struct
import subprocess
from array import array
from bisect import bisect_right
from types import SimpleNamespace

import pytest
from support.bpf.embedded_runs import EXECUTIONS
from support.machine import compilers
from support.symbols.compiled_objects import needs_gcc
from support.symbols.made_unwind_rows import unwind_rows

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.link import link as linked_code
from sonde.codegen.routines import catalog
from sonde.codegen.routines import unwinding as state
from sonde.model.errors import Position
from sonde.model.named_maps import UNWIND_PAGE, UNWIND_ROWS
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory
from sonde.symbols.dwarf.frame_rules import AT_FRAME, AT_STACK, BY_FRAME_POINTER, LINKAGE, NONE, UNKNOWN, Rule
from sonde.symbols.dwarf.plain_descriptions import plain_descriptions, special
from sonde.symbols.dwarf.unwind_rows import RULE
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.mappings import parse_maps

SELDOM = (AT_FRAME, AT_STACK, LINKAGE)


def own_objects():
    """The interpreter's own and those that it has mapped, as the distribution has built them."""
    with open("/proc/self/maps") as file:
        return sorted({each.path for each in parse_maps(file.read()) if each.executable and each.path.startswith("/")})


class Machine:
    """Runs `unwind_described` on an object's descriptions, which begin at the third page."""

    def __init__(self, found, data=None):
        start = 3 * UNWIND_PAGE
        self.bytes = bytearray(start) + found.pairs + (found.data if data is None else data)
        self.bytes += bytes(-len(self.bytes) % UNWIND_PAGE)
        base = start + len(found.pairs)
        self.words = {
            state.FIRST_PAIR: start // 8,
            state.PAIRS: len(found.pairs) // 8,
            state.ADDRESS: found.address,
            state.DESCRIPTIONS: base + found.base,
            state.SIGNALS: base + found.signals if found.signals >= 0 else -1,
            state.OUTERMOST: base + found.outermost if found.outermost >= 0 else -1,
        }
        self.memory, self.functions = MachineMemory(), {}
        self.work = bytearray(state.FRAMES + 8)
        self.at = self.memory.add(self.work)
        pages = self.memory.add(self.bytes)

        def look_up(_, key):
            page = int.from_bytes(self.memory.read(key, 4), "little") * UNWIND_PAGE
            return pages + page if page < len(self.bytes) else 0

        def loop(count, function, context, flags):
            return next((n + 1 for n in range(count) if self.functions[function](n, context)), count)

        def read(target, size, source):
            self.memory.write(target, self.memory.read(source, size))
            return 0

        helpers = {
            NUMBERS["map_lookup_elem"]: look_up,
            NUMBERS["loop"]: loop,
            NUMBERS["probe_read_kernel"]: read,
        }
        b = Builder("main")
        b.ret(b.call_local("unwind_described", b.function.parameters[0]))
        position = Position(None, 1, 1)
        spec = linked_code("main", (b.function, [position]), lambda name: (catalog.routine(name), ()), lambda _: "")
        maps = {name: SimpleNamespace(handle=1 << 40) for name in (UNWIND_ROWS, *dict(spec.map_references).values())}
        program = link(spec, maps, lambda stamp: 0, self.functions)
        self.run = EXECUTIONS["translator"](program, self.memory, helpers, self.functions).run

    def rule(self, offset):
        """The rule at a file offset, None if there is none; and whether that counts as a table that was not there."""
        self.work[:] = bytes(len(self.work))
        for word, value in {**self.words, state.LOOK: offset}.items():
            struct.pack_into("<q", self.work, word, value)
        found = self.run(self.at)
        missed = any(self.work[state.MISSED : state.MISSED + 8])
        return (Rule(*unpacked(self.work, state.RULE)) if found else None), missed


def unpacked(data, at):
    offset, rbp, rbx, more, kind, by = RULE.unpack_from(data, at)
    return kind, offset, more, rbp, by & 15, rbx, by >> 4


class Tables:
    """What rows say at a file offset."""

    def __init__(self, rows):
        self.rules = [Rule(*unpacked(rows.rules, at)) for at in range(0, len(rows.rules), RULE.size)]
        starts, numbers = array("I", rows.rows), array("I", rows.blocks)
        self.starts, self.numbers = [], []
        for block, (first, behind) in enumerate(itertools.pairwise(numbers)):
            self.starts += [block << 16 | row & 0xFFFF for row in starts[first:behind]]
            self.numbers += [row >> 16 for row in starts[first:behind]]

    def rule(self, offset):
        return self.rules[self.numbers[bisect_right(self.starts, offset) - 1]]


def compared(path, count, chance):
    """How many places were looked at, and of how many programs did not find the rule."""
    file = ElfFile.open(path)
    found, tables = plain_descriptions(file), Tables(unwind_rows(file))
    machine, unknown = Machine(found), 0
    places = chance.sample(tables.starts, min(count, len(tables.starts)))
    for place in places:
        offset = max(place + chance.choice((-1, 0, 0, 1)), 0)
        wanted, (rule, missed) = tables.rule(offset), machine.rule(offset)
        if rule is not None:
            # Where the offset of a frame address is not used, as in a signal's frame, it is not kept either.
            assert rule == wanted or (rule.kind == wanted.kind and rule.kind >= 7), (path, hex(offset))
        elif wanted.kind not in (NONE, UNKNOWN):
            assert missed, (path, hex(offset))
            unknown += wanted.kind not in SELDOM and BY_FRAME_POINTER not in (wanted.pointer_by, wanted.base_by)
    return len(places), unknown


@pytest.mark.long
def test_the_rules_are_those_of_the_rows():
    """In all objects of this process that have plain descriptions: none is wrong, few are not known."""
    chance, places, unknown, objects = random.Random(1), 0, 0, 0
    for path in own_objects():
        if plain_descriptions(ElfFile.open(path)) is None:
            continue
        more, less = compared(path, 12, chance)
        objects, places, unknown = objects + 1, places + more, unknown + less
    assert objects >= 2
    assert unknown * 50 <= places


def test_damage_gives_no_rule_or_some():
    """Whatever is in the file: the program ends, and reads nothing outside of it."""
    path = next(each for each in own_objects() if "libc" in each)
    chance, found = random.Random(2), plain_descriptions(ElfFile.open(path))
    places = Tables(unwind_rows(ElfFile.open(path))).starts
    for _ in range(6):
        data = bytearray(found.data)
        for _ in range(len(data) // 20):
            data[chance.randrange(len(data))] = chance.randrange(256)
        machine = Machine(found, bytes(data))
        for _ in range(40):
            machine.rule(chance.choice(places))


@needs_gcc
@pytest.mark.parametrize("form", ["-fno-asynchronous-unwind-tables", "-m32", "-Wl,--no-eh-frame-hdr"])
def test_other_forms_are_left_to_rows(form):
    try:
        made = compilers.built("f.c", "int f(int n) { return n + 1; }", "gcc", "-shared", "-nostdlib", "-O2", form)
    except subprocess.CalledProcessError:
        pytest.skip(f"this gcc does not do {form}")
    assert plain_descriptions(ElfFile.open(made)) is None


def test_what_descriptions_have_in_common_is_checked():
    """One that begins in another way has all of the object left to rows."""
    path = next(each for each in own_objects() if "libc" in each)
    data = plain_descriptions(ElfFile.open(path)).data
    assert special(data) is not None
    first = data.index(b"\x01zR\0")
    for at, value in ((4, 2), (5, 0x7C), (6, 17), (8, 3), (9, 0x0D), (10, 6)):
        assert special(data[: first + at] + bytes((value,)) + data[first + at + 1 :]) is None, at
