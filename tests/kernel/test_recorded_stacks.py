"""Stacks of recordings, of code without frame pointers: those that a session without a recording shows."""

import re

import pytest
from support.command.command import sonde, unwrapped
from support.machine import compilers

SOURCE = """
#include <signal.h>
#include <string.h>
#include <unistd.h>
static __attribute__((noinline)) int inner(int n) { volatile int s[40]; s[n & 7] = n; return s[n & 7] + getppid(); }
__attribute__((noinline)) int outer(int n) { volatile int s = n; return inner(n) + s; }
static void handler(int number) { outer(number); }
int main(int count, char **words) {
    volatile char *more = __builtin_alloca(count + 1000);
    memset((char *)more, count, 1000);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return outer(count) + more[7] == 0;
}
"""

TEXT = """
syscall::getppid:entry /pid == $target/ { @a[ustack(), ustackdepth] = count(); @b[usym(ucaller)] = count(); }
pid$target:a.out:inner:entry { @c[ustack()] = count(); }
pid$target:a.out:inner:return { @d[ustack(4), usym(ucaller)] = count(); }
"""
"""With a probe of a return, which has another address in the place of the true one while the function runs."""

BY_FRAMES = "stacks of processes are by frame pointers here"


def program():
    return compilers.built("walked.c", SOURCE, "gcc", "-O2")


def lines(output):
    return sorted(output.split("\n\n"))


@pytest.mark.long
@pytest.mark.parametrize(("engine", "words"), [("embedded", ()), ("kernel", ("--record-stacks", "8192"))])
def test_stacks_are_those_that_are_shown_without_a_recording(tmp_path, engine, words):
    path, command = str(tmp_path / "it.rec"), ("-q", "-n", TEXT)
    expected = sonde("--engine", engine, "-c", program(), *command).stdout
    shown = sonde("--engine", engine, "--record", path, *words, "-c", program(), *command)
    replayed = sonde("--replay", path, *command)
    assert "`raise" in expected
    assert "_start" in expected
    assert lines(shown.stdout) == lines(expected)
    assert lines(replayed.stdout) == lines(expected)
    assert BY_FRAMES not in unwrapped(shown.stderr + replayed.stderr)


@pytest.mark.long
def test_a_small_copy_says_what_is_missing_and_none_says_how_stacks_are(tmp_path):
    path, text = str(tmp_path / "it.rec"), "syscall::getppid:entry /pid == $target/ { ustack(); }"
    sonde("-q", "--record", path, "--record-stacks", "512", "-c", program(), "-n", text)
    shown = sonde("-q", "--replay", path, "-n", text)
    assert re.search(r"`inner\+0x\w+\n +\S*`outer\+0x\w+\n[^[]*\[callers are missing: 512 bytes", shown.stdout)
    done = sonde("-q", "--record", path, "-c", program(), "-n", text)
    replayed = sonde("-q", "--replay", path, "-n", text)
    for each in (done, replayed):
        assert f"{BY_FRAMES}, and have no callers of functions that keep none" in unwrapped(each.stderr)
        assert "--record-stacks" in each.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--record-stacks", "4096"), "nothing is recorded"),
        (("--record", "x", "--record-stacks", "4096", "--anonymise", "names"), "does not go with --anonymise"),
        (("--record", "x", "--record-stacks", "4096", "--engine", "embedded", "-c", "true"), "for the kernel engine"),
    ],
)
def test_what_the_option_does_not_go_with(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in unwrapped(sonde(*words, "-n", "syscall::getppid:entry { ustack(); }", status=1).stderr)
