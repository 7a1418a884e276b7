"""Probes in functions of processes on every kernel, with multi-uprobe links or, before Linux 6.6, perf events."""

import re
import subprocess

import pytest
from support.command.command import build, sonde, start, table

pytestmark = pytest.mark.every_kernel


LIBRARY = "int later(int n) { return n + 3; }"

PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile long sink;
static inline __attribute__((always_inline)) void note(long n)
{
    sink += n;
}
__attribute__((noinline)) long seven(long a, long b, long c, long d, long e, long f, long g)
{
    note(g);
    return a + b + c + d + e + f + g;
}
int main(int count, char **words)
{
    for (int i = 0; i < 20; i++)
        seven(1, 2, 3, 4, 5, 6, i);
    note(1);
    int (*later)(int) = dlsym(dlopen(LIBRARY, RTLD_NOW), "later");
    return later(4) != 7;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    directory = tmp_path_factory.mktemp("functions")
    library = build(directory, "liblater.so", LIBRARY, "-shared", "-fPIC")
    return build(directory, "program", PROGRAM, "-g", "-O2", f'-DLIBRARY="{library}"')


def test_all_kinds_of_probes(program):
    """The seventh argument is on the stack; the line is in two functions; the library comes while they are traced."""
    listed = sonde("-l", "-c", program, "-n", "pid$target:a.out:seven:").stdout
    offsets = [line.split()[-1] for line in listed.splitlines()[1:] if line.split()[-1] not in ("entry", "return")]
    text = f"""
    pid$target:a.out:seven:entry {{ @[probename, arg6] = count(); }}
    pid$target:a.out:seven:return {{ @[probename, arg1 - 21] = count(); }}
    pid$target:a.out:seven:{offsets[1]} {{ @["offset", arg0] = count(); }}
    pid$target:a.out:program.c@9: {{ @["line", 0] = count(); }}
    pid$target:liblater.so:later:return {{ @["later", arg1] = count(); }}
    """
    counts = table(sonde("-q", "-c", program, "-n", text).stdout)
    assert counts == {
        **{(kind, str(n)): 1 for kind in ("entry", "return") for n in range(20)},
        ("offset", "1"): 20,
        ("line", "0"): 21,
        ("later", "7"): 1,
    }


def test_a_file_for_whoever_runs_it(program):
    text = f'BEGIN {{ printf("on\\n"); }} uprobe:{program}:seven:entry {{ @[pid, execname] = count(); }}'
    with start("-q", "-n", text) as tracer:
        assert tracer.stdout.readline() == b"on\n"
        pids = []
        for _ in range(2):
            process = subprocess.Popen([program])
            assert process.wait() == 0
            pids.append(process.pid)
        tracer.terminate()
        out, _ = tracer.communicate()
    assert table(out.decode()) == {(str(pid), "program"): 20 for pid in pids}


def test_a_thousand_functions(program):
    """Attached to and let go of."""
    done = sonde("-c", program, "-n", "pid$target:libc:[a-m]*:entry { @ = count(); }")
    assert int(re.search(r"matched (\d+) probes", done.stderr)[1]) >= 1000
    assert int(done.stdout.split()[-1]) > 0
