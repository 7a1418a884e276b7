"""Files that are named on the command line: what is no file of the kind is one message, at once; pipes are read."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine import packages

from sonde.objects.reading import LARGEST as LARGEST_OBJECT
from sonde.pictures.saved import LARGEST as LARGEST_PROFILE

PICTURE = "tick-1s { @[ustack()] = count(); }"
PROGRAM = "BEGIN { exit(0); }"


def sonde(*words, given=None, cwd=None):
    command = [str(Path(sys.executable).with_name("sonde")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, input=given, cwd=cwd)


READERS = {
    "script": ("-S", "-s"),
    "bpftrace script": ("bt", "--dry-run"),
    "object": ("--dry-run", "--object"),
    "object to verify": ("verify",),
    "spec": ("--dry-run", "--spec"),
    "raw file": ("raw",),
    "recording": ("read",),
    "profile": ("-xengine=embedded", "--flame", "a.svg", "-n", PICTURE, "--flame-diff"),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["directory", "device", "FIFO", "sparse"])
def test_what_cannot_be_read_is_one_message(reader, kind, tmp_path):
    path = tmp_path / "file"
    if kind == "directory":
        path.mkdir()
    elif kind == "device":
        path = "/dev/zero"
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(512 << 30)
    done = sonde(*READERS[reader], str(path), cwd=tmp_path)
    assert done.returncode not in (0, -9)
    assert "Traceback" not in done.stderr
    assert str(path) in done.stderr
    assert 1 <= len(done.stderr.strip().split("\n")) <= 5


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", ["device", "FIFO", "sparse"])
@pytest.mark.parametrize("name", ["file.bt", "file.h"])
def test_an_import_that_cannot_be_read_is_one_message_at_its_place(name, kind, tmp_path):
    tmp_path.chmod(0o755)
    path = tmp_path / name
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(512 << 30)
    program = tmp_path / "main.bt"
    program.write_text(f'import "{name}";\nbegin {{ exit(); }}\n')
    done = sonde("bt", "--dry-run", str(program))
    assert done.returncode not in (0, -9)
    assert "Traceback" not in done.stderr
    assert f"main.bt:1:1-{len(name) + 11}: ERROR: Failed to import {path}: " in done.stderr


@pytest.mark.parametrize("option", ["-s", pytest.param("-C", marks=packages.needs("cpp"))])
def test_a_program_is_read_from_a_pipe(option):
    words = ["-S", *(["-C"] if option == "-C" else []), "-s", "/dev/stdin"]
    assert sonde(*words, given=PROGRAM).returncode == 0


def test_a_compressed_profile_that_becomes_too_large_is_told(tmp_path):
    path = tmp_path / "profile"
    path.write_bytes(gzip.compress(bytes(LARGEST_PROFILE + 1)))
    done = sonde(*READERS["profile"], str(path), cwd=tmp_path)
    assert done.returncode == 1
    assert "larger than 16 MiB" in done.stderr


def test_an_object_that_is_too_large_is_told(tmp_path):
    path = tmp_path / "object"
    with path.open("wb") as file:
        file.truncate(LARGEST_OBJECT + 1)
    assert "larger than 64 MiB" in sonde(*READERS["object"], str(path)).stderr


@packages.needs("cpp")
def test_macros_that_become_too_much_are_told(tmp_path):
    path = tmp_path / "program.d"
    lines = ["#define A0 1, 1, 1, 1, 1, 1, 1, 1"]
    lines += [f"#define A{n} {', '.join([f'A{n - 1}'] * 8)}" for n in range(1, 8)]
    path.write_text("\n".join([*lines, "BEGIN { trace(A7); }"]))
    done = sonde("-S", "-C", "-s", str(path))
    assert done.returncode == 1
    assert "the preprocessor makes more than 4 MiB of the program" in done.stderr
