"""Stores side by side do what they do one by one, also where they leave memory half-way."""

import pytest
from support.bpf.bpf_interpreter import bare
from support.bpf.embedded_runs import EXECUTIONS

from sonde.bpf import instructions as i
from sonde.runtime.machine.faults import AccessError
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.translation.translator import translate

both = pytest.mark.parametrize("execute", EXECUTIONS.values(), ids=EXECUTIONS)


def clear(count, size=8, base=1):
    return [i.store_imm(size, base, size * n, 0x1020304 + n) for n in range(count)]


def copy(count, size=8, load_size=8):
    moves = [(i.load(load_size, 3, 2, size * n), i.store_reg(size, 1, size * n, 3)) for n in range(count)]
    return [one for move in moves for one in move]


END = [i.mov_imm(0, 0), i.exit_()]


def run(execute, code, *regions, offsets=(0, 0)):
    memory = MachineMemory()
    addresses = [memory.add(region) + offset for region, offset in zip(regions, offsets, strict=False)]
    try:
        execute(bare([*code, *END]), memory, {}, {}).run(*addresses)
    except AccessError as error:
        return error.address & 0xFFFFFFFF
    return None


@both
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_run_of_numbers(execute, size):
    data = bytearray(64)
    assert run(execute, clear(5, size), data) is None
    assert data[: 5 * size] == b"".join(
        (0x1020304 + n & (1 << 8 * size) - 1).to_bytes(size, "little") for n in range(5)
    )
    assert not any(data[5 * size :])


@both
def test_a_run_that_leaves_its_region(execute):
    data = bytearray(20)
    assert run(execute, clear(4), data) == 16
    assert any(data[:8])
    assert any(data[8:16])
    assert not any(data[16:])


@both
def test_a_run_in_what_is_read_only(execute):
    assert run(execute, clear(3), memoryview(bytes(32))) == 0


@both
def test_a_run_in_a_view(execute):
    data = bytearray(32)
    assert run(execute, clear(3), memoryview(data)[8:]) is None
    assert any(data[24:])
    assert not any(data[:8])


@both
def test_a_copy(execute):
    data = bytearray(64)
    assert run(execute, copy(5), data, bytearray(range(64))) is None
    assert data == bytes(range(40)) + bytes(24)


@both
def test_a_copy_that_extends_each_word(execute):
    data = bytearray(64)
    assert run(execute, copy(3, load_size=4), data, bytearray(range(1, 65))) is None
    assert data[:16] == bytes((1, 2, 3, 4, 0, 0, 0, 0, 9, 10, 11, 12, 0, 0, 0, 0))


@both
def test_a_copy_onto_itself_goes_word_by_word(execute):
    data = bytearray(range(48))
    assert run(execute, copy(4), memoryview(data)[8:], data) is None
    assert data == bytes(range(8)) * 5 + bytes(range(40, 48))


@both
@pytest.mark.parametrize(("to", "of", "fault"), [(20, 64, 16), (64, 20, 16), (16, 12, 8)])
def test_a_copy_that_leaves_a_region(execute, to, of, fault):
    data = bytearray(to)
    assert run(execute, copy(4), data, bytearray(b"x" * of)) == fault
    assert data.count(b"x") == fault


@both
def test_a_run_beyond_the_frame(execute):
    code = [i.mov_reg(1, i.R10), i.alu64_imm(i.ADD, 1, -16), *clear(3)]
    assert run(execute, code) == 512


def test_runs_are_one_statement():
    source = translate(bare([*clear(30), *copy(30), *END]), MachineMemory(), {}, {}).source
    assert source.count("fill(") == source.count("copy(") == 1
    assert "set64" not in source
