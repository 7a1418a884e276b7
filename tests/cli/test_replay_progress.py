"""How far a replay is: one line on a terminal, which makes room for all other output, and nothing elsewhere."""

import os
import re
import subprocess
import sys

import pytest
from support.command.command import environment, sonde

from sonde.recording.file_progress import progress_of
from sonde.session import progress

AT_ONCE = """
from sonde.session import progress
progress._FIRST = progress._OFTEN = 0
from sonde.cli.start import main
main()
"""
"""The command, which says at each look how far it is."""

SHOWN = re.compile(rb"\r\x1b\[Ksonde: (\d+) % of the recording is replayed")
WORK = "dd if=/dev/zero of=/dev/null bs=1 count=40000 status=none"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("recording") / "it.rec")
    sonde("--engine", "embedded", "-q", "--record", path, "-n", "syscall::read:entry { n++; }", "-c", WORK)
    return path


def replayed(recording, text, output):
    """What a terminal gets that is the standard error, and with `output` None the standard output, too."""
    reader, end = os.openpty()
    words = [sys.executable, "-c", AT_ONCE, "-q", "--replay", recording, "-n", text]
    with subprocess.Popen(words, stdout=end if output is None else output, stderr=end, env=environment()) as process:
        os.close(end)
        found = b""
        while True:
            try:
                found += os.read(reader, 1 << 16)
            except OSError:
                break
    os.close(reader)
    assert process.returncode == 0
    return found


@pytest.mark.long
def test_a_silent_replay_says_how_far_it_is(recording, tmp_path):
    with (tmp_path / "output").open("wb") as output:
        found = replayed(recording, "syscall::read:entry { @ = count(); }", output)
    shares = [int(each) for each in SHOWN.findall(found)]
    assert shares == sorted(shares)
    assert shares
    assert 0 <= shares[0] <= shares[-1] <= 100
    assert found.endswith(b"\r\x1b[K")
    assert (tmp_path / "output").read_text().split() == ["40002"]


@pytest.mark.long
def test_output_on_the_same_terminal_is_whole(recording):
    """Each line of output begins where a line begins, and a line that goes on is not overwritten."""
    text = 'syscall::read:entry { printf("%d", ++n); } syscall::read:entry /n % 100 == 0/ { printf(" end\\n"); }'
    found = replayed(recording, text, None)
    left = re.sub(rb"\r\x1b\[K(sonde: \d+ % of the recording is replayed\r\x1b\[K)*", b"", found)
    ends = dict.fromkeys(range(100, 40003, 100), " end\r\n")
    numbers = "".join(f"{each}{ends.get(each, '')}" for each in range(1, 40003))
    assert left.decode().strip() == numbers.strip()
    for match in SHOWN.finditer(found):
        before = re.sub(rb"(\r\x1b\[K(sonde: \d+ % of the recording is replayed)?)+$", b"", found[: match.start()])
        assert before[-1:] in (b"", b"\n")


@pytest.mark.long
def test_nothing_is_shown_where_no_terminal_is(recording):
    words = [sys.executable, "-c", AT_ONCE, "-q", "--replay", recording, "-n", "syscall::read:entry { @ = count(); }"]
    done = subprocess.run(words, capture_output=True, env=environment(), check=True)
    assert (done.stdout.split(), done.stderr) == ([b"40002"], b"")


def test_the_size_of_a_pipe_is_not_known():
    reader, end = os.pipe()
    os.close(end)
    with open(reader, "rb") as file:
        assert progress_of(file) == (0, 0)


def test_a_short_replay_says_nothing(monkeypatch):
    monkeypatch.setattr(progress.os, "isatty", lambda descriptor: True)
    monkeypatch.setattr(progress.time, "monotonic", lambda: 5.0)
    written = []
    monkeypatch.setattr(progress.os, "write", lambda descriptor, text: written.append(text))
    shown = progress.ReplayProgress()

    class Firings:
        progress = 30, 40

    shown.show(Firings())
    shown.erase()
    assert written == []
    monkeypatch.setattr(progress.time, "monotonic", lambda: 6.5)
    shown.make_room(False)
    shown.show(Firings())
    assert written == []
    shown.make_room(True)
    shown.show(Firings())
    assert written == [b"\r\x1b[Ksonde: 75 % of the recording is replayed"]
