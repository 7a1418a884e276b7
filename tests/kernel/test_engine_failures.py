"""What is said when the kernel refuses, and that nothing is left behind, whatever ends the tracing."""

import os
import signal
import struct
import subprocess
import sys
import time

import pytest
from support.bpf.handwritten import (
    COUNT_BY_COOKIE,
    COUNT_STAMPED,
    COUNT_ZERO,
    COUNTS,
    RING,
    program,
    raw_tracepoint,
    tracing_spec,
)
from support.machine.access import needs, open_descriptors
from support.places import TESTS

from sonde.bpf import maps, programs
from sonde.bpf.btf_writer import INT_SIGNED, BtfBuilder, LineInfo, pack_func_info, pack_line_info
from sonde.engines.kernel import commands, syscalls
from sonde.engines.kernel.engine import KernelEngine
from sonde.model.errors import EngineError
from sonde.model.probe import Internal, RawTracepoint, Timer
from sonde.model.spec import MapSpec, Stamp

BAD = """
    r1 = 1
    r2 = 2
    r3 = *(u64 *)(r2 +0)
    r0 = 0
    exit
"""


def program_names():
    """The names of all BPF programs in the kernel (BPF_PROG_GET_NEXT_ID, _GET_FD_BY_ID, BPF_OBJ_GET_INFO_BY_FD)."""
    found, number = [], 0
    while True:
        attributes = bytearray(struct.pack("=III", number, 0, 0))
        try:
            syscalls.bpf(11, attributes)
        except FileNotFoundError:
            return found
        (number,) = struct.unpack_from("=4xI", attributes)
        try:
            descriptor = syscalls.bpf(13, bytearray(struct.pack("=III", number, 0, 0)))
        except FileNotFoundError:
            continue
        info = bytearray(128)
        syscalls.bpf(15, bytearray(struct.pack("=IIQ", descriptor, len(info), syscalls.address_of(info))))
        os.close(descriptor)
        found.append(bytes(info[64:80]).partition(b"\0")[0].decode())


def test_a_refusal_names_program_cause_and_line():
    bad = raw_tracepoint("sys_entry", BAD, [(Internal("BEGIN"), 0)], lines=((0, "a.d:3"), (2, "a.d:4"), (3, "a.d:5")))
    with pytest.raises(EngineError) as caught:
        KernelEngine().load(tracing_spec(bad))
    assert caught.value.text == "the kernel refuses program sys_entry: R2 invalid mem access 'scalar'"
    assert caught.value.place == "a.d:4"
    assert "r3 = *(u64 *)(r2 +0)" in caught.value.log


def test_a_refusal_shows_the_line_from_line_info():
    builder = BtfBuilder()
    function = builder.add_func("probe", builder.add_function_type(builder.add_int("int", 4, INT_SIGNED), []))
    line = LineInfo(0, builder.string("a.d"), builder.string("trace(*(int *)2)"), 4)
    infos = {"func_info": pack_func_info([(0, function)]), "line_info": pack_line_info([line])}
    bad = raw_tracepoint("sys_entry", BAD, [(Internal("BEGIN"), 0)], btf=builder.build(), **infos)
    with pytest.raises(EngineError) as caught:
        KernelEngine().load(tracing_spec(bad))
    assert "; trace(*(int *)2)" in caught.value.log


def test_good_btf_is_taken():
    builder = BtfBuilder()
    function = builder.add_func("probe", builder.add_function_type(builder.add_int("int", 4, INT_SIGNED), []))
    infos = {"func_info": pack_func_info([(0, function)])}
    good = raw_tracepoint("good", COUNT_ZERO, [(Internal("BEGIN"), 0)], btf=builder.build(), **infos)
    KernelEngine().load(tracing_spec(good, good._replace(name="again"))).close()


def test_broken_btf_is_refused_by_name():
    with pytest.raises(EngineError, match="cannot load the BTF of program good"):
        KernelEngine().load(tracing_spec(raw_tracepoint("good", COUNT_ZERO, [(Internal("BEGIN"), 0)], btf=b"nonsense")))


