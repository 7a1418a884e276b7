"""The command tracing the running kernel."""

import os
import re
import resource
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command import other_user
from support.command.running import SONDE, environment, run, start
from support.machine.access import needs
from support.machine.activity import activity, busy
from support.machine.descriptors import bpf_objects

pytestmark = needs("CAP_BPF", "CAP_PERFMON")

HEADING = "CPU     ID                    FUNCTION:NAME\n"


def read_line(process, wanted=""):
    """The next line of a started command's output that is `wanted`, or just the next one, within ten seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if select.select([process.stdout], (), (), 1)[0]:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            if not wanted or line == wanted:
                return line
    raise AssertionError("no line came")


def test_the_first_program():
    done = run("-n", "BEGIN { exit(0) }")
    assert done.returncode == 0
    assert done.stderr == "sonde: description 'BEGIN ' matched 1 probe\n"
    heading, line, *rest = done.stdout.split("\n")
    assert heading + "\n" == HEADING
    assert re.fullmatch(r" {1,2}\d+      1                           :BEGIN ", line)
    assert rest == ["", ""]


def test_the_argument_of_exit_is_the_status():
    assert run("-qn", "BEGIN { exit(7) }").returncode == 7
    assert run("-qn", "BEGIN { exit(1) } END { exit(9) }").returncode == 9


def test_quiet_prints_what_the_program_prints():
    done = run("-qn", 'BEGIN { printf("hello"); exit(0) }')
    assert (done.stdout, done.stderr) == ("hello\n", "")


def test_where_nothing_matches_the_command_runs():
    """With -Z, and the session lasts as long as the command, with its status in the messages."""
    done = run("-Z", "-n", "syscall::nonsense:entry", "-c", "sh -c 'echo it ran; exit 3'")
    assert done.returncode == 0
    assert "it ran" in done.stdout
    assert done.stderr.splitlines() == [
        "sonde: description 'syscall::nonsense:entry' matched 0 probes",
        f"sonde: pid {done.stderr.split()[-5]} exited with status 3",
    ]


@pytest.mark.share(1)
@pytest.mark.parametrize("place", ["nosuch:entry", "nosuch.c@3:", "no*such:return"])
def test_what_a_process_does_not_have_matches_nothing(place):
    """With -Z the command runs; without, it is a mistake."""
    description = f"pid$target:a.out:{place}"
    done = run("-Zq", "-n", description, "-c", "sh -c 'echo it ran'")
    assert (done.returncode, done.stdout.strip()) == (0, "it ran")
    refused = run("-q", "-n", description, "-c", "sh -c 'echo it ran'")
    assert (refused.returncode, refused.stdout) == (1, "")


@pytest.mark.long
def test_where_nothing_matches_it_is_waited():
    """With -Z and without a command, until a signal."""
    process = subprocess.Popen(
        [SONDE, "-Z", "-n", "syscall::nonsense:entry"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr.readline() == "sonde: description 'syscall::nonsense:entry' matched 0 probes\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0


def test_without_clauses_there_is_nothing_to_trace():
    done = run("-n", "int x;")
    assert done.returncode == 1
    assert done.stderr.endswith(": empty D program translation unit\n")


def test_several_programs_are_one_session(tmp_path):
    script = tmp_path / "b.d"
    script.write_text('BEGIN { printf("script %d ", x); exit(x) }')
    done = run("-n", "BEGIN { x = 5 }", "-s", str(script), "-n", "END {trace(x)}")
    assert done.returncode == 5
    assert done.stderr.splitlines() == [
        "sonde: description 'BEGIN ' matched 1 probe",
        f"sonde: script '{script}' matched 1 probe",
        "sonde: description 'END ' matched 1 probe",
    ]
    assert "script 5" in done.stdout


def test_a_command_is_traced_from_its_start_to_its_end():
    done = run("-c", "sh -c 'exit 3'", "-qn", "syscall::exit_group:entry /pid == $target/ { trace(arg0); }")
    assert done.returncode == 0
    assert done.stdout == "3\n"


def test_the_output_of_the_command_is_its_own():
    done = run("-c", "echo from the command", "-qn", "BEGIN { trace($target) }")
    assert "from the command" in done.stdout


@pytest.mark.parametrize("words", [["-c", "/nowhere/wibble"], ["-c", ""], ["-p", "99999999"]])
def test_a_process_that_is_not_there_is_one_message(words):
    done = run(*words, "-n", "BEGIN")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sonde: ")
    assert done.stderr.count("\n") == 1


def test_a_process_without_a_number_is_a_wrong_command_line():
    done = run("-p", "abc", "-n", "BEGIN")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sonde: invalid pid: abc\n")
    as_dtrace = run("-p", "abc", "-n", "BEGIN", _DTRACE_TESTING="t")
    assert (as_dtrace.returncode, as_dtrace.stderr) == (1, "sonde: invalid pid: abc\n")


def test_an_existing_process_is_followed_to_its_end():
    text = 'BEGIN { printf("ready\\n"); } syscall::exit_group:entry /pid == $target/ { trace(pid); }'
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as reader:
        process = start("-p", str(reader.pid), "-qn", text)
        read_line(process)
        reader.stdin.close()
        output, _ = process.communicate()
    assert (process.returncode, output) == (0, f"{reader.pid}\n")


def interrupted(number):
    process = start("-qn", 'BEGIN { printf("ready\\n"); } syscall:::entry { @["calls"] = count(); } END { trace(5); }')
    read_line(process)
    process.send_signal(number)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return output


@pytest.mark.share(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_the_end_with_all_that_belongs_to_it(number):
    output = interrupted(number)
    assert "5" in output
    assert re.search(r"\n  calls +[1-9][0-9]*\n$", output)


@pytest.mark.long
def test_a_second_signal_leaves_at_once():
    """Though END has not come to its own end: it waits for a line that nobody writes."""
    text = 'BEGIN { printf("ready\\n"); } END { system("read line"); }'
    process = start("-wqn", text, stdin=subprocess.PIPE)
    read_line(process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 128 + signal.SIGINT
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()


def test_an_ignored_interrupt_stays_ignored():
    process = subprocess.Popen(
        ["sh", "-c", f"trap '' INT; exec \"{SONDE}\" -qn 'BEGIN {{ printf(\"ready\\n\") }} tick-1s {{ exit(4) }}'"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    read_line(process)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 4


@pytest.mark.long
def test_a_line_comes_through_a_pipe_within_200_ms():
    program = 'BEGIN { printf("ready\\n"); } syscall::getpgid:entry /pid == $1/ { printf("%d\\n", arg0); }'
    process = start("-qn", program, str(os.getpid()))
    read_line(process)
    time.sleep(0.3)
    delay = 1.0
    # A busy machine may delay some, hardly all of twenty.
    for number in (os.getpid(), os.getppid()) * 10:
        begin = time.monotonic()
        os.getpgid(number)
        assert read_line(process, f"{number}\n")
        delay = min(delay, time.monotonic() - begin)
        if delay < 0.2:
            break
    process.terminate()
    process.communicate()
    assert delay < 0.2


def test_a_reader_that_goes_away_ends_it_quietly():
    program = 'tick-50ms { printf("line\\n"); }'
    done = subprocess.run(
        f"\"{SONDE}\" -qn '{program}' | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (done.stdout, done.stderr) == ("line\n", "")


def test_a_script_runs_through_a_link_named_dtrace(tmp_path):
    link = tmp_path / "dtrace"
    link.symlink_to(SONDE)
    script = tmp_path / "hello.d"
    script.write_text(f'#!{link} -qs\nBEGIN {{ printf("%s %d %s", $0, $1, $$2); exit(0); }}\n')
    script.chmod(0o755)
    done = run("42", "two words", program=str(script))
    assert (done.stdout, done.stderr) == (f"{script} 42 two words\n", "")
    script.write_text(f"#!{link} -s\nBEGIN {{ nonsense }}\n")
    assert run(program=str(script)).stderr.startswith(f"dtrace: failed to compile script {script}: line 2: ")


def test_the_macro_variables_are_those_of_this_process():
    process = start("-qn", 'BEGIN { printf("%d %d %d %d", $pid, $ppid, $uid, $egid); exit(0) }')
    output, _ = process.communicate()
    assert output == f"{process.pid} {os.getpid()} {os.getuid()} {os.getegid()}\n"


def test_a_probe_by_its_number():
    rows = run("-l", "-n", "syscall::getpgid:entry").stdout.splitlines()
    program = run("-qi", f"{rows[1].split()[0]} {{ trace(probefunc); exit(0) }}", "-c", "sh -c 'ps; ps'")
    assert program.returncode == 0


def test_output_is_appended(tmp_path):
    output = tmp_path / "out"
    output.write_text("before\n")
    for _ in range(2):
        done = run("-o", str(output), "-qn", 'BEGIN { printf("x"); exit(0) }')
        assert done.stdout == ""
    assert output.read_text() == "before\nx\nx\n"
    assert "failed to open output file" in run("-o", str(tmp_path / "a" / "b"), "-n", "BEGIN { exit(0) }").stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("option", ["-o", "--record", "--raw"])
@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_an_output_that_takes_no_more_ends_the_trace(option, engine):
    """Which of the files it is, is told."""
    done = run("--engine", engine, option, "/dev/full", "-qn", "BEGIN { trace(1); exit(0) }")
    assert done.returncode == 1
    assert " failed to write " in done.stderr
    assert done.stderr.endswith("'/dev/full': No space left on device\n")
    assert done.stderr.count("sonde: ") == 1


@pytest.mark.share(1)
@pytest.mark.parametrize("words", [(), ("-f", "json"), ("-f", "arrow"), ("-xformat=parquet",), ("-xparquet=parts",)])
@pytest.mark.parametrize("most", [0, 1 << 11])
def test_a_file_that_takes_no_more_is_named_in_each_format(words, most, tmp_path):
    """From its beginning on, and at its end: a limit of files' sizes is a full disk for whoever has no other."""
    path = tmp_path / ("table.parquet" if "parts" in "".join(words) else "output")
    program = 'tick-1ms { printf("%d %s", i++, probename); } tick-1ms /i == 300/ { exit(0); }'
    done = subprocess.run(
        [SONDE, "--engine", "kernel", "-o", path, "-q", *words, "-n", program],
        capture_output=True, text=True, check=False, env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )  # fmt: skip
    assert done.returncode == 1
    # A folder's part begins with a mark of sonde's own, which is written as it is opened.
    assert re.search(rf" failed to (write|open output file) '{re.escape(str(path))}", done.stderr)
    assert done.stderr.endswith("': File too large\n")
    assert done.stderr.count("sonde: ") == 1


