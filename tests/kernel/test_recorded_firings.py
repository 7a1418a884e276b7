"""`--record` and `--replay` of what the kernel traces: what a session has shown is what its replay shows, and other
scripts find in the recording what they would have found, or are told by name what it does not hold."""

import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from support.bpf.bpf_objects import compiled
from support.command import same_run
from support.command.command import SONDE, build, sonde, unwrapped

WORK = "sh -c 'for i in 1 2 3 4 5 6 7; do cat /etc/passwd /nowhere; done >/dev/null 2>&1; ls / >/dev/null'"
"""It writes nothing itself."""

READS = "dd if=/dev/zero of=/dev/null bs=1 count=100000 status=none"

OWN = {
    "calls by name": "syscall:::entry /pid == $target/ { @[probefunc] = count(); }",
    "a string read at the return": """
        syscall::openat:entry /pid == $target/ { self->path = arg1; self->t = timestamp; }
        syscall::openat:return /self->path/ {
            printf("%s %d %d %d\\n", copyinstr(self->path), arg0, errno, timestamp - self->t); self->path = 0;
        }""",
    "processes": """
        proc:::exec-success { printf("%s %s %d %d\\n", execname, curpsinfo->pr_psargs, ppid, uid); }
        proc:::exit { trace(arg0); }
        proc:::create { trace(args[0]->pr_pid); }""",
    "time on a CPU": """
        sched:::on-cpu { self->t = timestamp; }
        sched:::off-cpu /self->t/ {
            @[execname, args[1]->pr_fname] = quantize(timestamp - self->t); self->t = 0;
        }""",
    "profiles with stacks": """
        profile-997 /pid/ { @[execname] = count(); @s[stack(5)] = count(); }
        tick-100ms { printf("%d\\n", i++); }""",
    "user stacks": "syscall::openat:entry /pid == $target/ { @[ustack(4)] = count(); }",
    "user stacks, behind a time": """
        BEGIN { t = timestamp; printf("%d %d\\n", timestamp, walltimestamp); }
        syscall::openat:entry /pid == $target/ { @[ustack(2)] = count(); }
        END { printf("%d\\n", timestamp - t); }""",
    "speculations": """
        syscall::openat:entry /execname == "cat"/ {
            self->s = speculation(); speculate(self->s); printf("%s", copyinstr(arg1));
        }
        syscall::openat:return /self->s && errno/ { commit(self->s); self->s = 0; }
        syscall::openat:return /self->s/ { discard(self->s); self->s = 0; }""",
    "BEGIN and END": """
        BEGIN { printf("%d %d %s\\n", pid, timestamp, execname); x = 5; }
        syscall::write:entry /pid == $target/ { x++; printf("%Y %d\\n", walltimestamp, arg2); }
        END { printf("end %d %d\\n", x, timestamp); }""",
    "paths of descriptors": 'syscall::write:entry { printf("%s %d\\n", fds[arg0].fi_pathname, arg2); }',
    "the thread's structure": """
        syscall::close:entry /pid == $target/ {
            trace(curthread->pid); trace(stringof(curthread->comm)); trace(curlwpsinfo->pr_lwpid);
        }""",
    "random numbers and CPUs": 'syscall::close:entry { printf("%d %d\\n", rand(), cpu); }',
    "a trace event": 'sdt:sched::sched_process_exec { printf("%s %d\\n", stringof(args[0]), args[1]); }',
    "a raw tracepoint": "rawtp:::sched_wakeup { @[args[0]->comm] = count(); }",
    "CPU time": """
        syscall::write:entry { self->v = vtimestamp; }
        syscall::write:return /self->v/ { printf("%d\\n", vtimestamp - self->v); }""",
    "descendants": "syscall::openat:entry /progenyof($target)/ { @[execname] = count(); }",
    "strings": """
        syscall::openat:entry /execname == "cat"/ {
            this->p = copyinstr(arg1); printf("%s %d\\n", basename(this->p), strlen(this->p));
            @[dirname(this->p)] = count();
        }""",
    "faults": 'syscall::openat:entry /execname == "cat"/ { trace(copyinstr(arg2)); } ERROR { trace(arg4); }',
    "loops": """
        syscall::write:entry /arg2 > 3/ {
            this->s = 0;
            for (this->i = 0; this->i < 4; this->i++) { this->s += *(char *)copyin(arg1 + this->i, 1); }
            printf("%d\\n", this->s);
        }""",
    "cleared aggregations": """
        syscall:::entry { @a[probefunc] = count(); }
        tick-50ms { printa("%s %@d\\n", @a); clear(@a); }""",
    "an end of its own": "syscall::openat:entry { n++; } syscall::openat:entry /n == 7/ { trace(execname); exit(3); }",
    "the default layout": 'syscall::openat:entry /execname == "cat"/ {}',
}
"""Scripts whose replay is compared with the session."""


