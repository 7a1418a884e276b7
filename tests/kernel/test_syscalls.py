"""System calls: which happened, with what arguments and results; strace(1) is the second opinion."""

import re
import subprocess
from collections import Counter

import pytest
from support.command.command import build, sonde, table
from support.machine import packages

WORKLOAD = r"""
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *unused) { for (int i = 0; i < 13; i++) syscall(SYS_getpgid, 0); return 0; }
int main(int argc, char **argv) {
    pthread_t threads[3];
    char path[] = "/nonexistent/file";
    if (argc > 1) { for (int i = 0; i < 7; i++) syscall(SYS_getuid); return 3; }
    for (int i = 0; i < 101; i++) syscall(SYS_getppid);
    for (int i = 0; i < 17; i++) open(path, O_RDONLY);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (!child) { execl(argv[0], argv[0], "child", (char *)0); _exit(9); }
        waitpid(child, 0, 0);
    }
    lseek(-1, -5, SEEK_SET);
    return 0;
}
"""

INT80 = r"""
#include <unistd.h>
static long old(long number, long one, long two, long three) {
    long result;
    asm volatile("int $0x80" : "=a"(result) : "a"(number), "b"(one), "c"(two), "d"(three)
                 : "memory", "r8", "r9", "r10", "r11");
    return result;
}
int main(void) {
    for (int i = 0; i < 11; i++) old(20, 0, 0, 0);          /* getpid there, writev here */
    for (int i = 0; i < 5; i++) old(19, -1, -7, 1);         /* lseek there, readv here */
    for (int i = 0; i < 7; i++) old(3, 99, 0x1234, 3);      /* read there, close here */
    for (int i = 0; i < 3; i++) old(99999, 0, 0, 0);        /* no call at all */
    return 0;
}
"""

OF_WORKLOAD = 'syscall:::entry /execname == "workload"/'


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    return build(tmp_path_factory.mktemp("c"), "workload", WORKLOAD, "-pthread")


def strace(program, *options):
    packages.require("strace")
    done = subprocess.run(["strace", "-f", "-qq", *options, program], capture_output=True, text=True)
    return done.stderr.splitlines()


def test_entries_and_returns_are_those_that_strace_sees(workload):
    """Every call of a program with threads and children that exec, from the start of main on."""
    deterministic = ("getppid", "openat", "getpgid", "getuid", "wait4", "lseek", "execve", "exit_group")
    calls = Counter()
    for line in strace(workload):
        found = re.match(r"(?:\[pid +\d+\] )?(\w+)\(", line)
        if found:
            calls[found[1]] += 1
    text = ('syscall:::entry /execname == "workload"/ { @[probefunc, "entry"] = count(); } '
            'syscall:::return /execname == "workload"/ { @[probefunc, "return"] = count(); }')  # fmt: skip
    seen = table(sonde("-qc", workload, "-n", text).stdout)
    for name in deterministic:
        assert calls[name], f"strace saw no {name}"
    assert seen[("getppid", "entry")] == calls["getppid"] == 101
    assert seen[("getpgid", "entry")] == seen[("getpgid", "return")] == calls["getpgid"] == 39
    assert seen[("getuid", "entry")] == calls["getuid"] == 35
    assert seen[("execve", "entry")] == calls["execve"] - 1 == 5
    assert seen[("execve", "return")] == 5
    assert seen[("exit_group", "entry")] == calls["exit_group"] == 6
    assert ("exit_group", "return") not in seen
    assert seen[("wait4", "entry")] == seen[("wait4", "return")]


def test_arguments_and_results_are_those_that_strace_sees(workload):
    """Pointers as strings, negative numbers, flags; the result and errno of what fails and of what does not."""
    text = ("syscall::openat:entry /pid == $target/ { self->name = copyinstr(arg1); self->flags = arg2; } "
            "syscall::openat:return /self->flags != -1 && strlen(self->name) > 0/ "
            '{ printf("%s %d %d %d %d\\n", self->name, self->flags, (int)arg0, (int)arg1, errno); self->name = 0; } '
            "syscall::lseek:entry /pid == $target/ "
            '{ printf("lseek %d %d %d %d %d\\n", (int)arg0, (long)arg1, args[0], args[1], args[2]); } '
            "syscall::lseek:return /pid == $target/ "
            '{ printf("lseek returned %d %d\\n", arg1, errno); }')  # fmt: skip
    lines = [
        line
        for line in sonde("-qc", workload, "-n", text).stdout.splitlines()
        if "nonexistent" in line or "lseek" in line
    ]
    assert lines[:17] == ["/nonexistent/file 0 -2 -2 2"] * 17
    assert lines[17:] == ["lseek -1 -5 4294967295 -5 0", "lseek returned -9 9"]
    assert any(
        re.search(r'openat\(AT_FDCWD, "/nonexistent/file", O_RDONLY\) += -1 ENOENT', line) for line in strace(workload)
    )
    assert any("lseek(-1, -5, SEEK_SET)" in line and "EBADF" in line for line in strace(workload))


