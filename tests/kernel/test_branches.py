"""Conditional statements and loops in the kernel."""

import random

import pytest
from support.command.command import sonde
from support.d.branching_programs import LIMIT, Interpreter, Maker, TooLongError, block_text
from support.d.d_run import Run, text
from support.machine.access import needs

pytestmark = needs("CAP_BPF", "CAP_PERFMON")

DECLARED = "long g0, g1, g2; this long t0; this long t1; this long i0; this long i1; self long s0; long a[long];"
TOO_LONG = 13


def ran(program, **settings):
    """What each record of BEGIN's clauses holds, in order."""
    with Run(program, **settings) as run:
        return run.begin().values()


@pytest.mark.parametrize(("test", "expected"), [("1", [[1], [9]]), ("0", [[2], [9]]), ("x", [[2], [9]])])
def test_one_branch_or_the_other(test, expected):
    assert ran(f"int x; BEGIN {{ if ({test}) trace(1); else {{ trace(2); }} trace(9); }}") == expected


def test_else_belongs_to_the_nearest_if():
    assert ran("BEGIN { if (1) if (0) trace(1); else trace(2); }") == [[2]]
    assert ran("BEGIN { if (0) trace(1); else if (0) trace(2); else trace(3); if (0); else trace(4) }") == [[3], [4]]


def test_each_iteration_has_a_record():
    assert ran("BEGIN { for (i = 0; i < 5; i++) trace(i); trace(i); }") == [[0], [1], [2], [3], [4], [5]]


def test_loops_in_loops():
    body = 'if (this->j == this->i) continue; if (this->i + this->j > 3) break; printf("%d%d", this->i, this->j);'
    program = (
        f"BEGIN {{ for (this->i = 0; this->i < 3; this->i++) for (this->j = 0; this->j < 3; this->j++) {{ {body} }} }}"
    )
    expected = [[i, j] for i in range(3) for j in range(3) if i != j and i + j <= 3]
    assert ran(program) == expected


def test_any_part_of_a_loop_may_be_missing():
    assert ran("int n; BEGIN { for (;;) { if (n++ == 2) break; trace(n); } while (n) n--; trace(n); }") == [
        [1],
        [2],
        [0],
    ]


def test_strings_and_arrays_in_a_loop():
    body = 's = strjoin(s, "ab"); n[s] = strlen(s); @[s] = count();'
    with Run(f'string s; BEGIN {{ for (i = 0; i < 3; i++) {{ {body} }} trace(s); trace(n["abab"]); }}') as run:
        ((string, length),) = run.begin().values()
        assert (text(string), length) == (b"ababab", 4)
        assert len(run.aggregation()) == 3


@pytest.mark.parametrize("strsize", [256, 2000])
def test_records_of_any_size_in_a_loop(strsize):
    long = "a" * (strsize - 5)
    program = f'string s; BEGIN {{ s = "{long}"; for (i = 0; i < 3; i++) {{ trace(s); trace(i); }} }}'
    assert [(v[0].rstrip(b"\0"), v[1]) for v in ran(program, strsize=strsize)] == [(long.encode(), i) for i in range(3)]


def test_a_loop_that_goes_on_too_long_is_a_fault():
    with Run("int k, after; BEGIN { for (;;) k++; after = 1; } BEGIN { later = 1; }", maxloop=7) as run:
        assert run.begin().faults() == [(1, 1, TOO_LONG, 7)]
        assert run.globals() == {"k": 7, "after": 0, "later": 1}


def test_a_loop_may_have_just_as_many_iterations_as_allowed():
    with Run("BEGIN { for (k = 0; k < 7; k++) ; done = 1; }", maxloop=7) as run:
        assert run.begin().faults() == []
        assert run.globals() == {"k": 7, "done": 1}


def test_many_iterations():
    assert ran("long n; BEGIN { for (k = 0; k < 1000000; k++) n += k; trace(n); }", maxloop=1 << 20) == [[499999500000]]


def test_a_fault_takes_back_the_record_it_happens_in():
    with Run("int z, k; BEGIN { for (k = 3; ; k--) { trace(k); trace(6 / k); } } BEGIN { z = 1; }") as run:
        records = run.begin().raw_records()
        assert [run.decode(record) for record in records[:3]] == [[3, 2], [2, 3], [1, 6]]
        assert [record.clause for record in records[3:]] == [0]
        assert run.globals() == {"z": 1, "k": 0}


def test_a_fault_in_an_inner_loop_stops_the_clause():
    inner = "for (this->j = 0; this->j < 3; this->j++) n += 1 / (this->i - 1)"
    with Run(f"int n; BEGIN {{ for (this->i = 2; ; this->i--) {inner}; n = 100; }}") as run:
        assert [fault[:3] for fault in run.begin().faults()] == [(1, 1, 4)]
        assert run.globals() == {"n": 3}


def test_exit_in_a_branch_lets_no_later_clause_run():
    program = "BEGIN { for (k = 0; k < 3; k++) if (k == 1) exit(k); after = 1; } BEGIN { later = 1; }"
    with Run("int later; " + program) as run:
        assert run.begin().globals() == {"later": 0, "k": 3, "after": 1}
    with Run("int later; " + program.replace("k == 1", "k == 5")) as run:
        assert run.begin().globals() == {"later": 1, "k": 3, "after": 1}


