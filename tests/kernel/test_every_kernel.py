"""What must work on every kernel that sonde supports: the subset that `tools/kernels.py` runs on each of them."""

import contextlib
import os
import re

import pytest
from support.command.command import sonde, table
from support.d import everything
from support.d.d_run import Run
from support.machine.activity import activity

from sonde.frontends.d.check import prototypes
from sonde.model.errors import EngineError

pytestmark = pytest.mark.every_kernel


STRING = 'string s; BEGIN { s = "/every/where/"; }\n'
AGGREGATION = "BEGIN { @agg[execname] = count(); }\n"


@contextlib.contextmanager
def fired(text, **settings):
    """The program loaded, BEGIN run, and its write probe fired three times."""
    with Run(text.replace("$pid", str(os.getpid())), **settings) as run:
        if "BEGIN" in text:
            run.begin()
        run.attach()
        for _ in range(3):
            with contextlib.suppress(OSError):
                os.write(99, b"written to nowhere")
        yield run


def names_in(statements):
    return {name for statement in statements for name in re.findall(r"\b\w+(?=\()", statement)}


@pytest.mark.long
@pytest.mark.parametrize("strsize", [256, 4096])
def test_a_clause_with_every_subroutine(strsize):
    """Also those that need much of the stack, the scratch memory or the verifier's patience."""
    statements = [s for s in everything.supported(everything.subroutines(), STRING, strsize=strsize) if "out" not in s]
    assert {"copyin", "copyinstr", "strjoin", "substr", "strlen", "htonl", "stack"} <= names_in(statements)
    with fired(everything.program(statements, STRING), strsize=strsize) as run:
        assert len([record for record in run.raw_records() if record.probe]) >= 3


@pytest.mark.long
def test_a_clause_with_every_action():
    before = STRING + AGGREGATION
    statements = everything.supported(everything.actions(), before)
    assert {"trace", "printf", "tracemem", "printa", "clear", "trunc"} <= names_in(statements)
    for statement in statements:
        with fired(everything.program([statement], before)) as run:
            # There is no packet here to capture.
            assert not run.faults() or statement.startswith("pcap"), statement


def test_writing_to_the_process_works_or_is_refused_in_words():
    """Kernels that are locked down have no helper for it."""
    for statement in everything.supported(["copyout(copyin(arg1, 4), arg1, 4)", 'copyoutstr("x", arg1, 2)'], ""):
        try:
            with fired(everything.program([statement])) as run:
                assert not run.faults()
        except EngineError as error:
            if "bpf_probe_write_user" not in error.text:
                raise


@pytest.mark.long
def test_a_clause_with_every_variable():
    statements = [s for s in everything.supported(everything.variables(), "") if "ipl" not in s]
    assert len(statements) > 30
    with fired(everything.program(statements)) as run:
        assert len(run.values()) == 3


def test_a_clause_with_every_aggregating_function():
    with fired(everything.program(everything.aggregations())) as run:
        for name in prototypes.AGGREGATING:
            assert len(run.aggregation(name)) == 1, name


def test_every_kind_of_firing():
    """BEGIN, END and ERROR; calls; timers; tracepoints with and without their arguments, raw and as trace events."""
    with activity():
        done = sonde(
            "-qn",
            """
            BEGIN { @["BEGIN"] = count(); this->c = *(int *)8; }
            BEGIN { @["curcpu"] = count(); this->c = curcpu->cpu_id + curcpu->cpu_chip; }
            ERROR { @["ERROR"] = count(); }
            syscall::clone*:entry, syscall::vfork:entry { @["entry"] = count(); }
            syscall:::return /errno == 0/ { @["return"] = count(); }
            profile-97 { @["profile"] = count(); }
            tick-10ms { @["tick"] = count(); }
            rawtp:::sched_switch { @["raw"] = count(); }
            rawtp:::sched_wakeup /args[0]->pid > 0/ { @["typed"] = count(); }
            sdt:sched::sched_process_fork { @["event"] = count(); }
            sdt:sched::sched_process_exit /args[1] > 0/ { @["record"] = count(); }
            rawtp:::sched_process_e* { @["several"] = count(); }
            rawtp:::sched_process_exit { processes++; }
            tick-1s /processes > 2 || seconds++ > 100/ { exit(0); }
            END { @["END"] = count(); }
            """,
        )
    found = {key[0]: count for key, count in table(done.stdout).items()}
    assert set(found) == {
        "BEGIN", "ERROR", "END", "curcpu", "entry", "return", "profile", "tick", "raw", "typed", "event", "record",
        "several",
    }  # fmt: skip
    assert all(found.values()), found


@pytest.mark.long
def test_many_probes_in_one_session():
    """More than a process may have files open by default, where each probe needs a program of its own."""
    with activity():
        done = sonde("-n", "rawtp::: { @[probename] = count(); } tick-1s { exit(0); }")
    assert len(table(done.stdout.partition("\n\n")[2])) > 5


def test_variables_of_every_scope():
    with fired(
        """
        string g; int a[string, int]; self int t; self string ts; this string l; self int x[int];
        syscall::write:entry /pid == $pid && arg0 == 99/
        {
            g = execname; a[g, 1] += 1; self->t++; self->ts = g; this->l = self->ts; self->x[1] += 5;
            printf("%d %d %d %s", a[g, 1], self->t, self->x[1], this->l);
        }
        """
    ) as run:
        assert [values[:3] for values in run.values()] == [[1, 1, 5], [2, 2, 10], [3, 3, 15]]
        assert not run.lost()


def test_branches_and_loops():
    """Loops are callbacks of bpf_loop, in which registers and scratch memory are found again."""
    with fired(
        """
        string s; int n[int];
        BEGIN
        {
            s = "";
            for (i = 0; i < 7; i++) {
                if (i == 5) break; else if (i % 2) continue;
                for (this->j = 0; this->j < i; this->j++) { s = strjoin(s, "x"); n[i] += this->j; @[i] = count(); }
            }
            while (i) i--;
            printf("%d %d %d %d", i, strlen(s), n[2], n[4]);
        }
        """
    ) as run:
        assert run.values() == [[0, 6, 1, 6]]
        assert len(run.aggregation()) == 2


def test_speculations():
    with fired(
        """
        syscall::write:entry /pid == $pid && arg0 == 99/ { self->id = speculation(); }
        syscall::write:entry /self->id/ { speculate(self->id); trace(arg2); }
        syscall::write:return /self->id/ { n++; }
        syscall::write:return /self->id && n % 2/ { commit(self->id); self->id = 0; }
        syscall::write:return /self->id/ { discard(self->id); self->id = 0; }
        """,
        nspec=4,
    ) as run:
        # Written, committed, written, discarded, written, committed.
        assert [record.clause for record in run.raw_records()] == [2, 4, 2, 5, 2, 4]
        assert not run.lost()


@pytest.mark.long
def test_many_arrays_and_aggregations():
    """More than a program may have maps."""
    update = "".join(f"@a{n}[{n}] = sum({n}); b{n}[{n}] = {n}; " for n in range(45))
    with fired(f"BEGIN {{ {update} trace(b44[44]); }}") as run:
        assert run.values() == [[44]]
        assert list(run.aggregation("a44").values()) == [(44,)]


def test_the_records_of_each_cpu_have_a_ring():
    with fired(everything.program(["trace(arg2)"]), rings_per_cpu=True) as run:
        assert run.values() == [[18]] * 3
