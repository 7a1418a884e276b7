"""Random changes of valid eBPF programs: what a careful verifier has to find, and much that it should not mind."""

import random as random_module

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from support.bpf.bpf_programs import from_seed

NOTHING = i.jump(0)
JUMPS = (i.JEQ, i.JGT, i.JGE, i.JSET, i.JNE, i.JSGT, i.JSGE, i.JLT, i.JLE, i.JSLT, i.JSLE)
RELEASES = frozenset({NUMBERS["ringbuf_submit"], NUMBERS["ringbuf_discard"]})


def _class(instruction):
    return instruction.opcode & 7


def is_jump(instruction):
    return _class(instruction) in (i.JMP, i.JMP32) and instruction.opcode & 0xF0 not in (i.CALL, i.EXIT)


def is_memory(instruction):
    return _class(instruction) in (i.LDX, i.ST, i.STX)


def is_release(instruction):
    return instruction.opcode == i.JMP | i.CALL and instruction.src == 0 and instruction.imm in RELEASES


def places(code, fits):
    """Indexes of the instructions that fit, without the second slots of 64-bit loads."""
    return [at for at, one in enumerate(code) if fits(one) and not (at and code[at - 1].opcode == i.LD_IMM64)]


def is_ordinary(instruction):
    return instruction.opcode not in (i.LD_IMM64, i.JMP | i.EXIT, 0)


def _nearby(random, value):
    return value + random.choice((-64, -16, -8, -4, -1, 1, 4, 8, 16, 64, 512))


def drop(random, code, at):
    code[at] = NOTHING


def swap(random, code, at):
    if at + 1 < len(code) and is_ordinary(code[at + 1]):
        code[at], code[at + 1] = code[at + 1], code[at]


def offset(random, code, at):
    code[at] = code[at]._replace(offset=max(-32768, min(32767, _nearby(random, code[at].offset))))


def size(random, code, at):
    opcode = code[at].opcode & ~0x18 | random.choice((i.B, i.H, i.W, i.DW))
    code[at] = code[at]._replace(opcode=opcode)


def destination(random, code, at):
    code[at] = code[at]._replace(dst=random.randrange(11))


def source(random, code, at):
    code[at] = code[at]._replace(src=random.randrange(11))


def immediate(random, code, at):
    code[at] = code[at]._replace(imm=i.signed32(_nearby(random, code[at].imm)))


def comparison(random, code, at):
    if is_jump(code[at]) and code[at].opcode & 0xF0 not in (i.JA, i.JCOND):
        code[at] = code[at]._replace(opcode=code[at].opcode & ~0xF0 | random.choice(JUMPS))


def helper(random, code, at):
    code[at] = code[at]._replace(imm=random.choice([*sorted(RELEASES), 1, 2, 3, 131, 12, 14, 5]))


def is_helper_call(instruction):
    return instruction.opcode == i.JMP | i.CALL and instruction.src == 0


def has_registers(instruction):
    return is_ordinary(instruction) and _class(instruction) not in (i.JMP, i.JMP32) and instruction.src in range(11)


def uses_source(instruction):
    return has_registers(instruction) and bool(instruction.opcode & i.X)


def uses_immediate(instruction):
    return is_ordinary(instruction) and not instruction.opcode & i.X and instruction.opcode != i.JMP | i.CALL


MUTATIONS = (
    (4, drop, is_jump),
    (3, drop, is_ordinary),
    (3, drop, is_release),
    (2, drop, lambda one: _class(one) in (i.ST, i.STX)),
    (4, offset, is_memory),
    (1, offset, is_jump),
    (3, size, is_memory),
    (2, destination, has_registers),
    (2, source, uses_source),
    (3, immediate, uses_immediate),
    (2, swap, is_ordinary),
    (2, comparison, is_jump),
    (1, helper, is_helper_call),
)


def mutate(random, sample):
    """The program with one to three changes."""
    code = list(sample.code)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _, change, fits = random.choices(MUTATIONS, [weight for weight, _, _ in MUTATIONS])[0]
        choice = places(code, fits)
        if choice:
            change(random, code, random.choice(choice))
    return sample._replace(code=tuple(code))


def mutated(seed, kind=None):
    """A changed program, by number."""
    return mutate(random_module.Random(~seed), from_seed(seed, kind))
