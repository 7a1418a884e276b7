"""examples/calls.c: one program for all kinds of events, as its first lines say."""

import re
import shlex
import subprocess

import pytest
from support.bpf.bpf_objects import BOTH, COMPILERS, HEADERS, compiled
from support.command.unprivileged import sonde
from support.machine import packages

from sonde.bpf import probe_context
from sonde.bpf.btf import STRUCT, Btf
from sonde.bpf.helpers import PROBE_NAME
from sonde.objects.elf import ObjectFile


@pytest.fixture
def built(tmp_path):
    def build(compiler):
        path = tmp_path / "calls.o"
        subprocess.run([*COMPILERS[compiler], "-c", HEADERS / "calls.c", "-o", path], check=True)
        return str(path)

    return build


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_programs_of_four_types_call_the_same_one(built, compiler):
    workload = shlex.join(["sh", "-c", "/bin/cat /etc/hostname / >/dev/null 2>&1; true"])
    text = sonde("--engine", "embedded", "--object", built(compiler), "--dump", "-c", workload).stdout
    assert "tracepoint/syscalls/sys_exit_read failed: errno 21\n" in text
    found = dict(re.findall(r'happened\[\{\.text = "(.*?)"\}\] = (\d+)', text))
    assert found["tp_btf/sched_process_exec"] == "1"
    assert found["raw_tp/sched_process_exit"] == "2"
    assert int(found["tracepoint/syscalls/sys_exit_read"]) >= 2
    assert int(found["tracepoint/syscalls/sys_enter_openat"]) >= 2


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_the_kernel_engine_says_what_the_kernel_allows(built, compiler):
    text = " ".join(sonde("verify", "--engine", "kernel", built(compiler), status=1).stderr.split())
    assert "there a program calls only those of its own type" in text
    assert "--engine embedded" in text
    assert sonde("verify", "--engine", "embedded", built(compiler)).stdout.count("): accepted") == 7


TWO_TYPES = """
int other(void *);
struct {
    __uint(type, 3); __uint(key_size, 4); __uint(max_entries, 1); __array(values, int (void *));
} calls SEC(".maps") = { .values = { [0] = (void *)&other } };
SEC("raw_tp") int other(void *c) { return 0; }
SEC("perf_event") int first(void *c) { bpf_tail_call(c, &calls, 0); return 0; }
"""


def test_calls_across_types_are_told_the_rule_of_the_engine_that_is_named():
    packages.require("bpf-gcc")
    told = {}
    for engine in ("kernel", "embedded"):
        done = sonde("verify", "--engine", engine, compiled(TWO_TYPES, "gcc"), status=1)
        told[engine] = " ".join(done.stderr.split())
    assert all("program first (perf_event) calls other (raw_tracepoint) by map calls" in each for each in told.values())
    assert "in the kernel programs call only those of their own type" in told["kernel"]
    assert 'with --engine embedded programs of all types may call general ones, SEC("probe")' in told["kernel"]
    assert 'make the one that is called general: SEC("probe")' in told["embedded"]


def test_the_header_declares_the_context_as_it_is():
    packages.require("bpf-gcc")
    path = compiled('SEC("probe") int f(struct probe *p) { return p->kind; }', "gcc")
    with open(path, "rb") as file:
        types = Btf(ObjectFile(file.read()).named(".BTF"))
    (found,) = types.find_all("probe", STRUCT)
    declared = types.type(found)
    assert {each.name: each.offset // 8 for each in declared.members} == {
        "registers": probe_context.REGISTERS, "arguments": probe_context.ARGUMENTS, "cookie": probe_context.COOKIE,
        "count": probe_context.COUNT, "error": probe_context.ERRNO, "number": probe_context.PROBE,
        "kind": probe_context.KIND,
    }  # fmt: skip
    assert declared.size == probe_context.SIZE
    assert f"HELPER({PROBE_NAME}, long, bpf_probe_name," in (HEADERS / "bpf.h").read_text()
