"""Probes of processes where the kernel has no multi-uprobe links: a perf event and a program each."""

import re
import struct
import subprocess

import pytest
from support.command.command import build
from support.d.d_run import Run

from sonde.bpf import programs
from sonde.engines.kernel.engine import KernelEngine
from sonde.model.errors import EngineError
from sonde.model.probe import Uprobe

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) long one(long n) { asm volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline)) long two(long n) { asm volatile("" : "+r"(n)); return n + 2; }
static void *thread(void *n) { for (int i = 0; i < 100; i++) one((long)n); return 0; }
int main() {
    char b;
    puts("ready");
    fflush(stdout);
    read(0, &b, 1);
    pthread_t t[3];
    for (long i = 0; i < 3; i++) pthread_create(t + i, 0, thread, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    two(5);
    if (!fork()) { one(7); two(8); _exit(0); }
    wait(0);
    if (!vfork()) { one(9); _exit(0); }
    wait(0);
    return 0;
}
"""


@pytest.fixture
def process(tmp_path):
    """It waits for a byte."""
    path = build(tmp_path, "events", PROGRAM, "-pthread")
    found = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert found.stdout.readline() == b"ready\n"
    yield found
    found.kill()
    found.communicate()


def test_entry_return_and_offset(process):
    """All threads fire, children do not; each probe has its own number although no cookie can be read."""
    text = f"""
    pid{process.pid}:a.out:one:entry, pid{process.pid}:a.out:two:entry {{ @entries[id, arg0] = count(); }}
    pid{process.pid}:a.out:one:return, pid{process.pid}:a.out:two:return {{ @returns[id, arg1] = count(); }}
    pid{process.pid}:a.out:two:0 {{ @offsets[id, arg0] = count(); }}
    """
    with Run(text) as run:
        assert {program.attach_type for program in run.spec.programs} == {programs.ATTACH_NONE}
        assert all(any(stamp.kind == "cookie" for stamp in p.stamps) for p in run.spec.programs if len(p.probes) > 1)
        run.attach()
        process.communicate(b"x")
        assert process.returncode == 0
        probes = {probe.id: f"{probe.function}:{probe.name}" for probe in run.spec.probes}
        counts = {}
        for name in ("entries", "returns", "offsets"):
            for key, (count, *_) in run.aggregation(name).items():
                number, value = struct.unpack("=I4xQ" if len(key) == 16 else "=IQ", key)
                counts[probes[number], value] = count
    assert counts == {
        **{("one:entry", n): 100 for n in range(3)},
        **{("one:return", n + 1): 100 for n in range(3)},
        ("two:entry", 5): 1,
        ("two:return", 7): 1,
        ("two:0", 5): 1,
    }


def test_a_process_that_has_ended(process):
    with Run(f"pid{process.pid}:a.out:one:entry {{ @ = count(); }}") as run:
        process.communicate(b"x")
        with pytest.raises(EngineError, match=re.escape(f"pid{process.pid}:a.out:one:entry")):
            run.attach()


def test_a_file_that_is_gone(process):
    """The message names the probe."""
    with Run(f"pid{process.pid}:a.out:one:entry {{ @ = count(); }}") as run:
        (program,) = run.spec.programs
        ((probe, cookie),) = program.probes
        assert isinstance(probe.firing, Uprobe)
        wrong = probe._replace(firing=probe.firing._replace(path="/proc/self/nothing"))
        spec = run.spec._replace(programs=(program._replace(probes=(type(program.probes[0])(wrong, cookie),)),))
    tracing = KernelEngine().load(spec)
    try:
        with pytest.raises(EngineError, match=r"cannot attach pid\d+:a.out:one:entry: no such file"):
            tracing.attach()
    finally:
        tracing.close()
