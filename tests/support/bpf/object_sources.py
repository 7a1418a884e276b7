"""Objects that mean the same on both engines: by name the C source behind HEAD, and lines that its output has.

They look at the process of -c alone, which runs WORKLOAD, and say nothing that differs from run to run.
"""

import shlex
import sys

from support.bpf.bpf_objects import ADD

HEAD = """
const volatile u32 target;
static __attribute__((always_inline)) int mine(void) { return bpf_get_current_pid_tgid() >> 32 == target; }
"""

_SCRIPT = """
import os, signal, threading
for _ in range(37): os.getppid()
for size in (1, 10, 100, 1000): os.write(os.open("/dev/null", os.O_WRONLY), b"x" * size)
for _ in range(3):
    try: os.rmdir("/nonexistent/by-nobody")
    except OSError: pass
os.umask(0o22); os.umask(0o77)
os.setpgid(0, 0)
os.kill(os.getpid(), 0)
signal.signal(signal.SIGUSR1, lambda *_: None); os.kill(os.getpid(), signal.SIGUSR1)
thread = threading.Thread(target=lambda: [os.getsid(0) for _ in range(5)]); thread.start(); thread.join()
os._exit(7)
"""
WORKLOAD = shlex.join([sys.executable, "-c", _SCRIPT])
STATUS = 7

RING = """
struct record { u64 number; char text[16]; };
struct { __uint(type, 27); __uint(max_entries, 65536); __type(value, struct record); } records SEC(".maps");
"""

