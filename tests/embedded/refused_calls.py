"""Run a script as an ordinary user whose system calls fail, as a container's profile makes them.

`refused_calls.py USER NUMBERS SCRIPT`: USER 0 for the caller; the numbers of what fails, by EPERM, with commas between
them; the script is Python. What it imports is loaded before, since the user may not read where that is.
"""

import ctypes
import os
import pwd  # noqa: F401 - see above
import struct
import sys
import warnings  # noqa: F401

import guarded  # noqa: F401

from sonde.target import obstacles, seccomp  # noqa: F401

_ERRNO_EPERM = 0x00050001


def refuse(numbers):
    """From here on, for this process and all it starts."""
    program = bytearray(seccomp.filter_for(dict.fromkeys(numbers, 1)))
    for place in range(0, len(program), 8):
        code, _, _, value = struct.unpack_from("=HBBI", program, place)
        if code == 6 and value & 0xFFFF:
            struct.pack_into("=I", program, place + 4, _ERRNO_EPERM)
    seccomp.install(bytes(program))


def become(user):
    """That user, who may be traced by himself as one is that has not been another."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(4, 1)


if __name__ == "__main__":
    if int(sys.argv[1]):
        become(int(sys.argv[1]))
    if sys.argv[2]:
        refuse([int(number) for number in sys.argv[2].split(",")])
    exec(sys.argv[3])
