"""Rings: what does not fit is counted, and everything else of the clause still happens."""

import re
import subprocess

import pytest
from support.command.command import build, sonde
from support.d.d_run import Run
from support.d.d_run import text as characters

CALLS = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    for (long i = atol(argv[1]); i; i--) syscall(SYS_getpgid, i, 0x5bd1e995);
    return 0;
}
"""

STRINGS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char text[512];
    for (int length = 0; length <= atoi(argv[1]); length++) {
        memset(text, 'x', sizeof text);
        text[length] = 0;
        syscall(SYS_getpgid, text, length);
    }
    return 0;
}
"""


def losses(messages):
    return sum(int(number) for number in re.findall(r"(\d+) drops?", messages))


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "options",
    [("-b4k",), ("-b4k", "-xrings=cpu"), ("-b100k",), (), *(("-xoutput=perf", f"-b{size}") for size in ("4k", "100k"))],
)
def test_lines_and_losses_are_all_calls(tmp_path, options):
    """At full speed; the aggregation in the same clause counts every call, and END prints it."""
    program = build(tmp_path, "calls", CALLS)
    text = ("syscall::getpgid:entry /arg1 == 0x5bd1e995/ "
            '{ printf("line %d %d %s %d\\n", arg0, pid, execname, timestamp); @ = count(); } '
            'END { printa("all %@d\\n", @); }')  # fmt: skip
    done = sonde("-qo", str(tmp_path / "out"), *options, "-c", f"{program} 100000", "-n", text)
    out = (tmp_path / "out").read_text()
    lines = re.findall(r"^line \d+ \d+ calls \d+$", out, re.M)
    assert len(set(lines)) == len(lines)
    assert len(lines) + losses(done.stderr) == 100000
    assert [line for line in out.splitlines() if line.strip()] == [*lines, "all 100000"], "no line is of something else"


@pytest.mark.share(1)
@pytest.mark.parametrize("output", ["ringbuf", "perf"])
def test_exit_happens_though_the_ring_is_full(tmp_path, output):
    """A clause whose record is lost still calls exit()."""
    program = build(tmp_path, "calls", CALLS)
    text = ('syscall::getpgid:entry /arg1 == 0x5bd1e995/ { printf("%d\\n", arg0); n++; } '
            "syscall::getpgid:entry /arg1 == 0x5bd1e995 && arg0 == 1/ { exit(7); } END { trace(n); }")  # fmt: skip
    done = sonde("-b4k", f"-xoutput={output}", "-xswitchrate=2s", "-qc", f"{program} 3000", "-n", text, status=7)
    assert losses(done.stderr) > 2000


def test_strings_of_every_length_leave_nothing_behind_their_end(tmp_path):
    """Up to strsize and beyond, longer ones first: what is printed, and the bytes of the slots in the raw file."""
    program = build(tmp_path, "strings", STRINGS)
    raw = tmp_path / "raw"
    text = ("syscall::getpgid:entry /pid == $target/ "
            '{ printf("%s|%d|%s\\n", copyinstr(arg0), arg1, strjoin(copyinstr(arg0), "")); }')  # fmt: skip
    done = sonde("-xstrsize=40", "--raw", str(raw), "-qc", f"{program} 60", "-n", text)
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines == [f"{'x' * min(n, 40)}|{n}|{'x' * min(n, 40)}" for n in range(61)]
    slots = re.findall(rb"x+\0+", raw.read_bytes())
    assert len(slots) >= 2 * 60
    assert sonde("raw", str(raw)).stdout.strip() == done.stdout.strip()


def test_slots_are_clean_though_the_ring_held_longer_strings(tmp_path):
    """300 long strings through a ring of one page, then short ones in the same memory: zeros behind each NUL."""
    program = build(tmp_path, "strings", STRINGS)
    text = 'syscall::getpgid:entry /pid == $target/ { printf("%s", copyinstr(arg0)); }'
    with Run(text.replace("$target", "pid"), bufsize=4096, strsize=63) as traced:
        traced.attach()
        for _ in range(4):
            slots = []
            while not slots:
                # The record of another process's call that is interrupted keeps the ring full while all these are made.
                subprocess.run([program, "300"], check=True)
                slots = [values[0] for values in traced.values()]
            for slot in slots:
                assert set(characters(slot)) <= {ord("x")} or b"x" not in slot
