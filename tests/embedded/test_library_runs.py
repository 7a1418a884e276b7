"""Runs of the library on both engines: exact, several at once, and leaving nothing behind."""

import asyncio
import gc
import glob
import json
import operator
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.command.targets import program
from support.machine import packages
from support.suite.example_counts import count_of

import sonde

CALLS = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    char go;
    if (count > 2) read(0, &go, 1);
    for (long calls = atol(words[1]); calls; calls--) syscall(SYS_getppid);
    return 7;
}
"""

COUNTED = """
syscall::getppid:entry /pid == $target/ { @calls[execname] = count(); printf("%d %s", pid, execname); }
"""

ENGINES = ["kernel", "embedded"]
RUNS = max(12, count_of(24))

pytestmark = [pytest.mark.examples, packages.needs("gcc")]


def calls(number):
    return [program(CALLS), str(number)]


def outcome(run, records):
    (found,) = run.aggregations["calls"].values()
    return len(records), int(found), run.losses, os.waitstatus_to_exitcode(run.command_status)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_two_threads_and_a_task_trace_at_once(engine):
    outcomes, words = {}, calls(3000)

    def in_thread(number):
        with sonde.trace(COUNTED, words, engine=engine) as run:
            records = [event for event in run if isinstance(event, sonde.Record)]
        outcomes[number] = outcome(run, records)

    async def in_task():
        with sonde.trace(COUNTED, words, engine=engine) as run:
            records = [event async for event in run if isinstance(event, sonde.Record)]
        outcomes["task"] = outcome(run, records)

    threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(2)]
    for each in threads:
        each.start()
    asyncio.run(in_task())
    for each in threads:
        each.join()
    assert outcomes == dict.fromkeys((0, 1, "task"), (3000, 3000, [], 7))


@pytest.mark.long
def test_three_runs_look_at_one_process():
    """Each has a probe of its own in the kernel."""
    with subprocess.Popen([*calls(20000), "wait"], stdin=subprocess.PIPE) as child:
        found = []

        def watch(ready):
            with sonde.trace(COUNTED, pids=[child.pid], engine="kernel") as run:
                ready.wait()
                found.append(sum(isinstance(event, sonde.Record) for event in run))

        ready = threading.Barrier(4)
        threads = [threading.Thread(target=watch, args=(ready,)) for _ in range(3)]
        for each in threads:
            each.start()
        ready.wait()
        child.stdin.close()
        for each in threads:
            each.join()
    assert found == [20000] * 3


def test_a_second_tracer_of_a_process_is_told_of_the_first():
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            with (
                sonde.trace("syscall:::entry { @ = count(); }", pids=[child.pid], engine="embedded"),
                pytest.raises(sonde.Error, match=r"already traced by process \d+ \(sonde-guardian\)"),
                sonde.trace("syscall:::entry { @ = count(); }", pids=[child.pid], engine="embedded"),
            ):
                raise AssertionError("it began")
        finally:
            child.kill()


@pytest.mark.parametrize("engine", ENGINES)
def test_values_are_those_that_were_recorded(engine):
    text = """
    syscall::getppid:entry /pid == $target/ {
        printf("%d %s %c", pid + 40000000000, execname, 'x'); trace(pid);
    }"""
    with sonde.trace(text, calls(1), engine=engine) as run:
        first, second = [event for event in run if isinstance(event, sonde.Record)]
    assert first.names == ("pid + 40000000000", "execname", "'x'")
    assert first["execname"] == os.path.basename(program(CALLS))[:15]
    assert first[2] == ord("x")
    assert second["pid"] == first[0] - 40000000000 > 0
    assert (first.probe.provider, first.probe.function, first.probe.name) == ("syscall", "getppid", "entry")
    assert 0 <= time.monotonic_ns() - first.time < 60 * 10**9
    assert first.time == second.time


@pytest.mark.parametrize("engine", ENGINES)
def test_text_is_the_commands(engine):
    text = 'syscall::getppid:entry /pid == $target/ { printf("%d\\n", 7); @calls = count(); }'
    with sonde.trace(text, calls(3), engine=engine, options={"quiet": True}, output="text") as run:
        found = b"".join(event.text for event in run if isinstance(event, sonde.Text))
    words = [sys.executable, "-m", "sonde", "--engine", engine, "-q", "-n", text, "-c", " ".join(calls(3))]
    assert found == subprocess.run(words, capture_output=True, check=True).stdout


def test_a_file_gets_the_text(tmp_path):
    with open(tmp_path / "text", "wb") as file, sonde.trace('BEGIN { trace("there"); exit(4); }', output=file) as run:
        assert [*run] == [sonde.Exit(4)]
    assert b"there" in (tmp_path / "text").read_bytes()
    assert run.exit_status == 4


def test_aggregations_are_read_while_they_grow():
    with sonde.trace("profile:::tick-100hz { @ticks = count(); @more[1] = quantize(5); }", engine="kernel") as run:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and run.aggregations["ticks"].snapshot().get((), 0) < 3:
            time.sleep(0.01)
        earlier = run.aggregations["ticks"][()]
        assert earlier >= 3
        assert run.aggregations["more"][1].total >= 1
    assert run.aggregations["ticks"][()] >= earlier


def test_a_duration_ends_a_run():
    with sonde.trace("tick-1ms { @ = count(); }", engine="kernel", duration=0.3) as run:
        begin = time.monotonic()
        assert run.wait() == 0
    assert time.monotonic() - begin >= 0.25


@pytest.mark.long
def test_unread_records_do_not_hold_a_run():
    """Nobody iterates: aggregations are answered, and the block ends."""
    text = 'profile:::profile-4999hz { printf("%d %d %d %d", 1, 2, 3, 4); @ = count(); }'
    with sonde.trace(text, engine="kernel") as run:
        time.sleep(0.3)
        assert run.aggregations["_"][()] > 0


def test_losses_are_told():
    text = 'profile:::profile-4999hz { printf("%d", 1); @ = count(); }'
    with sonde.trace(text, engine="kernel", options={"bufsize": "4k", "switchrate": "1s"}, duration=2.5) as run:
        records = sum(isinstance(event, sonde.Record) for event in run)
    assert sum(loss.lost for loss in run.losses if loss.kind == "records") > 0
    assert records + sum(loss.lost for loss in run.losses if loss.kind == "records") == run.aggregations["_"][()]


def test_a_fault_is_an_event():
    with sonde.trace("BEGIN { trace(*(int *)0); } ERROR { exit(1); }", engine="kernel") as run:
        (error,) = [event for event in run if isinstance(event, sonde.ProbeError)]
    assert error.reason == "invalid address"
    assert error.probe.name == "BEGIN"


def test_destructive_programs_have_to_be_allowed():
    script = sonde.compile("BEGIN { stop(); exit(0); }")
    with pytest.raises(sonde.NotPermittedError, match="destructive"), script.run(engine="kernel"):
        raise AssertionError("it began")


def test_a_script_is_kept_and_run_again():
    script = pickle.loads(pickle.dumps(sonde.compile("BEGIN { exit($1); }", arguments=[9])))
    for _ in range(2):
        with script.run(engine="kernel") as run:
            assert run.wait() == 9
    assert [str(each) for each in script.probes] == ["dtrace:::BEGIN"]
    assert "program BEGIN" in script.disassemble()


def test_nothing_of_the_process_changes():
    """Signal handlers, standard files, children of others."""
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    with subprocess.Popen(["true"]) as other:
        with sonde.trace(COUNTED, calls(10), engine="kernel") as run:
            run.wait()
        assert other.wait() == 0
    assert before == [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]


def resources():
    """Descriptors, threads of Python and threads of the process, some of which libraries keep."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))


