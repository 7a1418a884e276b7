"""What instructions demand, as data, and whether states meet it: each obligation on its own."""

import pytest
from support.bpf.verified import MAPS, program

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.runtime.verifier import obligations
from sonde.runtime.verifier.checks import check_of
from sonde.runtime.verifier.obligations import (
    Addable,
    Balanced,
    Comparable,
    InBounds,
    Initialised,
    InvalidInstruction,
    NotOwnStack,
    Numeric,
    Released,
    Returns,
    Storable,
)
from sonde.runtime.verifier.rules import STRICT
from sonde.runtime.verifier.scalar import UNKNOWN, between, constant
from sonde.runtime.verifier.state import Activation, State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import CONTEXT, MEMORY, PACKET, PACKET_END, RECORD, STACK, VALUE, PointerValue

SUBJECT = Subject(program("r0 = 0\nexit"), MAPS, None, STRICT)


@pytest.mark.parametrize(
    ("instruction", "wanted"),
    [
        (i.mov_imm(1, 5), []),
        (i.mov_reg(1, 2), [Initialised(2)]),
        (i.alu64_reg(i.ADD, 1, 2), [Initialised(2), Initialised(1), Addable(i.ADD, 1, 2, 0, 64)]),
        (i.alu32_imm(i.SUB, 1, 7), [Initialised(1), Addable(i.SUB, 1, -1, 7, 32)]),
        (i.neg(1), [Initialised(1), Numeric(1)]),
        (i.load(4, 1, 2, 8), [Initialised(2), InBounds(2, 8, 4)]),
        (i.load(4, 1, 2, 8, signed=True), [Initialised(2), InBounds(2, 8, 4, is_signed=True)]),
        (i.store_imm(2, 1, -2, 0), [Initialised(1), InBounds(1, -2, 2, is_write=True)]),
        (
            i.store_reg(8, 1, 0, 2),
            [Initialised(2), Initialised(1), InBounds(1, 0, 8, is_write=True), Storable(2, 1, 8)],
        ),
        (
            i.atomic_add(8, 1, 0, 2),
            [
                Initialised(2),
                Initialised(1),
                Numeric(2),
                InBounds(1, 0, 8, is_atomic=True),
                InBounds(1, 0, 8, is_write=True, is_atomic=True),
            ],
        ),
        (i.jump_reg(i.JEQ, 1, 2, 3), [Initialised(1), Initialised(2), Comparable(i.JEQ, 1, 2, 0, 64)]),
        (i.jump(3), []),
        (i.exit_(), []),
        (i.alu64_imm(i.LSH, 1, 64), [InvalidInstruction("the number is shifted by 64 bits, but has only 64")]),
    ],
)
def test_what_an_instruction_demands(instruction, wanted):
    assert obligations.of(instruction) == wanted


def test_the_end_of_a_program_demands_its_result_where_the_type_does():
    usual = [Initialised(0), Numeric(0), Released("the program ends")]
    assert obligations.at_exit(programs.RAW_TRACEPOINT, 0) == usual
    zero = Returns(0, 0, "a program of this type")
    assert obligations.at_exit(programs.TRACING, programs.TRACE_FENTRY) == [*usual, zero]
    assert obligations.at_exit(programs.TRACING, programs.TRACE_RAW_TP) == usual


def state(references=(), **registers):
    made = State(Activation(0, -1, 0))
    for name, value in registers.items():
        made.frame.registers[int(name[1:])] = value
    made.references = references
    return made


ONE = MAPS["one"]
VALUE_OF_ONE = PointerValue(VALUE, size=64, referent=ONE)
MAYBE = PointerValue(VALUE, size=64, referent=ONE, maybe_null=True, id=SUBJECT.identities.give(0))


