"""`sonde test`: what it says of cases that pass, fail, take too long, are skipped or make no sense; docs/testing.md."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from support.command import other_user
from support.command.running import SONDE, environment, run, start
from support.files.capture_files import Pcapng
from support.machine import packages
from support.packets.frames import FRAMES

from sonde.library.testing.matching import difference, matches
from sonde.library.testing.placeholders import lines_of, plain_lines

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"

CALLS = """
syscall::write:entry /pid == $target/ { @writes[execname, arg0] = count(); @sizes[execname] = quantize(arg2); }
"""
COUNTED = """#pragma D option quiet
syscall::write:entry /pid == $target/ { @writes[execname, arg0] = count(); }
END { printf("of %d\\n", $target); printa("%s %d %@d\\n", @writes); }
"""


@pytest.fixture
def tested(tmp_path):
    """Run `sonde test` in a directory with these files; the finished process."""

    def test(*words, files, **changes):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return subprocess.run(
            [SONDE, "test", *words], capture_output=True, text=True, cwd=tmp_path,
            env=environment(**changes),
        )  # fmt: skip

    return test


def lines(done):
    """What was shown, without times and the command lines."""
    return [re.sub(r" in [\d.]+ s$", "", each) for each in done.stdout.splitlines() if "       $ " not in each]


def test_cases_that_pass(tested):
    cases = """
engine = "embedded"
command = "sh -c 'echo one; echo two; echo err >&2'"
[whole]
output = '''
of {{pid}}
sh 1 3
'''
command-output = "one\\ntwo"
stderr = "err"
[parts]
output-contains = ["of {{number}}", "of {{pid}}\\nsh 1"]
output-lacks = "sh 2"
stderr-contains = "er"
stderr-lacks = "ERR"
aggregations = ['@writes["sh", 1] == 3', "len(@writes) == 1"]
"""
    done = tested(files={"w.d": COUNTED, "w.sonde.toml": cases})
    assert lines(done) == ["PASS   w.sonde.toml: whole", "PASS   w.sonde.toml: parts", "2 passed"]
    assert (done.returncode, done.stderr) == (0, "")


FAILURES = {
    "output": ("output = 'sh 1 3'", ["output differs (- expected, + shown)", "- sh 1 3", "+ of ", "+ sh 1 2"]),
    "part": ("output-contains = 'sh 7'", ['output does not contain "sh 7"', "  sh 1 2"]),
    "lacks": ("output-lacks = 'sh 1'", ['output contains "sh 1"']),
    "own": ("command-output = 'one'", ["command-output differs (- expected, + shown)", "  one", "+ two"]),
    "stderr": ("stderr = 'x'", ["stderr differs (- expected, + shown)", "- x"]),
    "status": ("status = 3", ["the exit status is 0, expected was 3", "  stderr is empty"]),
    "value": (
        "aggregations = '@writes[\"sh\", 1] > 2'",
        ['aggregations: @writes["sh", 1] > 2', '  @writes["sh", 1] is 2'],
    ),
    "key": ("aggregations = '@writes[\"ls\", 1] > 2'", ['  @writes["ls", 1] is not there; there are ["sh", 1]']),
    "name": ("aggregations = '@reads[1] > 2'", ["  no aggregation @reads was shown; there are: @writes"]),
    "before": ("before = 'echo why; exit 3'", ["before: it has ended with status 3", "why"]),
    "script": ("script = 'absent.d'", ["the exit status is 1, expected was 0"]),
    "file": ("output-file = 'absent.out'", ["./absent.out: No such file or directory"]),
    "expression": ("output = '{{/(?:s|s|.)*!/}}'", ["output differs (- expected, + shown)"]),
}  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_told_and_the_rest_goes_on(tested, name):
    text, told = FAILURES[name]
    cases = f"command = \"sh -c 'echo one; echo two'\"\n[bad]\n{text}\n[good]\nstatus = 0\n"
    done = tested(files={"w.d": COUNTED, "w.sonde.toml": cases})
    assert done.returncode == 1
    shown = lines(done)
    assert shown[0] == "FAIL   w.sonde.toml: bad"
    assert shown[-2:] == ["PASS   w.sonde.toml: good", "1 passed, 1 failed"]
    for each in told:
        assert any(line.startswith(f"       {each}") for line in shown), done.stdout


def test_the_command_line_is_told_as_one_would_type_it(tested, tmp_path):
    case = """
