"""Programs that tests compile, kept by their content over processes and runs.

The same sources, command and compiler give the same file again, at the same place, with its sources beside it: debug
information names them. What is kept is nobody's to change; a test that changes a program takes a copy.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from support.machine import packages

UNUSED = 7 * 24 * 3600
"""Seconds after which a program that no run has asked for is removed."""


@functools.cache
def directory():
    """The directory of all of them, which other users may read."""
    path = Path(tempfile.gettempdir(), f"sonde-programs-{os.geteuid()}")
    path.mkdir(mode=0o755, exist_ok=True)
    status = path.lstat()
    assert stat.S_ISDIR(status.st_mode), path
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.geteuid(), 0o755), f"{path} is another's"
    for each in path.iterdir():
        if each.is_dir() and time.time() - each.stat().st_mtime > UNUSED:
            shutil.rmtree(each, ignore_errors=True)
    return path


@functools.cache
def _version(compiler):
    option = "version" if compiler == "go" else "--version"
    return subprocess.run([compiler, option], check=True, capture_output=True).stdout


def _digest(words, files, depends):
    parts = [_version(words[0]), *(word.encode() for word in words), *(part.encode() for part in depends)]
    parts += [part.encode() for item in sorted(files.items()) for part in item]
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()[:32]


def kept(words, files, product, depends=()):
    """The path of `product`, which the command `words` makes of `files`, texts by name, in their directory.

    `depends` are other texts that the result depends on. Skips the test where there is no compiler; raises
    CalledProcessError, with the compiler's messages, where it fails.
    """
    packages.require(words[0])
    place = directory() / _digest(words, files, depends)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "made").exists():
            _make(place, words, files)
    os.utime(place)
    return place / product


def built(name, text, compiler, *flags):
    """The path of the program or library that a compiler makes of one file, whose name it has without the ending."""
    product = Path(name).stem
    return str(kept([compiler, "-o", product, name, *flags], {name: text}, product))


def _make(place, words, files):
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    done = subprocess.run(words, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
    (place / "made").touch()
