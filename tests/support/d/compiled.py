"""D programs compiled without a kernel: for the checker's small world and a made-up machine."""

from sonde.bpf import instructions as bpf
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.model.target import Target
from support.d.catalog import TAGGED, check

TARGET = Target("x86_64", "6.18.0", frozenset(("raw_tp_cookie", "perf_cookie")))


def compilation(text, target=TARGET, **settings):
    return Compilation(
        check(text), Settings(**settings), target, lambda keyword, tag: TAGGED.get((keyword, tag)), lambda probe: (),
        {None: text.splitlines()},
    )  # fmt: skip


def spec(text, **settings):
    return compilation(text, **settings).spec()


def code(text, program=0, **settings):
    """The instructions of one program, main function and subprograms."""
    return bpf.decode(spec(text, **settings).programs[program].code)


def calls(instructions, helper):
    """How often the code calls a helper."""
    number = NUMBERS[helper]
    return sum(i.opcode == bpf.JMP | bpf.CALL and i.src == 0 and i.imm == number for i in instructions)


def local_calls(instructions):
    """The indexes of the functions called, one for each call."""
    return [
        n + 1 + i.imm for n, i in enumerate(instructions) if i.opcode == bpf.JMP | bpf.CALL and i.src == bpf.CALL_LOCAL
    ]


def jumps(instructions):
    """(index, instruction) of all jumps, calls and exits left out."""
    return [
        (n, i) for n, i in enumerate(instructions)
        if i.opcode & 7 in (bpf.JMP, bpf.JMP32) and i.opcode & 0xF0 not in (bpf.CALL, bpf.EXIT)
    ]  # fmt: skip
