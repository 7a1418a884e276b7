"""Showing a recording performs nothing that its program did, unless it is told to; sonde's files are their owner's."""

import os
import stat
from pathlib import Path

import pytest
from support.command.running import run

PROGRAM = """
BEGIN { printf("a"); system("echo run >> acted; echo %c[31m", 27); freopen("%s", "reopened"); printf("there\\n"); }
BEGIN { ftruncate(); freopen(""); printf("here\\n"); exit(7); }
"""
LINES = ['# system("echo run >> acted; echo \\x1b[31m")', '# freopen("reopened")', "there", "# ftruncate()",
         '# freopen("")', "here"]  # fmt: skip


@pytest.fixture
def recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run("--engine", "embedded", "-qw", "--raw", "file.raw", "-n", PROGRAM)
    assert (done.returncode, done.stderr) == (7, ""), done.stderr
    # What was recorded did happen.
    assert (tmp_path / "acted").read_text() == "run\n"
    os.unlink("acted")
    os.unlink("reopened")
    return sorted(os.listdir())


@pytest.mark.share(1)
@pytest.mark.parametrize("words", [[], ["-w"], ["-o", "shown"], ["-F"]])
def test_raw_shows_what_it_does_not_do(recording, words):
    done = run("raw", "-q", *words, "file.raw")
    assert done.returncode == 7
    text = done.stdout if "shown" not in words else Path("shown").read_text()
    assert [line for line in text.splitlines() if line] == ["a", *LINES]
    assert "4 actions were shown as a line with # and not performed; --act -w performs them" in done.stderr
    assert sorted({*os.listdir()} - {"shown"}) == recording


def test_what_stands_in_the_output_is_not_truncated(recording):
    Path("log").write_text("precious\n")
    assert run("raw", "-q", "-o", "log", "file.raw").returncode == 7
    assert Path("log").read_text().startswith("precious\na\n")


def test_acting_takes_both_options(recording):
    done = run("raw", "-q", "--act", "file.raw")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Destructive actions not allowed" in done.stderr
    assert sorted(os.listdir()) == recording
    done = run("raw", "-q", "--act", "-w", "file.raw")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "a\x1b[31m\nhere\n\n"
    assert Path("acted").read_text() == "run\n"


@pytest.mark.parametrize("words", [["-n", "BEGIN { exit(0); }"], ["record", "-n", "BEGIN"], ["--spec", "x"]])
def test_acting_is_for_recordings(words):
    done = run("--act", *words) if words[0] != "record" else run(*words, "--act")
    assert done.returncode == 2
    assert "--act is for `raw` and `read`" in done.stderr


FILES = {
    "--raw": "f.raw", "--save": "f.spec", "-o": "f.txt", "--folded": "f.folded", "--heatmap": "f.svg",
    "--speedscope": "f.json", "--pprof": "f.pb.gz", "--flame": "f.html",
}  # fmt: skip


@pytest.mark.long
def test_files_are_for_their_owner_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    aggregations = {"--raw": "", "--save": "", "-o": "", "--heatmap": "@ = quantize(1);"}
    before = os.umask(0)
    try:
        for option, name in FILES.items():
            program = f"BEGIN {{ {aggregations.get(option, '@[ustack()] = count();')} exit(0); }}"
            done = run("--engine", "embedded", "-q", option, name, "-n", program)
            assert done.returncode == 0, (option, done.stderr)
    finally:
        os.umask(before)
    assert {name: oct(stat.S_IMODE(os.stat(name).st_mode)) for name in os.listdir()} == dict.fromkeys(
        FILES.values(), "0o600"
    )
