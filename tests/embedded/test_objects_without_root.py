"""Objects of both compilers on the embedded engine, as a user without privileges runs them."""

import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from support.bpf.bpf_objects import ADD, BOTH, WRITES, compiled
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.files.capture_files import Pcapng
from support.machine import packages
from support.machine.left_behind import ends
from support.machine.processes import seconds_of
from support.packets.frames import FRAMES

CALLS = shlex.join([sys.executable, "-c", "import os; [os.getppid() for _ in range(37)]"])


def run(source, compiler, *words, workload=CALLS, status=0):
    return sonde("--engine", "embedded", "--object", compiled(source, compiler), "-c", workload, *words, status=status)


def unwrapped(message):
    """A message as one line."""
    return " ".join(message.split())


def values(text):
    """The `name = value` lines."""
    return dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)


COUNTS = (
    ADD
    + """
u64 events, raw, returns, typed, all; int step = 3;
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *context) { events++; return add(7, step); }
SEC("tracepoint/syscalls/sys_exit_getppid") int back(s64 *context) { returns += context[2] > 0; return 0; }
SEC("tracepoint/raw_syscalls/sys_enter") int any(u64 *context) { all += context[1] == 110; return 0; }
SEC("raw_tp/sys_enter") int raw_entry(u64 *context)
{
    if (context[1] == 110) { raw++; add(8, 1); }
    return 0;
}
SEC("tp_btf/sys_exit") int typed_exit(u64 *context) { typed += (s64)context[1] > 0; return 0; }
"""
)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_programs_count_what_happened(compiler):
    found = values(run(COUNTS, compiler, "--dump", "-D", "step=-2").stdout)
    assert (found["events"], found["returns"], found["raw"], found["all"]) == ("37", "37", "37", "37")
    assert (found["counts[7]"], found["counts[8]"]) == (str((1 << 64) - 74), "37")
    assert int(found["typed"]) >= 37


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_rings_and_prints_are_shown(compiler):
    lines = run("#define mine() 1\n" + WRITES, compiler).stdout.splitlines()
    typed = [each for each in lines if each.startswith("events:")]
    assert len(typed) == 3
    assert all(".sizes = {0, -5}" in each for each in typed)
    assert [each for each in lines if each.startswith("call")] == [f"call {n} of it" for n in (1, 2, 3)]
    assert lines.count("plain: 8 bytes") == 3
    assert sum(each.startswith("perf: ") for each in lines) == 3


FOUR_TYPES = """
struct name { char text[48]; };
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, struct name); __type(value, u64); } seen SEC(".maps");
int any(struct probe *), failed(struct probe *);
struct {
    __uint(type, 3); __uint(key_size, 4); __uint(max_entries, 2); __array(values, int (void *));
} general SEC(".maps") = { .values = { [0] = (void *)&any, [1] = (void *)&failed } };
SEC("probe") int failed(struct probe *p)
{
    bpf_printk("error %d by type %d, %d argument(s)", p->error, p->kind, p->count);
    return 0;
}
SEC("probe") int any(struct probe *p)
{
    struct name name = {};
    u64 one = 1, *known;
    bpf_probe_name(p, name.text, sizeof name.text);
    known = bpf_map_lookup_elem(&seen, &name);
    if (known) *known += 1; else bpf_map_update_elem(&seen, &name, &one, 0);
    if (p->error) bpf_tail_call(p, &general, 1);
    return 0;
}
SEC("tracepoint/syscalls/sys_exit_rmdir") int one(void *c) { bpf_tail_call(c, &general, 0); return 0; }
SEC("raw_tp/sched_process_fork") int two(void *c) { bpf_tail_call(c, &general, 0); return 0; }
SEC("tp_btf/sched_process_exec") int three(void *c) { bpf_tail_call(c, &general, 0); return 0; }
SEC("probe/tracepoint/syscalls/sys_enter_rmdir") int four(void *c) { bpf_tail_call(c, &general, 0); return 0; }
"""
FORKS = """
import os
for _ in range(3):
    try: os.rmdir("/nonexistent/by-nobody")
    except OSError: pass
if os.fork() == 0:
    os.execv("/bin/true", ["true"])
os.wait()
"""


