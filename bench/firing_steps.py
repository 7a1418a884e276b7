"""How long the steps take that firings are bounded by (docs/verifier.md): ns a step, of what programs do in loops.

Each program runs in the kernel by BPF_PROG_TEST_RUN, the fastest of five runs counts. As root, with clang:

    python bench/firing_steps.py
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sonde.engines.kernel import commands
from sonde.engines.kernel.tracing import KernelTracing
from sonde.library.bpf_object import load_words
from sonde.objects.choices import Words
from sonde.session.engines import KERNEL
from sonde.session.work import works

HEAD = """
#include "bpf.h"
char LICENSE[] SEC("license") = "GPL";
static long (*delete_elem)(void *, const void *) = (void *)3;
static unsigned (*random)(void) = (void *)7;
static long (*read_str)(void *, unsigned, const void *) = (void *)115;
static long (*task_stack)(void *, void *, unsigned, u64) = (void *)141;
static long (*print)(char *, unsigned, const char *, u64 *, unsigned) = (void *)165;
struct large { char bytes[1 << 20]; };
struct { __uint(type, 1); __uint(max_entries, 10000); __type(key, u64); __type(value, u64); } h SEC(".maps");
struct { __uint(type, 2); __uint(max_entries, 2); __type(key, u32); __type(value, struct large); } l SEC(".maps");
static int turn(u32 n, u64 *c) { %s return 0; }
SEC("raw_tp/sys_enter") int f(void *c) { u64 x = 0; bpf_loop(%d, turn, &x, 0); return x & 1; }
"""

BODIES = {
    "a turn": ("*c += n;", 1_000_000),
    "lookup": ("u64 k = n, *v = bpf_map_lookup_elem(&h, &k); if (v) *c += *v;", 100_000),
    "update": ("u64 k = n % 5000; bpf_map_update_elem(&h, &k, &k, 0);", 100_000),
    "update, delete": ("u64 k = n; bpf_map_update_elem(&h, &k, &k, 0); delete_elem(&h, &k);", 50_000),
    "large update": (
        "u32 k = 0, m = 1; void *v = bpf_map_lookup_elem(&l, &k); if (v) bpf_map_update_elem(&l, &m, v, 0);", 20,
    ),
    "time": ("*c += bpf_ktime_get_ns();", 100_000),
    "random": ("*c += random();", 100_000),
    "name": ("char v[16]; bpf_get_current_comm(v, 16);", 100_000),
    "8 bytes": ("u64 v; bpf_probe_read_kernel(&v, 8, c); *c += v;", 100_000),
    "256 bytes": ("char v[256]; bpf_probe_read_kernel(v, 256, c - 64); *c += v[0];", 100_000),
    "string": ("char v[256]; read_str(v, 256, c); *c += v[0];", 100_000),
    "stack": ("u64 v[32]; task_stack((void *)bpf_get_current_task_btf(), v, 256, 0);", 1000),
    "text": ('char v[64]; static const char t[] = "%%d"; u64 a = n; print(v, 64, t, &a, 8);', 10_000),
}  # fmt: skip


def measured(body: str, turns: int) -> tuple[int, float]:
    """The steps that a firing is said to take, and the ns that it takes."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "program.c", Path(folder) / "program.o"
        source.write_text(HEAD % (body, turns))
        headers = Path(__file__).parents[1] / "examples"
        subprocess.run(
            ["clang", "-target", "bpf", "-O2", "-g", "-w", f"-I{headers}", "-c", str(source), "-o", str(made)],
            check=True,
        )
        spec = load_words(str(made), Words(), None, KERNEL).spec
    (work,) = works(spec, KERNEL)
    tracing = KernelTracing(spec)
    try:
        return work.steps, min(_times(tracing))
    finally:
        tracing.close()


def _times(tracing: KernelTracing) -> Iterator[float]:
    (program,) = tracing._programs
    for _ in range(5):
        begin = time.perf_counter_ns()
        commands.run_program(program.descriptor, 0)
        yield time.perf_counter_ns() - begin


def main() -> None:
    print(f"{'':16} {'steps':>12} {'ms':>8} {'ns a step':>10}")
    for name, (body, turns) in BODIES.items():
        steps, ns = measured(body, turns)
        print(f"{name:16} {steps:12,} {ns / 1e6:8.2f} {ns / steps:10.3f}")


if __name__ == "__main__":
    main()
