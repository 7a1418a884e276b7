"""Stacks walked from registers and bytes: against glibc's own unwinder, and against what damage does to them."""

import random
import time

import pytest
from support.symbols.dumped_stacks import DumpedStack

from sonde.arch import registers
from sonde.model.python_frames import FRAME
from sonde.model.stack_remarks import NO_CODE, NO_OBJECT, NO_POINTER, NO_RULE, STACK_ENDS, WIDTH, remark_of, remark_word
from sonde.symbols.dwarf.frame_rules import FROM_FRAME, FROM_STACK, SIGNAL, UNKNOWN, Rule
from sonde.symbols.mappings import MappingTable, parse_maps
from sonde.symbols.objects import Objects
from sonde.symbols.unwinding.code_rules import CodeRules
from sonde.symbols.unwinding.stack_walk import (
    ABSENT,
    MOST_FRAMES,
    NOWHERE,
    WITHOUT_TABLE,
    CodeRule,
    CopiedStack,
    walk,
)

_TURNS = 300


@pytest.fixture(scope="module", params=[("-O2",), ("-O0",), ("-O2", "-static")], ids=" ".join)
def dumped(request):
    return DumpedStack(*request.param)


def rules_of(dumped):
    table, rules = MappingTable(each for each in parse_maps(dumped.maps) if each.executable), CodeRules(Objects())
    return lambda address: rules.at(0, table.find(address), address)


def test_callers_are_those_that_glibc_finds(dumped):
    """Through a signal's handler, functions with aligned and growing stacks, and libraries; every part of the stack has
    the frames that are within it, and says that others are not."""
    code = rules_of(dumped)
    start = dumped.registers["SP"]
    found = walk(dumped.pt_regs(), CopiedStack(start, dumped.stack).word, code)
    assert len(dumped.callers) > 8
    assert list(found[1:]) == dumped.callers
    for size in range(0, 4096, 512):
        part = walk(dumped.pt_regs(), CopiedStack(start, dumped.stack[:size]).word, code, size)
        if part[-1] >= FRAME:
            assert part[-1] == remark_word(STACK_ENDS, size)
            part = part[:-1]
        assert part == found[: len(part)]


def test_damage_ends_the_walk(dumped):
    """Whatever is in registers and stack: a short list, at once."""
    code, chance = rules_of(dumped), random.Random(7)
    taken, start = dumped.pt_regs(), dumped.registers["SP"]
    begun, remarks = time.thread_time(), set()
    for _ in range(_TURNS):
        data = bytearray(dumped.stack[: chance.randrange(2048)])
        changed = bytearray(taken)
        for target in (data, changed):
            for _ in range(chance.randrange(4)):
                at = 8 * chance.randrange(max(len(target) // 8, 1))
                value = chance.choice((0, start, start - 8, start + 64, chance.getrandbits(64), (1 << 64) - 1))
                target[at : at + 8] = value.to_bytes(8, "little")[: len(target[at : at + 8])]
        found = walk(bytes(changed), CopiedStack(start, bytes(data)).word, code)
        assert len(found) <= MOST_FRAMES + 1
        remarks |= {each for each in found if each >= FRAME}
    assert time.thread_time() - begun < 5
    assert len(remarks) > 2


def pt_regs(**values):
    found = bytearray(registers.SIZE)
    places = {"counter": registers.PROGRAM_COUNTER, "stack": registers.STACK_POINTER, "frame": registers.FRAME_POINTER,
              "mode": registers.MODE}  # fmt: skip
    for name, value in values.items():
        found[places[name] : places[name] + 8] = value.to_bytes(8, "little")
    return bytes(found)


def of_rule(rule):
    return lambda address: CodeRule(True, True, rule) if address < 0x1000 else NOWHERE


STACK = CopiedStack(0x7000, b"".join(each.to_bytes(8, "little") for each in (0x100, 0x200, 0x7000, 0x5555, 0x300, 0)))

CASES = {
    "a return address that is in no code": (of_rule(Rule(FROM_STACK, 32)), (0x10,), NO_CODE),
    "an object that is not here": (lambda address: ABSENT, (0x10,), NO_OBJECT),
    "nothing known of the first address": (lambda address: NOWHERE, (0x10,), NO_OBJECT),
    "a rule that cannot be followed": (of_rule(Rule(UNKNOWN)), (0x10,), NO_RULE),
    "no table, and a register that is no frame pointer": (lambda address: WITHOUT_TABLE, (0x10,), NO_POINTER),
    "a frame that is its own caller": (of_rule(Rule(FROM_FRAME, 0)), (0x10,), STACK_ENDS),
    "a signal whose context is beyond": (of_rule(Rule(SIGNAL)), (0x10,), STACK_ENDS),
}


@pytest.mark.parametrize("name", CASES)
def test_the_last_frame_says_why(name):
    code, expected, reason = CASES[name]
    found = walk(pt_regs(counter=0x10, stack=0x7000, frame=0x10, mode=0x33), STACK.word, code)
    assert found == (*expected, remark_word(reason))
    assert remark_of(found[-1]).name.startswith("[callers are missing: ")


def test_a_stack_that_turns_in_circles_has_an_end():
    """Rules that lead back, as handlers of signals may, do so a few times."""
    code = of_rule(Rule(FROM_FRAME, 0))
    found = walk(pt_regs(counter=0x10, stack=0x7000, frame=0x7008, mode=0x33), STACK.word, code)
    assert len(found) < 100
    assert found[-1] == remark_word(NO_RULE)


@pytest.mark.parametrize(("keeps", "expected"), [(True, (0x10, 0x300)), (False, (0x10, remark_word(NO_POINTER)))])
def test_frame_pointers_of_go_lead_to_other_stacks(keeps, expected):
    """To lower addresses, too; others that do so are no frame pointers."""
    taken = pt_regs(counter=0x10, stack=0x9000, frame=0x7018, mode=0x33)
    assert walk(taken, STACK.word, lambda address: CodeRule(True, True, None, keeps))[:2] == expected


def test_a_process_of_32_bits_has_one_frame():
    found = walk(pt_regs(counter=0x10, stack=0x7000, mode=registers.MODE_32_BIT), STACK.word, of_rule(None))
    assert found == (0x10, remark_word(WIDTH))
