"""Returns are probed of functions that are called, on both engines: of others the word at the stack pointer is any
value, and stays as it is."""

import re
import subprocess

import pytest
from support.bpf.bpf_objects import compiled
from support.command.command import SONDE, environment, sonde, table, unwrapped
from support.command.targets import program
from support.machine import packages
from support.places import PROGRAMS

import sonde as library

ENGINES = ("kernel", "embedded")
CALLED = {"f", "g", "handler", "main"}
UNDESCRIBED = {"of_data", "huge", "of_code", "plain"}
JUMPED = {"f.cold", "g_target", "restore"}
TARGETS = {"of_data_target", "huge_target", "of_code_target"}


@pytest.fixture(scope="module")
def jumps():
    return program((PROGRAMS / "jumps.c").read_text())


def traced(engine, path, text, *words, status=5):
    command = ["--engine", engine, "-xexit=command", *words, "-c", path, "-n", text]
    done = subprocess.run([SONDE, *command], capture_output=True, text=True, env=environment())
    assert done.returncode == status, done.stderr
    said, _, counts = done.stdout.partition("\n")
    return said, table(counts), unwrapped(done.stderr)


def alone(path):
    done = subprocess.run([path], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 5
    return done.stdout.rstrip("\n")


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("description", ["pid$target:a.out::return", "uprobe:{}:*:return"])
def test_a_pattern_probes_what_is_called_and_changes_nothing(engine, description, jumps):
    text = f"{description.format(jumps)} {{ @[probefunc] = count(); }}"
    said, counts, messages = traced(engine, jumps, text)
    assert said == alone(jumps)
    wanted = CALLED | (UNDESCRIBED if engine == "embedded" else set())
    # The C library's beginnings have functions of their own.
    assert {name for (name,) in counts} & {*CALLED, *UNDESCRIBED, *JUMPED, *TARGETS} == wanted
    assert all(counts[name,] == 1 for name in wanted)
    (told,) = re.findall(r"leaves out the return of \d+ functions: [^\n]*", messages)
    assert "3 that are not called, by the unwinding table" in told
    assert ("that no unwinding table describes" in told) == (engine == "kernel")


def test_a_call_that_returns_where_nothing_is_called_is_told_as_lost(jumps):
    """One target has the address of code at the stack pointer: the others have none that could be executed."""
    text = "pid$target:a.out:*_target:return { @[probefunc] = count(); }"
    said, counts, messages = traced("embedded", jumps, text)
    assert said == alone(jumps)
    assert not counts
    assert "1 breakpoint drop" in messages
    assert "1 calls in process" in messages
    assert "return to code that no call stands before" in messages


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("function", "remedy"), [
    ("f.cold", "probe the return of f, which jumps there"), ("g_target", "probe its entry"),
    ("restore", "probe its entry"),
])  # fmt: skip
def test_a_name_without_a_return_is_told_with_place_cause_and_remedy(engine, function, remedy, jumps):
    text = f"BEGIN {{ }} pid$target:a.out:{function}:return {{ }}"
    done = sonde("--engine", engine, "-c", jumps, "-n", text, status=1)
    message = unwrapped(done.stderr)
    assert f"function '{function}' has no return probe: it is not called: by the file's unwinding table" in message
    assert "command line:1:11" in message
    assert remedy in message


def test_without_a_table_the_kernel_engine_refuses_and_names_the_other(jumps):
    text = "pid$target:a.out:plain:return { @ = count(); }"
    message = unwrapped(sonde("--engine", "kernel", "-c", jumps, "-n", text, status=1).stderr)
    assert "function 'plain' has no return probe: no unwinding table" in message
    assert "--engine embedded" in message
    _, counts, _ = traced("embedded", jumps, text)
    assert counts == {(): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_other_probes_of_such_a_function_fire(engine, jumps):
    text = "pid$target:a.out:f.cold:entry, pid$target:a.out:f.cold:1 { @[probename] = count(); }"
    said, counts, _ = traced(engine, jumps, text)
    assert said == alone(jumps)
    assert counts == {("entry",): 1, ("1",): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_other_languages_say_the_same(engine, jumps):
    done = sonde("bt", "--engine", engine, "-e", f"uretprobe:{jumps}:f.cold {{ }}", "-c", jumps, status=1)
    assert "'f.cold' has no return probe: it is not called" in unwrapped(done.stderr)
    text = f"uretprobe:{jumps}:f* {{ @[func] = count(); }}"
    assert "@[f]: 1" in sonde("bt", "--engine", engine, "-e", text, "-c", jumps).stdout

    def fired(event):
        pass

    function = library.probe(f"uprobe:{jumps}:f.cold:return")(fired)
    with pytest.raises(library.CompileError, match=r"'f\.cold' has no return probe"):  # noqa: SIM117
        with library.run(function, command=[jumps], engine=engine) as run:
            list(run)


@pytest.mark.share(1)
@packages.needs("clang")
@pytest.mark.parametrize(("section", "reason"), [
    ("uretprobe/{}:f.cold", "f.cold has no return probe: it is not called"),
    ("uretprobe.multi/{}:*.cold", "has no function *.cold that can be probed"),
    ("uretprobe/{}:plain", "plain has no return probe: no unwinding table"),
])  # fmt: skip
def test_objects_have_no_such_return_either(section, reason, jumps):
    source = f'SEC("{section.format(jumps)}") int back(void *context) {{ return 0; }}'
    done = sonde("--object", compiled(source, "clang"), "-c", jumps, status=1)
    assert reason in unwrapped(done.stderr)


def test_a_program_with_a_return_is_saved_nowhere(jumps, tmp_path):
    """A file may be another one where a saved program runs."""
    done = sonde("--save", str(tmp_path / "spec"), "-n", f"uprobe:{jumps}:f:return {{ }}", status=1)
    assert "cannot be saved" in unwrapped(done.stderr)
    assert not (tmp_path / "spec").exists()