def test_long_logs_are_read_to_their_end():
    # Each branch doubles what the verifier walks through and writes about.
    steps = "".join(
        f"r1 = *(u32 *)(r10 -{8})\nr3 = {n}\nif r1 > {n} goto +0\n".replace("+0", "pc+0") for n in range(2000)
    )
    text = "*(u64 *)(r10 -8) = 0\n" + steps + "r2 = 2\nr3 = *(u64 *)(r2 +0)\nr0 = 0\nexit"
    bad = raw_tracepoint("long", text, [(Internal("BEGIN"), 0)], lines=((0, "a.d:1"), (6002, "a.d:9")))
    with pytest.raises(EngineError, match="R2 invalid mem access 'scalar'") as caught:
        KernelEngine().load(tracing_spec(bad))
    assert caught.value.place == "a.d:9"


def everything():
    inner = MapSpec("inner", maps.HASH, 4, 8, 16)
    map_specs = (
        COUNTS,
        MapSpec("outer", maps.ARRAY_OF_MAPS, 4, 4, 1, inner=inner),
        MapSpec("locals", maps.TASK_STORAGE, 4, 8, 0, maps.F_NO_PREALLOC, typed=True),
        MapSpec("table", maps.ARRAY, 4, 8, 2, contents=((bytes(4), bytes(8)), (b"\1\0\0\0", bytes(8))), frozen=True),
        RING,
    )
    others = {"attach_type": programs.TRACE_RAW_TP, "attach_to": "btf_trace_sched_switch"}
    return tracing_spec(
        raw_tracepoint("begin", COUNT_ZERO, [(Internal("BEGIN"), 0)]),
        raw_tracepoint(
            "raw",
            COUNT_STAMPED,
            [(RawTracepoint("sys_enter"), 3), (RawTracepoint("sys_exit"), 4)],
            stamps=(Stamp(0, "cookie"),),
        ),
        program("typed", programs.TRACING, COUNT_ZERO, [(RawTracepoint("sched_switch"), 5)], **others),
        program("timer", programs.PERF_EVENT, COUNT_BY_COOKIE, [(Timer(10_000_000, True), 6)]),
        map_specs=map_specs,
    )


def test_failing_at_any_point_leaves_nothing_open(monkeypatch):
    before, real, calls = open_descriptors(), commands.bpf, 0

    def failing(command, attributes):
        nonlocal calls
        calls += 1
        if calls == fail_at:
            raise OSError(12, "Cannot allocate memory")
        return real(command, attributes)

    monkeypatch.setattr(commands, "bpf", failing)
    spec = everything()
    for fail_at in range(1, 200):
        calls, refusal = 0, None
        try:
            tracing = KernelEngine().load(spec)
        except EngineError as error:
            refusal = error
        else:
            try:
                tracing.attach()
            except EngineError as error:
                refusal = error
            tracing.close()
        assert open_descriptors() == before, f"left open when call {fail_at} fails"
        if refusal is None:
            break
        assert "not enough memory" in refusal.text
    assert 20 < fail_at < 199


@needs("CAP_SYS_ADMIN")
def test_closing_frees_the_programs():
    name = f"leak_{os.getpid()}"
    tracing = KernelEngine().load(tracing_spec(raw_tracepoint(name, COUNT_ZERO, [(RawTracepoint("sys_enter"), 0)])))
    try:
        tracing.attach()
        assert name in program_names()
    finally:
        tracing.close()
        tracing.close()
    assert gone(name)


def gone(name):
    """Whether a program goes away within two seconds: the kernel frees after a grace period."""
    for _ in range(200):
        if name not in program_names():
            return True
        time.sleep(0.01)
    return False


ATTACH_AND_SLEEP = """
import sys, time
from support.bpf.handwritten import *
from sonde.engines.kernel.engine import KernelEngine
from sonde.model.probe import RawTracepoint
tracing = KernelEngine().load(tracing_spec(raw_tracepoint(sys.argv[1], COUNT_ZERO, [(RawTracepoint("sys_enter"), 0)])))
tracing.attach()
print("attached", flush=True)
time.sleep(60)
"""


@needs("CAP_SYS_ADMIN")
def test_a_killed_process_leaves_nothing_attached():
    name = f"kill_{os.getpid()}"
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    child = subprocess.Popen([sys.executable, "-c", ATTACH_AND_SLEEP, name], stdout=subprocess.PIPE, env=environment)
    try:
        assert child.stdout.readline() == b"attached\n"
        assert name in program_names()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert gone(name)
