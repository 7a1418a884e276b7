"""Speculations in the kernel: taken, written, committed and discarded, on several CPUs at once."""

import struct

import pytest
from support.command.command import build, sonde
from support.d.d_run import Run
from support.machine.access import needs

from sonde.model.named_maps import CLOSED, COMMITTED, DISCARDED, FREE, SPECULATING, SPECULATIONS

pytestmark = needs("CAP_BPF", "CAP_PERFMON")


def states(run):
    """The state of each speculation from 1 on."""
    return [int.from_bytes(value, "little") for _, value in run.tracing.read_map(SPECULATIONS)][1:]


def test_numbers_are_given_out_from_one_on_until_there_are_none():
    with Run("BEGIN { a = speculation(); b = speculation(); c = speculation(); }", nspec=2) as run:
        run.begin()
        assert run.globals() == {"a": 1, "b": 2, "c": 0}
        assert run.lost() == {"unavailable_speculations": 1}
        assert states(run) == [SPECULATING, SPECULATING]


def test_without_any_there_is_none():
    with Run("BEGIN { a = speculation(); }", nspec=0) as run:
        assert run.begin().globals() == {"a": 0}


def test_as_many_speculations_as_there_may_be():
    with Run("BEGIN { a = speculation(); b = speculation(); }", nspec=1024) as run:
        run.tracing.write_map(SPECULATIONS, struct.pack("<I", 1), struct.pack("<Q", CLOSED))
        assert run.begin().globals() == {"a": 2, "b": 3}


def test_a_closed_one_is_busy_until_the_consumer_frees_it():
    text = "BEGIN { a = speculation(); discard(a); b = speculation(); }"
    with Run(text) as run:
        assert run.begin().globals() == {"a": 1, "b": 0}
        assert run.lost() == {"busy_speculations": 1}
        assert states(run) == [CLOSED]
        run.tracing.write_map(SPECULATIONS, struct.pack("<I", 1), struct.pack("<Q", FREE))
        assert run.begin().globals() == {"a": 1, "b": 0}


@pytest.mark.parametrize("number", ["0", "1", "2", "-1", "1 << 20"])
def test_a_clause_stops_that_speculates_on_what_is_not_active(number):
    with Run(f"BEGIN {{ x = 1; speculate({number}); x = 2; trace(x); }}") as run:
        assert run.begin().globals() == {"x": 1}
        assert run.raw_records() == []


@pytest.mark.parametrize(("number", "faults"), [("0", []), ("1", []), ("2", [(1, 1, 3, 0)]), ("-1", [(1, 1, 3, 0)])])
@pytest.mark.parametrize("action", ["commit", "discard"])
def test_closing_what_is_not_active_is_ignored_but_not_what_cannot_be(action, number, faults):
    with Run(f"BEGIN {{ {action}({number}); }}") as run:
        assert run.begin().faults() == faults
        assert run.raw_records() == []


def test_a_record_carries_its_speculation_and_commit_their_number():
    text = "BEGIN { s = speculation(); } BEGIN { speculate(s); trace(7); } BEGIN { commit(s); }"
    with Run(text, nspec=3) as run:
        data, commit = [record.data for record in run.begin().raw_records()]
        assert struct.unpack_from("<IIII", data)[3] == 1
        assert struct.unpack_from("<IIIIqq", commit)[3:] == (0, 1, 1)


def test_a_fault_gives_the_record_up():
    text = "int z; BEGIN { s = speculation(); } BEGIN { speculate(s); trace(1); trace(1 / z); } BEGIN { commit(s); }"
    with Run(text) as run:
        run.begin()
        (commit,) = [record for record in run.raw_records() if record.clause == 3]
        assert struct.unpack_from("<qq", commit.data, 16) == (1, 0)


@pytest.mark.share(1)
@pytest.mark.parametrize(("action", "state"), [("commit", COMMITTED), ("discard", DISCARDED)])
def test_with_a_full_ring_the_state_alone_tells_of_the_end(action, state):
    filling = "BEGIN { trace(1); }" * 300
    with Run(f"BEGIN {{ s = speculation(); }} {filling} BEGIN {{ {action}(s); }}", bufsize=4096) as run:
        run.begin()
        assert states(run) == [state]


def test_a_speculative_record_that_finds_the_ring_full_is_a_speculative_drop():
    filling = "BEGIN { trace(1); }" * 200
    with Run(
        f"BEGIN {{ s = speculation(); }} {filling} BEGIN {{ speculate(s); trace(2); x = 3; }}", bufsize=4096
    ) as run:
        run.begin()
        assert run.lost()["speculations"] == 1
        assert run.globals()["x"] == 3


def test_speculating_without_recording_speculates_the_line_itself():
    text = "BEGIN { s = speculation(); } BEGIN { speculate(s); } BEGIN { commit(s); } BEGIN { exit(0); }"
    lines = sonde("-n", text).stdout.splitlines()
    assert [line.split()[1:] for line in lines[1:] if line] == [["1", ":BEGIN"]] * 2


