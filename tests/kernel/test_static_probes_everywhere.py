"""Static probes (USDT) of all processes, by a glob for the provider: those that run, those that start later, and those
that load a library later."""

import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command.command import SONDE, build, environment, sonde, start, table, unwrapped
from support.files.served_files import serving
from support.machine import packages
from support.symbols.static_programs import assembler
from test_static_probes import FORMS, HOST, PROGRAM, WORK, WORKER, step, stepping, wait_for

COUNTED = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void unit(int n), other(int n);
int main(int count, char **words) {
    char buffer[2];
    if (count > 2) { puts("here"); fflush(stdout); read(0, buffer, 1); }
    for (int n = 0; n < atoi(words[1]); n++) { unit(n); other(n); }
    if (count > 2) { puts("done"); fflush(stdout); read(0, buffer, 1); }
    return 0;
}
"""

SITES = assembler(
    """
.text
.globl unit
.type unit, @function
unit:
    probe tally, unit__done, 0, "-4@%edi"
    ret
.size unit, . - unit
.globl other
.type other, @function
other:
    probe tally, other, 0, "-4@%edi"
    ret
.size other, . - other
"""
)


@pytest.fixture
def counted(tmp_path):
    """A program in a file that nobody has run yet."""
    return build(tmp_path, "counted", SITES + COUNTED)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    directory = tmp_path_factory.mktemp("everywhere")
    library = build(directory, "libwork.so", WORK, "-shared", "-fPIC")
    return build(directory, "worker", WORKER, library, f"-Wl,-rpath,{directory}")


class Held:
    """A process that waits for a word before its work, and behind it."""

    def __init__(self, program, times, *before):
        self.process = subprocess.Popen(
            [*before, program, str(times), "held"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "here\n"
        self.pid = self.process.pid

    def work(self):
        self._go_on()
        assert self.process.stdout.readline() == "done\n"

    def _go_on(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Tracer:
    """sonde, from when it traces to its end; `lines` and `messages` are what it has said by then."""

    def __init__(self, text, *options):
        self._process = start("-q", *options, "-n", f'BEGIN {{ printf("ready\\n"); }} {text}', text=True)
        assert self._process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGINT)
        out, self.messages = self._process.communicate()
        self.lines = [line for line in out.splitlines() if line]
        assert self._process.returncode == 0, self.messages

    @property
    def counts(self):
        return table("\n".join(self.lines))


@pytest.mark.long
def test_of_processes_that_run_and_start(counted):
    """Each has its own provider; from a file that is known, a process is traced from its first instruction on."""
    with Held(counted, 30) as one, Held(counted, 40) as two:
        text = (
            "tally*:::unit-done { @[probeprov, probemod, probefunc, probename, pid] = count(); @s[pid] = sum(arg0); }"
        )
        with Tracer(text) as tracer:
            one.work()
            two.work()
            later = [subprocess.Popen([counted, "50"]) for _ in range(3)]
            for each in later:
                each.wait(10)
    sizes = {one.pid: 30, two.pid: 40} | {each.pid: 50 for each in later}
    wanted = {(f"tally{pid}", "counted", "unit", "unit-done", str(pid)): n for pid, n in sizes.items()}
    assert tracer.counts == wanted | {(str(pid),): n * (n - 1) // 2 for pid, n in sizes.items()}
    assert not tracer.messages


@pytest.mark.long
def test_of_a_file_that_nobody_had_run(counted):
    """It is told that probes may have been missed, and from when on they fire."""
    with Tracer("tally*:::unit-done { @[probeprov, probefunc] = count(); }", "-Z") as tracer:
        with Held(counted, 20) as first:
            time.sleep(1)
            first.work()
        second = subprocess.Popen([counted, "30"])
        second.wait(10)
    assert tracer.counts == {(f"tally{first.pid}", "unit"): 20, (f"tally{second.pid}", "unit"): 30}
    assert f"{counted} was first mapped while tracing: its probes fire from" in tracer.messages


@pytest.mark.long
def test_of_a_library_that_is_loaded_later(worker, tmp_path):
    """By dlopen(), in a process that runs, of a file that nobody had mapped."""
    library = build(tmp_path, "libwork.so", WORK, "-shared", "-fPIC")
    text = HOST.replace("int main", "#include <unistd.h>\nint main").replace(
        "((void (*)(void))", "sleep(1);\n    ((void (*)(void))"
    )
    host = build(tmp_path, "host", text, "-ldl")
    with Tracer('work*:::job-done { printf("%s %s %s %d\\n", probeprov, probemod, probefunc, arg0); }', "-Z") as tracer:
        process = subprocess.Popen([host, library])
        process.wait(20)
    assert tracer.lines == [f"work{process.pid} libwork.so second 8"]


LOADER = """
#include <dlfcn.h>
#include <unistd.h>
int main(int count, char **words) {
    for (int n = 1; n < count; n++) {
        void *library = dlopen(words[n], RTLD_NOW);
        sleep(1);
        ((void (*)(void))dlsym(library, "second"))();
    }
    return 0;
}
"""


def test_of_a_library_that_the_command_loads_later(worker, tmp_path):
    """`$target` is one process: others that load the same are not traced. Without -Z it is an error."""
    library = build(tmp_path, "libwork.so", WORK, "-shared", "-fPIC")
    host = build(tmp_path, "host", LOADER, "-ldl")
    other = subprocess.Popen([host, library])
    text = 'work$target:::job-done { printf("%s %s %s %d\\n", probeprov, probemod, probefunc, arg0 + pid - $target); }'
    done = sonde("-Zqn", text, "-c", f"{host} {library}")
    other.wait(10)
    found = [line for line in done.stdout.splitlines() if line]
    assert len(found) == 1
    assert found[0].startswith("work")
    assert found[0].endswith(" libwork.so second 8")
    assert not found[0].startswith(f"work{other.pid} ")
    assert "does not match any probes" in sonde("-qn", text, "-c", f"{host} {library}", status=1).stderr


@pytest.mark.long
def test_listing_names_the_process(counted):
    with Held(counted, 1) as one, Held(counted, 1) as two:
        shown = sonde("-l", "-n", "tally*:c*ted::").stdout
        rows = [line.split()[1:] for line in shown.splitlines()[1:]]
        wanted = [
            [f"tally{each.pid}", "counted", function, name]
            for each in (one, two)
            for function, name in (("unit", "unit-done"), ("other", "other"))
        ]
        assert sorted(rows) == sorted(wanted)
        types = [line.split() for line in sonde("-lv", "-P", "tally*").stdout.splitlines() if "args[0]" in line]
        assert [kind for _, kind, *_ in types] == ["int32_t"] * 4
        assert "matched 5 probes" in sonde("-n", "tally*:::, BEGIN { exit(0); }").stderr


@pytest.mark.long
@pytest.mark.parametrize("description", ["tally*", "*all*", "t?l[kl]y*", "*"])
def test_globs_that_match_every_process(counted, description):
    with Held(counted, 7) as held, Tracer(f"{description}:counted::unit-done {{ @[probeprov] = count(); }}") as tracer:
        held.work()
    assert tracer.counts == {(f"tally{held.pid}",): 7}


def test_without_a_provider(counted):
    """Where no probe of the kernel has the name."""
    with Held(counted, 7) as held, Tracer("::unit:unit-done { @[probeprov] = count(); }") as tracer:
        held.work()
    assert tracer.counts == {(f"tally{held.pid}",): 7}


def test_a_glob_that_some_processes_match(counted):
    """The digits are those of the process's number."""
    with Held(counted, 7) as one, Held(counted, 8) as other:
        text = f"tally*{one.pid // 10}[{one.pid % 10}]:::unit-done {{ @[probeprov] = count(); }}"
        with Tracer(text) as tracer:
            one.work()
            other.work()
    assert tracer.counts == {(f"tally{one.pid}",): 7}


