"""Programs to be traced, in C, compiled once a session."""

import atexit
import functools
import os
import shutil
import tempfile

from support.machine import compilers
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
    words = ["gcc", "-O1", "-w", "-x", language, "-o", "program", "source", "-pthread", *flags]
    return str(compilers.kept(words, {"source": source}, "program"))


FOREST = (PROGRAMS / "forest.c").read_text()
"""Threads that make children in all ways; forest.c says what it does."""


def forest_output(rounds):
    """What FOREST prints; it ends with status 7."""
    return f"begin\nsum {sum(5 * (1000 * me + i) for me in range(3) for i in range(rounds))}\n"