def exceed(before):
    """True if more resources are held than before. Joined threads get time to end."""
    end = time.monotonic() + 5
    while (more := any(map(operator.gt, resources(), before))) and time.monotonic() < end:
        time.sleep(0.01)
    return more


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_leave_nothing_in_the_process(engine):
    """As many runs as are asked for: no more descriptors, threads and memory than after ten."""
    script = sonde.compile(COUNTED, engine=engine)
    for number in range(RUNS):
        with script.run(calls(3), engine=engine) as run:
            assert sum(isinstance(event, sonde.Record) for event in run) == 3
        if number == 9:
            before, size = resources(), memory()
    assert not exceed(before)
    assert memory() - size < 5 << 20


def ancestors():
    """The processes from this one up to the first."""
    count, pid = 0, os.getpid()
    while pid:
        count, pid = count + 1, int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return count


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_leave_little_to_the_garbage_collector(engine):
    """What is in circles waits for it, which comes the later the more a process has."""
    script = sonde.compile(COUNTED, engine=engine)

    def run():
        with script.run(calls(3), engine=engine) as run:
            assert sum(isinstance(event, sonde.Record) for event in run) == 3

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        # A run looks at the process's ancestors, each of which leaves a task, its process and a cell.
        assert gc.collect() < 232 + 3 * ancestors()
    finally:
        gc.enable()


def test_a_run_that_never_begins_opens_nothing():
    before = resources()
    unused = [sonde.compile("BEGIN { exit(0); }", engine="embedded").run() for _ in range(3)]
    for run in unused:
        run.stop()
    assert not exceed(before)


def own_programs(pid):
    """The BPF programs that a process holds."""
    found = []
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        # That of the directory itself has been closed.
        with suppress(FileNotFoundError), open(path) as file:
            found += [line.split()[1] for line in file if line.startswith("prog_id:")]
    return found


def test_an_exception_in_the_block_detaches_all():
    class OwnError(Exception):
        pass

    def leave():
        assert own_programs("self")
        raise OwnError

    with pytest.raises(OwnError), sonde.trace("profile:::profile-97hz { @ = count(); }", engine="kernel"):
        leave()
    assert not own_programs("self")


def test_a_killed_process_leaves_nothing_attached():
    text = """
    import sonde, sys, time
    with sonde.trace("profile:::profile-97hz { @ = count(); }", engine="kernel") as run:
        print("begun", flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begun\n"
        held = own_programs(child.pid)
        assert held
        child.kill()
    limit = time.monotonic() + 20
    while time.monotonic() < limit and set(held) & set(shown_programs()):
        time.sleep(0.1)
    assert not set(held) & set(shown_programs())


def shown_programs():
    done = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


LISTING = """
import ctypes, json, struct
libc, found, last = ctypes.CDLL(None, use_errno=True), [], 0
while True:
    attributes = ctypes.create_string_buffer(struct.pack("<III", last, 0, 0), 128)
    if libc.syscall(321, 11, attributes, 12) < 0:
        break
    last = struct.unpack_from("<I", attributes, 4)[0]
    found.append(str(last))
print(json.dumps(found))
"""
"""BPF_PROG_GET_NEXT_ID of bpf(2)."""
