"""The program types that may call a helper are those to which this kernel's verifier allows it."""

import os

import pytest

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.helpers import OWN
from sonde.bpf.signatures import SIGNATURES, may_call
from sonde.engines.kernel import commands
from sonde.engines.kernel.btf_ids import TypeFinder
from sonde.engines.kernel.commands import ProgramCode

KINDS = (
    programs.RAW_TRACEPOINT, programs.TRACEPOINT, programs.PERF_EVENT, programs.KPROBE, programs.SOCKET_FILTER,
    programs.SCHED_CLS, programs.XDP, programs.TRACING, programs.SYSCALL,
)  # fmt: skip

FORBIDDEN = ("cannot use helper", "unknown func", "invalid func", "supported only for", "not supported for")

LEFT_OUT = {
    **{SIGNATURES[number].name: "only the embedded engine has it" for number in OWN},
    "probe_write_user": "kernels that are locked down offer it to nobody",
    "xdp_get_buff_len": "what tracing programs may call by this number takes a pointer to a kernel structure",
}


@pytest.fixture(scope="module")
def sched_switch():
    finder = TypeFinder()
    try:
        return finder.typedef("btf_trace_sched_switch").id
    finally:
        finder.close()


def verdict(kind, number, tracepoint):
    """The verifier's log of a program that only calls the helper; empty if it is accepted."""
    is_tracing, is_syscall = kind == programs.TRACING, kind == programs.SYSCALL
    attach_type = programs.TRACE_RAW_TP if is_tracing else 0
    code = i.encode([i.call(number), i.mov_imm(0, 0), i.exit_()])
    log = bytearray(4096)
    flags = 16 if is_syscall else 0
    program = ProgramCode("helper", kind, attach_type, code, attach_btf_id=tracepoint if is_tracing else 0, flags=flags)
    try:
        os.close(commands.load_program(program, log))
    except OSError:
        return log.partition(b"\0")[0].decode()
    return ""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: programs.NAMES[kind])
def test_callers_are_those_of_the_kernel(kind, sched_switch):
    different = []
    for number, signature in SIGNATURES.items():
        log = verdict(kind, number, sched_switch)
        allowed = not any(text in log for text in FORBIDDEN)
        if allowed != may_call(signature, kind) and signature.name not in LEFT_OUT:
            different.append(signature.name)
    assert different == []