@pytest.mark.share(1)
@pytest.mark.parametrize("option", ["-o", "--record", "--raw"])
def test_what_is_read_is_not_written_at_once(tmp_path, option):
    """It is as it was; another name of it makes no difference."""
    path, other = tmp_path / "a.rec", tmp_path / "b.rec"
    run("--engine", "embedded", "--record", str(path), "-n", "BEGIN { exit(0) }")
    other.symlink_to(path)
    before = path.read_bytes()
    done = run("--replay", str(path), option, str(other), "-n", "BEGIN { exit(0) }")
    assert done.returncode == 1
    assert done.stderr.endswith(f"'{other}' is read, and cannot be written at once\n  give the output another name\n")
    assert path.read_bytes() == before


def test_a_raw_file_is_not_shown_into_itself(tmp_path):
    path = tmp_path / "file"
    run("--engine", "embedded", "--raw", str(path), "-n", "BEGIN { exit(0) }")
    before = path.read_bytes()
    done = run("raw", str(path), "-o", str(path))
    assert (done.returncode, path.read_bytes()) == (1, before)
    assert "is read" in done.stderr


@pytest.mark.parametrize("words", [["--anonymise", "names"], ["--record-reads"], ["-xanonymise=paths"]])
def test_what_a_recording_is_to_be_needs_a_recording(words):
    done = run(*words, "--engine", "embedded", "-n", "BEGIN { exit(0) }")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing is recorded" in done.stderr
    assert "--record FILE" in done.stderr


