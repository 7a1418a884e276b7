"""Text to instructions and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sonde.bpf import instructions as i
from sonde.bpf.assembler import AssemblyError, assemble
from sonde.bpf.disassembler import disassemble, listing
from sonde.bpf.instructions import Instruction

REGISTERS = st.integers(0, 10)
OFFSETS = st.sampled_from([0, 1, 8, 16, 32, -8, 32767, -32768]) | st.integers(-(1 << 15), (1 << 15) - 1)
IMMEDIATES = st.sampled_from([*range(-2, 256), 0x100, 0x110]) | st.integers(-(1 << 31), (1 << 31) - 1)
INSTRUCTIONS = st.builds(
    Instruction, opcode=st.integers(0, 255), dst=REGISTERS, src=REGISTERS, offset=OFFSETS, imm=IMMEDIATES
)
PLAIN = st.builds(
    Instruction, opcode=st.integers(0, 255), dst=REGISTERS, src=st.just(0), offset=OFFSETS, imm=IMMEDIATES
) | st.builds(Instruction, opcode=st.integers(0, 255), dst=REGISTERS, src=REGISTERS, offset=OFFSETS, imm=st.just(0))


@given(st.lists(INSTRUCTIONS | PLAIN, max_size=20))
@example(i.ld_imm64(1, 1 << 63))
@example(i.ld_map_value(2, 8, 5))
@example([i.atomic(8, i.CMPXCHG, 1, 8, 2)])
def test_assembling_undoes_disassembling(code):
    assert assemble("\n".join(disassemble(code))).code == code


def test_every_opcode_survives():
    for opcode in range(256):
        for src, imm, offset in ((0, 0, 0), (1, 0, 0), (0, 16, 0), (2, 0, 1), (0, 1, 0), (3, 0, 8), (1, 0xF1, 4)):
            code = [Instruction(opcode, 4, src, offset, imm)]
            assert assemble("\n".join(disassemble(code))).code == code


LISTING = """\
; count.d:1
   0: (bf) r6 = r1
   1: (79) r1 = *(u64 *)(r6 +112)
   2: (b7) r2 = -1
; count.d:2
   3: (18) r3 = map[counts]
   5: (18) r4 = map[state][0]+8
   7: (7b) *(u64 *)(r10 -8) = r1
   8: (85) call bpf_map_lookup_elem#1
   9: (15) if r0 == 0x0 goto pc+2
  10: (b7) r1 = 1
  11: (db) lock *(u64 *)(r0 +0) += r1
  12: (18) r5 = 0x1122334455667788 ll
  14: (95) exit
"""


def test_a_listing_is_source_text():
    code, references = assemble(LISTING)
    assert references == ((3, "counts"), (5, "state"))
    assert listing(code, dict(references), {0: "count.d:1", 3: "count.d:2"}) == LISTING


def test_labels():
    code = assemble("""
        start:
            if r1 s> r2 goto end
            call double
            goto start
        end:
            exit
        double:             ; a function
            r0 = subprog[double]
            w0 s/= 2
            exit
    """).code
    assert [x.offset for x in code[:3]] == [2, 0, -3]
    assert code[1] == i.call_local(2)
    assert code[4:6] == i.ld_function(0, -1)
    assert disassemble(code)[6] == "w0 s/= 2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit\nr1 <- r2", "line 2: not an instruction: r1 <- r2"),
        ("goto away", "line 1: no label away"),
        ("a:\na:", "line 2: label a is there already"),
        ("call bpf_frobnicate", "line 1: frobnicate: call bpf_frobnicate"),
        ("r1 ~= 5", "line 1: ~=: r1 ~= 5"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(AssemblyError, match=message):
        assemble(text)