SOURCES = {
    "entries": (
        'u64 calls; SEC("tracepoint/syscalls/sys_enter_getppid") int f(void *c) { calls += mine(); return 0; }',
        ["calls = 37"],
    ),
    "returns": (
        'u64 good, bad; SEC("tracepoint/syscalls/sys_exit_rmdir") int f(s64 *c)'
        " { if (mine()) { if (c[2] == -2) bad++; else good++; } return 0; }",
        ["bad = 3", "good = 0"],
    ),
    "arguments": (
        ADD + 'SEC("tp/syscalls/sys_enter_umask") int f(u64 *c) { return mine() ? add(c[2], 1) : 0; }',
        ["counts[18] = 1", "counts[63] = 1"],
    ),
    "sizes": (
        ADD + 'SEC("tracepoint/syscalls/sys_enter_write") int f(u64 *c) { return mine() ? add(c[4], c[4]) : 0; }',
        ["counts[1000] = 1000"],
    ),
    "all_entries": (
        'u64 calls; SEC("tracepoint/raw_syscalls/sys_enter") int f(u64 *c)'
        " { calls += mine() && c[1] == 110; return 0; }",
        ["calls = 37"],
    ),
    "all_returns": (
        'u64 bad; SEC("tracepoint/raw_syscalls/sys_exit") int f(s64 *c)'
        " { bad += mine() && c[1] == 84 && c[2] == -2; return 0; }",
        ["bad = 3"],
    ),
    "raw_entries": (
        ADD + 'SEC("raw_tp/sys_enter") int f(u64 *c) { return mine() && c[1] == 95 ? add(c[1], 1) : 0; }',
        ["counts[95] = 2"],
    ),
    "raw_registers": (
        ADD + 'SEC("raw_tracepoint/sys_enter") int f(u64 *c) { u64 di; if (!mine() || c[1] != 95) return 0;'
        " bpf_probe_read_kernel(&di, 8, (void *)(c[0] + 112)); return add(di, 1); }",
        ["counts[18] = 1", "counts[63] = 1"],
    ),
    "raw_returns": (
        'u64 bad; SEC("raw_tp/sys_exit") int f(s64 *c) { bad += mine() && c[1] == -2; return 0; }',
        [],
    ),
    "typed_returns": (
        # umask(2), by orig_ax: what other calls return may be 18 as well.
        'u64 seen; SEC("tp_btf/sys_exit") int f(s64 *c)'
        " { seen += mine() && c[1] == 18 && ((u64 *)c[0])[15] == 95; return 0; }",
        ["seen = 2"],
    ),
    "exits": (
        'u64 threads; SEC("raw_tp/sched_process_exit") int f(u64 *c) { threads += mine(); return 0; }',
        ["threads = 2"],
    ),
    "signals": (
        ADD + 'SEC("raw_tp/signal_deliver") int f(u64 *c) { return mine() && (u32)c[0] == 10 ? add(10, 1) : 0; }',
        ["counts[10] = 1"],
    ),
    "prints": (
        'SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c)'
        ' { if (mine()) bpf_printk("umask %d is %lx, %s", c[2], c[2], "or so"); return 0; }',
        [],
    ),
    "numbers": (
        'SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c)'
        ' { if (mine()) bpf_printk("%-6d|%5u|%08x", c[2], c[2], c[2]); return 0; }',
        ["18    |   18|00000012", "63    |   63|0000003f"],
    ),
    "paths": (
        'SEC("tracepoint/syscalls/sys_enter_rmdir") int f(u64 *c) { char path[32]; if (!mine()) return 0;'
        ' bpf_probe_read_user_str(path, sizeof path, (void *)c[2]); bpf_printk("%s!", path); return 0; }',
        ["/nonexistent/by-nobody!"],
    ),
    "ring": (
        RING + 'u64 number; SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c) { struct record *r;'
        " if (!mine()) return 0; r = bpf_ringbuf_reserve(&records, sizeof *r, 0); if (!r) return 0;"
        " r->number = ++number; bpf_get_current_comm(r->text, sizeof r->text); bpf_ringbuf_submit(r, 0); return 0; }",
        [],
    ),
    "copied_records": (
        RING + 'SEC("tracepoint/syscalls/sys_enter_write") int f(u64 *c) { struct record r = {}; if (!mine()) return 0;'
        " r.number = c[4]; bpf_ringbuf_output(&records, &r, sizeof r, 0); return 0; }",
        ['records: {.number = 1000, .text = ""}'],
    ),
    "perf_records": (
        "struct seen { u64 mask; }; struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } seen"
        ' SEC(".maps"); SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c) { struct seen s;'
        " if (!mine()) return 0; s.mask = c[2];"
        " bpf_perf_event_output(c, &seen, 0xffffffffULL, &s, sizeof s); return 0; }",
        [],
    ),
    "bytes": (
        'SEC("tracepoint/syscalls/sys_enter_write") int f(u64 *c) { u8 first = 0; if (!mine()) return 0;'
        ' bpf_probe_read_user(&first, 1, (void *)c[3]); bpf_printk("%c of %d", first, c[4]); return 0; }',
        ["x of 1", "x of 1000"],
    ),
    "loops": (
        ADD + "static int turn(u32 n, void *sum) { *(u64 *)sum += n; return n == 9; }"
        'SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c) { u64 sum = 0; if (!mine()) return 0;'
        " bpf_loop(20, turn, &sum, 0); return add(c[2], sum); }",
        ["counts[18] = 45"],
    ),
    "bounded_loops": (
        ADD + 'SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c) { u64 bits = 0; if (!mine()) return 0;'
        " for (int n = 0; n < 16; n++) bits += c[2] >> n & 1; return add(c[2], bits); }",
        ["counts[18] = 2", "counts[63] = 6"],
    ),
    "switches": (
        ADD
        + 'SEC("raw_tp/sys_enter") int f(u64 *c) { if (!mine()) return 0; switch (c[1]) { case 84: return add(1, 1);'
        " case 95: return add(2, 10); case 109: return add(3, 100); case 110: return add(4, 1000); } return 0; }",
        ["counts[1] = 3", "counts[2] = 20", "counts[3] = 100", "counts[4] = 37000"],
    ),
    "variables": (
        "const volatile int by = 2; s32 down = 100; u16 narrow; char name[8]; struct { u8 a; u32 b; } pair;"
        'SEC("tracepoint/syscalls/sys_enter_getppid") int f(u64 *c) { if (!mine()) return 0; down -= by;'
        " narrow += 4096; name[0] = 65; name[1] = 66; pair.a++; pair.b += 7; return 0; }",
        ["down = 26", "narrow = 20480", 'name = "AB"', "pair = {.a = 37, .b = 259}"],
    ),
    "array": (
        'struct { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u64); } slots SEC(".maps");'
        'SEC("tracepoint/syscalls/sys_enter_write") int f(u64 *c) { u32 slot = c[4] & 3; u64 *v; if (!mine()) return 0;'
        " v = bpf_map_lookup_elem(&slots, &slot); if (v) *v += 1; return 0; }",
        [],
    ),
    "tail_calls": (
        "u64 first, second; int next(u64 *); struct { __uint(type, 3); __uint(key_size, 4); __uint(max_entries, 2);"
        ' __array(values, int (void *)); } calls SEC(".maps") = { .values = { [1] = (void *)&next } };'
        'SEC("tracepoint/syscalls/sys_enter_umask") int f(u64 *c) { if (!mine()) return 0; first++;'
        ' bpf_tail_call(c, &calls, c[2] == 18); first += 100; return 0; } SEC("tracepoint") int next(u64 *c)'
        " { second += c[2]; return 0; }",
        ["first = 102", "second = 18"],
    ),
    "task": (
        "struct task_struct { int pid; int tgid; char comm[16]; } __attribute__((preserve_access_index));"
        'u64 leaders, others; SEC("tracepoint/syscalls/sys_enter_getsid") int f(u64 *c) { struct task_struct *task;'
        " if (!mine()) return 0; task = bpf_get_current_task_btf();"
        " if (task->pid == task->tgid) leaders++; else others++; return 0; }",
        ["leaders = 0", "others = 5"],
    ),
    "names": (
        'SEC("tracepoint/syscalls/sys_enter_setpgid") int f(u64 *c) { char name[16]; if (!mine()) return 0;'
        ' bpf_get_current_comm(name, sizeof name); bpf_printk("%s", name); return 0; }',
        [],
    ),
    "times": (
        'u64 last, ordered; SEC("tracepoint/syscalls/sys_enter_getppid") int f(u64 *c) { u64 now = bpf_ktime_get_ns();'
        " if (!mine()) return 0; ordered += now > last; last = now; if (ordered == 37) last = 0; return 0; }",
        ["last = 0", "ordered = 37"],
    ),
}