@pytest.mark.long
@pytest.mark.parametrize("compiler", BOTH)
def test_programs_of_four_types_call_general_ones(compiler):
    workload = shlex.join([sys.executable, "-c", FORKS])
    runs = {run(FOUR_TYPES, compiler, "--dump", workload=workload).stdout for _ in range(5)}
    (text,) = runs
    lines = text.splitlines()
    assert lines.count("error 2 by type 5, 2 argument(s)") == 3
    assert [each for each in lines if each.startswith("seen[")] == [
        'seen[{.text = "tp_btf/sched_process_exec"}] = 1',
        'seen[{.text = "raw_tp/sched_process_fork"}] = 1',
        'seen[{.text = "tracepoint/syscalls/sys_exit_rmdir"}] = 3',
        'seen[{.text = "tracepoint/syscalls/sys_enter_rmdir"}] = 3',
    ]


SAMPLES = """
u64 seen, in_process, sums;
int any(struct probe *);
struct {
    __uint(type, 3); __uint(key_size, 4); __uint(max_entries, 1); __array(values, int (void *));
} general SEC(".maps") = { .values = { [0] = (void *)&any } };
SEC("probe") int any(struct probe *p) { seen++; in_process += p->arguments[1] == p->registers[16]; return 0; }
SEC("perf_event/software/cpu-clock/200hz") int tick(void *c) { bpf_tail_call(c, &general, 0); return 0; }
SEC("probe/perf_event/100hz") int direct(struct probe *p) { sums += p->arguments[2] == 10000000; return 1; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_overflows_call_general_programs_or_are_handled_by_them(compiler):
    # Without privileges samples are of time outside of the kernel alone.
    spin = shlex.join([sys.executable, "-c", "for _ in range(12_000_000): pass"])
    done = run(SAMPLES, compiler, "--dump", workload=spin)
    found = values(done.stdout)
    assert int(found["seen"]) >= 5
    assert int(found["in_process"]) > 0.9 * int(found["seen"])
    assert int(found["sums"]) >= 5
    lines = [each for each in done.stdout.splitlines() if "object::direct:" in each]
    assert len(lines) == int(found["sums"]), "each of these samples is let through, to lines"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('SEC("kprobe/vfs_read") int f(void *c) { return 0; }', "kprobe/vfs_read: the embedded engine fires no kprobe"),
        ('SEC("raw_tp/sched_switch") int f(void *c) { return 0; }', "has no tracepoint sched_switch, but sys_enter"),
        ('SEC("tp/sched/sched_switch") int f(void *c) { return 0; }', "has no trace event sched/sched_switch"),
        ('SEC("tp/syscalls/sys_enter_no") int f(void *c) { return 0; }', "has no trace event syscalls/sys_enter_no"),
        ('SEC("perf_event/software/cgroup-switches/1") int f(void *c) { return 0; }', "by software events alone"),
        ('SEC("probe/kprobe/vfs_read") int f(void *c) { return 0; }', "does not say what fires it"),
        ('SEC("tp/syscalls/sys_enter_umask") int f(u64 *c) { return c[3]; }', "its context, which has 24"),
        (
            "struct task_struct { u64 start_time; } __attribute__((preserve_access_index));"
            'SEC("tp/syscalls/sys_enter_umask") int f(void *c)'
            " { return ((struct task_struct *)bpf_get_current_task_btf())->start_time; }",
            "task_struct.start_time, which the embedded engine has not",
        ),
        (
            "struct task_struct { int tgid; struct task_struct *real_parent; } __attribute__((preserve_access_index));"
            'SEC("tp/syscalls/sys_enter_umask") int f(void *c)'
            " { return ((struct task_struct *)bpf_get_current_task_btf())->real_parent->tgid; }",
            "follows pointers in structures by BPF_CORE_READ() alone",
        ),
        (
            "int g(void *); struct { __uint(type, 3); __uint(key_size, 4); __uint(max_entries, 1);"
            ' __array(values, int (void *)); } calls SEC(".maps") = { .values = { [0] = (void *)&g } };'
            'SEC("raw_tp") int g(void *c) { return 0; }'
            'SEC("tp/syscalls/sys_enter_umask") int f(void *c) { bpf_tail_call(c, &calls, 0); return 0; }',
            "program f (tracepoint) calls g (raw_tracepoint) by map calls: the embedded engine lets programs call",
        ),
    ],
    ids=["kprobe", "tracepoint", "event", "call", "counter", "general", "room", "member", "pointer", "tail_call"],
)  # fmt: skip
def test_what_the_engine_has_not_is_refused_by_name(source, wanted):
    packages.require("bpf-gcc")
    text = unwrapped(run(source, "gcc", status=1).stderr)
    assert wanted in text
    assert "Traceback" not in text


@pytest.mark.long
def test_processes_that_run_already_are_looked_at():
    packages.require("bpf-gcc")
    calls = "import os, time\nwhile True:\n    os.getppid(); time.sleep(0.01)"
    with subprocess.Popen([*without_privileges(), sys.executable, "-c", calls]) as child:
        words = ["--engine", "embedded", "--object", compiled(COUNTS, "gcc"), "--dump", "-p", str(child.pid)]
        try:
            with subprocess.Popen([*without_privileges(), SONDE, *words], stdout=subprocess.PIPE, text=True) as run:
                time.sleep(2)
                run.send_signal(signal.SIGINT)
                found = values(run.communicate()[0])
        finally:
            child.kill()
    assert int(found["events"]) > 0
    assert abs(int(found["events"]) - int(found["returns"])) <= 1
    assert found["events"] == found["raw"] == found["all"]


LOOPS = """
u64 turns;
static int inner(u32 n, void *c) { turns++; return 0; }
static int outer(u32 n, void *c) { bpf_loop(1 << 23, inner, c, 0); return 0; }
SEC("tracepoint/syscalls/sys_enter_getppid") int f(void *c) { u64 x; bpf_loop(1 << 23, outer, &x, 0); return 0; }
"""


@pytest.mark.long
def test_a_signal_ends_loops_that_would_take_a_year():
    packages.require("bpf-gcc")
    words = [SONDE, "--engine", "embedded", "-xmaxsteps=0", "--object", compiled(LOOPS, "gcc"), "--dump", "-c", CALLS]
    with subprocess.Popen([*without_privileges(), *words], stdout=subprocess.PIPE, text=True) as run:
        # In the loops, which take more than anything before.
        assert ends(lambda: seconds_of(run.pid) > 3)
        run.send_signal(signal.SIGINT)
        found = values(run.communicate()[0])
    assert int(found["turns"]) > 1024


def test_without_processes_nothing_is_fired():
    packages.require("bpf-gcc")
    done = sonde("--engine", "embedded", "--object", compiled(COUNTS, "gcc"), status=1)
    assert "programs of objects need -c or -p" in unwrapped(done.stderr)


NAMES_OF_PACKETS = """
struct name { char text[48]; };
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, struct name); __type(value, u64); } seen SEC(".maps");
static inline __attribute__((always_inline)) void count(void *context)
{
    struct name name = {};
    u64 one = 1, *known;
    bpf_probe_name(context, name.text, sizeof name.text);
    known = bpf_map_lookup_elem(&seen, &name);
    if (known) *known += 1; else bpf_map_update_elem(&seen, &name, &one, 0);
}
SEC("xdp") int first(void *context) { count(context); return 2; }
SEC("tc/ingress") int second(void *context) { count(context); return -1; }
"""


def test_programs_of_packets_know_what_has_fired_them(tmp_path):
    path = tmp_path / "given"
    path.write_bytes(Pcapng().interface("eth0").packet(FRAMES["udp"], time=7).packet(FRAMES["tcp"], time=8).data)
    made = compiled(NAMES_OF_PACKETS, "gcc")
    done = sonde("--engine", "embedded", "--object", made, "--packets", str(path), "--device", "eth0", "--dump")
    names = dict(re.findall(r"^seen\[\{\.text = \"(.*)\"\}\] = (\d+)$", done.stdout, re.MULTILINE))
    assert names == {"xdp": "2", "tc/ingress": "2"}
