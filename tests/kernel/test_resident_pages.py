"""Memory that a process has not touched is read all the same where a program may wait for it."""

import os

import pytest
from support.command.command import build, sonde
from support.d import d_run, everything
from support.d.d_run import Run

from sonde.bpf.programs import F_SLEEPABLE
from sonde.engines.kernel.features import FOR_PROGRAMS, FOR_UPROBES, detect
from sonde.machine.system import current_target

pytestmark = pytest.mark.every_kernel

STRING = 'string s; BEGIN { s = "/every/where/"; }\n'

PROGRAM = r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void look(const char *text, const char *across, const long *number)
{
    asm volatile("" :: "r"(text), "r"(across), "r"(number));
}
int main(int count, char **words)
{
    int file = open(words[1], O_RDONLY);
    char *memory = mmap(0, 64 * 4096, PROT_READ, MAP_PRIVATE, file, 0);
    /* One page at a time, not those around it that are in the cache. */
    madvise(memory, 64 * 4096, MADV_RANDOM);
    for (int i = 0; i < 60; i += 3)
        look(memory + 4096 * i + 8, memory + 4096 * i + 4090, (long *)(memory + 4096 * (i + 2) + 64));
    look((char *)8, memory, (long *)memory);
    return 0;
}
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pages")
    program = build(directory, "program", PROGRAM)
    page = bytearray(4096)
    page[0:8] = b"seconds\0"
    page[8:16] = b"a text\0\0"
    page[64:72] = (42).to_bytes(8, "little")
    page[4090:] = b"first-"
    (directory / "file").write_bytes(page * 64)
    return f"{program} {directory}/file"


@pytest.fixture
def with_uprobes(monkeypatch):
    """Programs are compiled with what the kernel has for uprobes."""
    monkeypatch.setattr(d_run, "_target", current_target(detect((*FOR_PROGRAMS, *FOR_UPROBES))))


def test_pages_are_brought_in(command):
    """Strings, one of them in two pages, and an object; what is no memory stays a fault."""
    text = """
    pid$target:a.out:look:entry
    {
        @[copyinstr(arg0), copyinstr(arg1), *(long *)copyin(arg2, 8)] = count();
    }
    ERROR { @["fault", "", arg5] = count(); }
    """
    counts = sonde("-q", "-c", command, "-n", text).stdout
    assert {tuple(line.split()) for line in counts.splitlines() if line.strip()} == {
        ("a", "text", "first-seconds", "42", "20"),
        ("fault", "8", "1"),
    }


@pytest.mark.long
def test_a_sleepable_program_has_every_subroutine(with_uprobes):
    """None of them needs what only other programs may do."""
    statements = [s for s in everything.supported(everything.subroutines(), STRING) if "out" not in s]
    text = everything.program(statements, STRING)
    text = text.replace(everything.PROBE, f"uprobe:libc:write:entry /pid == {os.getpid()}/")
    with Run(text) as run:
        run.begin()
        assert any(program.flags == F_SLEEPABLE for program in run.spec.programs)
        run.attach()
        with open("/dev/null", "wb", buffering=0) as file:
            file.write(b"a written text\0")
        assert [record for record in run.raw_records() if record.probe]
        assert run.faults() == []


def test_what_is_replaced_is_not_for_a_program_that_waits(with_uprobes):
    """The map of an aggregation that is truncated: who replaces it would not wait for such a program."""
    for action, flags in (("trunc(@)", 0), ("printa(@)", F_SLEEPABLE)):
        with Run(f"uprobe:libc:write:entry {{ @[copyinstr(arg1)] = count(); }} END {{ {action}; }}") as run:
            (program,) = [each for each in run.spec.programs if each.name not in ("END", "BEGIN")]
            assert program.flags == flags
