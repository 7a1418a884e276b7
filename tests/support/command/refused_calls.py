"""Run a script as an ordinary user whose system calls fail, as a container's profile makes them.

`refused_calls.py USER NUMBERS SCRIPT`: USER 0 for the caller; the numbers of what fails, by EPERM, with commas between
them; the script is Python. What it imports is loaded before, since the user may not read where that is.
"""

import _socket  # noqa: F401 - see above
import ctypes
import os
import pwd  # noqa: F401
import select  # noqa: F401
import shlex  # noqa: F401
import struct
import sys
import warnings  # noqa: F401

from sonde import lazy
from sonde.engines.embedded.tracer import obstacles, seccomp  # noqa: F401
from support.command import guarded  # noqa: F401

_ERRNO_EPERM = 0x00050001


def load():
    """Execute the modules that are imported so far, and what these import."""
    while left := [each for each in list(sys.modules.values()) if not lazy.is_executed(each)]:
        for each in left:
            lazy.execute(each)


def refuse(numbers, action=_ERRNO_EPERM):
    """From here on, for this process and all it starts."""
    code = [(0x20, 0, 0, 0)]
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        code.append((0x15, left, 0, number))
    code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, action)]
    seccomp.install(b"".join(struct.pack("=HBBI", *each) for each in code))


def become(user):
    """That user, who may be traced by himself as one is that has not been another."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(4, 1)


if __name__ == "__main__":
    load()
    if int(sys.argv[1]):
        become(int(sys.argv[1]))
    if sys.argv[2]:
        refuse([int(number) for number in sys.argv[2].split(",")])
    exec(sys.argv[3])