def test_calls_of_the_32_bit_table_have_their_own_names(tmp_path):
    """int 0x80 from a 64-bit program: named, numbered and with arguments as the ia32 table has it, each once."""
    program = build(tmp_path, "int80", INT80)
    text = ('syscall:::entry /pid == $target/ { @[probemod, probefunc, "entry"] = count(); } '
            'syscall:::return /pid == $target/ { @[probemod, probefunc, "return"] = count(); }')  # fmt: skip
    seen = table(sonde("-qc", program, "-n", text).stdout)
    compat = {key[1:]: number for key, number in seen.items() if key[0] == "ia32"}
    for name, number in {"getpid": 11, "lseek": 5, "read": 7}.items():
        assert compat[(name, "entry")] == compat[(name, "return")] == number
    assert not {key[1] for key in seen if key[0] == "vmlinux"} & {"writev", "readv", "close", "getpid", "lseek"}
    text = ("syscall:ia32:lseek:entry /pid == $target/ "
            '{ @["entry", arg0, arg1, arg2, (long)args[1]] = count(); } '
            'syscall:ia32:lseek:return /pid == $target/ { @["return", arg1, errno, 0, 0] = count(); } '
            'syscall:ia32:read:entry /pid == $target/ { @["read", arg0, arg1, arg2, 0] = count(); }')  # fmt: skip
    seen = table(sonde("-qc", program, "-n", text).stdout)
    low = (1 << 32) - 7
    assert seen == {
        ("entry", str((1 << 32) - 1), str(low), "1", "-7"): 5,
        ("return", "-9", "9", "0", "0"): 5,
        ("read", "99", str(0x1234), "3", "0"): 7,
    }


def test_one_probe_of_a_call_is_not_fooled_by_the_other_table(tmp_path):
    """A single probe stays silent for the call that has its number in the other table, also where both have a name."""
    program = build(tmp_path, "int80", INT80)
    silent = sonde("-qc", program, "-n", "syscall:vmlinux:writev:entry /pid == $target/ { @ = count(); }")
    assert silent.stdout.strip() == ""
    silent = sonde("-qc", program, "-n", "syscall:vmlinux:getpid:entry /pid == $target/ { @ = count(); }")
    assert silent.stdout.strip() == ""
    heard = sonde("-qc", program, "-n", "syscall:ia32:getpid:entry /pid == $target/ { @ = count(); }")
    assert table(heard.stdout) == {(): 11}


def test_fork_and_exec_keep_and_change_what_they_should(workload):
    """A child has its parent's pid as ppid; exec keeps pid and tid; threads share a pid and differ in tid."""
    text = ('syscall::getuid:entry /execname == "workload"/ '
            "{ @[pid != $target, ppid == $target, pid == tid] = count(); } "
            "syscall::getpgid:entry /pid == $target/ { @t[tid == pid] = count(); @n[tid] = count(); }")  # fmt: skip
    out = sonde("-qc", workload, "-n", text).stdout
    assert table(out)[("1", "1", "1")] == 35
    assert table(out)[("0",)] == 39
    assert sorted(table(out).values()) == [13, 13, 13, 35, 39]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("call", "probe"), [("args->filename", "syscall::openat:entry"), ("args->ret", "syscall::openat:return")]
)
def test_arguments_are_found_by_their_names(call, probe):
    shown = f"stringof({call})" if "filename" in call else call
    number = "arg1" if "filename" in call else "arg0"
    same = f"copyinstr({number})" if "filename" in call else number
    program = f"{probe} /pid == $target/ {{ @[{shown} == {same}] = count(); }}"
    done = sonde("-q", "-c", "cat /etc/hostname", "-n", program)
    assert [line.split()[0] for line in done.stdout.splitlines() if re.fullmatch(r"\s*\d+\s+\d+\s*", line)] == ["1"]


def test_an_argument_that_is_wanted_at_a_return_is_told_to_be_saved():
    text = "syscall::openat:return { trace(args->filename); }"
    message = " ".join(sonde("-en", text, status=1).stderr.split())
    assert "save it at the entry, self->filename = args->filename, and use self->filename here" in message
    assert "write ." not in message


def test_listed_arguments_have_their_names():
    """But for the command dtrace, and its tests."""
    assert "args[1]: const char *  args->filename\n" in sonde("-lvn", "syscall::openat:entry").stdout
    assert "args[1]: int *  args->stat_addr\n" in sonde("-lvn", "syscall:ia32:waitpid:entry").stdout