def test_flow_indentation():
    done = run("-F", "-c", "true", "-n", "syscall::exit_group:entry /pid == $target/ { } BEGIN { }")
    assert done.stdout.splitlines()[0] == "CPU FUNCTION                                 "
    assert " => exit_group" in done.stdout


def test_options_of_the_environment_give_way_to_the_command_line_and_both_to_pragmas():
    program = "BEGIN { exit(0) }"
    assert run("-n", program, DTRACE_OPT_QUIET="yes").stdout == "\n"
    assert HEADING in run("-xquiet=no", "-n", program, DTRACE_OPT_QUIET="yes").stdout
    assert run("-xquiet=no", "-n", f"#pragma D option quiet\n{program}").stdout == "\n"


def test_destructive_actions_have_to_be_allowed():
    done = run("-n", 'BEGIN { system("echo done"); exit(0) }')
    assert done.returncode == 1
    assert "sonde: could not enable tracing: Destructive actions not allowed\n" in done.stderr
    done = run("-w", "-n", 'BEGIN { system("echo done"); exit(0) }')
    assert done.returncode == 0
    assert "done" in done.stdout
    assert done.stderr.endswith("sonde: allowing destructive actions\n")


@pytest.mark.share(1)
@pytest.mark.parametrize("cpu", sorted({min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))}))
def test_one_cpu_is_enough_for_begin_ticks_and_end(cpu):
    program = 'BEGIN { printf("%d ", cpu); } tick-50ms { printf("%d ", cpu); exit(0) } END { printf("%d", cpu); }'
    with busy([cpu]):
        assert run(f"-xcpu={cpu}", "-qn", program).stdout == f"{cpu} {cpu} {cpu}\n"


def test_a_cpu_that_is_not_there_is_one_message():
    done = run("-xcpu=4000", "-n", "BEGIN { exit(0) }")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("sonde: could not enable tracing: there is no CPU 4000")


