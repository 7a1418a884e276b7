"""How a session ends: signals, readers that go away, files that take no more; and how soon a line is seen."""

import os
import select
import signal
import subprocess
import time

import pytest
from support.command.command import SONDE, environment, sonde, start
from support.machine.descriptors import bpf_objects

TICK = 'tick-50ms { printf("tick\\n"); } END { printf("end\\n"); }'


def first_line(process):
    """Wait until the process has printed something."""
    assert select.select([process.stdout], [], [], 20)[0]
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return line


@pytest.mark.share(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_runs_end_prints_aggregations_and_leaves_with_0(number):
    process = start("-qn", TICK + " tick-50ms { @left = count(); }")
    first_line(process)
    process.send_signal(number)
    out, messages = process.communicate()
    assert (process.returncode, messages) == (0, b"")
    lines = out.split()
    assert lines[-2] == b"end"
    assert lines[-1].isdigit()


@pytest.mark.long
def test_a_second_signal_ends_at_once():
    """Though the output is not read: no waiting for END's text to go anywhere."""
    load = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none"])
    process = start("-qn", 'syscall:::entry { printf("%s %s %d\\n", probefunc, execname, timestamp); }')
    try:
        first_line(process)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT
    finally:
        for each in (load, process):
            each.kill()
            each.communicate()


def test_a_line_is_seen_within_a_fifth_of_a_second():
    """Into a pipe; measured from the time of the event to that of the reading, with nothing else in the ring."""
    process = start("-qn", 'tick-400ms { printf("%d\\n", timestamp); }')
    delays = []
    try:
        for _ in range(4):
            stamp = int(first_line(process))
            delays.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - stamp)
    finally:
        process.kill()
        process.communicate()
    assert sorted(delays)[1] < 100_000_000
    assert max(delays) < 400_000_000


def test_a_reader_that_goes_away_ends_it_quietly():
    text = 'syscall:::entry { printf("%s\\n", probefunc); }'
    words = ["sh", "-c", '"$0" -qn "$1" | head -3', SONDE, text]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 3


def test_killing_leaves_nothing_attached():
    """The kernel has as many programs and maps afterwards as before."""

    process = start("-qn", TICK + " syscall:::entry, sdt:sched::, profile-97 { @[probename] = count(); }")
    first_line(process)
    ours = bpf_objects(process.pid)
    assert {kind for kind, _ in ours} >= {"map_id"}
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while (left := {one for one in ours if is_there(*one)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def is_there(kind, number):
    """Whether the kernel still has a BPF object."""
    from sonde.engines.kernel.syscalls import bpf

    command = {"prog_id": 13, "map_id": 14, "link_id": 30}[kind]
    attributes = bytearray(16)
    attributes[:4] = int(number).to_bytes(4, "little")
    try:
        os.close(bpf(command, attributes))
    except FileNotFoundError:
        return False
    return True


def test_the_end_of_the_command_is_the_end():
    done = sonde("-qc", "sh -c 'exit 3'", "-n", TICK)
    assert done.stdout.split()[-1] == "end"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("/nonexistent", "failed to run /nonexistent: No such file or directory"),
        ("/etc/passwd", "failed to run /etc/passwd: Permission denied"),
        ("", "failed to run: the command is empty"),
        ("'unclosed", "failed to run 'unclosed: no closing quotation"),
    ],
)
def test_a_command_that_cannot_run_is_one_message(command, message):
    assert sonde("-c", command, "-n", "BEGIN", status=1).stderr == f"sonde: {message}\n"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "text", ["BEGIN { trace(1); exit(0); }", "BEGIN { @ = count(); exit(0); }", "tick-20ms { trace(1); }"]
)
def test_a_full_disk_is_one_message(text):
    with open("/dev/full", "wb") as full:
        done = start("-qn", text, stdout=full)
        messages = done.communicate()[1]
    assert (done.returncode, messages) == (1, b"sonde: processing aborted: No space left on device\n")


def test_a_closed_output_is_one_message():
    """No file of sonde's own takes its place."""
    words = ["sh", "-c", '"$0" -qn "BEGIN { trace(1); exit(0); }" >&-', SONDE]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (1, "sonde: processing aborted: the standard output is closed\n")


def test_sizes_that_no_kernel_allows_are_one_message():
    for words in (("-b", "100g"), ("-xaggsize=100g",)):
        done = sonde(*words, "-qn", 'BEGIN { @[1] = count(); s = "x"; trace(s); exit(0); }', status=1)
        assert "Traceback" not in done.stderr
        assert "large" in done.stderr


STORM = 'syscall::write:entry /pid == $1/ { system("echo storm"); @ = count(); }'


@pytest.fixture
def storm():
    """A process that writes as fast as it can."""
    load = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none"])
    yield str(load.pid)
    load.kill()
    load.wait()


def test_commands_that_wait_behind_a_signal_are_dropped_and_counted(storm):
    """Thousands of them, of some milliseconds each; END's own is run."""
    process = start("-wqn", STORM + ' END { system("echo end"); }', storm)
    # While some are run hundreds come.
    for _ in range(8):
        first_line(process)
    process.send_signal(signal.SIGINT)
    out, messages = process.communicate()
    assert process.returncode == 0
    assert out.split()[-2] == b"end"
    (line,) = (line for line in messages.splitlines() if b"dropped command" in line)
    assert int(line.split()[1]) > 101


def test_a_second_signal_ends_a_command_that_is_waited_for():
    process = start("-wqn", 'BEGIN { system("echo $$; exec sleep 100 2> /dev/null"); }')
    command = int(first_line(process))
    try:
        process.send_signal(signal.SIGTERM)
        # Two at once are one for a process that has not run in between.
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            os.sched_yield()
        assert process.returncode == 128 + signal.SIGTERM
    finally:
        os.kill(command, signal.SIGKILL)
        process.communicate()


@pytest.mark.long
def test_commands_that_wait_behind_exit_are_run_but_not_those_of_a_storm(storm):
    process = start("-wqn", STORM + " tick-1s { exit(3); }", storm)
    _, messages = process.communicate()
    assert process.returncode == 3
    assert b"dropped command" in messages
    done = sonde("-wqn", 'BEGIN { system("echo 1"); system("echo 2"); exit(0); } END { system("echo 3"); }')
    assert done.stdout.split() in (["1", "2", "3"], [b"1", b"2", b"3"])
    assert not done.stderr
