"""Threads and processes followed by the guardian: made in every way, exec by any thread, ended at any time."""

import os
import shlex
import signal
import subprocess
import time

import pytest
from support.command.guarded import ALL, comes_to, command, follow, of_kind, process, untraced
from support.command.targets import FOREST, forest_output, program
from support.files.stop_records import StopRecord

from sonde.engines.embedded.tracer import plan, stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, HOLD_RETURN, RETURN, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.machine import proc

LIFE = frozenset({stops.FORK, stops.START, stops.EXEC, stops.EXIT})
GETPID = 39

EXEC_BY_THREAD = r"""
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static char **words;
static void *run(void *unused) { execv("/proc/self/exe", words); _exit(9); }
static void *wait_for_it(void *unused) { for (;;) pause(); }
int main(int argc, char **argv) {
    pthread_t thread;
    if (argc == 2) { for (int i = 0; i < 3; i++) syscall(SYS_getpid); return 5; }
    char *arguments[] = {argv[0], "again", 0};
    words = arguments;
    for (int i = 0; i < 3; i++) pthread_create(&thread, 0, wait_for_it, 0);
    pthread_create(&thread, 0, run, 0);
    pause();
}
"""

MAKERS = r"""
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *thread(void *unused) { syscall(SYS_getpid); return 0; }
int main(void) {
    pthread_t id;
    int pid;
    pthread_create(&id, 0, thread, 0);
    pthread_join(id, 0);
    if (!(pid = fork())) { syscall(SYS_getpid); _exit(1); }
    waitpid(pid, 0, 0);
    if (!(pid = vfork())) { syscall(SYS_getpid); _exit(2); }
    waitpid(pid, 0, 0);
    if (!(pid = syscall(SYS_clone, 0, 0, 0, 0, 0))) { syscall(SYS_getpid); _exit(3); }
    waitpid(pid, 0, __WALL);
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    if (!(pid = syscall(SYS_clone3, &arguments, sizeof arguments))) { syscall(SYS_getpid); _exit(4); }
    waitpid(pid, 0, 0);
    return 0;
}
"""

SHORT_THREADS = r"""
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *thread(void *unused) { syscall(SYS_getpid); return 0; }
static void *forever(void *unused) { for (;;) syscall(SYS_getpid); }
int main(void) {
    pthread_t ids[8];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++) pthread_create(&ids[i], 0, thread, 0);
        for (int i = 0; i < 8; i++) pthread_join(ids[i], 0);
    }
    for (int i = 0; i < 8; i++) pthread_create(&ids[i], 0, forever, 0);
    usleep(2000);
    _exit(6);
}
"""

KILLED = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    int status;
    for (int i = atoi(words[1]); i; i--) {
        if (!fork()) { syscall(SYS_getpid); _exit(0); }
        wait(&status);
    }
    return 0;
}
"""

ORPHANS = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    /* Nobody but those made has the pipe's other end open: it is read to its end when they are gone. */
    int rounds = atoi(words[1]), ends[2];
    char c;
    for (int i = 0; i < rounds; i++) {
        pipe(ends);
        int maker = fork();
        if (!maker) for (;;) if (!fork()) _exit(0);
        usleep(200 + i * 37 % 800);
        kill(maker, SIGKILL);
        wait(0);
        close(ends[1]);
        while (read(ends[0], &c, 1) > 0) {}
        close(ends[0]);
    }
    return 3;
}
"""

