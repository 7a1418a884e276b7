"""Recordings shown as text by the library: as the command shows them, and as values."""

import contextlib
import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from support.files.damage import damaged

import sonde

PROGRAM = """
BEGIN { printf("a %d\\n", 5); system("echo acted >> acted"); @[execname] = count(); print((short)3); }
BEGIN { freopen("reopened"); ftruncate(); exit(7); }
"""


def command(*words):
    return subprocess.run([sys.executable, "-m", "sonde", *words], capture_output=True, check=False)


@pytest.fixture
def recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command("--engine", "embedded", "-qw", "--raw", "file.raw", "-n", PROGRAM)
    assert done.returncode == 7, done.stderr
    for path in ("acted", "reopened"):
        os.unlink(path)
    return "file.raw"


def shown(path, **how):
    with open("shown", "w+b") as file:
        result = sonde.show(path, file, **how)
        file.seek(0)
        return result, file.read()


def test_it_is_shown_as_the_command_shows_it(recording):
    result, text = shown(recording)
    assert text == command("raw", recording).stdout
    assert result == sonde.Shown(exit_status=7, records=2, withheld=3)


def test_options_are_those_of_the_command(recording):
    _, text = shown(recording, options={"quiet": False, "flowindent": True})
    assert text == command("raw", "-F", "-xquiet=no", recording).stdout
    assert text != shown(recording)[1]
    with pytest.raises(sonde.Error, match="no_such"):
        shown(recording, options={"no_such": 1})


def test_actions_are_performed_if_that_is_wanted(recording):
    assert b'# system("echo acted >> acted")' in shown(recording)[1]
    assert not Path("acted").exists()
    result, _ = shown(recording, performs=True)
    assert result.withheld == 0
    assert Path("acted").read_text() == "acted\n"


def test_a_descriptor_is_an_output(recording):
    descriptor = os.open("shown", os.O_RDWR | os.O_CREAT)
    try:
        sonde.show(recording, descriptor)
        assert os.pread(descriptor, 1 << 20, 0) == command("raw", recording).stdout
    finally:
        os.close(descriptor)


def test_what_stands_before_the_damage_is_shown(recording):
    """At each place where the file may end: a value that says what is wrong, or an error for no recording at all."""
    data, whole = Path(recording).read_bytes(), shown(recording)[0].records
    seen = set()
    for end in range(0, len(data), 97):
        Path("cut").write_bytes(data[:end])
        try:
            result, _ = shown("cut")
        except sonde.ScriptError:
            assert not seen, "a longer piece is no recording"
            continue
        assert result.records <= whole
        assert result.damage or result.cut
        seen.add(result.records)
    assert len(seen) > 1


@pytest.mark.share(1)
@pytest.mark.parametrize("look", [lambda path: shown(path), lambda path: [*sonde.read(path)]])
def test_a_damaged_recording_is_shown_or_an_error(recording, look):
    data, chance = Path(recording).read_bytes(), random.Random(3)
    for _ in range(100):
        Path("damaged").write_bytes(damaged(data, [(0, len(data))], chance))
        with contextlib.suppress(sonde.ScriptError):
            look("damaged")


@pytest.mark.parametrize("content", [b"", b"nothing", b"PERFILE2" + bytes(96), b"\x7fELF"])
def test_what_is_no_recording_is_an_error(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(content)
    with pytest.raises(sonde.ScriptError, match=r"^file"):
        shown("file")
    with pytest.raises(sonde.ScriptError, match="failed to open absent: No such file"):
        shown("absent")


def test_packets_have_to_be_there_for_a_file_of_them(recording):
    with pytest.raises(sonde.Error, match="the program captures none"):
        shown(recording, captures="p.pcapng")


def test_an_output_has_a_descriptor(recording):
    with pytest.raises(TypeError, match="an output is a file with a descriptor, or a descriptor, not"):
        sonde.show(recording, io.BytesIO())


def test_memory_of_the_process_is_not_bounded(recording):
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    shown(recording)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