def test_clauses_of_several_descriptions(counted):
    """Those that match a site run in the order of the program, and share clause-local variables; others do not run."""
    text = (
        "tally*:::unit-done { this->n = arg0 + 1; } tally*:::other { this->n = 1000; } tally*::other: { @o = count(); }"
        "*ally*:counted:: { @[probename] = sum(this->n); } tally*:::unit-done { @last = sum(this->n); }"
    )
    with Held(counted, 10) as held, Tracer(text) as tracer:
        held.work()
    assert {key: n for key, n in tracer.counts.items() if key} == {("other",): 10000, ("unit-done",): 55}
    numbers = sorted(int(line) for line in tracer.lines if line.strip().isdigit())
    assert numbers == [10, 55]


def test_names_in_expressions_and_keys(counted):
    text = (
        '*:counted::unit-done /pid != 0 && probename == "unit-done" && probefunc != "other"/ { self->f = probefunc; '
        '@[strjoin(probemod, strjoin(":", self->f)), strlen(probeprov)] = count(); @[probename, 1] = count(); }'
    )
    with Held(counted, 5) as held, Tracer(text) as tracer:
        held.work()
    assert tracer.counts == {("counted:unit", str(len(f"tally{held.pid}"))): 5, ("unit-done", "1"): 5}


@pytest.mark.long
def test_with_probes_of_the_kernel(counted):
    """A description may match both; each has its own arguments and names."""
    with Held(counted, 3) as held:
        text = "*:c*ted:unit:*done, syscall::write:entry /pid == $1/ { @[probeprov, probename] = count(); }"
        with Tracer(text.replace("$1", str(held.pid))) as tracer:
            held.work()
    assert tracer.counts == {(f"tally{held.pid}", "unit-done"): 3, ("syscall", "entry"): 1}


