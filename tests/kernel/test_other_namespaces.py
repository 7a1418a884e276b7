"""A target in other namespaces: its program, its libraries and its debug files are where it sees them."""

import contextlib
import re
import subprocess
from pathlib import Path

import pytest
from support.command.command import build, start
from support.machine import packages
from support.machine.access import needs

from sonde.symbols.elf.file import ElfFile

pytestmark = [
    needs("CAP_SYS_ADMIN"),
    packages.needs("unshare", "objcopy", "gcc"),
]

LIBRARY = """
volatile int sink;
int inner(int n)
{
    sink = n;
    return n + 1;
}
"""

PROGRAM = r"""
#include <dlfcn.h>
#include <unistd.h>
volatile int sink;
static __attribute__((noinline)) int hidden(int n)
{
    sink = n;
    return n * 2;
}
int main(int count, char **words)
{
    char byte = 0;
    read(0, &byte, 1);
    for (int i = 0; i < 5; i++)
        hidden(i);
    int (*inner)(int) = dlsym(dlopen(words[1], RTLD_NOW), "inner");
    return inner(6) != 7;
}
"""


@pytest.fixture
def outside(tmp_path):
    """A directory with a stripped program, its debug file and a library."""
    program = build(tmp_path, "program", PROGRAM, "-g", "-Wl,--build-id")
    build(tmp_path, "libinner.so", LIBRARY, "-g", "-shared", "-fPIC")
    subprocess.run(["objcopy", "--only-keep-debug", program, f"{program}.debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", program], check=True)
    return tmp_path


def script(outside, inside, build_id):
    """Where the files are in the target's own mounts only."""
    debug = f"/usr/lib/debug/.build-id/{build_id[:2]}"
    return f"""
    set -e
    mkdir -p /usr/lib/debug {inside}
    mount -t tmpfs none /usr/lib/debug
    mkdir -p {debug}
    cp {outside}/program.debug {debug}/{build_id[2:]}.debug
    mount -t tmpfs none {inside}
    cp {outside}/program {outside}/libinner.so {inside}
    """


def started(words, name):
    """The process of that name, which the command has become or started, and the command."""
    command = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    while True:
        assert command.poll() is None
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        for pid in (command.pid, *map(int, children)):
            # Other commands of the script may end meanwhile.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                directory = Path(f"/proc/{pid}")
                is_named = (directory / "comm").read_text() == f"{name}\n"
                if is_named and "libc" in (directory / "maps").read_text():
                    return command, pid


@pytest.mark.share(1)
@pytest.mark.parametrize("namespaces", [("--mount",), ("--mount", "--pid", "--fork", "--kill-child"), ("chroot",)])
def test_symbols_lines_variables_and_libraries(outside, namespaces):
    """Of a process that is traced by its number here."""
    inside = outside / "inside"
    inside.mkdir()
    file = ElfFile.open(str(outside / "program"))
    assert file.build_id
    text = script(outside, inside, file.build_id)
    path = f"{inside}/program"
    if namespaces == ("chroot",):
        options = ("--mount",)
        root = outside / "root"
        root.mkdir()
        text += f"mount --rbind / {root}; exec chroot {root} {path} {inside}/libinner.so"
    else:
        options = namespaces
        text += f"exec {path} {inside}/libinner.so"
    command, pid = started(["unshare", *options, "sh", "-c", text], "program")
    try:
        assert not Path(path).exists(), "the program is in its own mounts only"
        program = """
        BEGIN { printf("on\\n"); }
        pid$target:a.out:hidden:entry { @["entry", probemod, probefunc] = sum(arg0); }
        pid$target:a.out:hidden:return { @["return", probemod, probefunc] = sum(arg1); }
        pid$target:a.out:program.c@7: { @["line", probemod, probefunc] = sum(1); }
        pid$target:a.out:hidden:entry { @["variable", probemod, probefunc] = sum(args->n); }
        pid$target:libinner:inner:entry { @["library", probemod, probefunc] = sum(arg0); }
        pid$target:libinner:libinner.so.c@5: { @["library line", probemod, probefunc] = sum(1); }
        """
        with start("-q", "-p", str(pid), "-n", program) as tracer:
            assert tracer.stdout.readline() == b"on\n", tracer.stderr.read()
            command.communicate(b"x")
            out, errors = tracer.communicate()
        assert tracer.returncode == 0, errors
        counts = {tuple(re.split(r" {2,}", line.strip())) for line in out.decode().splitlines() if line.strip()}
        assert counts == {
            ("entry", "a.out", "hidden", "10"),
            ("return", "a.out", "hidden", "20"),
            ("line", "a.out", "program.c@7", "5"),
            ("variable", "a.out", "hidden", "10"),
            ("library", "libinner.so", "inner", "6"),
            ("library line", "libinner.so", "libinner.so.c@5", "1"),
        }
    finally:
        command.kill()
        command.communicate()