CONSTRUCTOR = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((constructor)) static void first(int count, char **words, char **environment) {
#ifdef EXEC
    if (getenv("AGAIN")) return;
    setenv("AGAIN", "1", 1);
    execv("/proc/self/exe", words);
    _exit(9);
#endif
#ifdef FORK
    /* The child goes on to the command's entry. */
    int status;
    if (!fork()) return;
    if (wait(&status) <= 0 || WEXITSTATUS(status) != 11) _exit(12);
#endif
#ifdef TRAP
    signal(SIGTRAP, SIG_IGN);
    kill(getpid(), SIGTRAP);
    signal(SIGTRAP, SIG_DFL);
#endif
}
"""

WAITS = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *thread(void *unused) { for (;;) { syscall(SYS_getpid); usleep(100); } }
int main(void) {
    pthread_t id;
    char c;
    prctl(0x59616d61, -1); /* PR_SET_PTRACER: Yama lets anybody trace it. */
    for (int i = 0; i < 3; i++) pthread_create(&id, 0, thread, 0);
    write(1, "ready\n", 6);
    while (read(0, &c, 1) == 1) if (c == 'f' && !fork()) { syscall(SYS_getpid); _exit(0); }
    while (wait(0) > 0) {}
    _exit(c == 'x' ? 4 : 3);
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
@pytest.mark.parametrize("held", [False, True])
def test_all_that_is_made_is_followed(seccomp, held):
    wanted = ENTRY | HOLD_ENTRY if held else ENTRY
    traced = command(program(MAKERS), StopPlan({GETPID: wanted}, LIFE, LIFE if held else frozenset(), seccomp=seccomp))
    assert traced.status == 0
    made = {stop.a: stop for stop in of_kind(traced, stops.FORK)}
    assert [stop.b for stop in made.values()] == [1, 0, 0, 0, 0]
    started = {stop.tid: stop for stop in of_kind(traced, stops.START) if stop.tid != traced.pid}
    assert list(started) == list(made)
    assert all(stop.a == traced.pid and stop.b == made[tid].b for tid, stop in started.items())
    assert {stop.tid for stop in of_kind(traced, stops.ENTRY)} == set(made)
    ended = {stop.tid: os.waitstatus_to_exitcode(stop.a) for stop in of_kind(traced, stops.END)}
    assert ended == {traced.pid: 0, **dict(zip(made, range(5), strict=True))}
    assert {stop.tid: os.waitstatus_to_exitcode(stop.a) for stop in of_kind(traced, stops.EXIT)} == ended


def test_what_a_thread_is_made_by_is_known_where_its_return_is_wanted():
    traced = command(program(MAKERS), StopPlan(dict.fromkeys((56, 57, 58, 435), RETURN), LIFE))
    numbers = [stop.c for stop in of_kind(traced, stops.START) if stop.tid != traced.pid]
    assert numbers[1:] in ([56, 58, 56, 435], [57, 58, 56, 435])


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
@pytest.mark.parametrize("held", [False, True])
def test_exec_by_a_thread_that_is_not_the_first(seccomp, held):
    how = ENTRY | RETURN | (HOLD_ENTRY | HOLD_RETURN if held else 0)
    wanted = StopPlan(dict.fromkeys(ALL, how), LIFE, LIFE if held else frozenset(), held, seccomp)
    traced = command(program(EXEC_BY_THREAD), wanted)
    assert os.waitstatus_to_exitcode(traced.status) == 5
    (exec_,) = of_kind(traced, stops.EXEC)
    assert exec_.tid == traced.pid != exec_.a
    behind = traced.stops[traced.stops.index(exec_) :]
    assert [stop.kind for stop in behind if stop.tid == exec_.a] == []
    assert [stop.tid for stop in behind if stop.kind == stops.ENTRY and stop.value == GETPID] == [traced.pid] * 3
    assert (59, 0) in [(stop.a, stop.value) for stop in behind if stop.kind == stops.RETURN]


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
@pytest.mark.parametrize("how", [0, ENTRY, ENTRY | RETURN | HOLD_ENTRY | HOLD_RETURN])
def test_a_program_of_threads_and_children_works_as_ever(seccomp, how, capfd):
    traced = command(f"{program(FOREST)} 9", StopPlan(dict.fromkeys(ALL, how), LIFE, seccomp=seccomp))
    assert os.waitstatus_to_exitcode(traced.status) == 7
    assert capfd.readouterr().out == forest_output(9)
    started, ended = ({stop.tid for stop in of_kind(traced, kind)} for kind in (stops.START, stops.END))
    assert started == ended
    assert len(started) == 1 + 3 + 3 * 9


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
def test_threads_may_die_at_any_time(seccomp):
    traced = command(
        program(SHORT_THREADS), StopPlan({GETPID: ENTRY | RETURN | HOLD_ENTRY}, LIFE, LIFE, seccomp=seccomp)
    )
    assert os.waitstatus_to_exitcode(traced.status) == 6
    started, ended = ([stop.tid for stop in of_kind(traced, kind)] for kind in (stops.START, stops.END))
    made = {stop.a for stop in of_kind(traced, stops.FORK)}
    # The last may be killed before they start.
    assert set(started) <= set(ended) == made | {traced.pid}
    assert 1 + 160 <= len(started) <= 1 + 160 + 8 == len(ended)


@pytest.mark.long
def test_a_held_thread_may_be_killed():
    killed = []

    def held(tracees, stop):
        if stop.kind == stops.ENTRY and not killed:
            killed.append(stop.tid)
            os.kill(stop.tid, signal.SIGKILL)
            time.sleep(0.01)

    traced = command(program(SHORT_THREADS), StopPlan({GETPID: ENTRY | HOLD_ENTRY}, LIFE, LIFE), held)
    assert os.waitstatus_to_exitcode(traced.status) == -signal.SIGKILL


@pytest.mark.long
def test_threads_killed_while_they_are_held_leave_room_for_the_registers_of_others():
    """Each is held twice, at the call and, before sonde has said that it may go on, at its exit."""

    def held(tracees, stop):
        if stop.kind == stops.ENTRY:
            os.kill(stop.tid, signal.SIGKILL)
            time.sleep(0.004)

    many = stops.REGISTER_SLOTS + 20
    plan_ = StopPlan({GETPID: ENTRY | HOLD_ENTRY}, LIFE, frozenset({stops.EXIT}), registers=True)
    traced = command(f"{program(KILLED)} {many}", plan_, held)
    assert traced.status == 0
    assert len([stop for stop in of_kind(traced, stops.END) if stop.a == signal.SIGKILL]) == many


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
@pytest.mark.parametrize("events", [frozenset(), LIFE])
def test_what_is_made_by_a_process_that_is_killed_in_the_act_runs_on(seccomp, events):
    traced = command(f"{program(ORPHANS)} 60", StopPlan({GETPID: ENTRY}, events, seccomp=seccomp))
    assert os.waitstatus_to_exitcode(traced.status) == 3


@pytest.mark.share(1)
@pytest.mark.parametrize("seccomp", [True, False])
@pytest.mark.parametrize("what", ["EXEC", "TRAP", "FORK"])
def test_a_librarys_constructor_may_do_anything_before_the_commands_entry(seccomp, what, monkeypatch):
    library = program(CONSTRUCTOR, "-shared", "-fPIC", f"-D{what}")
    monkeypatch.setenv("LD_PRELOAD", library)
    traced = command("sh -c 'exit 11'", StopPlan(dict.fromkeys(ALL, ENTRY), seccomp=seccomp))
    assert os.waitstatus_to_exitcode(traced.status) == 11
    assert of_kind(traced, stops.ENTRY)


@pytest.mark.share(1)
@pytest.mark.parametrize("text", ["true", "false", "sh -c 'exit 77'", "sh -c 'kill -SEGV $$'", "sh -c 'kill -9 $$'"])
def test_the_status_is_the_commands_own(text):
    alone = subprocess.run(shlex.split(text)).returncode
    assert os.waitstatus_to_exitcode(command(text, StopPlan()).status) == alone


def waiting():
    child = subprocess.Popen([program(WAITS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    return child


def test_a_command_does_not_ignore_what_python_does(capfd):
    command("grep SigIgn /proc/self/status", StopPlan(dict.fromkeys(ALL, ENTRY)))
    ignored = int(capfd.readouterr().out.split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_a_process_is_traced_with_all_its_threads_and_what_it_makes():
    child = waiting()

    def started(tracees):
        child.stdin.write(b"ff")
        child.stdin.close()

    traced = process(child, StopPlan({GETPID: ENTRY | RETURN}, LIFE), started=started)
    assert os.waitstatus_to_exitcode(traced.status << 8) == 3
    first = [stop for stop in of_kind(traced, stops.START) if not stop.a]
    assert [stop.b for stop in first] == [0, 1, 1, 1]
    assert len({stop.tid for stop in of_kind(traced, stops.ENTRY)}) == 3 + 2
    assert len(of_kind(traced, stops.FORK)) == 2


def test_a_command_with_a_filter_and_a_process_without_are_traced_together():
    child = waiting()
    tracees = Tracees()
    tracees.grab(child.pid)
    pid = tracees.start(f"{program(MAKERS)}")
    tracees.begin(StopPlan({GETPID: ENTRY | RETURN}, LIFE), "postinit")
    tracees.go()
    found = follow(tracees, pid)
    while len({stop.tid for stop in found if stop.kind == stops.RETURN}) < 5 + 3:
        found += [StopRecord(*record) for record in tracees.take()[1]]
    child.stdin.close()
    found += follow(tracees, child.pid)
    tracees.close()
    assert (os.waitpid(pid, 0)[1], child.wait()) == (0, 3)
    callers = {stop.tid for stop in found if stop.kind == stops.ENTRY}
    assert len(callers) == 5 + 3
    assert {stop.tid for stop in found if stop.kind == stops.START and not stop.a} > {pid, child.pid}


def test_a_process_let_go_runs_on_untraced():
    child = waiting()
    tracees = Tracees()
    tracees.grab(child.pid)
    tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY | RETURN | HOLD_ENTRY), LIFE, LIFE))
    tracees.go()
    while not tracees.take()[1]:
        time.sleep(0.001)
    tracees.close()
    for tid in proc.threads(child.pid):
        assert untraced(tid)
        assert comes_to(tid, "RS")
    child.stdin.close()
    assert child.wait() == 3


def test_a_plan_survives_its_bytes():
    wanted = StopPlan({1: ENTRY, 1023: 15}, LIFE, frozenset({stops.EXEC}), True, False)
    assert plan.from_bytes(plan.to_bytes(wanted)) == wanted


SWITCHES = r"""
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
static long switches(void) { struct rusage used; getrusage(RUSAGE_SELF, &used); return used.ru_nvcsw; }
int main(void) {
    char go;
    read(0, &go, 1);
    long before = switches();
    for (int i = 0; i < 1009; i++) syscall(SYS_getppid);
    printf("%s\n", switches() - before < 500 ? "free" : "stopped");
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(("calls", "answer"), [({}, b"free\n"), ({GETPID: ENTRY}, b"stopped\n")])
def test_calls_of_a_process_stop_where_any_is_wanted(calls, answer):
    """A stop is a switch. What happens otherwise is told whether or not."""
    child = subprocess.Popen([program(SWITCHES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tracees = Tracees()
    tracees.grab(child.pid)
    tracees.begin(StopPlan(calls, LIFE))
    tracees.go()
    child.stdin.write(b"x")
    child.stdin.close()
    found = follow(tracees, child.pid)
    tracees.close()
    assert child.stdout.read() == answer
    assert child.wait() == 0
    assert [stop.kind for stop in found if stop.kind in (stops.EXIT, stops.END)] == [stops.EXIT, stops.END]
