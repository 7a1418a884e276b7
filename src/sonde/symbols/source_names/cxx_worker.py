"""Demangles C++ names by the C++ library's own __cxa_demangle (Itanium C++ ABI, 3.4), in a process of its own.

That function takes time and memory exponential in a hostile name's length, and it is not known to be free of errors. So
this process has little of either, no privileges and no files, and who asks it survives its end. It is run as a script:
each line of the standard input is a name, each line of the output what it means, empty where it means nothing.
"""

import ctypes
import os
import resource
import sys

# What is imported here is waited for: no signal, no contextlib.

_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1")
_MEMORY = 256 << 20
_PATIENCE = 200_000
"""Microseconds of processor time for one name."""

_VIRTUAL = 1
"""ITIMER_VIRTUAL of <sys/time.h>."""

_NO_LIBRARY = 3
"""The status that says so, to `demangle.py`."""

_LONGEST = 4096
_NOBODY = 65534


def main() -> None:
    demangle = _found()  # type: ignore[no-untyped-call]
    if demangle is None:
        os._exit(_NO_LIBRARY)
    library = ctypes.CDLL(None)
    free, set_timer = library.free, library.setitimer
    free.argtypes = [ctypes.c_void_p]
    # struct itimerval: seconds and microseconds of the interval, then of what is left.
    patience, none = (ctypes.c_long * 4)(0, 0, 0, _PATIENCE), (ctypes.c_long * 4)()
    _give_up_privileges()
    status = ctypes.c_int()
    while line := sys.stdin.buffer.readline():
        set_timer(_VIRTUAL, patience, None)
        result = demangle(line[:-1], None, None, ctypes.byref(status))
        set_timer(_VIRTUAL, none, None)
        text = ctypes.string_at(result)[: _LONGEST + 1] if result else b""
        if result:
            free(result)
        sys.stdout.buffer.write((b"" if len(text) > _LONGEST or b"\n" in text else text) + b"\n")
        sys.stdout.buffer.flush()


def _found():  # type: ignore[no-untyped-def]  # its type exists only while ctypes runs
    for name in _LIBRARIES:
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return function
    return None


def _give_up_privileges() -> None:
    for limit, value in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 0)):
        resource.setrlimit(limit, (value, value))
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        except OSError:
            # A user namespace may have no such user.
            return


if __name__ == "__main__":
    main()
    # Nothing is left to be done, and who asked waits for the end.
    os._exit(0)