command = ["sh", "-c", "echo 'a b'"]
arguments = [7, "x y"]
options = "-x strsize=32 -x argref"
status = 9
"""
    done = tested(files={"w.d": COUNTED, "w.sonde.toml": case})
    (line,) = [each.strip()[2:] for each in done.stdout.splitlines() if "$ " in each]
    assert line.startswith("sonde --engine embedded -s w.d -c ")
    again = subprocess.run(
        f"'{Path(SONDE).parent}'/{line}", shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert "sh 1 1" in again.stdout


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("BEGIN { trace(*(int *)16); } BEGIN { exit(0); }", "sonde: error in"),
        ("BEGIN { x = speculation(); y = speculation(); exit(0); }", "failed speculation"),
    ],
)
def test_a_mishap_is_a_failure_unless_it_is_expected(tested, program, what):
    case = f"program = '{program}'\n[bad]\n[good]\nstderr-contains = '''" + what + "'''\n"
    done = tested("-v", files={"w.sonde.toml": case})
    assert "sonde tells of a mishap" in done.stdout
    assert "PASS   w.sonde.toml: good" in done.stdout


@pytest.mark.long
def test_losses_pass_where_they_may_be(tested):
    """A clause that was aborted is a failure all the same."""
    lost = "BEGIN { x = speculation(); y = speculation(); exit(0); }"
    aborted = "BEGIN { trace(*(int *)16); } BEGIN { exit(0); }"
    case = f"losses = true\n[lost]\nprogram = '{lost}'\n[aborted]\nprogram = '{aborted}'\n"
    case += f"[not-permitted]\nlosses = false\nprogram = '{lost}'\n"
    done = tested("-v", files={"w.sonde.toml": case})
    assert [line.split()[0] for line in lines(done) if "w.sonde.toml: " in line] == ["PASS", "FAIL", "FAIL"]


@pytest.mark.long
def test_a_case_that_takes_too_long_is_ended_with_its_command(tested, tmp_path):
    case = """
command = "sh -c 'echo $$ > pid; exec sleep 61'"
timeout = 10
"""
    done = tested(files={"w.d": COUNTED, "w.sonde.toml": case})
    assert "it has not ended after 10 s" in done.stdout
    await_end(int((tmp_path / "pid").read_text()))


def await_end(pid):
    """The process ends within some seconds."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.1)
    pytest.fail(f"{pid} still runs")


@pytest.mark.long
def test_a_case_is_interrupted_where_it_says_so(tested):
    case = "program = 'tick-10hz { @ = count(); } END { printa(@); }'\ninterrupt-after = 10\naggregations = '@ > 1'\n"
    done = tested(files={"w.sonde.toml": case})
    assert done.returncode == 0, done.stdout


def test_who_interrupts_the_tests_ends_what_they_have_started(tmp_path):
    (tmp_path / "w.d").write_text(COUNTED)
    (tmp_path / "w.sonde.toml").write_text("command = \"sh -c 'echo $$ > pid; exec sleep 61'\"\n")
    with start("test", str(tmp_path)) as tests:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.05)
        tests.send_signal(signal.SIGINT)
        output, errors = tests.communicate()
    assert (output, errors, tests.returncode) == ("interrupted: 0 passed\n", "", 130)
    await_end(int((tmp_path / "pid").read_text()))


def test_what_cannot_be_run_is_skipped(tested):
    case = "command = 'true'\n[a]\nneeds = ['sh', 'no-such-program']\n[b]\nengine = 'kernel'\n"
    done = tested("--engine", "embedded", files={"w.d": COUNTED, "w.sonde.toml": case})
    assert lines(done) == [
        "SKIP   w.sonde.toml: a", "       needs no-such-program, which is not installed",
        "SKIP   w.sonde.toml: b", "       it is for the kernel engine",
        "0 passed, 2 skipped",
    ]  # fmt: skip
    assert done.returncode == 0


def test_features_can_be_needed(tested):
    case = "command = 'true'\n[a]\nneeds = 'embedded'\n"
    assert "1 passed" in tested(files={"w.d": COUNTED, "w.sonde.toml": case}).stdout


def test_a_file_that_makes_no_sense_is_told_and_the_rest_runs(tested):
    files = {"w.d": COUNTED, "w.sonde.toml": "command = 'true'", "v.sonde.toml": "[", "u.sonde.toml": "[a]\ncomand = 1"}
    done = tested(files=files)
    assert done.returncode == 1
    assert lines(done)[0] == "ERROR  u.sonde.toml: a: there is no key comand"
    assert lines(done)[1] == "       did you mean command?"
    assert lines(done)[2].startswith("ERROR  v.sonde.toml: ")
    assert lines(done)[-1] == "1 passed, 2 files in error"


