"""Variables of D in replays of recordings of both engines: each has the value that it had live, or the replay says that
the recording does not hold it. None is empty or 0 in silence."""

import re

import pytest
from support.command.command import build, sonde, unwrapped

from sonde.frontends.d.check.builtins import NAMES

PROGRAM = """
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>
int main(int count, char **words) {
    struct utsname names;
    if (chdir(words[1])) return 1;
    prctl(PR_SET_NAME, "named");
    return uname(&names);
}
"""


def words(text):
    return text.split()


SAME = words("""
arg9 epid errno execname gid id probefunc probemod probename probeprov uid cwd root curpsinfo->pr_nlwp
stringof(curpsinfo->pr_fname) curpsinfo->pr_psargs curpsinfo->pr_argc curpsinfo->pr_uid curpsinfo->pr_euid
curpsinfo->pr_gid curpsinfo->pr_egid curpsinfo->pr_dmodel curpsinfo->pr_wstat curlwpsinfo->pr_sname
curlwpsinfo->pr_state curlwpsinfo->pr_flag curlwpsinfo->pr_pri stringof(curlwpsinfo->pr_name) curlwpsinfo->pr_bindpro
curpsinfo->pr_sid
""")
"""Variables with the same value in each run. The session is 0 where a process outside the pid namespace, or the kernel,
began it."""

OTHER = words("""
arg0 args[0] ucaller ustackdepth pid ppid tid timestamp vtimestamp walltimestamp uregs[R_RIP] $target curpsinfo->pr_pid
curpsinfo->pr_ppid curpsinfo->pr_pgid curpsinfo->pr_argv curpsinfo->pr_envp curlwpsinfo->pr_lwpid
""")
"""What each run has another of, and never 0."""

OF_KERNEL = words("""
curlwpsinfo->pr_nice stringof(curlwpsinfo->pr_clname) stackdepth caller curthread->pid curpsinfo->pr_start.tv_sec
curlwpsinfo->pr_time.tv_nsec curpsinfo->pr_lwp.pr_time.tv_nsec curpsinfo->pr_addr
""")
"""What the kernel engine alone has: the first two are the same in each run."""

KEPT = words("curpsinfo->pr_psargs cwd root")
"""What the kernel engine keeps of the thread's structures; the embedded one keeps these whole."""

APART = words("cwd root curpsinfo->pr_psargs curpsinfo->pr_nlwp stringof(curpsinfo->pr_fname) ucaller ustackdepth pid")
"""What a recording may lack, or not, each for itself."""

NOT_HERE = {
    "curcpu",
    "curthread",
    "ipl",
    "args",
    "uregs",
    "arg1",
    "arg2",
    "arg3",
    "arg4",
    "arg5",
    "arg6",
    "arg7",
    "arg8",
}
"""Seen by their members or elements above; what Linux has not; and what is as `arg9`."""

NEUTRAL = "syscall::uname:entry /pid == $target/ { n++; }"


def script(names, are_apart=False):
    """Shows them, in one clause each, or all in one, which a fault of any of them would end."""
    shown = [f'printf("{each} = "); trace({each}); printf("\\n");' for each in names]
    clauses = shown if are_apart else ["".join(shown)]
    return "".join(f"syscall::uname:entry /pid == $target/ {{ {each} }}\n" for each in clauses)


def values(text):
    return dict(re.findall(r"^(\S+) = (.*)$", text, re.MULTILINE))


def test_each_variable_of_the_language_is_looked_at():
    assert {name.partition("[")[0] for name in (*SAME, *OTHER, *OF_KERNEL)} | NOT_HERE >= NAMES


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variables")
    program = build(folder, "variables", PROGRAM)
    room = folder / "room"
    room.mkdir()
    return f"{program} {room}"


def by_frame_pointers_alone(message):
    """True if the only message, if any, is about stacks by frame pointers in recordings of the kernel engine."""
    return re.fullmatch(r"(sonde: stacks of processes are by frame pointers here, .*--record-stacks 8192\n)?", message)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_variables_that_no_script_asked_for(tmp_path, command, engine):
    path = str(tmp_path / "it.rec")
    same = [each for each in SAME if engine == "embedded" or each in KEPT or "->" not in each]
    names = [*same, *(each for each in OTHER if engine == "embedded" or "->" not in each)]
    # The kernel engine makes it of each switch, without which a replay is refused.
    names.remove("vtimestamp")
    live = values(sonde("--engine", engine, "-q", "-n", script(names), "-c", command).stdout)
    sonde("--engine", engine, "-q", "--record-reads", "--record", path, "-n", NEUTRAL, "-c", command)
    done = sonde("-q", "--replay", path, "-n", script(names))
    replayed = values(done.stdout)
    assert by_frame_pointers_alone(done.stderr)
    assert set(live) == set(replayed) == set(names)
    assert {name: live[name] for name in same} == {name: replayed[name] for name in same}
    # The function may have no frame, by which recorded stacks are walked.
    assert {name for name in names if name not in same and not int(replayed[name])} <= {"ucaller"}


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_what_was_not_kept_is_named(tmp_path, command, engine):
    """Depths and callers are 0 where stacks were not kept; all else that is missing is a fault."""
    path = str(tmp_path / "it.rec")
    live = values(sonde("--engine", engine, "-q", "-n", script(APART), "-c", command).stdout)
    sonde("--engine", engine, "-q", "--record", path, "-n", NEUTRAL, "-c", command)
    done = sonde("-q", "--replay", path, "-n", script(APART, True))
    replayed, told = values(done.stdout), unwrapped(done.stderr)
    assert {"cwd", "root"}.isdisjoint(replayed)
    assert replayed["ucaller"] == replayed["ustackdepth"] == "0"
    assert "does not hold the stack of the process of a firing" in told
    missing = "memory of the kernel" if engine == "kernel" else "the path of a file or directory"
    assert f"does not hold {missing} of" in told
    assert "record with --record-reads" in told
    for name in set(replayed) - {"ucaller", "ustackdepth", "pid"}:
        assert replayed[name] == live[name]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_variables_that_the_script_asked_for(tmp_path, command, engine):
    path = str(tmp_path / "it.rec")
    names = [*SAME, *OTHER, *(OF_KERNEL if engine == "kernel" else ())]
    live = sonde("--engine", engine, "-q", "--record", path, "-n", script(names), "-c", command)
    again = sonde("-q", "--replay", path, "-n", script(names))
    assert again.stdout == live.stdout
    assert set(values(live.stdout)) == set(names)
    assert values(live.stdout)["cwd"] == command.split()[1]
    assert by_frame_pointers_alone(again.stderr)


@pytest.mark.long
def test_what_is_made_of_other_events_is_refused_by_name(tmp_path, command):
    path = str(tmp_path / "it.rec")
    for engine, names in (("kernel", ("vtimestamp", "progenyof($target)")), ("embedded", ("progenyof($target)",))):
        sonde("--engine", engine, "-q", "--record", path, "-n", NEUTRAL, "-c", command)
        for name in names:
            done = sonde("-q", "--replay", path, "-n", f"syscall::uname:entry {{ trace({name}); }}", status=1)
            word = name.partition("(")[0]
            assert f"{word} is made of rawtp:::sched_" in unwrapped(done.stderr)
            assert f"record a script that asks for {word}" in unwrapped(done.stderr)
    done = sonde("-q", "--replay", path, "-n", "syscall::uname:entry { trace(vtimestamp); }")
    assert "does not hold the CPU time of a firing" in unwrapped(done.stderr)