def test_a_buffer_too_small_for_a_record():
    assert "Enabling exceeds size of buffer" in run("-b", "59", "-n", "BEGIN { exit(0) }").stderr
    assert run("-b", "64", "-n", "BEGIN { exit(0) }").returncode == 0


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "program",
    [
        'tick-20ms /n++ > 5/ { exit(3) } tick-20ms { @a[execname, "k"] = count(); @ = avg(n); printa(@a); clear(@a); }',
        '#pragma D option quiet\nBEGIN { printf("%s %d\\n", "quiet", 5); @["x"] = quantize(9); exit(3) }',
        'BEGIN { setopt("quiet"); trace(1); exit(3) }',
    ],
)
def test_a_recording_shows_as_it_was_shown(tmp_path, program):
    raw = tmp_path / "a.raw"
    live = run("--raw", str(raw), "-n", program)
    again = run("raw", str(raw))
    assert live.returncode == again.returncode == 3
    assert again.stdout == live.stdout
    assert again.stderr == ""


def exists(program_id):
    """Whether the kernel still has a BPF program."""
    import ctypes

    attributes = (ctypes.c_uint32 * 3)(program_id, 0, 0)
    get_descriptor_by_id, system_call = 13, {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(system_call, get_descriptor_by_id, attributes, 12)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


@needs("CAP_SYS_ADMIN")
def test_nothing_stays_attached_when_it_is_killed():
    process = start("-qn", 'BEGIN { printf("ready\\n"); } syscall:::entry, profile-97 { @[probefunc] = count(); }')
    read_line(process)
    programs = {int(number) for kind, number in bpf_objects(process.pid) if kind == "prog_id"}
    assert len(programs) >= 3
    assert all(map(exists, programs))
    process.kill()
    process.communicate()
    end = time.monotonic() + 5
    while any(map(exists, programs)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(exists, programs))


def as_nobody(*words, capabilities=()):
    """Run the command as an ordinary user with these capabilities only."""
    return other_user.run(*words, capabilities=capabilities, environment=environment())


def test_an_ordinary_user_is_told_what_is_missing():
    done = as_nobody("--engine=kernel", "-n", "BEGIN { exit(0) }")
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first == "sonde: tracing is not permitted: this user lacks CAP_BPF and CAP_PERFMON"
    assert "run as root" in second


def test_an_ordinary_user_traces_with_two_capabilities():
    program = "syscall:::entry { @[probefunc] = count(); } tick-300ms { exit(0); }"
    with activity():
        done = as_nobody("-n", program, capabilities=("bpf", "perfmon"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  \w+ +\d+$", done.stdout, re.MULTILINE)


def test_an_ordinary_user_lists_probes():
    assert "BEGIN" in as_nobody("-l", "-P", "dtrace").stdout


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, r"sonde: pid \d+ exited with status 3"),
        ("kill -9 $$", 128 + 9, r"sonde: pid \d+ terminated by SIGKILL"),
    ],
)
def test_the_end_of_the_command(engine, command, status, told):
    """It is told, and is the end of sonde where that is wanted."""
    words = ("--engine", engine, "-c", f"sh -c '{command}'", "-n", "syscall::wait4:entry { @ = count(); }")
    plain, wanted = run(*words), run(*words, "-xexit=command")
    assert (plain.returncode, wanted.returncode) == (0, status)
    for done in (plain, wanted):
        assert bool(told) == ("pid" in done.stderr)
        assert not told or re.search(f"^{told}$", done.stderr, re.MULTILINE)
    assert "pid" not in run(*words, "-q").stderr


def test_a_command_that_goes_on_has_no_status():
    done = run("-xexit=command", "-c", "sleep 20", "-qn", "BEGIN { exit(7); }")
    assert done.returncode == 7


def test_the_status_of_a_command_needs_a_command():
    done = run("-xexit=command", "-qn", "BEGIN { exit(0); }")
    assert done.returncode == 1
    assert done.stderr.startswith("sonde: option exit=command without a command")


def ticks(process):
    """Hundredths of a second that the process has run."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.long
@pytest.mark.parametrize("is_ignored", [False, True])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_programs_of_bpftrace_s_language_end_by_signals_as_bpftrace_does(name, is_ignored):
    """Also those that a shell's script has started in the background, with ^C ignored; SIGUSR1 ends nothing."""
    program = 'begin { printf("ready\\n"); } interval:ms:20 { @ = 1; } end { printf("end\\n"); }'
    ignored = f"trap '' {name[3:]}; " if is_ignored else ""
    process = subprocess.Popen(
        ["sh", "-c", f"{ignored}exec \"{SONDE}\" bt -qe '{program}'"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    read_line(process)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    before = ticks(process.pid)
    time.sleep(0.6)
    # It does not turn on and on for a signal that has come.
    assert ticks(process.pid) - before < 30
    assert process.poll() is None
    process.send_signal(signal.Signals[name])
    output, _ = process.communicate()
    assert (process.returncode, output) == (0, "end\n\n\n@: 1\n")
