"""Variables of system calls by their prototypes, which objects get or ask for on the embedded engine."""

import shlex
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command.unprivileged import sonde
from support.machine import packages

SOURCE = """
char lines[] SEC("config") = "gone=syscall/rmdir pathname\\n"
    "back=syscall/rmdir%return $retval\\n"
    "slept=syscall/clock_nanosleep which_clock rqtp->tv_sec rqtp->tv_nsec\\n";
struct slept { s32 clock; s64 seconds; s64 nanoseconds; };
SEC("gone") int on_gone(struct probe *p, long error, const char *path)
{
    char text[32];
    bpf_probe_read_user_str(text, sizeof text, path);
    bpf_printk("rmdir %s, %d", text, error);
    return 0;
}
SEC("back") int on_back(struct probe *p, long error, s64 result)
{
    bpf_printk("= %d, errno %d", result, p->error);
    return 0;
}
SEC("slept") int on_slept(struct probe *p)
{
    struct slept s;
    long error = bpf_fetch_variables(p, &s, sizeof s);
    bpf_printk("slept %d %d, %d", s.seconds, s.nanoseconds, error);
    return 0;
}
"""
CALLS = """
import ctypes, os, time
try: os.rmdir("/nonexistent/by-nobody")
except OSError: pass
time.sleep(0.03125)
sleep = ctypes.CDLL(None).clock_nanosleep
sleep(1, 0, ctypes.c_void_p(8), None)
"""


def run(source, compiler, *words, status=0):
    workload = shlex.join([sys.executable, "-c", CALLS])
    return sonde("--engine", "embedded", "--object", compiled(source, compiler), "-c", workload, *words, status=status)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_arguments_and_results_arrive_or_are_asked_for(compiler):
    lines = run(SOURCE, compiler).stdout.splitlines()
    assert lines[:2] == ["rmdir /nonexistent/by-nobody, 0", "= -2, errno 2"]
    # Python sleeps until a time.
    assert [each.split()[-1] for each in lines[2:]] == ["0", "-14"]
    assert lines[-1] == "slept 0 0, -14", "what cannot be read is zeros, and the error that of the first"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x=syscall/nothing a", "there is no system call nothing"),
        ("x=syscall/rmdir path", "syscall/rmdir has no argument path"),
        ("x=syscall/rmdir%return pathname", "when a system call returns its arguments may be gone"),
        ("x=syscall/rmdir $retval", "$retval is there when a system call returns"),
        ("x=syscall/rmdir pathname->x", "pathname->x: const char has no members"),
        ("exec=/bin/true;x=syscall/rmdir pathname", "a system call is in no file and no module"),
        ("x=vfs_read file", "the embedded engine fires no kprobe programs"),
    ],
)  # fmt: skip
def test_a_line_that_names_what_there_is_not_is_refused(line, wanted):
    packages.require("bpf-gcc")
    source = f'char lines[] SEC("config") = "{line}\\n"; SEC("x") int f(void *p) {{ return 0; }}'
    text = " ".join(run(source, "gcc", status=1).stderr.split())
    assert wanted in text
    assert "Traceback" not in text


def test_too_little_room_is_refused_by_the_verifier():
    packages.require("bpf-gcc")
    done = run(SOURCE.replace("sizeof s)", "sizeof s - 1)"), "gcc", status=1)
    assert "24 bytes" in done.stderr


def test_code_that_asks_what_there_is_may_need_what_there_is_not():
    packages.require("clang")
    source = """
    struct task_struct { int pid; int tgid; u64 start_time; } __attribute__((preserve_access_index));
    u64 without, with;
    SEC("tp/syscalls/sys_enter_rmdir") int f(void *c)
    {
        struct task_struct *task = bpf_get_current_task_btf();
        if (__builtin_preserve_field_info(task->start_time, 2))
            with += task->start_time;
        else
            without += task->pid == task->tgid;
        return 0;
    }
    """
    assert "without = 1\n" in run(source, "clang", "--dump").stdout
