"""Programs to be traced, in C, compiled once a session."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile

from support.machine import packages
from support.places import PROGRAMS


@functools.cache
def directory():
    path = tempfile.mkdtemp(prefix="sonde-targets-")
    os.chmod(path, 0o755)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def program(source, *flags, language="c"):
    """The path of the program compiled from that source; skips the test where there is no compiler."""
    packages.require("gcc")
    name = f"{directory()}/p{abs(hash((source, flags, language))):x}"
    command = ["gcc", "-O1", "-w", "-x", language, "-o", name, "-", "-pthread", *flags]
    subprocess.run(command, input=source, text=True, check=True)
    return name


FOREST = (PROGRAMS / "forest.c").read_text()
"""Threads that make children in all ways; forest.c says what it does."""


def forest_output(rounds):
    """What FOREST prints; it ends with status 7."""
    return f"begin\nsum {sum(5 * (1000 * me + i) for me in range(3) for i in range(rounds))}\n"
