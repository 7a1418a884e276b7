"""The encoding of instructions, against the bytes other assemblers make."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NAMES, NUMBERS, name_of
from sonde.bpf.instructions import Instruction, decode, encode

ANY_INSTRUCTION = st.builds(
    Instruction,
    opcode=st.integers(0, 255),
    dst=st.integers(0, 15),
    src=st.integers(0, 15),
    offset=st.integers(-(1 << 15), (1 << 15) - 1),
    imm=st.integers(-(1 << 31), (1 << 31) - 1),
)


@given(st.lists(ANY_INSTRUCTION))
def test_decode_undoes_encode(code):
    assert decode(encode(code)) == code


@given(st.binary(max_size=80).map(lambda data: data[: len(data) // 8 * 8]))
def test_encode_undoes_decode(data):
    assert encode(decode(data)) == data


def test_decode_wants_whole_instructions():
    with pytest.raises(struct.error):
        decode(b"\0" * 9)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        (i.mov_imm(i.R0, 0), "b700000000000000"),
        (i.mov_imm(i.R0, -1), "b7000000ffffffff"),
        (i.mov_imm(i.R0, 0xFFFFFFFF), "b7000000ffffffff"),
        (i.mov_reg(i.R6, i.R1), "bf16000000000000"),
        (i.mov32_reg(i.R6, i.R1), "bc16000000000000"),
        (i.movsx(i.R6, i.R1, 32), "bf16200000000000"),
        (i.alu64_imm(i.ADD, i.R2, -8), "07020000f8ffffff"),
        (i.alu32_reg(i.XOR, i.R2, i.R3), "ac32000000000000"),
        (i.neg(i.R4), "8704000000000000"),
        (i.to_big_endian(i.R1, 16), "dc01000010000000"),
        (i.byte_swap(i.R1, 64), "d701000040000000"),
        (i.load(8, i.R1, i.R6, 112), "7961700000000000"),
        (i.load(4, i.R1, i.R6, 0, signed=True), "8161000000000000"),
        (i.store_reg(8, i.R10, -8, i.R1), "7b1af8ff00000000"),
        (i.store_imm(4, i.R10, -4, 7), "620afcff07000000"),
        (i.atomic_add(8, i.R1, 0, i.R2), "db21000000000000"),
        (i.atomic(4, i.CMPXCHG, i.R1, 4, i.R2), "c3210400f1000000"),
        (i.jump(3), "0500030000000000"),
        (i.jump_long(3), "0600000003000000"),
        (i.jump_imm(i.JEQ, i.R0, 0, 2), "1500020000000000"),
        (i.jump_reg(i.JSLT, i.R1, i.R2, -2), "cd21feff00000000"),
        (i.jump32_imm(i.JNE, i.R1, 5, 1), "5601010005000000"),
        (i.call(1), "8500000001000000"),
        (i.call_local(4), "8510000004000000"),
        (i.exit_(), "9500000000000000"),
    ],
)
def test_encoding(instruction, expected):
    assert encode([instruction]).hex() == expected


def test_64_bit_immediates_take_two_slots():
    assert encode(i.ld_imm64(i.R1, 0x1122334455667788)).hex() == "18010000887766550000000044332211"
    assert encode(i.ld_imm64(i.R1, (1 << 64) - 1)).hex() == "18010000ffffffff00000000ffffffff"
    assert encode(i.ld_map_fd(i.R1, 5)).hex() == "18110000050000000000000000000000"
    assert encode(i.ld_map_value(i.R1, 24, 5)).hex() == "18210000050000000000000018000000"


def test_helper_numbers():
    assert len(NAMES) == 212
    numbers = [NUMBERS[name] for name in ("map_lookup_elem", "ringbuf_reserve", "get_attach_cookie", "loop")]
    assert numbers == [1, 131, 174, 181]
    assert name_of(1) == "bpf_map_lookup_elem"
    assert name_of(212) == "helper#212"
