"""Functions of bpftrace's language that ask the kernel: names of processes by their numbers, its trace buffer."""

import os
import re
from pathlib import Path

import pytest
from support.command.command import sonde

TRACE = Path("/sys/kernel/tracing/trace")


def bt(program, *words, **more):
    return sonde("bt", "-q", *words, "-e", program, **more)


def test_processes_have_their_names():
    own = os.getpid()
    name = Path(f"/proc/{own}/comm").read_text().strip()
    program = f"begin {{ printf('%s|%s|%s', comm({own}), comm(2), comm(pid)); if (comm(1) == comm(2)) {{ exit(9); }} }}"
    assert bt(program.replace("'", '"')).stdout.strip() == f"{name}|kthreadd|bpftrace"


@pytest.mark.share(1)
@pytest.mark.parametrize("number", [-1, 0, 4_000_000, 1 << 40])
def test_a_process_that_is_not_there_has_none(number):
    done = bt(f"begin {{ print(comm({number})); }}")
    assert done.stdout.strip() == "N/A"
    assert re.fullmatch(rf"stdin:1:15-\d+: WARNING: No such process \(pid={number}\)\n", done.stderr)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("debugf('sonde test')", "sonde test"),
        ("debugf('%s=%d %x|%5d|%c', comm, -7, 255, 3, 65)", "bpftrace=-7 ff|    3|A"),
        ("debugf('%d %d %d 100%%', 1, 2, 3)", "1 2 3 100%"),
    ],
)
def test_the_trace_buffer_is_written_to(call, shown):
    before = TRACE.read_text().count(shown)
    done = bt(f"begin {{ {call}; }}".replace("'", '"'))
    assert "not recommended" in done.stderr
    assert TRACE.read_text().count(f"bpf_trace_printk: {shown}\n") == before + 1


def test_what_the_trace_buffer_cannot_show_is_refused():
    told = bt('begin { debugf("%r", buf("ab", 2)); }', status=1).stderr
    assert "debugf(): the kernel's trace buffer shows no %r" in told
    told = bt('begin { debugf("x"); }', "--engine", "embedded", "-c", "true", status=1).stderr
    assert "which the embedded engine has not" in told


def test_a_socket_that_may_be_null_has_a_cookie():
    program = "rawtracepoint:net_dev_queue { @[socket_cookie(args.skb.sk)] = count(); } interval:ms:50 { exit(); }"
    assert bt(program).returncode == 0


def test_the_user_s_mode_is_that_of_samples():
    busy = "python3 -c 'sum(range(4000000))'"
    done = bt("profile:hz:999 /pid == cpid/ { @[usermode] = count(); }", "-c", busy)
    modes = dict(re.findall(r"@\[([01])\]: (\d+)", done.stdout))
    assert int(modes["1"]) > int(modes.get("0", 0))


def test_timers_that_want_to_fire_too_often_fire_as_often_as_may_be():
    done = bt("i:us:1 { @++; if (@ > 50) { exit(); } }")
    assert "interval:us:1 fires every 200 us" in done.stderr
    assert done.stdout.strip() == "@: 51"
