"""Variables of the thread that fires, in bpftrace's language, on both engines, its control group above all."""

import os
import re
from pathlib import Path

import pytest
from support.command.command import sonde

ENGINES = ("kernel", "embedded")


@pytest.fixture
def group():
    """A control group of version 2, and another below it."""
    root = next(
        (line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line), None
    )
    if root is None:
        pytest.skip("no hierarchy of version 2 is mounted")
    path = Path(root) / f"sonde-{os.getpid()}" / "below"
    path.mkdir(parents=True)
    yield path
    path.rmdir()
    path.parent.rmdir()


@pytest.mark.parametrize("engine", ENGINES)
def test_control_groups_of_processes_that_move(engine, group):
    """Each call has the group that its process had then, also of processes that are gone by now."""
    program = 'tracepoint:syscalls:sys_enter_execve /comm != "bpftrace"/ { @[cgroup] = count(); }'
    command = f"/bin/sh -c '/bin/true; echo $$ > {group}/cgroup.procs; /bin/true; /bin/true; :'"
    done = sonde("bt", "-q", "--engine", engine, "-e", program, "-c", command)
    root = group.parent.parent.stat().st_ino
    found = dict(re.findall(r"@\[(\d+)\]: (\d+)", done.stdout))
    assert found[str(group.stat().st_ino)] == "2"
    assert int(found[str(root)]) >= 1


BARE = """
cgroup comm cpid cpu curtask elapsed gid has_cpid jiffies kstack leader_comm leader_tid ncpus nsecs numaid pcomm pid
ppid probe probetype rand tid uid usermode username ustack default_str_length
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_all_variables_of_every_probe_are_there_on_both_engines(engine):
    shown = "".join(f"@{name} = {name};" for name in BARE.split() if "stack" not in name)
    stacks = "@k[kstack] = 1; @u[ustack] = 1;"
    done = sonde("bt", "-q", "--engine", engine, "-e", f"begin {{ {shown} {stacks} }}", "-c", "true")
    assert set(re.findall(r"^@(\w+)[:[]", done.stdout, re.MULTILINE)) == {
        *(name for name in BARE.split() if "stack" not in name), "k", "u",
    }  # fmt: skip
