"""A command run to its end, with the CPU time and memory that it alone has taken."""

import json
import subprocess
import sys
import tempfile
from typing import NamedTuple


class Ended(NamedTuple):
    status: int
    stdout: str
    stderr: str
    seconds: float
    """Of CPU time, of the process and of its children that it waited for."""
    bytes: int
    """The largest resident set of either."""


_SMALL = """
import json, os, sys
pid = os.fork()
if not pid:
    os.execv(sys.argv[2], sys.argv[2:])
status, used = os.wait4(pid, 0)[1:]
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024], file)
"""
"""A process between: what its maker had resident is counted as a command's until that is executed (fs/exec.c)."""


def run(words):
    """Run a command, whose first word is a path, to its end."""
    with tempfile.NamedTemporaryFile("r") as told, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        words = [sys.executable, "-IS", "-c", _SMALL, told.name, *map(str, words)]
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, check=True)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        status, seconds, size = json.load(told)
    return Ended(status, *texts, seconds, size)
