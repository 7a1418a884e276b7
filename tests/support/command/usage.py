"""A command run to its end, with the CPU time and memory that it alone has taken."""

import os
import subprocess
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


def run(words, **options):
    """Run a command; `options` are those of Popen."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, **options)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(process.returncode, *texts, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
