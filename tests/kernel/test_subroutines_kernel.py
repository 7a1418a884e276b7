"""Subroutines that look into the kernel: paths, locks, ancestors, device numbers."""

import os
import subprocess
import sys

import pytest
from support.command.command import build, sonde, table
from support.d.d_run import Run

MARK = 0x5BD1E995
OPENED = "syscall::pread64:entry /pid == $target && arg3 == 0x5bd1e995/"
PATH = "d_path(&curthread->files->fdt->fd[arg0]->f_path)"

READER = f"""
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
for name in sys.argv[1:]:
    if name == "socket":
        fd = socket.socket().detach()
    else:
        fd = os.pipe()[0] if name == "pipe" else os.open(name, os.O_RDONLY)
    if name.endswith("/gone"):
        os.unlink(name)
    print(os.readlink(f"/proc/self/fd/{{fd}}"))
    libc.pread64(fd, ctypes.create_string_buffer(1), ctypes.c_size_t(1), ctypes.c_long({MARK}))
"""


def paths_of(directory, names, *options):
    """For each file what /proc calls it and what d_path() does, in a process that opens them all."""
    script = directory / "reader.py"
    script.write_text(READER)
    command = f"'{sys.executable}' {script} {' '.join(map(str, names))}"
    found = directory / "found"
    done = sonde("-qc", command, "-o", str(found), *options, "-n", f'{OPENED} {{ printf("%s\\n", {PATH}); }}')
    expected, traced = ([line for line in text.splitlines() if line] for text in (done.stdout, found.read_text()))
    return expected, traced


@pytest.fixture
def names(tmp_path):
    """Files of several file systems, deep below mount points, and one that is removed when it has been opened."""
    deep = tmp_path.joinpath(*(f"directory-{n}" for n in range(25)))
    deep.mkdir(parents=True)
    (deep / "gone").write_text("")
    return ["/", "/proc", "/proc/self/status", "/etc/passwd", "/dev/null", "/sys/kernel", deep, deep / "gone"]


def test_paths_are_those_of_proc(tmp_path, names):
    """Names, mount points and " (deleted)" as the kernel itself puts them together."""
    expected, found = paths_of(tmp_path, names, "-xstrsize=1024")
    assert found == expected
    assert sum(path.endswith("/gone (deleted)") for path in found) == 1


def test_a_long_path_is_cut_like_any_string(tmp_path, names):
    expected, found = paths_of(tmp_path, names, "-xstrsize=20")
    assert found == [path[:20] for path in expected]


def test_what_is_in_no_directory_has_the_name_of_its_file_system(tmp_path):
    assert paths_of(tmp_path, ["pipe", "socket"])[1] == ["pipefs:", "sockfs:TCP"]


def test_a_path_that_is_none_is_a_fault():
    with Run("BEGIN { s = d_path((struct path *)64); }") as run:
        run.begin()
        assert [fault[2:] for fault in run.faults()] == [(1, 64)]


def test_progeny_are_children_and_their_children():
    """This process, its parent and init have the traced process among their progeny; a child of ours has not."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        wanted = [os.getpid(), os.getppid(), 1, other.pid, 1 << 22]
        calls = ", ".join(f"progenyof({pid})" for pid in wanted)
        text = f'syscall::exit_group:entry /progenyof($target)/ {{ printf("%d %d %d %d %d", {calls}); exit(0); }}'
        assert sonde("-qc", "sh -c true", "-n", text).stdout.split() == ["1", "1", "1", "0", "0"]
    finally:
        other.kill()
        other.wait()


LOCKS = [(0, 0, 0, 0), (0x200, 1, 0, 0), (0x600, 1, 0, 0), (0xFF, 0, 1, 1), (0x300, 1, 0, 1), (0x3FF, 0, 1, 1)]
"""A queued lock's word; whether it is held for reading, for writing, and held or waited for by a writer."""


@pytest.mark.parametrize(("word", "read", "write", "writer"), LOCKS)
def test_read_write_locks_tell_who_holds_them(word, read, write, writer):
    """The word is made up: few kernels give the addresses of their locks. A writer keeps waiting readers out."""
    text = (f"BEGIN {{ p = (int *)alloca(sizeof (rwlock_t)); *p = {word}; lock = (rwlock_t *)p; "
            "r = rw_read_held(lock); w = rw_write_held(lock); i = rw_iswriter(lock); }")  # fmt: skip
    with Run(text) as run:
        run.begin()
        found = run.globals()
        assert (found["r"], found["w"], found["i"]) == (read, write, writer)


READS = r"""
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    static char data[1 << 20];
    char name[] = "/tmp/sonde-mutex-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    write(file, data, sizeof data);
    dup2(file, 100);
    dup(100);
    for (time_t end = time(0) + 2; time(0) < end;) {
        lseek(file, 0, SEEK_SET);
        syscall(SYS_read, 100, data, sizeof data);
    }
    return 0;
}
"""


@pytest.mark.long
def test_a_mutex_tells_its_owner(tmp_path):
    """Reading a file that two descriptors share is done with its position's mutex held: by this thread or by nobody."""
    program = build(tmp_path, "reads", READS)
    text = ("profile-1999 /pid == $target && curthread->files->fdt->fd[100]/ { "
            "this->mutex = &curthread->files->fdt->fd[100]->f_pos_lock; this->owner = mutex_owner(this->mutex); "
            '@[this->owner == curthread ? "mine" : this->owner == NULL ? "free" : "other", mutex_owned(this->mutex), '
            "mutex_type_adaptive(this->mutex), mutex_type_spin(this->mutex)] = count(); }")  # fmt: skip
    found = table(sonde("-qc", program, "-n", text).stdout)
    assert {key: number > 0 for key, number in found.items()} in (
        {("mine", "1", "1", "0"): True, ("free", "0", "1", "0"): True},
        {("mine", "1", "1", "0"): True},
    )


def test_device_numbers_have_twenty_bits_of_minor():
    with Run("BEGIN { major = getmajor(0x80100003); minor = getminor(0x80100003); }") as run:
        run.begin()
        found = run.globals()
        assert (found["major"], found["minor"]) == (0x801, 3)


@pytest.mark.share(2)
@pytest.mark.parametrize(("call", "message"), [
    ("panic()", "panic() is not implemented (yet)"),
    ("breakpoint()", "breakpoint() is not implemented (yet)"),
    ("trace(msgsize((void *)0))", "msgsize arg#1 (mblk_t *): Unknown type name"),
    ("trace(msgdsize((void *)0))", "msgdsize arg#1 (mblk_t *): Unknown type name"),
    ("trace(ddi_pathname((void *)0, 1))", "unimplemented subroutine: ddi_pathname"),
])  # fmt: skip
def test_what_there_is_not_is_said_when_the_program_is_compiled(call, message):
    assert message in sonde("-wqn", f"BEGIN {{ {call}; }}", status=1).stderr
