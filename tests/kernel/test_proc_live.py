"""The proc provider on a process that does each thing a known number of times."""

import pytest
from support.command.command import build, sonde, table

WORKLOAD = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void handler(int number) {}
static void *thread(void *unused) { return 0; }
static char missing[] = "/nonexistent/program";

static void child(int kind, char *self) {
    volatile int zero = 0, seven = 7;
    pid_t pid = fork();
    if (pid) { waitpid(pid, 0, 0); return; }
    if (kind == 'e') _exit(3);
    if (kind == 'k') { kill(getpid(), SIGKILL); pause(); }
    if (kind == 's') *(volatile int *)8 = 1;
    if (kind == 'd') zero = seven / zero;
    if (kind == 'x') { missing[0] = '/'; execl(missing, "program", NULL); execl(self, "again", "one", "two", NULL); }
    _exit(0);
}

int main(int count, char **words) {
    struct rlimit none = {0, 0};
    sigset_t set;
    siginfo_t info;
    pthread_t id;
    if (!strcmp(words[0], "again")) return 0;
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    for (int n = 0; n < 3; n++) child('e', words[0]);
    child('k', words[0]);
    child('s', words[0]);
    child('d', words[0]);
    child('x', words[0]);
    for (int n = 0; n < 5; n++) { pthread_create(&id, 0, thread, 0); pthread_join(id, 0); }
    for (int n = 0; n < 7; n++) kill(getpid(), SIGUSR1);
    for (int n = 0; n < 11; n++) kill(getpid(), SIGUSR2);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int n = 0; n < 2; n++) { raise(SIGRTMIN); sigwaitinfo(&set, &info); }
    return 0;
}
"""

OWN = "/pid == $target || ppid == $target/"

PROGRAM = f"""
proc:::create {OWN} {{ @[probename, args[0]->pr_ppid == $target] = count(); }}
proc:::lwp-create {OWN} {{ @[probename, args[0]->pr_lwpid != args[1]->pr_pid] = count(); }}
proc:::start, proc:::lwp-start, proc:::lwp-exit {OWN} {{ @[probename, tid != pid] = count(); }}
proc:::exit {OWN} {{ @[probename, args[0]] = count(); }}
proc:::exec {OWN} {{ @[probename, args[0] == "/nonexistent/program" ? -1 : arg0 != 0] = count(); }}
proc:::exec-failure {OWN} {{ @[probename, args[0] == -ENOENT] = count(); }}
proc:::exec-success /ppid == $target/ {{ @[probename, curpsinfo->pr_psargs == "again one two"] = count(); }}
proc:::fault {OWN} {{ @[probename, args[0] * 100 + args[1]->si_signo] = count(); }}
proc:::signal-send, proc:::signal-discard
/pid == $target || args[1]->pr_ppid == $target/ {{ @[probename, args[2]] = count(); }}
proc:::signal-handle {OWN} {{ @[probename, args[2] != NULL ? -args[0] : args[0]] = count(); }}
proc:::signal-clear {OWN} {{ @[probename, args[0]] = count(); }}
ERROR {{ printf("fault %d at %x\\n", arg4, arg5); exit(1); }}
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    program = build(tmp_path_factory.mktemp("proc"), "load", WORKLOAD, "-pthread")
    return table(sonde("-qn", PROGRAM, "-c", program).stdout)


def of(counts, name):
    """The counts of one probe, by the number that tells what kind."""
    return {int(kind): count for (probe, kind), count in counts.items() if probe == name}


def test_processes_are_created(counts):
    assert of(counts, "create") == {1: 7}


def test_threads_are_created_with_and_without_a_process(counts):
    assert of(counts, "lwp-create") == {0: 7, 1: 5}


def test_what_is_created_starts(counts):
    """A process and its first thread, and other threads; not the process that was there before."""
    assert of(counts, "start") == {0: 7}
    assert of(counts, "lwp-start") == {0: 7, 1: 5}


def test_threads_end(counts):
    assert of(counts, "lwp-exit") == {0: 8, 1: 5}


def test_processes_end_once_and_tell_why(counts):
    """CLD_EXITED: the main process, three children and the one that becomes another program; CLD_KILLED: three."""
    assert of(counts, "exit") == {1: 5, 2: 3}


def test_programs_are_run(counts):
    assert of(counts, "exec") == {-1: 1, 1: 1}
    assert of(counts, "exec-failure") == {1: 1}
    assert of(counts, "exec-success") == {1: 1}


def test_faults_have_a_code_and_a_signal(counts):
    """FLTBOUNDS with SIGSEGV, FLTIZDIV with SIGFPE."""
    assert of(counts, "fault") == {611: 1, 808: 1}


def test_signals_are_sent_whatever_becomes_of_them(counts):
    sent = of(counts, "signal-send")
    assert {number: sent[number] for number in (8, 9, 10, 11, 12, 34)} == {8: 1, 9: 1, 10: 7, 11: 1, 12: 11, 34: 2}


def test_ignored_signals_are_discarded(counts):
    assert of(counts, "signal-discard")[12] == 11


def test_signals_are_handled(counts):
    """Negative: by a handler."""
    assert of(counts, "signal-handle") == {-10: 7, 9: 1, 8: 1, 11: 1}


def test_signals_waited_for_are_cleared(counts):
    assert of(counts, "signal-clear") == {34: 2}


def test_starts_before_lwp_starts_and_lwp_exits_before_exits(tmp_path):
    """Whatever the order of the clauses."""
    text = """
    proc:::lwp-start, proc:::start, proc:::exit, proc:::lwp-exit /ppid == $target/ { printf("%s ", probename); }
    """
    done = sonde("-qn", text, "-c", "sh -c '/bin/true; :'")
    assert done.stdout.split() == ["start", "lwp-start", "lwp-exit", "exit"]