def test_the_clock_stands_still_in_a_clause():
    program = "long d; BEGIN { for (k = 0; k < 99; k++) { if (!t) t = timestamp; d += timestamp - t; } trace(d); }"
    assert ran("long t; " + program) == [[0]]


def test_thread_local_variables_made_in_a_loop_are_seen_in_it():
    program = "BEGIN { x = self->a; for (k = 0; k < 3; k++) { self->a += 2; self->b[k] = self->a; } trace(self->a); }"
    assert ran(f"self int a; {program} BEGIN {{ trace(self->b[1]); }}") == [[6], [4]]


def test_scratch_memory_in_a_loop():
    body = "this->p = (int *)alloca(8); *this->p = k; n += *this->p;"
    assert ran(f"int n; BEGIN {{ for (k = 0; k < 9; k++) {{ {body} }} trace(n); }}") == [[36]]
    with Run(f"int n; BEGIN {{ for (k = 0; k < 90; k++) {{ {body} }} }}", scratchsize=256) as run:
        assert [fault[2] for fault in run.begin().faults()] == [5]
        assert run.globals()["k"] == 32


def test_loops_in_error_clauses():
    program = "int z; ERROR { for (this->k = 0; this->k < 2; this->k++) trace(arg4); } BEGIN { z = 1 / z; }"
    assert ran(program) == [[4], [4]]


def test_a_speculation_covers_all_records_that_follow():
    program = "BEGIN { s = speculation(); speculate(s); for (k = 0; k < 3; k++) { trace(k); } if (s) trace(9); }"
    with Run(program) as run:
        records = run.begin().raw_records()
        assert [record.data[12] for record in records] == [1, 1, 1, 1]


def test_each_record_has_a_line_of_its_own():
    done = sonde("-n", 'BEGIN { printf("a"); if (1) printf("b"); for (k = 0; k < 2; k++) trace(k); exit(0); }')
    assert [line.split()[3:] for line in done.stdout.splitlines()[1:] if line] == [["a"], ["b"], ["0"], ["1"], []]


def test_messages_name_the_clause():
    done = sonde(
        "-qn", "BEGIN { } BEGIN { for (k = 0; k < 3; k++) if (k == 1) trace(k / (k - 1)); } BEGIN { exit(0); }"
    )
    assert "error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): divide-by-zero" in done.stderr
    done = sonde("-qn", "BEGIN { } BEGIN { for (;;) ; } BEGIN { exit(0); }", "-xmaxloop=5")
    assert "dt_clause_1 for probe ID 1 (dtrace:::BEGIN): more iterations than maxloop allows (5)" in done.stderr


PROBES = (
    "syscall:::entry", "syscall::openat:return", "profile-97", "rawtp:::sched_switch", "sdt:sched::sched_switch",
)  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("probe", PROBES)
def test_every_kind_of_program_may_loop(probe):
    """The verifier accepts it; whether it fires is others' business."""
    body = 'if (tid & 1 << this->i) { @[probefunc, execname] = count(); printf("%s %d", probename, arg0); }'
    program = f"{probe} {{ for (this->i = 0; this->i < 8; this->i++) {{ {body} }} }} BEGIN {{ exit(0); }}"
    sonde("-qn", program)


@pytest.mark.share(5)
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    """Records, globals and sums are those of an interpreter; a loop that is too long ends the clause."""
    block = Maker(random.Random(seed)).block(0, False, 9)
    expected = Interpreter()
    try:
        expected.run(block)
        too_long = False
    except TooLongError:
        too_long = True
    with Run(
        f"{DECLARED} BEGIN {block_text(block)} END {{ @ = sum(0); }}".replace("@ =", "@z ="), maxloop=LIMIT
    ) as run:
        run.begin()
        raw = run.raw_records()
        faults = [record for record in raw if record.clause == 0]
        assert len(faults) == too_long
        values = [value for record in raw if record.clause for value in run.decode(record)]
        assert values == [value for values in expected.records for value in values]
        found = run.globals()
        assert {name: found[name] for name in ("g0", "g1", "g2")} == {
            name: expected.values.get(name, 0) for name in ("g0", "g1", "g2")
        }
        if expected.sums:
            sums = run.aggregation("_")
            got = {int.from_bytes(key, "little", signed=True): words[0] for key, words in sums.items()}
            assert {key: value & (1 << 64) - 1 for key, value in got.items()} == {
                key: value & (1 << 64) - 1 for key, value in expected.sums.items()
            }


def test_strtok_goes_on_in_a_loop():
    body = 'this->t = strtok(NULL, ",;"); if (this->t == NULL) break; trace(this->t);'
    with Run(f'BEGIN {{ trace(strtok("a,b;;c", ",;")); while (1) {{ {body} }} trace(9); }}') as run:
        values = run.begin().values()
        assert [text(value) for (value,) in values[:3]] == [b"a", b"b", b"c"]
        assert values[3:] == [[9]]
