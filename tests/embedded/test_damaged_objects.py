"""Damaged objects on the embedded engine: ready programs or one message. SONDE_EXAMPLES makes it more of them."""

import os
import re
import subprocess
import sys

import pytest
from support.bpf.bpf_objects import BOTH, HEADERS, compiled
from support.places import SUPPORT, TESTS
from support.suite.example_counts import count_of

pytestmark = pytest.mark.examples

COUNT = count_of(120)

SOURCE = (
    (HEADERS / "calls.c").read_text().replace('char LICENSE[] SEC("license") = "GPL";', "")
    + """
char lines[] SEC("config") = "opened=syscall/openat filename flags\\n";
struct opened { const char *name; s32 flags; } last;
struct task_struct { int pid; int tgid; } __attribute__((preserve_access_index));
SEC("opened") int on_opened(struct probe *p)
{
    struct task_struct *task = bpf_get_current_task_btf();
    return bpf_fetch_variables(p, &last, sizeof last) + task->tgid;
}
"""
)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_damaged_objects_end_in_a_message(tmp_path, compiler):
    path = str(TESTS)
    worker = str(SUPPORT / "bpf/hostile_embedded_objects.py")
    words = [sys.executable, worker, compiled(SOURCE, compiler), str(tmp_path), "1", str(COUNT)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.stdout == f"done {COUNT}\n", done.stderr
    assert "Traceback" not in done.stderr
    ready, refused = map(int, re.findall(r"\d+", done.stderr.splitlines()[-1]))
    assert ready
    assert refused
