"""The loops of a firing have a number of turns together, by what they cost, and a limit of time beyond it."""

import signal

import pytest
from support.command.command import sonde, start
from support.d.d_run import Run
from support.machine.access import needs

pytestmark = needs("CAP_BPF", "CAP_PERFMON")

TOO_LONG, TOO_LATE = 13, 14
ENGINES = ("kernel", "embedded")


def turns(text, **settings):
    """What BEGIN has counted in `n`, and the codes of its faults."""
    with Run("int n, k, z; " + text, **settings) as run:
        codes = [code for _, _, code, _ in run.begin().faults()]
        return run.globals()["n"], codes


NESTED = "for (this->i = 0; this->i < 9; this->i++) for (this->j = 0; this->j < 1000; this->j++) n++;"


@pytest.mark.parametrize("maxloop", [1, 7, 100, 1024])
def test_nested_loops_share_their_turns(maxloop):
    """Each turn of the outer loop is one, as is each of the inner one."""
    inner = maxloop - -(-maxloop // 1001)
    assert turns(f"BEGIN {{ {NESTED} }}", maxloop=maxloop) == (inner, [TOO_LONG])


def test_loops_one_behind_the_other_share_their_turns():
    assert turns("BEGIN { for (k = 0; k < 5; k++) n++; for (k = 0; k < 5; k++) n++; }", maxloop=8) == (8, [TOO_LONG])
    assert turns("BEGIN { for (k = 0; k < 5; k++) n++; for (k = 0; k < 5; k++) n++; }", maxloop=10) == (10, [])


def test_the_clauses_of_a_firing_share_their_turns():
    """A clause without a loop runs all the same."""
    clause = "BEGIN { for (this->k = 0; this->k < 5; this->k++) n++; }"
    assert turns(clause * 3 + "BEGIN { n += 100; }", maxloop=7) == (107, [TOO_LONG, TOO_LONG])


def test_the_clauses_of_a_fault_share_the_turns_of_the_firing():
    """Whether the clauses that fault loop or not."""
    error = "ERROR { for (this->k = 0; this->k < 5; this->k++) n++; }"
    fault = "BEGIN { k = 1 / z; }"
    assert turns(error + fault * 2, maxloop=10)[0] == 10
    assert turns(error + fault * 4, maxloop=12)[0] == 12
    assert turns(error + "BEGIN { for (this->i = 0; this->i < 4; this->i++) n++; k = 1 / z; }" * 3, maxloop=20)[0] == 20
    assert turns(error + "BEGIN { for (this->i = 0; this->i < 4; this->i++) k = 1 / z; }" * 3, maxloop=9)[0] == 7


def test_each_firing_has_turns_of_its_own():
    with Run("int n; BEGIN { for (this->k = 0; this->k < 5; this->k++) n++; }", maxloop=5) as run:
        for _ in range(3):
            run.begin()
        assert run.faults() == []
        assert run.globals()["n"] == 15


def test_a_fault_tells_the_errors_clauses_what_and_where():
    """Its code and value go through the routine that runs them as they were."""
    with Run("ERROR { trace(arg4); trace(arg5); trace(arg3); } BEGIN { for (;;) ; }", maxloop=3) as run:
        records = run.begin().raw_records()
        ((code, value, place),) = [run.decode(record) for record in records if record.clause]
        assert (code, value) == (TOO_LONG, 3)
        assert 0 < place < 1000


COSTLY = {
    "s = strstr(s, s);": 5, "k = rindex(s, s) + index(s, s);": 9, "ustack(100);": 7, "raise(0);": 2, "k++;": 1,
    "t = strtok(s, s); t = strchr(s, 65); t = cleanpath(s);": 2,
}  # fmt: skip
"""Bodies, and as how many turns a turn of theirs counts."""


@pytest.mark.share(5)
@pytest.mark.parametrize("body", COSTLY)
def test_a_costly_turn_counts_as_several(body):
    text = f'string s, t; BEGIN {{ s = "x"; for (;;) {{ n++; {body} }} }}'
    assert turns(text, maxloop=100) == (100 // COSTLY[body], [TOO_LONG])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_message_tells_how_to_have_more(engine):
    done = sonde("--engine", engine, "-qn", f"int n; BEGIN {{ {NESTED} }} BEGIN {{ trace(n); exit(0); }}")
    assert done.stdout.split() == ["1022"]
    assert "more iterations than maxloop allows (1024)" in done.stderr
    assert "(-xmaxloop=N allows more)" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_however_many_turns_a_firing_ends(engine):
    """It is broken off by the turns or by the time; the next clause runs."""
    text = f'''long n; string s, t, u; BEGIN {{ t = "{"a" * 255}"; u = "{"a" * 99}b"; }}
        BEGIN {{ for (;;) for (;;) for (;;) s = strstr(t, u); }} BEGIN {{ n++; exit(0); }} END {{ trace(n); }}'''
    done = sonde("--engine", engine, f"-xmaxloop={(1 << 23) - 1}", "-qn", text)
    assert "loops took longer than a second" in done.stderr
    assert done.stdout.split() == ["1"]


@pytest.mark.share(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_signal_ends_a_session_that_loops(engine, number):
    """One is enough, while each firing loops as long as it may, and the traced command ends as untraced."""
    loop = "for (;;) for (;;) n++;"
    text = f'long n; BEGIN {{ printf("begun\\n"); }} profile-97 {{ {loop} }} BEGIN {{ {loop} }}'
    command = "python3 -S -c 'import time; time.sleep(2)'"
    with start("--engine", engine, f"-xmaxloop={(1 << 23) - 1}", "-qn", text, "-c", command, text=True) as traced:
        assert traced.stdout.readline() == "begun\n"
        traced.send_signal(number)
        traced.communicate()
    assert traced.returncode == (-number if number == signal.SIGKILL else 0)
