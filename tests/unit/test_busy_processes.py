"""Which processes use a CPU, by a procfs of the test's own and by the kernel's."""

import os
import subprocess
import sys
import time

from sonde.engines.embedded.tracer.busy import busy_processes

KERNEL_THREAD = 0x00200000


def procfs(root, running, *processes):
    (root / "loadavg").write_text(f"0.10 0.20 0.30 {running}/99 1234\n")
    for pid, state, flags, used, age in processes:
        ticks = os.sysconf("SC_CLK_TCK")
        start = int((time.clock_gettime(time.CLOCK_BOOTTIME) - age) * ticks)
        middle = ["0"] * 4 + [str(int(used * ticks) - 1), "1"] + ["0"] * 6
        fields = [state, "1", str(pid), str(pid), "0", "-1", str(flags), *middle, str(start), "0", "0"]
        (root / str(pid)).mkdir()
        (root / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}\n")
    (root / "self").mkdir()
    (root / "77777").mkdir()


def test_those_that_run_or_have_used_much(tmp_path):
    procfs(
        tmp_path, 3,
        (10, "R", 0, 1, 1000), (11, "S", 0, 1, 1000), (12, "S", 0, 300, 1000), (13, "R", KERNEL_THREAD, 900, 1000),
        (14, "D", 0, 9, 10), (os.getpid(), "R", 0, 9, 10),
    )  # fmt: skip
    assert busy_processes(str(tmp_path)) == [14, 12, 10]


def test_nothing_is_looked_at_where_nothing_runs(tmp_path):
    procfs(tmp_path, 1, (10, "R", 0, 1, 1000))
    assert busy_processes(str(tmp_path)) == []


def test_where_proc_tells_of_processes_alone(tmp_path):
    procfs(tmp_path, 1, (10, "R", 0, 1, 1000))
    (tmp_path / "loadavg").unlink()
    assert busy_processes(str(tmp_path)) == [10]


def test_a_process_that_runs_here():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        try:
            while child.pid not in busy_processes():
                time.sleep(0.01)
        finally:
            child.kill()
