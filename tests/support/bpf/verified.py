"""Programs written by hand for the verifier, in the kernel's pseudo C, and the verdicts on them."""

import pytest

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.verifier.rules import STRICT
from sonde.runtime.verifier.verify import Refusal, verify
from support.bpf.bpf_programs import function_types

TEXT = b"text\0"

MAPS = {
    each.name: each
    for each in (
        MapSpec("hash", maps.HASH, 8, 16, 10),
        MapSpec("array", maps.ARRAY, 4, 48, 4),
        MapSpec("one", maps.ARRAY, 4, 64, 1),
        MapSpec(
            "constants", maps.ARRAY, 4, 8, 1, maps.F_RDONLY_PROG, contents=((bytes(4), TEXT.ljust(8)),), frozen=True
        ),
        MapSpec("hidden", maps.ARRAY, 4, 8, 1, maps.F_WRONLY_PROG),
        MapSpec("ring", maps.RINGBUF, 0, 0, 4096),
        MapSpec("threads", maps.TASK_STORAGE, 4, 16, 0, 1, typed=True),
        MapSpec("programs", maps.PROG_ARRAY, 4, 4, 4),
        MapSpec("queue", maps.QUEUE, 0, 8, 4),
        MapSpec("events", maps.PERF_EVENT_ARRAY, 4, 4, 4),
        MapSpec("inner", maps.HASH, 4, 8, 4),
        MapSpec("outer", maps.ARRAY_OF_MAPS, 4, 4, 4, inner=MapSpec("inner", maps.HASH, 4, 8, 4)),
    )
}

KINDS = {
    "raw_tracepoint": programs.RAW_TRACEPOINT,
    "perf_event": programs.PERF_EVENT,
    "xdp": programs.XDP,
    "classifier": programs.SCHED_CLS,
    "filter": programs.SOCKET_FILTER,
    "tracing": programs.TRACING,
    "syscall": programs.SYSCALL,
}


def program(text, kind="raw_tracepoint", attach_type=0, lines=()):
    assembly = assemble(text)
    starts = function_starts(assembly.code)
    btf, func_info = function_types(starts) if len(starts) > 1 else (b"", b"")
    return ProgramSpec(
        "test", KINDS[kind], attach_type, encode(assembly.code), assembly.map_references, (), btf=btf,
        func_info=func_info, lines=lines,
    )  # fmt: skip


def function_starts(code):
    """The first instructions of all functions."""
    calls = (i.JMP | i.CALL, i.CALL_LOCAL), (i.LD_IMM64, i.PSEUDO_FUNC)
    return sorted({0} | {at + 1 + x.imm for at, x in enumerate(code) if (x.opcode, x.src) in calls})


def outcome(text, kind="raw_tracepoint", attach_type=0, rules=STRICT):
    """ "" if the program is accepted, else why not."""
    try:
        verify(program(text, kind, attach_type), MAPS, rules=rules)
    except Refusal as refusal:
        return refusal.reason
    return ""


def states(text, kind="raw_tracepoint", arguments=None):
    """The state before each instruction gone through, as (instruction, copy of the state)."""
    seen = []
    verify(program(text, kind), MAPS, arguments, lambda at, state: seen.append((at, state.copy())))
    return seen


def cases(blocks, **parts):
    """Parameters of a test from text: the program's type, the program, and what is wrong with it, "" for nothing.

    Each block is `=== ` with a name, behind the program's type and a colon if that is not raw_tracepoint, a program, in
    which `{NAME}` stands for one of `parts`, and behind `->` words of the refusal.
    """
    found = []
    for block in blocks.split("=== ")[1:]:
        name, _, rest = block.partition("\n")
        text, _, wanted = rest.partition("\n->")
        for part, lines in parts.items():
            text = text.replace(f"{{{part}}}", lines)
        kind = name.partition(":")[0] if ":" in name else "raw_tracepoint"
        found.append(pytest.param(kind, text, wanted.strip(), id=name))
    return found
