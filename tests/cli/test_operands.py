"""What words mean where no option gives a program: as people expect, and to `dtrace` as dtrace(1) has it."""

import pytest
from support.command.running import SONDE, run

from sonde.cli.arguments import parse
from sonde.cli.messages import FatalError
from sonde.cli.operands import COMMANDS, with_program


def listed(*words):
    done = run("-l", *words)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()[1:]]


def test_a_description_is_listed_from_its_provider_on():
    rows = listed("syscall::open*")
    assert {row[1] for row in rows} == {"syscall"}
    assert {row[3] for row in rows} >= {"open", "openat"}
    assert all(row[3].startswith("open") for row in rows)
    assert {row[-1] for row in listed("syscall:vmlinux:openat:entry")} == {"entry"}


def test_a_word_is_any_of_the_four_names():
    rows = listed("*openat*")
    assert all("openat" in " ".join(row) for row in rows)
    assert {"openat", "openat2"} <= {row[3] for row in rows}
    assert {row[1] for row in listed("proc")} == {"proc"}


def test_several_words_are_listed_in_their_order():
    names = [row[-1] for row in listed("dtrace:::END", "dtrace:::BEGIN")]
    assert names == ["END", "BEGIN"]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("syscall::opne", "syscall has no function opne; like it: open"),
        ("opne", "there is no function opne; like it: open"),
        ("syscall:::entry { trace(1); }", "sonde -ln"),
        ("a:b:c:d:e", "provider:module:function:name"),
    ],
)
def test_what_matches_nothing_is_explained(word, says):
    done = run("-l", word)
    assert done.returncode == 1
    assert f"failed to match {word}" in done.stderr
    assert says in done.stderr


def test_the_name_dtrace_keeps_the_meaning_of_dtrace(tmp_path):
    """All words are macro arguments."""
    dtrace = tmp_path / "dtrace"
    dtrace.symlink_to(SONDE)
    (tmp_path / "a.d").write_text("BEGIN { exit(3); }")
    assert len(run("-l", "syscall::open*", program=str(dtrace)).stdout.splitlines()) > 500
    assert run("-e", "BEGIN { exit(0); }", program=str(dtrace)).returncode == 0
    done = run(str(tmp_path / "a.d"), program=str(dtrace))
    assert (done.returncode, done.stdout) == (1, "")
    assert "no probes specified" in done.stderr


def test_a_script_with_its_arguments(tmp_path):
    script = tmp_path / "slow.d"
    script.write_text('BEGIN { printf("%d %s\\n", $1, $$2); exit(3); }')
    done = run("-q", str(script), "7", "seven")
    assert (done.returncode, done.stdout) == (3, "7 seven\n\n")


def test_a_file_that_says_it_is_a_script(tmp_path):
    script = tmp_path / "slow"
    script.write_text("#!/usr/bin/env -S sonde -s\nBEGIN { exit(5); }")
    assert run("-q", str(script)).returncode == 5


def test_a_program():
    assert run("-q", "BEGIN { exit(7); }").returncode == 7
    assert run("-q", "syscall:::entry", "-c", "true").returncode == 0
    done = run("-qc", "true", "syscall::exit_group:entry /pid == $target/ { trace($1); }", "11")
    assert done.stdout == "11\n"


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["slow.d"], 1, "failed to open slow.d: No such file or directory"),
        (["doctr"], 2, "did you mean `sonde doctor`?"),
        (["ls"], 2, "sonde -c ls -n 'syscall:::entry"),
        (["nonsense"], 2, "a script ends in .d or is given with -s, a program with -n"),
        (["-c", "ls"], 1, "sonde -c ls -n 'syscall:::entry"),
        (["-p", "1"], 1, "sonde -p 1 -n 'syscall:::entry"),
        (["ls", "-l", "/tmp"], 2, "sonde -c 'ls -l /tmp' -n \\\n    'syscall:::entry"),
        (["ls", "-la"], 2, "sonde -c 'ls -la' -n"),
        (["ls", "/tmp"], 2, "sonde -c 'ls /tmp' -n"),
        (["date", "+%s"], 2, "sonde -c 'date +%s' -n"),
        (["-e", "sched:sched_switch", "-a", "sleep", "1"], 2, "sonde -n sdt:sched::sched_switch -c 'sleep 1'"),
        (["-e", "syscalls:sys_enter_read", "ls", "-l"], 2, "sonde -n syscall::read:entry -c 'ls -l'"),
        (["-p", "bash", "-n", "BEGIN"], 2, "-p $(pgrep -n bash)"),
        (["-x", "qiet", "-n", "BEGIN"], 2, "write -x quiet"),
        (["-x", "bufsize=4q", "-n", "BEGIN"], 2, "write -x bufsize=4k or -x bufsize=4m"),
        (["-x", "bufsize=4MiB", "-n", "BEGIN"], 2, "write -x bufsize=4m"),
        (["-x", "switchrate=2minutes", "-n", "BEGIN"], 2, "write -x switchrate=2m"),
        (["-e", "BEGIN { trace(1); }"], 2, "sonde -n 'BEGIN { trace(1); }'"),
    ],
)
def test_what_is_expected_is_said(words, status, says):
    done = run(*words)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 80


@pytest.mark.parametrize("command", [each for each in COMMANDS if len(each) > 2])
def test_a_misspelt_command_is_recognised(command):
    with pytest.raises(FatalError) as found:
        with_program(parse([command[:-2] + command[-1] + command[-2]]))
    assert f"`sonde {command}`" in found.value.hint


@pytest.mark.parametrize("word", COMMANDS)
def test_a_command_behind_options_is_told_to_be_first(word):
    with pytest.raises(FatalError) as told:
        with_program(parse(["--engine", "embedded", word]))
    assert str(told.value) == f"{word} is a command of sonde only where it is the first word"
    assert told.value.hint == f"options stand behind it: sonde {word} ..."
