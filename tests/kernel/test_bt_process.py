"""`bt -p`: probes of every kind fire for that process alone, but for timers and the program's own events."""

import subprocess

import pytest
from support.command.command import build, sonde

WORK = """
#include <unistd.h>
int main(void) { for (;;) { for (int n = 0; n < 1000; n++) getppid(); usleep(200); } }
"""
OF_PROCESS = {
    "kernel": (
        "tracepoint:syscalls:sys_enter_getppid", "tracepoint:raw_syscalls:sys_exit", "rawtracepoint:sys_enter",
        "profile:hz:499", "software:cs:1", "uprobe:libc:getppid", "uretprobe:libc:getppid",
    ),
    "embedded": (
        "tracepoint:syscalls:sys_enter_getppid", "tracepoint:raw_syscalls:sys_exit", "uprobe:libc:getppid",
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_probes_fire_for_the_process_alone(engine, tmp_path):
    work = build(tmp_path, "work", WORK)
    found, other = (subprocess.Popen([work]) for _ in range(2))
    try:
        counted = "".join(
            f"{point} /{test}/ {{ @[{number}, pid] = count(); }} {point} {{ $x = {{ @before[pid] = count(); 1 }}; }}\n"
            for number, (point, test) in enumerate(zip(OF_PROCESS[engine], ["1", "pid > 0"] * 4, strict=False))
        )
        always = "interval:ms:400 { @timer = count(); exit(); } begin { @begun = 1; } end { @ended = 1; }"
        done = sonde("bt", "-q", "--engine", engine, "-p", str(found.pid), "-f", "json", "-e", f"{counted}{always}")
    finally:
        for each in (found, other):
            each.kill()
            each.wait()
    keys = {line.partition('"data": ')[2] for line in done.stdout.splitlines()}
    shown = " ".join(sorted(keys))
    assert str(other.pid) not in shown
    assert all(f'"{number},{found.pid}":' in shown for number in range(len(OF_PROCESS[engine])))
    assert all(f'"@{name}": 1' in shown for name in ("timer", "begun", "ended"))
