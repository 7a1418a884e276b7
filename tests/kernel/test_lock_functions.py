"""lockstat's probes in the functions that take and give back locks: as often as a program makes the kernel do it."""

import pytest
from support.command.command import build, sonde

from sonde.engines.kernel.features import FEATURES, is_available
from sonde.machine.tracefs import find_tracefs
from sonde.providers.functions import TraceableFunctions

pytestmark = pytest.mark.every_kernel


PROGRAM = r"""
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    char byte = 0; uint64_t number = 1; int ends[2], event = eventfd(0, 0);
    pipe(ends);
    syscall(SYS_getppid);
    for (int i = 0; i < 101; i++) { write(ends[1], &byte, 1); read(ends[0], &byte, 1); }
    for (int i = 0; i < 103; i++) { write(event, &number, 8); read(event, &number, 8); }
    for (int i = 0; i < 107; i++) setpgid(0, 0);
    syscall(SYS_getppid);
    return 0;
}
"""


@pytest.fixture(autouse=True)
def functions():
    if not TraceableFunctions(find_tracefs()).readable or not _has_kprobes():
        pytest.skip("this kernel does not let its functions be probed")


def _has_kprobes():
    return is_available(next(feature for feature in FEATURES if feature.name == "kprobe"))


@pytest.fixture
def program(tmp_path):
    return build(tmp_path, "locks", PROGRAM)


def counted(program, kind, *keys):
    """How often each lock was acquired and released in the program's window, by its address and further keys."""
    names = ", ".join(f"lockstat:::{kind}-{what}" for what in ("acquire", "release"))
    words = "".join(f", {key}" for key in keys)
    text = f"""BEGIN {{ on = 0; }} syscall::getppid:entry /pid == $target/ {{ on = !on; }}
        {names} /pid == $target && on/ {{ @[(uint64_t)args[0]{words}, probename] = count(); }}"""
    lines = sonde("-q", "-c", program, "-n", text).stdout.splitlines()
    found = {}
    for *lock, name, count in (line.split() for line in lines if line.strip()):
        found.setdefault(tuple(lock), {})[name.partition("-")[2]] = int(count)
    return found


@pytest.mark.parametrize(("kind", "least"), [("adaptive", 202), ("spin", 206)])
def test_what_is_acquired_is_released(program, kind, least):
    """A pipe has a mutex, an event descriptor a spin lock, which are taken once for each byte and number."""
    found = counted(program, kind)
    assert all(int(lock) for (lock,) in found)
    assert any(
        counts.get("acquire", 0) >= least and counts["acquire"] == counts["release"] for counts in found.values()
    )


def test_readers_are_told_from_writers(program):
    """setpgid() writes to the list of tasks."""
    found = counted(program, "rw", "args[1] == RW_WRITER")
    assert {"acquire": 107, "release": 107} in [counts for (_, writes), counts in found.items() if writes == "1"]


def test_paths_are_walked(tmp_path):
    program = build(tmp_path, "paths", PROGRAM.replace("setpgid(0, 0)", 'access("/etc/passwd", 0)'))
    text = """BEGIN { on = 0; } syscall::getppid:entry /pid == $target/ { on = !on; }
        sysinfo:::namei /pid == $target && on/ { @ = sum(arg0); }"""
    assert int(sonde("-q", "-c", program, "-n", text).stdout) >= 107
