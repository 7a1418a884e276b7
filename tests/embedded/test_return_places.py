"""Breakpoints are written where functions return to and nowhere else, and slots are where nothing grows."""

import os
import re
import subprocess
import time
from pathlib import Path

from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.machine import compilers, packages
from support.machine.processes import children
from support.places import PROGRAMS

from sonde.arch import instructions

CALLS = [
    "call other", "call *%rax", "call *%r13", "call *(%rbx)", "call *(%r12)", "call *(%rsp)", "call *8(%rdi)",
    "call *8(%rsp,%rax,4)", "call *0x12345(%rdx)", "call *0x12345(%rsp)", "call *other(%rip)", "call *other(,%rax,8)",
    "call *(%rax,%rbx,2)", "call *(%rbp)", "call *%fs:0x10", "bnd call other", "notrack call *%rdx",
]  # fmt: skip
OTHERS = [
    "ret", "nop", "jmp other", "jmp *%rax", "jmp *8(%rdi)", "push $-2", "mov $15, %rax", "syscall", "push *8(%rsp)",
    "dec %edx", "lea 8(%rsp), %rax",
]  # fmt: skip


@packages.needs("gcc")
def test_what_stands_behind_a_call_is_known():
    """The assembler's calls, and its other instructions."""
    written = [each.replace("push *", "push ") for each in (*CALLS, *OTHERS)]
    lines = [f".balign 32, 0x90\nbegin{n}: .skip 16, 0x90\n{each}\nend{n}:" for n, each in enumerate(written)]
    text = "\n".join([".text", ".globl begin0, last", "other:", *lines, "last:", ".rept 16\nnop\n.endr"])
    sizes = "".join(f"\n.quad end{n} - begin0" for n in range(len(written)))
    text += f"\n.data\n.globl sizes\nsizes:{sizes}\n"
    main = f"""
        #include <stdio.h>
        extern unsigned char begin0[], last[]; extern long sizes[];
        int main() {{
            for (int n = 0; n < {len(written)}; n++, puts(""))
                for (int i = -7; i < 0; i++) printf("%02x", begin0[sizes[n] + i]);
        }}"""
    words = ["gcc", "-no-pie", "-w", "-o", "program", "main.c", "calls.s"]
    path = compilers.kept(words, {"main.c": main, "calls.s": text}, "program")
    found = subprocess.run([path], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    known = [
        each for each, code in zip(written, found, strict=True) if instructions.is_behind_call(bytes.fromhex(code))
    ]
    assert known == CALLS


SLOTS = re.compile(r"^\S+ r-xp \S+ 00:00 0 *$", re.MULTILINE)
LIBRARY = """
__attribute__((noinline)) int once(void) { __asm__ volatile(""); return 1; }
int twice(void) { int first = once(); return first + once(); }
"""


def test_what_has_a_closed_library_s_place_is_not_changed():
    """Breakpoints are taken out when sonde is killed: by then they are gone with the library."""
    library = str(
        compilers.kept(
            ["gcc", "-shared", "-fPIC", "-O1", "-o", "libonce.so", "once.c"], {"once.c": LIBRARY}, "libonce.so"
        )
    )
    closing = program((PROGRAMS / "closing.c").read_text())
    text = f"pid$target:{library}:*:entry, pid$target:{library}:*:return {{ @ = count(); }}"
    command = [*without_privileges(), SONDE, "--engine", "embedded", "-q", "-n", text, "-c", f"{closing} {library}"]
    reader, writer = os.pipe()
    with subprocess.Popen(command, stdin=reader, stdout=subprocess.PIPE, text=True) as tracer:
        os.close(reader)
        assert tracer.stdout.readline() == "ready 2\n"
        (pid,) = [each for each in children(tracer.pid) if Path(f"/proc/{each}/exe").resolve() == Path(closing)]
        tracer.kill()
        tracer.wait()
        # The guardian takes the breakpoints out, then has the program unmap the slots.
        while SLOTS.search(Path(f"/proc/{pid}/maps").read_text()):
            time.sleep(0.01)
        os.write(writer, b"x")
        assert tracer.stdout.read() == "0\n"
        os.close(writer)


GROWING = """
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long step(long n) { __asm__ volatile(""); return n + 1; }
int main(void) {
    long sum = 0;
    for (int i = 0; i < 99; i++) {
        sum = step(sum);
        if (sbrk(1 << 16) == (void *)-1)
            return 9;
    }
    printf("%ld\\n", sum);
    return 0;
}
"""


@packages.needs("setarch")
def test_the_heap_grows_on_beside_slots():
    """With fixed addresses it begins directly behind the program's data."""
    growing = program(GROWING)
    text = f"uprobe:{growing}:step:return {{ @ = count(); }}"
    done = sonde("--engine", "embedded", "-qxexit=command", "-n", text, "-c", f"setarch -R {growing}")
    assert done.stdout.split() == ["99", "99"]
