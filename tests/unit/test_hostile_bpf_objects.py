"""Damaged BPF objects: no traceback, no hang, no flood of memory. SONDE_EXAMPLES makes it more of them for each."""

import os
import subprocess
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.places import SUPPORT, TESTS
from support.suite.example_counts import count_of

pytestmark = pytest.mark.examples

COUNT = count_of(100)

SOURCE = """
struct event { u32 pid; char comm[16]; enum { ONE, TWO } which; struct { int a : 3, b : 5; } bits; };
struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u64); } first SEC(".maps");
struct { __uint(type, 12); __uint(max_entries, 4); __type(key, u32); __array(values, struct inner); }
    outer SEC(".maps") = { .values = { [1] = (void *)&first } };
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, u32); __type(value, struct event); } known SEC(".maps");
struct { __uint(type, 27); __uint(max_entries, 4096); __type(value, struct event); } events SEC(".maps");
struct written { u32 pid; struct { char text[16]; long values[3]; } inner; };
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } written SEC(".maps");
struct task_struct { int pid; struct task_struct *real_parent; int tgid; } __attribute__((preserve_access_index));
u64 total, list[4] = { 1, 2, 3, 4 }; const volatile int limit = 7;
static __attribute__((noinline)) int add(u32 key, u64 by)
{
    struct event *found = bpf_map_lookup_elem(&known, &key);
    if (found) found->pid += by;
    return bpf_map_lookup_elem(&outer, &key) != 0;
}
SEC("tp_btf/sys_enter") int entry(u64 *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    total += task->tgid + task->real_parent->pid + list[2];
    return add(limit, list[3]);
}
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *c) { bpf_printk("%d", limit); return add(1, 2); }
struct perf_sample_data { struct { u32 pid, tid; } tid_entry; u64 cgroup; } __attribute__((preserve_access_index));
struct sample { u64 registers[21], period, address; struct perf_sample_data *data; };
SEC("perf_event/software/page-faults-u/7") int fault(struct sample *sample)
{
    struct perf_sample_data *data = (void *)sample->address;
    u64 cgroup = 0;
    bpf_probe_read_kernel(&cgroup, sizeof cgroup, &data->cgroup);
    total += cgroup;
    return sample->address > sample->period;
}
SEC("perf_event/tracepoint/sched/sched_switch/3") int hit(void *c) { return total; }
SEC("raw_tp/sys_exit") int last(void *c)
{
    struct written written = { 1, { "text", { 3 } } };
    bpf_perf_event_output(c, &written, 0xffffffffULL, &written, sizeof written);
    return add(3, 4);
}
char lines[] SEC("config") = "line=vfs_read $arg1 $arg2;other=vfs_read $arg7";
static __attribute__((noinline)) long asked(void *c, u64 *place) { return bpf_fetch_variables(c, place, 16); }
SEC("line") int on_line(void *c) { u64 found[2]; return asked(c, found) ? 0 : found[0] > found[1]; }
SEC("other") int on_other(void *c, long error, u64 seventh) { return error ? 0 : add(5, seventh); }
"""


@pytest.mark.long
@pytest.mark.parametrize("compiler", BOTH)
def test_damaged_objects_end_in_a_message(tmp_path, compiler):
    worker = str(SUPPORT / "bpf/hostile_bpf_objects.py")
    command = [sys.executable, worker, compiled(SOURCE, compiler), str(tmp_path), "1", str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(TESTS)})
    assert done.stdout == f"done {COUNT}\n"
    assert "Traceback" not in done.stderr
