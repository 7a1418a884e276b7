"""Variables with real threads: those of threads that have ended are gone, elements set to 0 too, drops are counted."""

import re
import subprocess

import pytest
from support.command.command import build, sonde, table
from support.d.d_run import Run

THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *work(void *unused) { syscall(SYS_getpgid, 0, 0x5bd1e995); return 0; }
int main(int argc, char **argv) {
    for (int i = atoi(argv[1]); i; i--) {
        pthread_t thread;
        pthread_create(&thread, 0, work, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
"""

CALLS = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    for (long i = 0; i < atol(argv[1]); i++) syscall(SYS_getpgid, i, 0x5bd1e995);
    return 0;
}
"""

OURS = "syscall::getpgid:entry /arg1 == 0x5bd1e995/"


def memory(tracing, name):
    """Bytes the kernel charges for a map."""
    descriptor = tracing._maps[name].descriptor
    with open(f"/proc/self/fdinfo/{descriptor}") as file:
        return int(re.search(r"^memlock:\s*(\d+)$", file.read(), re.M)[1])


@pytest.mark.long
def test_each_thread_begins_with_zeros(tmp_path):
    """20,000 short threads, none of which finds what another left; nothing is dropped and no memory stays."""
    program = build(tmp_path, "threads", THREADS, "-pthread")
    text = f'{OURS} {{ seen += self->x; self->x = 7; self->s = "abc"; total++; }}'
    with Run("long seen, total; self long x; self string s; " + text) as traced:
        traced.attach()
        before = memory(traced.tracing, "threads")
        subprocess.run([program, "20000"], check=True)
        found = traced.globals()
        assert (found["seen"], found["total"]) == (0, 20000)
        assert traced.lost() == {}
        assert memory(traced.tracing, "threads") == before


def test_elements_set_to_zero_make_room(tmp_path):
    """10,000 elements through a table that holds a few hundred; the same for strings and for thread-local arrays."""
    program = build(tmp_path, "calls", CALLS)
    text = ("string s[long]; long a[long]; self long t[long]; "
            f'{OURS} {{ a[arg0] = 5; s[arg0] = "x"; self->t[arg0] = 3; got += a[arg0] + self->t[arg0]; }}'
            f"{OURS} {{ a[arg0] = 0; s[arg0] = 0; self->t[arg0] = 0; }}")  # fmt: skip
    with Run("long got; " + text, dynvarsize=64 << 10) as traced:
        traced.attach()
        subprocess.run([program, "10000"], check=True)
        assert traced.globals()["got"] == 80000
        assert traced.lost() == {}
        assert [len(traced.elements(name)) for name in "ast"] == [0, 0, 0]


def test_dynamic_variable_drops_are_counted(tmp_path):
    """What is in the table and what was dropped are together all assignments."""
    program = build(tmp_path, "calls", CALLS)
    done = sonde(
        "-xdynvarsize=8k",
        "-qc",
        f"{program} 3000",
        "-n",
        f"{OURS} {{ a[arg0] = 1; }} {OURS[:-1]} && a[arg0]/ {{ kept++; }} END {{ trace(kept); }}",
    )
    drops = sum(int(number) for number in re.findall(r"(\d+) dynamic variable drops?", done.stderr))
    assert drops > 0
    assert int(done.stdout) + drops == 3000


def test_clause_locals_begin_with_each_firing(tmp_path):
    program = build(tmp_path, "calls", CALLS)
    text = (f"{OURS} {{ @[this->x, this->s] = count(); this->x = arg0 + 1; this->s = \"left\"; }} "
            f"{OURS} {{ @then[this->x == arg0 + 1, this->s] = count(); }}")  # fmt: skip
    seen = table(sonde("-qc", f"{program} 101", "-n", "this long x; this string s; " + text).stdout)
    assert sorted(seen.items()) == [(("0",), 101), (("1", "left"), 101)]


def test_firings_nested_in_others_have_memory_of_their_own(tmp_path):
    """A timer 4,999 times a second inside clauses that join strings: every string is whole."""
    program = build(tmp_path, "calls", CALLS)
    text = (
        OURS + ' { this->s = strjoin(execname, strjoin("/", probefunc)); @[this->s] = count(); } '
        'profile-4999 { this->t = strjoin("timer:", strjoin(execname, "!")); @t[substr(this->t, 0, 6)] = count(); } '
    )
    seen = table(sonde("-qc", f"{program} 200000", "-n", text).stdout)
    assert seen.pop(("calls/getpgid",)) == 200000
    assert list(seen) == [("timer:",)]


@pytest.mark.share(1)
@pytest.mark.parametrize("name", ["tick-1ms", "profile-1999"])
def test_a_global_counts_every_firing_of_one_probe(name):
    """A timer counts itself both ways."""
    text = (f"int n; {name} /cpu == 0/ {{ n++; @ = count(); }} tick-300ms {{ exit(0); }} "
            'END { printf("%d\\n", n); printa("%@d\\n", @); }')  # fmt: skip
    out = sonde("-qn", text).stdout.split()
    assert out[0] == out[1] != "0"
