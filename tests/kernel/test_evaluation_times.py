"""Where a command of -c stands when tracing begins (`-xevaltime`), by the first events that fire on each engine."""

import pytest
from support.command.command import sonde

EVENTS = """
proc:::exec, proc:::exec-success /pid == $target/ { printf("%s ", probename); }
syscall:::entry, syscall:::return /pid == $target && n++ < 3/ { printf("%s:%s ", probefunc, probename); }
"""

BEGUN = ("exec-success", "execve:return")
FIRST = {
    ("kernel", "fork"): ("execve:entry", "exec", *BEGUN),
    ("kernel", "exec"): BEGUN,
    ("embedded", "exec"): BEGUN,
    ("kernel", "preinit"): ("exit_group:entry",),
    ("embedded", "preinit"): ("exit_group:entry",),
}


@pytest.mark.long
@pytest.mark.parametrize(("engine", "time"), FIRST)
def test_what_fires_first(engine, time):
    done = sonde("--engine", engine, "-q", f"-xevaltime={time}", "-n", EVENTS, "-c", "/bin/true")
    found = done.stdout.split()
    if time == "exec" and found[0] == "execve:entry":
        # Somebody else traces system calls, so the kernel has begun the call with its tracepoint.
        del found[:2]
    expected = FIRST[engine, time]
    assert tuple(found[: len(expected)]) == expected
    assert ("exec-success" in found) == ("exec-success" in expected)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_command_whose_functions_are_probed_stands_behind_its_exec(engine):
    text = f"{EVENTS} pid$target:::entry {{ }}"
    for time, has_begun in (("exec", True), ("main", False)):
        done = sonde("--engine", engine, "-q", f"-xevaltime={time}", "-n", text, "-c", "/bin/true")
        assert ("brk:entry" in done.stdout) == has_begun, (time, done.stdout)


@pytest.mark.parametrize("name", ["/etc/passwd", "/nowhere", "/"])
def test_what_cannot_be_run_is_refused_at_once(name):
    done = sonde("-q", "-xevaltime=exec", "-n", "BEGIN { trace(1); }", "-c", name, status=1)
    assert f"failed to run {name}: " in done.stderr
    assert not done.stdout.strip()