@pytest.mark.share(0, 5)
@pytest.mark.parametrize("name", OWN)
def test_a_replay_shows_what_the_session_has_shown(tmp_path, name):
    status = 3 if name == "an end of its own" else 0
    quiet = () if name == "the default layout" else ("-q",)
    path = str(tmp_path / "it.rec")
    live = sonde(*quiet, "--record", path, "-n", OWN[name], "-c", WORK, status=status)
    again = sonde(*quiet, "--replay", path, "-n", OWN[name], status=status)
    assert again.stdout == live.stdout
    assert live.stdout.strip()


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_thread_that_executes_another_program_is_the_same_in_a_replay(tmp_path, engine):
    program = build(tmp_path, "executor", (same_run.SAME / "executor.c").read_text(), "-pthread")
    words = ["-q", "-s", str(same_run.SAME / "executing-thread.d")]
    path = str(tmp_path / "it.rec")
    live = sonde("--engine", engine, *words, "--record", path, "-c", str(program))
    assert "again: mark 3 name /proc/self/exe\n" in live.stdout
    assert sonde(*words, "--replay", path).stdout == live.stdout


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.d"), key=lambda path: path.stat().st_size)


@pytest.mark.long
def test_the_largest_examples_compile_to_be_recorded(tmp_path):
    """Each read and each argument becomes a piece of the record, for which there has to be room."""
    assert len(EXAMPLES) > 30
    for each in EXAMPLES[-4:]:
        words = SONDE, "-s", str(each), "-c", "true", "--dry-run"
        done = subprocess.run([*words, "--record", str(tmp_path / "it.rec")], capture_output=True, check=False)
        if done.returncode:
            assert subprocess.run(words, capture_output=True, check=False).returncode, done.stderr
    assert not (tmp_path / "it.rec").exists()


BRIEF = "sh -c 'for i in $(seq 60); do sh -c \"exec env true\"; env cat /etc/passwd; done >/dev/null'"
"""Each of its processes executes another program once more."""


@pytest.mark.long
def test_frames_of_processes_that_execute_again_and_end_have_names(tmp_path):
    """They are named after that: as what the process was when its stack was walked."""
    script = """
        proc:::exec-success /progenyof($target)/ { printf("%s", execname); ustack(3); }
        syscall::close:entry /progenyof($target)/ { printf("%s", execname); ustack(3); }"""
    path = str(tmp_path / "it.rec")
    live = sonde("-q", "--record", path, "-n", script, "-c", BRIEF).stdout
    assert sonde("-q", "--replay", path, "-n", script).stdout == live
    # By its symbol where the loader has its symbols; distributions may have taken them out.
    assert live.count("ld-linux-x86-64.so.2`") >= 300
    innermost = re.findall(r"^[a-z]+\n +(\S+)", live, re.MULTILINE)
    assert len(innermost) > 300
    assert not [each for each in innermost if "`" not in each]


SAME = {
    "processes and their making": "proc:::create,proc:::exit /progenyof($target)/ { @[probename] = count(); }",
    "making by way of the tracepoint": """
        rawtp:::sched_process_fork /progenyof($target)/ { @["fork", execname] = count(); }
        proc:::create, proc:::start, proc:::exec-success, proc:::exit /progenyof($target)/ {
            @[probename, execname] = count();
        }""",
    "calls of descendants": """
        syscall::openat:entry, syscall::openat:return, syscall::write: /progenyof($target)/ {
            @[execname, probefunc, probename, errno] = count();
        }""",
    "what is kept by thread": """
        syscall::openat:entry /progenyof($target)/ { self->path = arg1; self->n++; }
        syscall::openat:return /self->path/ { @[copyinstr(self->path), errno, self->n] = count(); self->path = 0; }""",
    "what is kept by process": """
        proc:::exec-success /progenyof($target)/ { made[pid] = stringof(execname); }
        proc:::exit /made[pid] != NULL/ { @[made[pid], args[0]] = count(); made[pid] = NULL; }""",
    "sizes": """
        syscall::read:return /progenyof($target) && arg0 > 0/ { @[execname] = sum(arg0); @q = quantize(arg0); }""",
}
"""Scripts whose output depends on WORK alone."""


