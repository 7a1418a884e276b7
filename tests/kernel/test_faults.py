"""Faults: the clause stops, its record is discarded, ERROR clauses see what happened, later clauses go on."""

import pytest
from support.command.command import build, sonde, table

SEVEN = r"""
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 7; i++) syscall(SYS_getpgid, 0); return 0; }
"""

BEGIN_FAULTS = [
    ("trace(*(int *)16)", 1, 16),
    ("trace(stringof((char *)32))", 1, 32),
    ("trace(strlen((string)(char *)0xffffffffffffff00))", 1, 0xFFFFFFFFFFFFFF00),
    ("trace(((struct task_struct *)0)->pid)", 1, 0),
    ("trace(((struct task_struct *)64)->parent->pid)", 1, None),
    ("trace(curthread->parent->comm[i + 100])", 11, 100),
    ("trace(1 / i)", 4, 0),
    ("trace(1 % i)", 4, 0),
    ("a[*(int *)24] = 1", 1, 24),
    ("@[*(int *)40] = count()", 1, 40),
    ("self->x = *(long *)48", 1, 48),
    ("tracemem((char *)56, 8)", 1, 56),
    ("trace(ipl)", 3, None),
]


@pytest.mark.share(1)
@pytest.mark.parametrize(("statement", "code", "value"), BEGIN_FAULTS)
def test_error_clauses_see_the_kind_and_the_value(statement, code, value):
    """arg1 is the probe, arg4 the fault, arg5 the address or index; the clause's other actions do not show."""
    text = (f'BEGIN {{ i = 0; printf("first\\n"); }} BEGIN {{ printf("no"); {statement}; printf("no"); }} '
            'BEGIN { printf("last\\n"); exit(0); } '
            'ERROR { printf("%d %d %u\\n", arg1, arg4, (uint64_t)arg5); }')  # fmt: skip
    done = sonde("-qn", text)
    first, seen, last = done.stdout.split("\n")[:3]
    assert (first, last) == ("first", "last")
    assert seen.split()[:2] == ["1", str(code)]
    assert value is None or seen.split()[2] == str(value)
    assert done.stderr.count("sonde: error in dt_clause_") == 1
    assert value is None or code not in (1, 11) or (f"({value:#x})" if code == 1 else f"({value})") in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "expression",
    ["copyinstr(0xdeadbeef)", "copyinstr(0x10, 8)", "*(int *)copyin(0xdeadbeef, 4)", "stringof((char *)arg9)"],
)
def test_bad_user_addresses_stop_the_clause(tmp_path, expression):
    """Each of seven calls: aggregations before the fault count, those behind it do not, and no line is printed."""
    program = build(tmp_path, "seven", SEVEN)
    text = ("syscall::getpgid:entry /pid == $target/ "
            f'{{ @["before"] = count(); printf("no"); trace({expression}); @["behind"] = count(); }} '
            'syscall::getpgid:entry /pid == $target/ { @["later"] = count(); } '
            'ERROR { @["error"] = count(); }')  # fmt: skip
    done = sonde("-qc", program, "-n", text)
    assert table(done.stdout) == {("before",): 7, ("later",): 7, ("error",): 7}
    assert done.stderr.count("invalid address") == 7


def test_hops_through_null_are_faults_where_c_would_crash():
    """Idle and kernel threads have no mm."""
    text = ("int bad; sched_switch /curthread->mm == NULL/ { @[curthread->mm->mm_users.counter] = count(); } "
            "ERROR { bad += arg4 == 1; } tick-200ms { exit(bad > 0 ? 0 : 3); }")  # fmt: skip
    assert sonde("-qn", text).stdout.split() == []


def test_a_fault_in_an_error_clause_is_only_counted():
    done = sonde("-qn", "ERROR { trace(1 / (arg4 - 1)); } BEGIN { trace(*(int *)8); } BEGIN { exit(0); }")
    assert done.stderr.splitlines()[-1] == "sonde: 1 error in ERROR probe enabling"


def test_a_fault_in_end_is_told():
    done = sonde("-qn", 'BEGIN { exit(0); } END { trace(*(int *)8); } ERROR { printf("%d %d", arg1, arg2); }')
    assert done.stdout.split() == ["2", "1"]
    assert "dt_clause_1 for probe ID 2 (dtrace:::END): invalid address (0x8)" in done.stderr
