"""User stacks without frame pointers, against gdb's backtrace of the same program."""

import re
import subprocess

import packages
import pytest
from command import build, sonde

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int sink;
#define FUNCTION __attribute__((noipa))
FUNCTION void innermost(int n) { sink += n; }
static void handler(int n) { innermost(n); sink++; }
FUNCTION int leaf(int n) { sink += n; raise(SIGUSR1); return sink; }
FUNCTION int aligned(int n) {
    int block[16] __attribute__((aligned(64)));
    char more[n + 10];
    memset(block, n, sizeof block);
    memset(more, n, sizeof more);
    sink += block[3] + more[2] + leaf(n);
    return more[n];
}
FUNCTION int varying(int n) {
    char buffer[100 + n];
    memset(buffer, n, sizeof buffer);
    sink += buffer[3];
    return aligned(n) + 1;
}
static int compare(const void *a, const void *b) {
    if (!sink++)
        varying(3);
    return *(int *)a - *(int *)b;
}
FUNCTION int sorting(int n) {
    int v[4] = {3, 1, 2, n};
    qsort(v, 4, sizeof *v, compare);
    return v[0] + sink;
}
FUNCTION int recursing(int n) { return n ? recursing(n - 1) + sink : sorting(n); }
int main(int count, char **words) {
    signal(SIGUSR1, handler);
    do
        sink = 0, recursing(3);
    while (count > 1);
    return 0;
}
"""

OUR_FRAME = re.compile(r"^ *[^ `]+`([^ `]+?)(?:\+0x([0-9a-f]+))?$", re.M)
THEIR_FRAME = re.compile(r"^([^ ]+)(?: \+ (\d+))? in section", re.M)
GDB = """
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
        gdb.execute(f"info symbol {frame.pc()}")
    frame = frame.older()
"""


def ours(text):
    """Functions and offsets of a printed stack."""
    return [(name, int(offset or "0", 16)) for name, offset in OUR_FRAME.findall(text)]


def theirs(program, function, directory):
    """The same of gdb's frames in the function, without those of inlined functions and tail calls, which are not on
    the stack."""
    script = directory / "frames.py"
    script.write_text(GDB)
    commands = ["handle SIGUSR1 nostop noprint pass", f"break *{function}", "run", f"source {script}"]
    words = [word for command in commands for word in ("-ex", command)]
    shown = subprocess.run(["gdb", "-q", "-batch", *words, program], capture_output=True, text=True, timeout=60).stdout
    return [(name, int(offset or 0)) for name, offset in THEIR_FRAME.findall(shown)]


def plain(frames):
    """Up to main, where gdb ends, and without symbol versions and the numbers of a function's parts."""
    named = [(re.sub(r"@.*|\.(part|constprop|isra).*", "", name).lstrip("_"), offset) for name, offset in frames]
    end = next((number for number, (name, _) in enumerate(named) if name == "main"), len(named))
    return named[: end + 1]


@pytest.mark.parametrize("flags", [("-O2",), ("-O3", "-static"), ("-O2", "-no-pie")], ids=" ".join)
def test_as_gdb_has_it(tmp_path, flags):
    """Through libc, a signal's frame, stacks that are aligned and of varying size."""
    packages.require("gdb")
    program = build(tmp_path, "program", PROGRAM, "-fomit-frame-pointer", *flags)
    text = "pid$target:a.out:innermost:entry { ustack(); exit(0); }"
    shown = ours(sonde("-qn", text, "-x", "unwind=dwarf", "-c", program).stdout)
    assert plain(shown) == plain(theirs(program, "innermost", tmp_path))
    names = [name for name, _ in shown]
    assert {"aligned", "varying", "sorting", "main"} <= set(names)
    assert names.count("recursing") >= 3


def test_keys_depth_and_caller(tmp_path):
    program = build(tmp_path, "program", PROGRAM, "-O2", "-fomit-frame-pointer")
    text = """pid$target:a.out:innermost:entry, pid$target:a.out:leaf:entry {
        @[ustack(3)] = count();
        @depths[probefunc, ustackdepth] = count();
        @callers[probefunc, ufunc(ucaller)] = count();
    }"""
    out = sonde("-qn", text, "-x", "unwind=dwarf", "-x", "ustackframes=4", "-c", program).stdout
    assert ours(out)[0][0] == "innermost" or ours(out)[0][0] == "leaf"
    assert "leaf program`aligned 1" in " ".join(out.split())
    depths = {
        row.split()[0]: int(row.split()[1]) for row in out.splitlines() if re.match(r" +(leaf|innermost) +\d", row)
    }
    assert depths["innermost"] - depths["leaf"] in (4, 5)
    assert depths["leaf"] > 10


def test_processes_that_are_not_named(tmp_path):
    """They are looked at when one of their stacks is wanted: from then on all frames are there."""
    program = build(tmp_path, "program", PROGRAM, "-O2", "-fomit-frame-pointer")
    process = subprocess.Popen([program, "for", "ever"])
    try:
        text = f"profile-499 /pid == {process.pid}/ {{ @[ustack()] = count(); }} tick-1s /i++ == 3/ {{ exit(0); }}"
        out = sonde("-qn", text, "-x", "unwind=dwarf").stdout
    finally:
        process.kill()
        process.wait()
    stacks = [each for each in re.split(r"\n\s*\d+\n", out) if "`" in each]
    whole = [each for each in stacks if "_start" in each and "main" in each]
    assert len(whole) >= 3
    assert any("sorting" in each and "qsort" in each for each in whole)


def test_libraries_that_are_loaded_later(tmp_path):
    library = build(tmp_path, "late.so", "int f(int (*g)(int)) { return g(3) + 1; }", "-shared", "-fPIC", "-O2")
    program = build(
        tmp_path,
        "program",
        f"""
#include <dlfcn.h>
#include <unistd.h>
__attribute__((noinline)) int mark(int n) {{ usleep(n * 1000); return n + 1; }}
int back(int n) {{ return mark(n) + 1; }}
int main() {{
    int (*f)(int (*)(int)) = dlsym(dlopen("{library}", RTLD_NOW), "f");
    for (int i = 0; i < 400; i++)
        f(back);
    return 0;
}}""",
        "-O2",
        "-fomit-frame-pointer",
    )
    text = "pid$target:a.out:mark:entry { @[ustack()] = count(); }"
    out = sonde("-qn", text, "-x", "unwind=dwarf", "-c", program).stdout
    assert re.search(r"mark\n.*back\+.*\n *late.so`f\+.*\n.*main\+", out)


def test_the_option_has_two_values():
    message = sonde("-qn", "BEGIN", "-x", "unwind=orc", status=2).stderr
    assert "unwind" in message
