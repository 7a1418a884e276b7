"""Processes that have the memory of a traced one and were made before: they run onto its breakpoints, too."""

import os
import re
import subprocess
from contextlib import contextmanager

import pytest
from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.places import PROGRAMS

from sonde.engines.embedded.tracer import shared_memory
from sonde.engines.embedded.tracer.code_spaces import CodeSpaces
from sonde.machine import proc

SHARING = (PROGRAMS / "sharing.c").read_text()
WELL = "status 5 signal 0\n"
KINDS = ["vfork", "nested", "clone"]


@contextmanager
def sharing(kind):
    """A process whose memory another one has, which waits for a line; the number of that."""
    words = [*without_privileges(), program(SHARING), kind]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        try:
            yield target, int(target.stdout.readline())
        finally:
            target.stdin.close()


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", KINDS)
def test_what_shares_the_memory_is_traced_and_well(kind):
    """It stands until all may go, so none of its calls is missed; `pid` probes are for the process alone."""
    text = f"""
    BEGIN {{ system("echo > /proc/%d/fd/0", $target); }}
    uprobe:{program(SHARING)}:step:entry {{ @[pid == $target ? "own" : "other"] = count(); }}
    pid$target:a.out:step:entry {{ @["pid"] = count(); }}
    """
    with sharing(kind) as (target, _):
        done = sonde("--engine", "embedded", "-q", "-w", "-n", text, "-p", str(target.pid))
        assert target.stdout.read() == WELL
    assert dict(re.findall(r"^ +(\w+) +(\d+)$", done.stdout, re.MULTILINE)) == {"own": "4", "pid": "4", "other": "3"}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_what_shares_the_memory_is_let_go(kind):
    """While it waits, and who has made it by vfork cannot stop."""
    text = "pid$target:a.out:step:entry, pid$target:a.out:step:return { @ = count(); } BEGIN { exit(0); }"
    with sharing(kind) as (target, _):
        assert sonde("--engine", "embedded", "-q", "-n", text, "-p", str(target.pid)).stderr == ""
        target.stdin.write("\n")
        target.stdin.flush()
        assert target.stdout.read() == WELL


def test_no_breakpoint_is_put_where_an_untraced_process_would_run_onto_it():
    with sharing("vfork") as (target, made):
        other = [*without_privileges(), SONDE, "--engine", "embedded", "-q", "-p", str(made), "-n"]
        text = 'BEGIN { printf("begun\\n"); } syscall::getppid:entry { @ = count(); }'
        with subprocess.Popen([*other, text], stdout=subprocess.PIPE, text=True) as tracer:
            assert tracer.stdout.readline() == "begun\n"
            text = "pid$target:a.out:step:entry { @ = count(); }"
            done = sonde("--engine", "embedded", "-q", "-n", text, "-p", str(target.pid), status=1)
            said = " ".join(done.stderr.split())
            assert f"failed to grab pid {made}, which has the memory of process {target.pid}" in said
            assert "already traced by process" in said
            target.stdin.write("\n")
            target.stdin.flush()
            assert target.stdout.read() == WELL
            tracer.stdout.read()


@pytest.mark.parametrize("is_compared", [True, False], ids=["kcmp", "no-kcmp"])
def test_who_shares_a_memory_is_known_and_who_has_a_copy_not(is_compared, monkeypatch):
    """Where kcmp(2) is refused, of vfork's alone."""
    if not is_compared:
        monkeypatch.setattr(shared_memory, "_compared", lambda tid, other: -1)
    for kind in ("vfork", "fork", *(["clone"] if is_compared else [])):
        with sharing(kind) as (target, made):
            while kind == "vfork" and proc.stat(target.pid).state != "D":
                os.sched_yield()
            assert shared_memory.owners(target.pid) == ([] if kind == "fork" else [made])


@pytest.mark.parametrize("kind", ["clone", "fork"])
def test_a_memory_is_known_as_one_also_when_the_process_that_it_is_known_by_is_gone(kind):
    with sharing(kind) as (target, made):
        spaces = CodeSpaces()
        spaces.find([target.pid, made])
        space = spaces.by_tid[made]
        assert (spaces.by_tid[target.pid] is space) == (kind == "clone")
        spaces.forget(target.pid)
        assert space.pid == made
        assert space.mappings(space.pid)
        spaces.forget(made)
