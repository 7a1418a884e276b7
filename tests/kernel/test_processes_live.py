"""psinfo_t, lwpsinfo_t, fds[], cwd and root against what the process itself is told."""

import os
import subprocess

import pytest
from support.command.command import build, sonde

WORKLOAD = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *thread(void *unused) {
    prctl(PR_SET_NAME, "second");
    printf("%d second\n", gettid());
    getppid();
    return 0;
}

int main(int count, char **words, char **environment) {
    char directory[200];
    pthread_t id;
    int file = open(words[1], O_RDWR | O_APPEND);
    chdir("/usr");
    lseek(file, 7, SEEK_SET);
    dup2(file, 20);
    setsid();
    setresgid(1201, 1202, -1);
    setresuid(1101, 1102, -1);
    printf("%d %d %d %d %d %d %d %d\n",
        getpid(), getppid(), getpgrp(), getsid(0), getuid(), geteuid(), getgid(), getegid());
    printf("%d %lx %lx\n", count, (long)words, (long)environment);
    printf("%s\n", getcwd(directory, sizeof(directory)));
    fflush(stdout);
    getpgid(0);
    pthread_create(&id, 0, thread, 0);
    pthread_join(id, 0);
    return 0;
}
"""

PROGRAM = r"""
syscall::getpgid:entry /pid == $target/ {
    printf("%d %d %d %d ", curpsinfo->pr_pid, curpsinfo->pr_ppid, curpsinfo->pr_pgid, curpsinfo->pr_sid);
    printf("%d %d %d %d\n", curpsinfo->pr_uid, curpsinfo->pr_euid, curpsinfo->pr_gid, curpsinfo->pr_egid);
    printf("%d %x %x\n", curpsinfo->pr_argc, curpsinfo->pr_argv, curpsinfo->pr_envp);
    printf("%s\n", cwd);
    printf("[%s] [%s] %d %d\n", curpsinfo->pr_psargs, curpsinfo->pr_fname, curpsinfo->pr_nlwp, curpsinfo->pr_wstat);
    printf("%d %d\n", curpsinfo->pr_addr == (uintptr_t)curthread, curpsinfo->pr_dmodel == PR_MODEL_LP64);
    printf("%s %s %d %o\n", fds[20].fi_name, fds[20].fi_pathname, fds[20].fi_offset, fds[20].fi_oflags & O_ACCMODE);
    printf("%d %s %s %s\n", (fds[20].fi_oflags & O_APPEND) != 0, fds[21].fi_name, fds[-1].fi_fs, root);
    printf("%s %d ", d_path(&getf(20)->f_path), getf(20)->f_pos == fds[20].fi_offset);
    printf("%d %d %d\n", getf(21) == NULL, getf(-1) == NULL, getf(1 << 30) == NULL);
}
syscall::getppid:entry /pid == $target && tid != pid/ {
    printf("%d %s %c %d ", curlwpsinfo->pr_lwpid, curlwpsinfo->pr_name, curlwpsinfo->pr_sname, curlwpsinfo->pr_pri);
    printf("%d %d %d\n", curlwpsinfo->pr_onpro == cpu, curlwpsinfo->pr_state == SRUN, curpsinfo->pr_nlwp);
}
ERROR { printf("fault %d at %x\n", arg4, arg5); exit(1); }
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    directory = tmp_path_factory.mktemp("processes")
    file = directory / "file.txt"
    file.write_text("some text")
    directory.chmod(0o755)
    program = build(directory, "load", WORKLOAD, "-pthread")
    told = directory / "told"
    done = sonde("-qn", PROGRAM, "-c", f"sh -c 'exec {program} {file} two > {told}'")
    return done.stdout.splitlines(), told.read_text().splitlines(), program, str(file)


@pytest.mark.long
def test_identities(lines):
    traced, told, *_ = lines
    assert traced[0] == told[0]


def test_arguments_and_environment(lines):
    traced, told, program, file = lines
    assert traced[1] == told[1]
    assert traced[3] == f"[{f'{program} {file} two'[:79]}] [load] 1 0"
    assert traced[4] == "1 1"


def test_directories(lines):
    traced, told, *_ = lines
    assert traced[2] == told[2] == "/usr"
    assert traced[6].endswith(" /")


def test_getf_gives_the_file_that_fds_describes(lines):
    traced, _, _, file = lines
    assert traced[7] == f"{file} 1 1 1 1"


def test_open_files(lines):
    traced, _, _, file = lines
    assert traced[5] == f"file.txt {file} 7 2"
    assert traced[6] == "1 <none> <none> /"


def test_threads(lines):
    traced, told, *_ = lines
    number, name = told[3].split()
    assert traced[8] == f"{number} {name} R {120 + os.getpriority(os.PRIO_PROCESS, 0)} 1 1 2"


def test_the_command_line_of_another_process_is_its_name():
    """Unless it is a child that has not yet become another program."""
    text = """
    proc:::create /pid == $target/ { printf("%s|", args[0]->pr_psargs); child = args[0]->pr_pid; }
    proc:::exit /child && pid == child/ { printf("%s", xlate <psinfo_t *>(curthread->real_parent)->pr_psargs); }
    """
    done = sonde("-qn", text, "-c", "sh -c '/bin/sleep 0; :'")
    assert done.stdout.strip() == "sh -c /bin/sleep 0; :|sh"


@pytest.mark.share(1)
@pytest.mark.parametrize("member", ["pr_size", "pr_rssize", "pr_pctcpu"])
def test_what_linux_does_not_tell_has_no_translation(member):
    done = sonde("-xerrtags", "-en", f"BEGIN {{ trace(curpsinfo->{member}); }}", status=1)
    assert "D_XLATE_NOCONV" in done.stderr


@pytest.mark.long
def test_noresolve_shows_objects_and_offsets(tmp_path):
    """The offset is the address that the program was linked at: behind the symbol's, by a call's length."""
    text = (
        "#include <unistd.h>\n__attribute__((noinline)) long caller(long n) { return getppid() + n; }\n"
        "int main(int n) { return caller(n) == 0; }\n"
    )
    program = build(tmp_path, "calls", text, "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
    clause = 'syscall::getppid:entry /pid == $target/ { printf("%A %A", uaddr(ucaller), usym(ucaller)); }'
    named = sonde("-q", "-c", program, "-n", clause).stdout.split()
    shown = sonde("-q", "-xnoresolve", "-c", program, "-n", clause).stdout.split()
    distance = int(named[0].partition("+")[2], 16)
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines()
    starts = {line.split()[2]: int(line.split()[0], 16) for line in symbols if len(line.split()) == 3}
    assert shown == [f"calls:{starts[named[1].partition('`')[2]] + distance:#x}", named[1]]
