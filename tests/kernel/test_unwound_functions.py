"""Return probes end no program: those that exceptions would meet are left out of patterns, those of Go are refused."""

import os
import subprocess
import sys

import pytest
from support.command.command import SONDE, environment, sonde, unwrapped
from support.machine import compilers

THROWING = r"""
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
volatile int sink;
struct Guard { int *counter; ~Guard() { ++*counter; } };
__attribute__((noinline)) int risky(int n) { if (n % 3 == 0) throw std::runtime_error("three"); return n; }
__attribute__((noinline)) int guarded(int n, int *counter) { Guard guard{counter}; return risky(n) + 1; }
__attribute__((noinline)) int calm(int n) { sink = n; return n + 1; }
int main()
{
    int caught = 0, cleaned = 0, sum = 0;
    for (int i = 0; i < 31; i++)
        try { sum += guarded(i, &cleaned) + calm(i); } catch (const std::exception &) { caught++; }
    try { std::string().at(3); } catch (const std::out_of_range &) { caught++; }
    try { std::map<int, int>().at(3); } catch (const std::out_of_range &) { caught++; }
    printf("%d %d\n", caught, cleaned);
    return 0;
}
"""
OF_GO = """
        .section .gopclntab, "a"
        .quad 0
        .section .note.GNU-stack, "", @progbits
        .text
        .globl _start
        .type "main.(*Server).Serve", @function
        .globl "main.(*Server).Serve"
"main.(*Server).Serve": ret
        .size "main.(*Server).Serve", . - "main.(*Server).Serve"
        .type "github.com/some/thing.Do", @function
        .globl "github.com/some/thing.Do"
"github.com/some/thing.Do": ret
        .size "github.com/some/thing.Do", . - "github.com/some/thing.Do"
_start: call "main.(*Server).Serve"
        call "github.com/some/thing.Do"
        mov $60, %eax
        xor %edi, %edi
        syscall
"""


@pytest.fixture(scope="module")
def throwing():
    return compilers.built("throwing.cc", THROWING, "g++", "-g", "-O1")


@pytest.fixture(scope="module")
def of_go():
    return compilers.built("server.s", OF_GO, "gcc", "-nostdlib", "-static")


@pytest.mark.long
def test_exceptions_get_past_the_returns_of_patterns(throwing):
    probes = ",".join(f"pid$target:{each}::return" for each in ("libstdc*", "libgcc_s*", "a.out"))
    text = f"{probes} {{ @[probefunc] = count(); }}"
    command = [SONDE, "-wn", text, "-c", throwing]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    assert "13 31" in done.stdout.splitlines()
    counts = dict(row.split() for row in done.stdout.splitlines() if len(row.split()) == 2)
    assert counts["_Z4calmi"] == "20"
    assert not {"_Z5riskyi", "_Z7guardediPi", "__cxa_throw", "_Unwind_RaiseException"} & set(counts)
    assert "leaves out the return of" in unwrapped(done.stderr)


def test_what_unwinds_has_no_return_by_its_name(throwing):
    done = sonde("-qn", "pid$target:libstdc*:__cxa_throw:return { }", "-c", throwing, status=1)
    assert "exceptions pass through it" in unwrapped(done.stderr)


def test_a_function_that_exceptions_leave_has_its_return_by_its_name(throwing):
    assert "guarded" in sonde("-ln", f"uprobe:{throwing}:guarded:return").stdout


def test_returns_of_go_are_refused(of_go):
    done = sonde("-qn", "pid$target:a.out:main.??Server?.Serve:return { }", "-c", of_go, status=1)
    assert "programs of Go move their stacks" in unwrapped(done.stderr)
    assert sonde("-qn", "pid$target:a.out:main.*:entry { trace(1); }", "-c", of_go).stdout.strip() == "1"


@pytest.mark.share(1)
@pytest.mark.parametrize("pattern", ["main.??Server?.Serve", "main.*Serve", "github.com?some?thing.Do", "*thing.Do"])
def test_names_of_go_are_named_by_patterns(of_go, pattern):
    """Descriptions have no parentheses and slashes: `?` stands for one of them."""
    done = sonde("-qn", f"pid$target:a.out:{pattern}:entry {{ trace(probefunc); }}", "-c", of_go)
    assert done.stdout.strip() in ("main.(*Server).Serve", "github.com/some/thing.Do")


ITSELF = [sys.executable, "-m", "sonde"]
"""The installed script is one of the shell's where a path has blanks, and a shell sets variables."""


def test_a_command_has_no_variables_that_the_interpreter_has_set():
    plain = {"PATH": os.environ["PATH"], "HOME": "/"}
    for given in (plain, {**plain, "LC_CTYPE": "C.UTF-8"}):
        expected = subprocess.run(["env"], capture_output=True, text=True, check=True, env=given).stdout
        done = subprocess.run([*ITSELF, "-qn", "BEGIN { }", "-c", "env"], capture_output=True, text=True, env=given)
        assert sorted(done.stdout.splitlines()) == sorted([*expected.splitlines(), ""]), done.stderr
        command = [*ITSELF, "-qwn", 'BEGIN { system("env"); exit(0); }']
        done = subprocess.run(command, capture_output=True, text=True, env=given)
        assert ("LC_CTYPE" in done.stdout) == ("LC_CTYPE" in given)
