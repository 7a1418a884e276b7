"""sdt and rawtp: arguments by format and by BTF, many probes in one description."""

import re

import pytest
from support.command.command import build, sonde, table
from support.machine.access import require
from support.machine.activity import activity

FORKS = r"""
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 11; i++) { pid_t child = fork(); if (!child) _exit(0); waitpid(child, 0, 0); }
    return 0;
}
"""

EXEC = r"""
#include <unistd.h>
int main(int argc, char **argv) { return argc > 1 ? 0 : execl(argv[0], argv[0], "again", (char *)0); }
"""


def test_strings_behind_a_record_are_found(tmp_path):
    """A __data_loc field printed, compared, converted and as a key."""
    program = build(tmp_path, "again", EXEC)
    text = ("sdt:sched::sched_process_exec /pid == $target/ "
            '{ printf("%s %s %d %d\\n", args[0], stringof(args[0]), args[1] == pid, args[2] == pid); '
            "@[args[0]] = count(); } "
            f'sdt:sched::sched_process_exec /stringof(args[0]) == "{program}"/ {{ @same = count(); }}')  # fmt: skip
    out = sonde("-qc", program, "-xstrsize=300", "-n", text).stdout
    assert out.splitlines()[0] == f"{program} {program} 1 1"
    assert table("\n".join(out.splitlines()[1:])) == {(program,): 1, (): 1}


def test_arguments_by_btf_go_through_pointers(tmp_path):
    """The first hop, strings in structures and later hops of a tracepoint's own arguments."""
    program = build(tmp_path, "again", EXEC)
    text = ("rawtp:sched::sched_process_exec /args[0]->tgid == $target/ { "
            'printf("%s %s %d %d %d\\n", stringof(args[2]->filename), stringof(args[0]->comm), args[1] == pid, '
            "args[0]->group_leader->pid == pid, args[0]->real_parent->tgid == ppid); }")  # fmt: skip
    assert sonde("-qc", program, "-n", text).stdout.splitlines()[0] == f"{program} again 1 1 1"


def test_records_and_raw_arguments_of_an_event_agree(tmp_path):
    """Eleven children: by format, by BTF, and with arguments nobody looks at."""
    program = build(tmp_path, "forks", FORKS)
    text = ("sdt:sched::sched_process_fork /pid == $target/ { @format[args[1] == pid, args[3] != pid] = count(); } "
            "rawtp:sched::sched_process_fork /pid == $target/ "
            "{ @btf[args[0]->pid == pid, args[1]->pid != pid, args[1]->real_parent == args[0]] = count(); } "
            "sdt:sched::sched_process_fork /pid == $target/ { @plain = count(); }")  # fmt: skip
    seen = table(sonde("-qc", program, "-n", text).stdout)
    assert seen == {("1", "1"): 11, ("1", "1", "1"): 11, (): 11}


def test_one_program_tells_many_probes_apart(tmp_path):
    """Each of the scheduler's probes has its own name and count, and the forks are exact."""
    require("raw_tp_cookie")
    program = build(tmp_path, "forks", FORKS)
    for provider in ("sdt", "rawtp"):
        done = sonde(
            "-qc",
            program,
            "-n",
            f"{provider}:sched:: /pid == $target/ {{ @[probeprov, probemod, probename] = count(); }}",
        )
        seen = table(done.stdout)
        assert {key[:2] for key in seen} == {(provider, "sched")}
        assert seen[(provider, "sched", "sched_process_fork")] == 11
        assert seen[(provider, "sched", "sched_process_wait")] >= 11


@pytest.mark.long
def test_every_trace_event_can_be_enabled_at_once_and_let_go():
    """Also those that perf may only count; with and without a look at the record."""
    with activity():
        done = sonde("-n", "sdt::: { @[probename] = count(); } tick-200ms { exit(0); }")
    matched = int(re.search(r"matched (\d+) probes", done.stderr)[1])
    assert matched > 500
    assert len(table("\n".join(line for line in done.stdout.splitlines() if re.fullmatch(r"  \w+ +\d+", line)))) > 10


def test_an_event_that_may_only_be_counted_fires_with_its_record():
    """irq_work_exit refuses sampling: a program on it does not sample."""
    found = sonde("-ln", "sdt:irq_vectors::irq_work_exit").stdout
    if "irq_work_exit" not in found:
        pytest.skip("this kernel has no trace event irq_work_exit")
    done = sonde("-qn", "sdt:irq_vectors::irq_work_exit { @[arg0] = count(); } tick-50ms { exit(0); }")
    assert done.stderr == ""


@pytest.mark.share(1)
@pytest.mark.parametrize("clauses", [1, 2, 3])
@pytest.mark.parametrize("probe", ["rawtp:::sys_enter", "rawtp:::sched_switch", "syscall::wait4:entry"])
def test_a_stack_begins_with_the_probed_code(probe, clauses, tmp_path):
    """Whatever the kernel puts between: it depends on how many programs are attached."""
    program = build(tmp_path, "forks", FORKS)
    text = " ".join(f"{probe} /arg0 != {-n - 1}/ {{ @[stack({n + 1})] = count(); }}" for n in range(clauses))
    out = sonde("-qc", program, "-n", text).stdout
    assert "`" in out
    assert "__traceiter" not in out
    assert "__bpf_trace" not in out