@pytest.mark.parametrize(
    ("obligation", "before", "met"),
    [
        (Initialised(1), state(), False),
        (Initialised(1), state(r1=UNKNOWN), True),
        (InBounds(1, 0, 8), state(r1=VALUE_OF_ONE), True),
        (InBounds(1, 56, 8), state(r1=VALUE_OF_ONE), True),
        (InBounds(1, 57, 8), state(r1=VALUE_OF_ONE), False),
        (InBounds(1, -1, 1), state(r1=VALUE_OF_ONE), False),
        (InBounds(1, 0, 8), state(r1=MAYBE), False),
        (InBounds(1, 0, 8), state(r1=UNKNOWN), False),
        (InBounds(1, 0, 8), state(r1=VALUE_OF_ONE._replace(variable=between(0, 56))), True),
        (InBounds(1, 0, 8), state(r1=VALUE_OF_ONE._replace(variable=between(0, 57))), False),
        (InBounds(1, 0, 8), state(r1=VALUE_OF_ONE._replace(variable=between(-1, 5))), False),
        (InBounds(1, 1, 8), state(r1=VALUE_OF_ONE._replace(variable=between(-1, 5))), False),
        (InBounds(1, 4, 8, is_write=True, is_atomic=True), state(r1=VALUE_OF_ONE), False),
        (InBounds(10, -8, 8), state(), False),
        (InBounds(10, -8, 8, is_write=True), state(), True),
        (InBounds(10, -512, 8, is_write=True), state(), True),
        (InBounds(10, -513, 1, is_write=True), state(), False),
        (InBounds(1, 0, 8), state(r1=PointerValue(CONTEXT)), True),
        (InBounds(1, 0, 8, is_write=True), state(r1=PointerValue(CONTEXT)), False),
        (InBounds(1, 0, 8), state(r1=PointerValue(CONTEXT, variable=between(0, 8))), False),
        (InBounds(1, 0, 8), state(r1=PointerValue(PACKET, size=8)), True),
        (InBounds(1, 1, 8), state(r1=PointerValue(PACKET, size=8)), False),
        (InBounds(1, 0, 1), state(r1=PointerValue(PACKET_END)), False),
        (InBounds(1, 0, 16, is_write=True), state(r1=PointerValue(RECORD, size=16)), True),
        (InBounds(1, 0, 8, is_write=True), state(r1=PointerValue(MEMORY, size=8, referent="key")), False),
        (Addable(i.ADD, 1, 2, 0, 64), state(r1=VALUE_OF_ONE, r2=between(0, 5)), True),
        (Addable(i.ADD, 2, 1, 0, 64), state(r1=VALUE_OF_ONE, r2=between(0, 5)), True),
        (Addable(i.SUB, 2, 1, 0, 64), state(r1=VALUE_OF_ONE, r2=between(0, 5)), False),
        (Addable(i.ADD, 1, 2, 0, 32), state(r1=VALUE_OF_ONE, r2=between(0, 5)), False),
        (Addable(i.ADD, 1, 2, 0, 64), state(r1=VALUE_OF_ONE, r2=UNKNOWN), False),
        (Addable(i.ADD, 1, -1, 1 << 29, 64), state(r1=VALUE_OF_ONE), False),
        (Addable(i.ADD, 1, -1, 8, 64), state(r1=MAYBE), False),
        (Addable(i.XOR, 1, -1, 8, 64), state(r1=VALUE_OF_ONE), False),
        (Storable(1, 10, 8), state(r1=VALUE_OF_ONE), True),
        (Storable(1, 10, 4), state(r1=VALUE_OF_ONE), False),
        (Storable(1, 10, 4), state(r1=UNKNOWN), True),
        (Released("x"), state(), True),
        (Released("x"), state(references=(1,)), False),
        (Balanced("x"), state(), True),
        (Balanced("x"), state(references=(1,)), False),
        (NotOwnStack(0), state(r0=constant(0)), True),
        (NotOwnStack(0), state(r0=PointerValue(STACK)), False),
        (Returns(0, 1, "x"), state(r0=between(0, 1)), True),
        (Returns(0, 1, "x"), state(r0=between(0, 2)), False),
        (Returns(0, 1, "x"), state(r0=VALUE_OF_ONE), False),
        (Numeric(1), state(r1=UNKNOWN), True),
        (Numeric(1), state(r1=VALUE_OF_ONE), False),
        (InvalidInstruction("x"), state(), False),
    ],
)
def test_whether_a_state_meets_an_obligation(obligation, before, met):
    problem = check_of(obligation)(SUBJECT, before, obligation)
    assert (problem is None) == met
    if problem is not None:
        assert problem.text