FOUND_BY_ROWS = {
    number: value
    for number, (operand, value) in enumerate(FORMS.items())
    if value is not None and not operand.startswith(("8@%fs", "-4@%fs", "8@table+"))
}


@pytest.mark.long
@pytest.mark.parametrize("half", [0, 1])
def test_every_form_of_operand(tmp_path, half):
    """But for those that only a program of the site's own could compute: they are a fault."""
    program = build(tmp_path, "program", PROGRAM, "-pie", "-fPIE")
    known = {number: value for number, value in FOUND_BY_ROWS.items() if number % 2 == half}
    clauses = "".join(f'forms*:program::all-forms {{ printf("{n} %d\\n", (int64_t)arg{n}); }}' for n in known)
    shown = dict(line.split() for line in sonde("-qn", clauses, "-c", program).stdout.splitlines() if line)
    assert {int(number): int(value) & (1 << 64) - 1 for number, value in shown.items()} == {
        number: value & (1 << 64) - 1 for number, value in known.items()
    }


def test_an_operand_that_cannot_be_had(tmp_path):
    program = build(tmp_path, "program", PROGRAM, "-pie", "-fPIE")
    number = list(FORMS).index("-4@%fs:private@tpoff")
    text = f'forms*:::all-forms {{ trace(arg{number}); }} ERROR {{ printf("fault %d\\n", arg4); }}'
    done = sonde("-qn", text, "-c", program)
    assert "fault 3" in done.stdout
    assert "illegal operation" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_semaphores_count_who_listens(worker, end):
    """In processes that run and in those that start later; none is left, even if sonde is killed."""
    process = stepping(worker)
    try:
        assert int(process.stdout.readline()) == 0
        tracer = start("-qn", "work*:::job-done { @ = count(); }")
        try:
            wait_for(process, 5)
            later = stepping(worker)
            try:
                assert int(later.stdout.readline()) == 5, "from its first instruction on"
            finally:
                later.kill()
                later.wait()
        finally:
            tracer.send_signal(end)
            tracer.wait(30)
        wait_for(process, 0)
        assert step(process) == 0
    finally:
        process.stdin.close()
        process.wait(10)


def test_in_another_mount_namespace(tmp_path, counted):
    """The file is where only its process sees it."""
    packages.require("unshare")
    place = tmp_path / "place"
    place.mkdir()
    command = f"mount -t tmpfs none {place} && cp {counted} {place}/inside && exec {place}/inside 9 held"
    process = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "here\n"
        with Tracer("tally*:::unit-done { @[probeprov, probemod, probefunc] = count(); }") as tracer:
            process.stdin.write("x")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
    finally:
        process.kill()
        process.wait()
    assert tracer.counts == {(f"tally{process.pid}", "inside", "unit"): 9}


def test_below_overlays_a_file_is_one(tmp_path, counted):
    """Two containers of an image have one file, of which each firing is told once."""
    packages.require("unshare")
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    lower.mkdir(), upper.mkdir()
    os.link(counted, lower / "image")
    processes = []
    try:
        for number in (1, 2):
            merged = tmp_path / f"merged{number}"
            merged.mkdir()
            command = (
                f"mount -t tmpfs none {upper} && mkdir {upper}/up {upper}/work && mount -t overlay overlay "
                f"-o lowerdir={lower},upperdir={upper}/up,workdir={upper}/work {merged} && exec {merged}/image 6 held"
            )
            processes.append(subprocess.Popen(["unshare", "-m", "sh", "-c", command], stdin=subprocess.PIPE,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))  # fmt: skip
            if processes[-1].stdout.readline() != "here\n":
                pytest.skip(f"no overlayfs here: {processes[-1].stderr.read()}")
        with Tracer("tally*:::unit-done { @[probeprov, probefunc] = count(); }") as tracer:
            for each in processes:
                each.stdin.write("x")
                each.stdin.flush()
                assert each.stdout.readline() == "done\n"
    finally:
        for each in processes:
            each.kill()
            each.wait()
    assert tracer.counts == {(f"tally{each.pid}", "unit"): 6 for each in processes}


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="the kernel has no FUSE")
def test_a_program_that_another_process_serves_has_them(tmp_path, counted):
    """They are put into the file itself, not into the copy that it is read by."""
    text = "tally*:::unit-done { @[probeprov, probefunc] = count(); }"
    with (
        serving(tmp_path / "mount", 1 << 30, program=counted) as point,
        Held(point / "program", 7) as held,
        Tracer(text) as tracer,
    ):
        held.work()
    assert tracer.counts == {(f"tally{held.pid}", "unit"): 7}


