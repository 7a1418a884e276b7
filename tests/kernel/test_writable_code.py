"""Functions in memory that their process may write to: refused with the remedy where the kernel does not probe them."""

import subprocess
from contextlib import contextmanager

import pytest
from support.command.command import build, sonde, start, unwrapped

PROGRAM = """
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { asm volatile("" : "+r"(n)); return n + 1; }
int main(void) {
    char byte;
    void *page = (void *)((uintptr_t)work & ~4095ul);
    int sum = 0;
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return 3;
    write(1, "x", 1);
    read(0, &byte, 1);
    for (int i = 0; i < 5; i++) sum += work(i);
    return sum != 15;
}
"""


@contextmanager
def writing(tmp_path):
    with subprocess.Popen(
        [build(tmp_path, "writing", PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.read(1) == b"x"
        yield process
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.parametrize("name", ["entry", "return", "0"])
def test_the_kernel_probes_none(tmp_path, name):
    with writing(tmp_path) as process:
        done = sonde("-n", f"pid$target:a.out:work:{name}", "-p", str(process.pid), status=1)
        several = sonde("-n", f"pid$target:a.out:wor?:{name}", "-p", str(process.pid), status=1)
    assert "its process may write to the code there, which the kernel does not probe" in unwrapped(done.stderr)
    assert "--engine embedded" in unwrapped(done.stderr)
    assert "matched 0 probes" not in done.stderr
    assert "the kernel does not probe" in unwrapped(several.stderr) or name == "0"


def test_breakpoints_are_possible_there(tmp_path):
    probes = ",".join(f"pid$target:a.out:work:{name}" for name in ("entry", "return"))
    text = f'BEGIN {{ printf("begun\\n"); }} {probes} {{ @[probename] = count(); }}'
    with writing(tmp_path) as process:
        words = ("--engine", "embedded", "-qn", text, "-p", str(process.pid))
        with start(*words, text=True) as tracing:
            assert tracing.stdout.readline() == "begun\n"
            process.stdin.write(b"x")
            process.stdin.flush()
            shown, told = tracing.communicate()
    assert shown.split() == ["entry", "5", "return", "5"], told
