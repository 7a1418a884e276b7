"""What the translator makes of programs: Python that can be read."""

import pytest
from support.bpf.bpf_interpreter import Interpreter, bare

from sonde.bpf import instructions as i
from sonde.bpf.assembler import assemble
from sonde.runtime.machine.faults import AccessError
from sonde.runtime.machine.linking import LinkedProgram
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.translation.translator import translate

LOOP = """
r0 = 0
r2 = 0
again:
if r2 >= 0xa goto done
r0 += r2
r2 += 1
goto again
done:
exit
"""
TWO_ENTRIES = """
r0 = 0
r2 = 9
if r1 == 0x1 goto second
first:
r0 += 1
r2 -= 1
if r2 == 0x0 goto done
second:
r0 += 10
if r2 != 0x0 goto first
done:
exit
"""


def translated(text, helpers=None, **options):
    return translate(bare(assemble(text)[0]), MachineMemory(), helpers or {}, {}, **options)


def test_a_loop_is_a_while():
    made = translated(LOOP)
    assert "while True:" in made.source
    assert "block" not in made.source
    assert made.run() == 45


@pytest.mark.parametrize("argument", [0, 1])
def test_a_loop_with_two_entries_is_a_choice_of_blocks(argument):
    made = translated(TWO_ENTRIES)
    assert "if block <" in made.source
    assert made.run(argument) == Interpreter(bare(assemble(TWO_ENTRIES)[0]), MachineMemory(), {}, {}).run(argument)


def test_what_nobody_else_sees_of_the_frame_is_variables():
    made = translated("*(u64 *)(r10 -8) = r1\nr0 = *(u64 *)(r10 -8)\nexit")
    assert "s8 = r1" in made.source
    assert "stack" not in made.source
    assert made.run(5) == 5


def test_a_place_of_the_frame_that_is_read_in_parts_is_memory():
    made = translated("*(u64 *)(r10 -8) = r1\nr0 = *(u8 *)(r10 -7)\nexit")
    assert made.run(0x1234) == 0x12


def test_what_a_branch_tells_makes_a_direct_access():
    memory = MachineMemory()
    address = memory.add(bytearray(range(64)))
    code = [
        i.mov_imm(0, 0), i.jump_imm(i.JGE, 1, 8, 4), *i.ld_imm64(2, address), i.alu64_reg(i.ADD, 1, 2),
        i.load(1, 0, 1, 3), i.exit_(),
    ]  # fmt: skip
    made = translate(LinkedProgram("program", tuple(code), values=frozenset({2})), memory, {}, {})
    assert "regions" not in made.source
    assert [made.run(n) for n in (0, 7, 8)] == [3, 10, 0]


def test_a_known_map_s_function_is_called_directly():
    calls = []
    text = "r1 = 7 ll\nr2 = 5\ncall bpf_map_lookup_elem\nexit"
    made = translated(text, {1: lambda handle, key: 1}, by_map={1: {7: lambda key: calls.append(key) or 2}})
    assert made.run() == 2
    assert calls == [5]
    other = translated(text, {1: lambda handle, key: handle + key}, by_map={1: {8: lambda key: 2}})
    assert other.run() == 12


def test_a_helper_may_be_a_method():
    class Clock:
        def now(self):
            return -1

    assert translated("call bpf_ktime_get_ns\nexit", {5: Clock().now}).run() == (1 << 64) - 1


def test_deep_nesting_is_no_limit():
    checks = "".join(f"if r1 == {n:#x} goto l{n}\nr0 += {n}\n" for n in range(150))
    # Each label is reached from one check and from the label above it.
    labels = "".join(f"l{n}:\nr0 += 1\nr0 ^= {n}\nr0 *= 3\n" for n in reversed(range(150)))
    text = f"r0 = 0\n{checks}{labels}exit"
    plain = Interpreter(bare(assemble(text)[0]), MachineMemory(), {}, {})
    made = translated(text)
    assert [made.run(n) for n in (0, 3, 149, 200)] == [plain.run(n) for n in (0, 3, 149, 200)]


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("offset", [8, 16])
def test_a_store_to_a_known_place_that_is_read_only_is_a_fault(offset, size):
    memory = MachineMemory()
    address = memory.add(memoryview(bytes(16)))
    code = [*i.ld_imm64(2, address), i.store_imm(size, 2, offset, 1), i.exit_()]
    made = translate(LinkedProgram("program", tuple(code), values=frozenset({0})), memory, {}, {})
    with pytest.raises(AccessError, match=f"invalid write of {size} bytes at {address + offset:#x}"):
        made.run()
