"""Damaged recordings through `sonde --replay`, each in a process of its own: a shorter replay or an error, never a
traceback, in 5 s of CPU time and 512 MiB.

A longer run: SONDE_EXAMPLES=2000 pytest tests/unit/test_hostile_replays.py
"""

import os
import random
import resource
import subprocess
import sys

import pytest
import test_firing_files as firing_files
import test_hostile_packet_files as packet_files
import test_hostile_perf_data as perf_data
from example_counts import count_of

from sonde.engines.fired import MemoryRead
from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import Mapped, MappingsSnapshot

SECONDS, MEMORY = 5, 512 << 20
FORMAT = "name: it\nID: 5\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"


def recording(origin):
    """Firings with all that they can have."""
    own = os.path.realpath("/proc/self/exe")
    mapping = Mapping(4096, 1 << 20, 0, "08:01", os.stat(own).st_ino, own, True)
    begin = firing_files.some(1)[0]._replace(probe=0)
    more = [
        each._replace(
            time=10**9 + 10**6 * number, kernel_stack=(1 << 63, 5), user_stack=(8192, 9000), results=((7, 4), (12, 1)),
            reads=(*each.reads, MemoryRead(0x7F00_0000_2000, bytes(40)), MemoryRead(1 << 63, None)),
        )
        for number, each in enumerate(firing_files.some(37))
    ]  # fmt: skip
    head = firing_files.HEAD._replace(origin=origin, formats=(("own", "it", FORMAT),))
    return firing_files.written(begin, Mapped(2, 10, mapping), MappingsSnapshot(3, 10, 5, (mapping,)), *more, head=head)


def recordings(count, seed):
    whole = [recording("kernel"), recording("embedded")]
    for number in range(count):
        change = firing_files.repacked if number % 4 else firing_files.mutated
        yield change(whole[number // 4 % 2], 100_000 * seed + number)


KINDS = {
    "recording": (
        recordings,
        """syscall::openat:entry { @[copyinstr(arg1), execname, ustack(3), ppid] = count(); self->x = timestamp; }
        syscall::openat:entry /self->x/ { @s[stack(2)] = quantize(arg2); trace(rand()); trace(cpu); }
        tick-1ms { n++; } BEGIN { n = 0; } END { printf("%d %Y\\n", n, walltimestamp); }""",
    ),
    "perf.data": (
        perf_data.cases,
        """sdt:sched::sched_switch { @[args->next_pid, stringof(args->prev_comm)] = count(); } tick-10ms { n++; }
        profile-999 { @b[ustack()] = count(); } syscall::openat: { @c[arg0, execname] = count(); }""",
    ),
    "packets": (packet_files.cases, "packet::: { @[probefunc, args[0]->ip_protocol] = sum(pktlen); }"),
}


FEW = {"recording": 5, "perf.data": 1, "packets": 1}
"""How many of each, without more being asked for: the other two kinds have tests of their own."""


WORKER = f"""
import resource, signal, sys
from sonde.cli.main import main
resource.setrlimit(resource.RLIMIT_CPU, ({2 * SECONDS}, {2 * SECONDS}))
signal.alarm(60)
signal.signal(signal.SIGALRM, signal.SIG_DFL)
status = main(["sonde", *sys.argv[2:]])
with open("/proc/self/status") as own, open(sys.argv[1], "w") as file:
    file.write(next(line.split()[1] for line in own if line.startswith("VmHWM")))
sys.exit(status)
"""
"""The command, which leaves in a file how many KiB it has used at most: what `rusage` has begins with the memory of
who started it."""


def replayed(path, script, directory):
    """How `sonde --replay` ends: its status, its messages, its CPU seconds and its bytes of memory."""
    used = directory / "used"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-c", WORKER, used, "-Z", "--replay", path, "-qn", script]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    errors = done.stderr.decode(errors="replace")
    return done.returncode, errors, seconds, int(used.read_text()) << 10 if done.returncode in (0, 1) else 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_replayed_as_far_as_it_makes_sense(tmp_path, kind):
    cases, script = KINDS[kind]
    path = tmp_path / "file"
    told, count = 0, count_of(FEW[kind])
    for number, data in enumerate(cases(count, random.Random(kind).randrange(1000))):
        path.write_bytes(data)
        status, errors, seconds, memory = replayed(path, script, tmp_path)
        assert "Traceback" not in errors, (number, errors)
        assert status in (0, 1), (number, status, errors)
        assert bool(errors) or not status, number
        assert seconds < SECONDS, (number, errors)
        assert memory < MEMORY, number
        told += status
    assert told >= count // 5