@pytest.mark.long
def test_cases_are_chosen_by_their_names(tested):
    files = {
        "w.d": COUNTED,
        "w.sonde.toml": "command = 'true'\n[one]\n[two]\n[onetwo]\n",
        "v.sonde.toml": "program='BEGIN{exit(0);}'",
    }
    assert lines(tested("-k", "TWO", "-k", "one", files=files)) == ["PASS   w.sonde.toml: onetwo", "1 passed"]
    assert lines(tested("-k", "v.sonde", files=files)) == ["PASS   v.sonde.toml", "1 passed"]
    none = tested("-k", "three", files=files)
    assert (none.returncode, none.stdout) == (2, "")
    assert none.stderr.startswith("sonde: nothing to test: no case has that in its name")


@pytest.mark.share(1)
@pytest.mark.parametrize("words", [["-k"], ["--engine"], ["--engine", "x"], ["-z"], ["--updat"]])
def test_a_wrong_command_line(words):
    done = run("test", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sonde: test")


def test_where_there_is_nothing(tmp_path):
    assert run("test", str(tmp_path)).returncode == 2
    done = run("test", str(tmp_path / "absent"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no such file or directory" in done.stderr


def test_names_of_cases_steer_no_terminal(tested):
    case = 'command = "true"\n["\\u001b[2J"]\nstatus = 1\noutput-contains = "\\u001b[3J"\n'
    done = tested("-v", files={"w.d": COUNTED, "w.sonde.toml": case})
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J" in done.stdout


def test_options_of_the_user_do_not_reach_the_cases(tested):
    done = tested(files={"w.d": COUNTED, "w.sonde.toml": "command = 'true'"}, DTRACE_OPT_STRSIZE="none")
    assert done.returncode == 0


def test_environment_input_and_temporary_files(tested, tmp_path):
    case = """
before = "echo of before > $TMPDIR/made"
command = "sh -c 'cat; cat $TMPDIR/made; echo $GREETING $TMPDIR'"
input = "given\\n"
environment = { GREETING = "hello" }
command-output = '''
given
of before
hello $TMPDIR
'''
"""
    done = tested(files={"w.d": COUNTED, "w.sonde.toml": case})
    assert done.returncode == 0, done.stdout
    assert sorted(os.listdir(tmp_path)) == ["w.d", "w.sonde.toml"]


@pytest.mark.long
def test_packets(tested, tmp_path):
    file = Pcapng().interface("eth0", resolution=9)
    for number in range(7):
        file.packet(FRAMES["udp"], time=10**18 + number)
    (tmp_path / "trace.pcapng").write_bytes(file.data)
    case = "program = 'packet::: { @[args[0]->ip_saddr] = count(); }'\npackets = 'trace.pcapng'\n"
    case += "aggregations = '@[\"192.0.2.7\"] == 7'\n"
    done = tested(files={"w.sonde.toml": case})
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_recording(tested, tmp_path, engine):
    """Run as often as one likes, without a process and without root."""
    if engine == "kernel" and os.geteuid():
        pytest.skip("needs root")
    made = tmp_path / "busy.rec"
    command = "sh -c 'echo one; echo two'"
    done = run("--engine", engine, "-q", "--record", str(made), "-n", CALLS, "-c", command)
    assert (done.returncode, done.stderr) == (0, "")
    case = "recording = 'busy.rec'\n[counts]\naggregations = '@writes[\"sh\", 1] == 2'\noutput-contains = 'sh 1 2'\n"
    program = "syscall::write:entry /pid == $target/ { @[arg2] = count(); }"
    case += f"[sizes]\nprogram = '{program}'\naggregations = '@[4] == 2'\n"
    done = tested("-v", files={"w.d": COUNTED, "w.sonde.toml": case})
    assert done.returncode == 0, done.stdout
    assert "$ sonde --engine embedded -s w.d --replay busy.rec" in done.stdout


def test_an_object(tested, tmp_path):
    """One of sonde's examples, whose maps are shown."""
    packages.require("bpf-gcc")
    source = PAGE.parents[1] / "examples" / "reads.c"
    subprocess.run(["bpf-gcc", "-O2", "-gbtf", "-c", source, "-o", tmp_path / "reads.o"], check=True)
    case = "object = 'reads.o'\noptions = '--dump'\ncommand = 'cat /etc/hostname'\noutput-contains = 'cat'\n"
    done = tested("-v", files={"w.sonde.toml": case})
    assert done.returncode == 0, done.stdout
    assert "$ sonde --engine embedded --object reads.o -c 'cat /etc/hostname' --dump" in done.stdout


def test_what_is_shown_twice_is_compared_as_it_was_last(tested):
    text = "tick-10hz { @n = count(); printa(@n); i++; } tick-10hz /i == 3/ { exit(0); }"
    text += "BEGIN { @seven = sum(49); normalize(@seven, 7); }"
    case = f"program = '{text}'\naggregations = ['@n == 3', '@seven == 7']\n"
    done = tested(files={"w.sonde.toml": case})
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_output_is_written_anew(tested, tmp_path):
    case = "command = \"sh -c 'echo one'\"\noutput = '''\nof {{pid}}\nsh 7\n'''\n"
    done = tested("--update", files={"w.d": COUNTED, "w.sonde.toml": case})
    assert lines(done)[0] == "UPDATE w.sonde.toml"
    assert (tmp_path / "w.sonde.toml").read_text() == case.replace("sh 7", "sh 1 1")
    assert lines(tested(files={})) == ["PASS   w.sonde.toml", "1 passed"]


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_both_engines(tested):
    equal = "syscall::write:entry /pid == $target/ { @[execname] = count(); }"
    other = "syscall::write:entry /pid == $target/ { @[cpu + 1000 * (`jiffies != 0)] = count(); }"
    case = "engine = 'both'\ncommand = \"sh -c 'echo one'\"\n"
    case += f"[equal]\nprogram = '{equal}'\naggregations = '@[\"sh\"] == 1'\n[one]\nprogram = '{other}'\n"
    done = tested("-v", files={"w.sonde.toml": case})
    assert "PASS   w.sonde.toml: equal" in done.stdout
    assert "on the embedded engine: the exit status is 1" in done.stdout
    assert " --engine kernel " in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_engines_that_differ_are_told(tested):
    case = "engine = 'both'\noptions = '-q'\nprogram = 'BEGIN { printf(\"%d\", pid); exit(0); }'\n"
    done = tested(files={"w.sonde.toml": case})
    assert "the engines differ (- embedded, + kernel)" in done.stdout


START = "import sys; sys.path.insert(0, {!r}); sys.argv[0] = 'sonde'; from sonde.cli.main import main; sys.exit(main())"


@pytest.mark.long
def test_as_nobody_the_kernel_is_left_out():
    """With a reason, and the embedded engine does the rest."""
    packages.require("setpriv")
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(python), "-I", "-c"]
    words.append(START.format(other_user._copy()))
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        if os.geteuid() or not python or subprocess.run([*words, "--version"], capture_output=True).returncode:
            pytest.skip("needs root, and a Python that others can run")
        (directory / "w.d").write_text(COUNTED)
        case = "command = \"sh -c 'echo one'\"\noutput-contains = 'sh 1 1'\n"
        (directory / "w.sonde.toml").write_text(case + "[a]\nengine = 'kernel'\n[b]\nengine = 'both'\n")
        done = subprocess.run([*words, "test", name], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SKIP " in done.stdout
    assert "tracing is not permitted: this user lacks" in done.stdout
    assert "(embedded alone: " in done.stdout


def shown(page):
    """The page's blocks with a language: (language, text), and what stands in the line before as a file's name."""
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S):
        before = page[: found.start()].strip().rpartition("\n")[2]
        names = re.findall(r"`([\w.]+)`", page[: found.start()].rpartition("\n\n")[0].rpartition("\n\n")[2] or before)
        yield found[1], found[2], names


@pytest.mark.long
def test_the_page_is_true(tmp_path):
    """Its files are written and its commands run, in their order."""
    ran = 0
    for language, text, names in shown(PAGE.read_text()):
        named = [each for each in names if each.endswith({"c": ".d", "toml": ".toml"}.get(language, "nothing"))]
        if language in ("c", "toml") and named:
            (tmp_path / named[-1]).write_text(text)
        elif language == "console":
            for command in re.split(r"^\$ ", text, flags=re.M)[1:]:
                line, _, expected = command.partition("\n")
                line = re.sub("^sonde", lambda _: shlex.quote(SONDE), line)
                done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True)
                expected = re.sub(
                    r"[\d.]+ s$", "{{any}}", re.sub(r"\.\.\.$", "{{any}}", expected, flags=re.M), flags=re.M
                )
                wanted = lines_of(expected.replace("         {{any}}", "{{...}}"))
                found = plain_lines(done.stdout)
                assert matches(wanted, found), "\n".join([*difference(wanted, found), done.stderr])
                ran += 1
    assert ran >= 5


@pytest.mark.long
def test_the_pages_tests_in_python_pass(tmp_path):
    blocks = [*shown(PAGE.read_text())]
    (tmp_path / "opens.d").write_text(next(text for language, text, _ in blocks if language == "c"))
    (tmp_path / "test_page.py").write_text(next(text for language, text, _ in blocks if language == "python"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment())
    assert "2 passed" in done.stdout, done.stdout