@pytest.mark.long
@pytest.mark.parametrize("name", SAME)
def test_a_recorded_session_shows_what_one_shows_that_is_not_recorded(tmp_path, name):
    path = str(tmp_path / "it.rec")
    plain = sonde("-q", "-n", SAME[name], "-c", WORK).stdout
    assert plain.strip()
    assert sonde("-q", "--record", path, "-n", SAME[name], "-c", WORK).stdout == plain
    assert sonde("-q", "--replay", path, "-n", SAME[name]).stdout == plain


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Opens with their paths, by all processes, and what CPUs go on with."""
    path = tmp_path_factory.mktemp("firings") / "opens.rec"
    script = """
        syscall::openat:entry { self->path = copyinstr(arg1); @[execname] = count(); }
        syscall::openat:return /self->path != NULL/ { @r[self->path, errno] = count(); self->path = NULL; }
        sched:::off-cpu { @s[execname] = count(); }"""
    sonde("-q", "--record", str(path), "-n", script, "-c", WORK)
    return str(path)


def replay(recording, script, status=0):
    return sonde("-q", "--replay", recording, "-n", script, status=status)


@pytest.mark.long
def test_another_script_finds_strings_that_the_first_one_read(recording):
    shown = replay(recording, 'syscall::openat:entry /execname == "cat"/ { @[copyinstr(arg1)] = count(); }').stdout
    assert re.search(r"/nowhere +7\n", shown)


@pytest.mark.long
def test_arguments_and_results_are_there_though_no_script_asked(recording):
    script = 'syscall::openat:return /execname == "cat" && errno == 2/ { @[errno] = count(); }'
    assert int(replay(recording, script).stdout.split()[1]) >= 7
    assert "ffffff9c" in replay(recording, 'syscall::openat:entry { printf("%x", arg0); }').stdout


def test_probes_that_the_same_events_fire_are_there(recording):
    assert int(replay(recording, "rawtp:::sched_switch { n++; } END { trace(n); }").stdout) > 7


def test_a_clock_needs_time_alone(recording):
    assert len(replay(recording, 'tick-1ms { printf("x\\n"); }').stdout.split()) > 7


def test_a_probe_that_was_not_recorded_is_named(recording):
    done = replay(recording, "syscall::read:entry {}", status=1)
    assert "the recording does not hold syscall:vmlinux:read:entry: it holds" in unwrapped(done.stderr)


def test_a_string_that_was_not_read_is_named(recording):
    done = replay(recording, "syscall::openat:entry /arg2 == 0x80000/ { trace(copyinstr(arg2)); }")
    assert re.search(
        r"the recording does not hold the string at arg2 of \d+ firings of syscall:vmlinux:openat:entry",
        unwrapped(done.stderr),
    )


def test_stacks_that_were_not_kept_are_named(recording):
    done = replay(recording, "syscall::openat:entry { ustack(); }")
    assert "does not hold the stack of the process of" in unwrapped(done.stderr)
    assert "record with --record-reads" in unwrapped(done.stderr)


@pytest.mark.long
def test_what_is_missing_is_told_once_and_a_true_fault_as_ever(recording):
    clauses = (
        "trace(copyinstr(arg2));", "trace(*(int *)copyin(arg0, 4));", "ustack(); stack(); trace(ucaller);",
        "trace(fds[arg0].fi_pathname);", "trace(curpsinfo->pr_psargs);", "trace(*(int *)0);",
    )  # fmt: skip
    script = "int n;" + "".join(f"syscall::openat:entry /!n/ {{ {each} }}" for each in clauses)
    done = replay(recording, script + "syscall::openat:entry { n++; } ERROR { @[arg4] = count(); }")
    *true, last = [each for each in done.stderr.splitlines() if not each.startswith("sonde: the recording does not")]
    assert [*true, last] == [last]
    assert "invalid address (0x0)" in last
    assert re.search(r" 1 +5\n", done.stdout)
    assert "the memory at arg0 of a firing" in done.stderr


def test_cpu_time_takes_no_more_than_switches(recording):
    script = """
        syscall::openat:entry { self->v = vtimestamp + 1; self->t = timestamp; }
        syscall::openat:return /self->v && vtimestamp - self->v <= timestamp - self->t/ { @ = count(); self->v = 0; }"""
    done = replay(recording, script)
    assert int(done.stdout) > 7
    assert not done.stderr


@pytest.mark.long
def test_a_trace_event_fires_whether_its_record_is_looked_at_or_not(tmp_path):
    path, event = str(tmp_path / "it.rec"), "sdt:sched::sched_process_exec"
    sonde("-q", "--record", path, "-n", f"{event} {{ trace(args->pid); }}", "-c", WORK)
    for script in ("{ @ = count(); }", "/args->pid/ { @ = count(); }"):
        assert int(replay(path, event + script).stdout) >= 8
    sonde("-q", "--record", path, "-n", f"{event} {{}}", "-c", WORK)
    assert int(replay(path, event + "{ @ = count(); }").stdout) >= 8
    assert "does not hold the record of the trace event" in replay(path, event + "/args->pid/ {}").stderr


@pytest.mark.long
def test_a_recording_is_replayed_with_the_types_of_another_kernel(tmp_path):
    path, types = str(tmp_path / "it.rec"), tmp_path / "other.btf"
    types.write_bytes(Path("/sys/kernel/btf/vmlinux").read_bytes())
    script = "syscall::openat:entry { @[curthread->pid] = count(); }"
    live = sonde("-q", "--record", path, "-n", script, "-c", WORK).stdout
    assert sonde("-q", "--replay", path, "-k", str(types), "-n", script).stdout == live


@pytest.mark.long
def test_what_a_recording_holds_is_listed(recording):
    shown = sonde("--replay", recording, "-l").stdout
    assert "openat" in shown
    assert "execve" not in shown


@pytest.mark.long
def test_pseudonyms_are_consistent(tmp_path):
    path = str(tmp_path / "it.rec")
    script = 'syscall::openat:entry /execname == "cat"/ { @[copyinstr(arg1)] = count(); }'
    live = sonde("-q", "--record", path, "--anonymise", "names,paths", "-n", script, "-c", WORK).stdout
    assert re.search(r"/etc/passwd +7", live)
    shown = replay(path, "syscall::openat:entry { @[copyinstr(arg1)] = count(); }")
    assert "passwd" not in shown.stdout
    assert b"passwd" not in (tmp_path / "it.rec").read_bytes()
    assert re.search(r"/\w{3}/\w{6} +7\n", shown.stdout)


OF_THE_KERNEL = """
proc:::exec-success /progenyof($target)/ { printf("%s %s %d %d\\n", execname, curpsinfo->pr_psargs, ppid, tid); }
syscall::write:entry, syscall::read:entry /progenyof($target)/ {
    printf("%s %s %d %d\\n", fds[arg0].fi_pathname, fds[arg0].fi_name, fds[arg0].fi_oflags, curpsinfo->pr_ppid);
}
syscall::openat:entry /progenyof($target)/ { printf("%s %s %s\\n", copyinstr(arg1), cwd, root); }
syscall::openat:return /progenyof($target)/ { @[execname, curlwpsinfo->pr_lwpid == tid, errno] = count(); }"""


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_with_other_addresses_all_is_found_that_lies_in_the_kernel(tmp_path, engine):
    """Structures lead to structures, wherever in its page one begins."""
    path = str(tmp_path / "it.rec")
    words = "-xengine=" + engine, "-n", OF_THE_KERNEL, "-c", WORK
    live = sonde("-q", "--record", path, "--anonymise", "addresses", *words).stdout
    assert live.count("/etc/passwd") >= 7
    assert "cat /etc/passwd /nowhere" in live
    assert sonde("-q", "--replay", path, "-n", OF_THE_KERNEL).stdout == live


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_with_all_pseudonyms_each_word_has_one_other(tmp_path, engine):
    path = str(tmp_path / "it.rec")
    words = "-xengine=" + engine, "-n", OF_THE_KERNEL, "-c", WORK
    live = sonde("-q", "--record", path, "--anonymise", "names,paths,addresses", *words).stdout
    again = sonde("-q", "--replay", path, "-n", OF_THE_KERNEL)
    assert not again.stderr
    pairs = set()
    for line, other in zip(live.split("\n\n")[0].splitlines(), again.stdout.split("\n\n")[0].splitlines(), strict=True):
        pairs |= set(zip(re.split("[ /]", line), re.split("[ /]", other), strict=True))
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
    assert len(pairs) > 30
    assert not {one for one, other in pairs if one == other and re.search("[a-z]{3}", one)}


def test_a_spec_file_is_not_recorded_in_silence(tmp_path):
    spec = str(tmp_path / "it.spec")
    sonde("-n", "syscall::openat:entry {}", "--save", spec)
    done = sonde("--spec", spec, "--record", str(tmp_path / "it.rec"), "-c", "true", status=1)
    assert "--record is not for spec files in the kernel" in unwrapped(done.stderr)
    assert not (tmp_path / "it.rec").exists()
    done = sonde("-n", "BEGIN {}", "--save", spec, "--record", str(tmp_path / "it.rec"), status=1)
    assert "--record is for running" in unwrapped(done.stderr)


@pytest.mark.long
def test_a_spec_file_of_the_embedded_engine_is_recorded(tmp_path):
    spec, path = str(tmp_path / "it.spec"), str(tmp_path / "it.rec")
    script = 'syscall::openat:entry /execname == "cat"/ { @[copyinstr(arg1)] = count(); }'
    sonde("--engine", "embedded", "-n", script, "--save", spec)
    live = sonde("-q", "--spec", spec, "--record", path, "-c", WORK).stdout
    assert re.search(r"/etc/passwd +7", live)
    assert replay(path, script).stdout == live


@pytest.mark.share(1)
@pytest.mark.parametrize(("option", "told"), [("--record", "of scripts alone"), ("-xrecord", "are not recorded")])
def test_an_object_is_not_recorded_in_silence(tmp_path, option, told):
    source = 'SEC("tracepoint/syscalls/sys_enter_getppid") int first(void *context) { return 0; }'
    words = [f"{option}={tmp_path / 'it.rec'}"] if option.startswith("-x") else [option, str(tmp_path / "it.rec")]
    done = sonde("--object", compiled(source, "gcc"), *words, "-c", "true", status=1)
    assert told in unwrapped(done.stderr)
    assert "with the same probes" in unwrapped(done.stderr)
    assert not (tmp_path / "it.rec").exists()


def test_what_cannot_be_recorded_is_refused(tmp_path):
    done = sonde("--record", str(tmp_path / "it.rec"), "-n", "profile-97 { sample(); }", status=1)
    assert "--record cannot keep samples" in unwrapped(done.stderr)


CALLS = 20_011

BURST = """
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < %d; i++) syscall(SYS_sched_get_priority_max, i); return 0; }
"""


def count_of(text):
    return int(re.search(r"\d+", text)[0])


def lost(text):
    found = re.search(r"(\d+) firings found no room when they were recorded", unwrapped(text))
    return int(found[1]) if found else 0


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [(), ("--record-reads",), ("--anonymise", "names")])
def test_what_found_no_room_is_told_by_the_session_and_its_replay(tmp_path, options):
    """All that fired is in the recording or told to be lost."""
    program, path = build(tmp_path, "burst", BURST % CALLS), str(tmp_path / "it.rec")
    script = "syscall::sched_get_priority_max:entry /pid == $target/ { @ = count(); }"
    live = sonde("-q", "-b", "64k", "--record", path, *options, "-n", script, "-c", program)
    again = replay(path, script)
    assert (again.stdout, lost(again.stderr)) == (live.stdout, lost(live.stderr))
    assert lost(live.stderr) > 1000
    assert count_of(live.stdout) + lost(live.stderr) == CALLS


@pytest.mark.long
def test_a_burst_finds_room_in_the_ring_of_a_recording(tmp_path):
    """All that fired is there, however long it takes sonde to get a CPU."""
    program, path = build(tmp_path, "burst", BURST % CALLS), str(tmp_path / "it.rec")
    script = "syscall::sched_get_priority_max: /pid == $target/ { @[probename] = count(); }"
    live = sonde("-q", "--record", path, "-n", script, "-c", program)
    assert not live.stderr
    assert re.findall(r"(\w+) +(\d+)", live.stdout) == [("entry", str(CALLS)), ("return", str(CALLS))]
    assert replay(path, script).stdout == live.stdout


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_reader_that_goes_away_leaves_a_whole_recording(tmp_path, engine):
    """As SIGPIPE ends who records nothing, with all that was recorded until then and the end of a recording."""
    path = str(tmp_path / "it.rec")
    text = 'syscall::read:entry /pid == $target/ { printf("%d\\n", arg0); }'
    words = shlex.join([SONDE, "-q", "-n", text, "--engine", engine, "--record", path, "-c", READS])
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -n 3; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.stderr == ""
    *lines, status = done.stdout.split()
    assert len(lines) == 3
    assert status == str(128 + signal.SIGPIPE)
    replayed = sonde("-q", "--replay", path, "-n", "syscall::read:entry { @ = count(); }")
    assert replayed.stderr == ""
    assert int(replayed.stdout) > 3
