"""How the guardian, who sleeps in waitpid, is woken by a pipe: a child that reads from it and stops itself.

waitpid reports the child's stop like any other. So nothing can be missed between a look at the pipe and the wait, as a
signal could, and there is no second thing to wait for. Where the pipe is closed the child ends.
"""

from __future__ import annotations

import ctypes
import os
import signal

_ENOUGH = 4096
_PR_SET_PDEATHSIG = 1


def start(pipe: int) -> int:
    """The pid of a child that stops whenever `pipe` has something, which it reads, and ends where `pipe` does.

    It keeps no other descriptor, so that others see the end of their pipes. Here too nothing may be open that keeps the
    other end of `pipe` open.
    """
    guardian = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        # It would stay, stopped, if the guardian were killed.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:
            os._exit(0)
        os.closerange(0, pipe)
        os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
        while os.read(pipe, _ENOUGH):
            os.kill(os.getpid(), signal.SIGSTOP)
    finally:
        os._exit(0)