@pytest.mark.share(1)
@pytest.mark.parametrize("size", [200, 2000])
def test_strings_of_any_length_may_be_speculative(size):
    text = (
        'string x; BEGIN { s = speculation(); } BEGIN { speculate(s); printf("<%s>", x); } BEGIN { x = "LONG"; }'
        'BEGIN { speculate(s); printf("<%s>", x); } BEGIN { commit(s); } BEGIN { exit(0); }'
    )
    long = "a" * size
    done = sonde("-q", f"-xstrsize={size}", "-n", text.replace("LONG", long))
    assert done.stdout.rstrip("\n") == f"<><{long}>"


CALLS = """
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
/* 2 processes, on CPUs of their own where there are two, each calling getppid and getuid in turn: calls0 and calls1. */
int main(int argc, char **argv) {
    for (int n = 0; n < 2; n++)
        if (!fork()) {
            cpu_set_t set;
            prctl(PR_SET_NAME, n ? "calls1" : "calls0");
            CPU_ZERO(&set);
            CPU_SET(n % sysconf(_SC_NPROCESSORS_ONLN), &set);
            sched_setaffinity(0, sizeof set, &set);
            for (int i = 0; i < atoi(argv[1]); i++) { getppid(); getuid(); usleep(100); }
            return 0;
        }
    wait(0); wait(0);
    return 0;
}
"""

OWN = """
syscall::getppid:entry /progenyof($target)/ { self->s = speculation(); self->n++; }
syscall::getppid:entry /self->s/ { speculate(self->s); printf("a %d %d\\n", tid, self->n); }
syscall::getppid:return /self->s/ { speculate(self->s); printf("b %d %d\\n", tid, self->n); }
syscall::getuid:entry /self->s && self->n % 2/ { commit(self->s); self->s = -1; }
syscall::getuid:entry /self->s == -1/ { self->s = 0; @["committed"] = count(); }
syscall::getuid:entry /self->s/ { discard(self->s); self->s = 0; @["discarded"] = count(); }
"""


def traced(text, program, *options):
    return sonde("-q", "-xswitchrate=1ms", *options, "-n", text, "-c", f"{program} 3000")


@pytest.mark.share(1)
@pytest.mark.parametrize("rings", ["one", "cpu"])
def test_each_cpu_has_its_own_speculation_whole(tmp_path, rings):
    program = build(tmp_path, "calls", CALLS)
    done = traced(OWN, program, "-xnspec=8", f"-xrings={rings}")
    lines = [tuple(line.split()) for line in done.stdout.splitlines() if line[:2] in ("a ", "b ")]
    counts = dict(line.split() for line in done.stdout.splitlines() if "ed " in line)
    assert int(counts["committed"]) > 20
    assert len(lines) == 2 * int(counts["committed"])
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        assert (first[0], second[0]) == ("a", "b")
        assert first[1:] == second[1:]
        assert int(first[2]) % 2 == 1


SHARED = """
syscall::getppid:entry /execname == "calls0" && !s/ { s = speculation(); }
syscall::getppid:return /execname == "calls0" || execname == "calls1"/ { speculate(s); printf("x\\n"); }
syscall::getuid:entry /execname == "calls0" && s && n++ % 3 == 0/ { self->s = s; s = 0; commit(self->s); }
syscall::getuid:entry /self->s/ { self->s = 0; @ = count(); }
"""
"""Both processes write records of the one speculation, which one of them takes and commits: if both did, the one that
is refused could overwrite the number that the other was given."""


@pytest.mark.share(1)
@pytest.mark.parametrize("rings", ["one", "cpu"])
def test_the_only_buffer_comes_back_after_each_commit(tmp_path, rings):
    program = build(tmp_path, "calls", CALLS)
    done = traced(SHARED, program, "-xnspec=1", f"-xrings={rings}")
    assert done.stdout.count("x\n") > 20
    assert int(done.stdout.split()[-1]) > 20


FLOOD = r"""
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 300000; i++) getpgid(0);
    for (int i = 0; i < 300; i++) { getppid(); usleep(100000); }
    return 0;
}
"""


@pytest.mark.long
def test_a_full_ring_keeps_no_speculation(tmp_path):
    """What a commit() or discard() cannot say in the ring its state says: all are free again when the flood is over."""
    program = build(tmp_path, "flood", FLOOD)
    text = """
        int got; this int t;
        syscall::getpgid:entry /pid == $target/ { self->s = speculation(); }
        syscall::getpgid:entry /pid == $target/ { speculate(self->s); printf("%s %d\\n", execname, timestamp); }
        syscall::getpgid:entry /pid == $target/ { printf("x%d\\n", timestamp); }
        syscall::getpgid:return /self->s/ { commit(self->s); self->s = 0; }
        syscall::getppid:entry /pid == $target/ { this->t = speculation(); got += this->t > 0; discard(this->t); }
        syscall::getppid:entry /got == 5/ { exit(0); }
        END { printf("%d got\\n", got); }
    """
    done = sonde("-b", "4k", "-xnspec=4", "-qc", program, "-n", text)
    assert "drops on CPU" in done.stderr, "the ring was never full"
    assert "5 got" in done.stdout.splitlines()