@pytest.mark.long
def test_a_recording_has_their_names(tmp_path, counted):
    raw = str(tmp_path / "raw")
    text = 'tally*:::unit-done { printf("%s\\n", probefunc); @[probeprov, probefunc] = count(); }'
    with Tracer(text, "-Z", "--raw", raw) as tracer, Held(counted, 6) as held:
        time.sleep(5)
        held.work()
    assert tracer.lines[:6] == ["unit"] * 6
    shown = sonde("raw", raw).stdout
    assert [line for line in shown.splitlines() if line][1:] == tracer.lines
    normal = start("-Z", "--raw", raw, "-n", "tally*:::unit-done { }", text=True)
    with Held(counted, 2) as held:
        time.sleep(5)
        held.work()
    normal.send_signal(signal.SIGINT)
    out, _ = normal.communicate()
    assert out.count("unit:unit-done") == 2
    assert sonde("raw", raw).stdout.count("unit:unit-done") == 2


def test_what_matches_nothing():
    done = subprocess.run([SONDE, "-n", "nobodyhas*:::this"], capture_output=True, text=True, env=environment())
    assert done.returncode == 1
    assert "does not match any probes" in done.stderr
    assert "no process that runs has static probes of nobodyhas*, which -Z would wait for" in unwrapped(done.stderr)


def test_it_cannot_be_saved(tmp_path):
    message = sonde("-Zn", "tally*:::x { }", "--save", str(tmp_path / "spec"), status=1).stderr
    assert "cannot be saved" in unwrapped(message)
    assert not os.listdir(tmp_path)


def test_another_engine_says_so():
    message = sonde("--engine", "embedded", "-n", "tally*:::x { }", "-c", "true", status=1).stderr
    assert "the embedded engine has no static probes of all processes" in unwrapped(message)


def test_another_engine_waits_for_those_of_one_process():
    message = sonde("--engine", "embedded", "-Zn", "tally*:::x { }", "-c", "true", status=1).stderr
    assert "matches no probes, and will match none" in message
    assert "has no static probes of all processes, but those of one" in unwrapped(message)
    assert sonde("--engine", "embedded", "-Zqn", "tally$target:::x { }", "-c", "true").stderr == ""


def test_what_matches_no_name(counted):
    with Held(counted, 1):
        assert "sonde -l -P 'tally*' shows" in unwrapped(sonde("-n", "tally*:::absent", status=1).stderr)


INTERPRETERS = {
    "php": (["php", "FILE"], "<?php function called($n) { return $n; } for ($n = 0; $n < 500; $n++) called($n);",
            'php*:::function-entry /copyinstr(arg0) == "called"/ { @[probeprov] = count(); }'),
    "python3.11": (["/usr/bin/python3.11", "FILE"], "import sys\nfor n in range(500): sys.audit('sonde.called', n)\n",
                   'python*:::audit /copyinstr(arg0) == "sonde.called"/ { @[probeprov] = count(); }'),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", INTERPRETERS)
def test_interpreters(tmp_path, name):
    """Of a distribution, started before and after sonde: each call is counted once."""
    (program, *words), text, clause = INTERPRETERS[name]
    packages.require(name)
    if program.startswith("/") and not os.path.exists(program):
        pytest.skip(f"no {program}")
    wait = {"php": "<?php sleep(4);", "python3.11": "import time\ntime.sleep(4)\n"}[name]
    (tmp_path / "once").write_text(text)
    (tmp_path / "waits").write_text(wait + text.removeprefix("<?php"))
    variables = {**os.environ, "USE_ZEND_DTRACE": "1"}

    def run(file):
        return subprocess.Popen([program, *(str(tmp_path / file) if word == "FILE" else word for word in words)],
                                env=variables, stdout=subprocess.DEVNULL)  # fmt: skip

    before = run("waits")
    with Tracer(clause, "-Z") as tracer:
        after = run("once")
        after.wait(20)
        before.wait(20)
    provider = name.rstrip(".0123456789")
    assert tracer.counts == {(f"{provider}{each.pid}",): 500 for each in (before, after)}


@pytest.mark.long
def test_sonde_does_not_trace_itself(tmp_path):
    """Where its own interpreter has the probes that are meant."""
    python = "/usr/bin/python3.11"
    if not os.path.exists(python):
        pytest.skip(f"no {python}")
    text = "python*:::audit, python*:::line { @[pid == $pid] = count(); } tick-5s { exit(0); }"
    paths = str(Path(importlib.util.find_spec("sonde").origin).parents[1])
    tracer = subprocess.Popen([python, "-m", "sonde", "-qZn", text], env={**environment(), "PYTHONPATH": paths},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    time.sleep(3)
    subprocess.run([python, "-c", "import sys; sys.audit('sonde')"], check=True)
    out, messages = tracer.communicate()
    counts = table(out)
    assert set(counts) == {("0",)}, messages
    assert counts["0",] > 1
