"""The threads that are there before tracing begins."""

from __future__ import annotations

from contextlib import suppress

from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.sources.threads import Threads
from sonde.machine import proc
from sonde.machine.program_files import is_32_bit
from sonde.model.errors import EngineError


def present_threads(followed: FollowedGroup | None) -> list[int]:
    """Of all processes that are to be traced."""
    found: list[int] = []
    for member in followed.members if followed is not None else ():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += proc.threads(member.pid)
    return found


def require_native(followed: FollowedGroup) -> None:
    """Raises EngineError for a 32-bit program, for who asks for system calls."""
    for member in followed.members:
        if is_32_bit(member.pid):
            raise EngineError(
                f"process {member.pid} runs a 32-bit program, whose system calls the embedded engine does not see; "
                "the kernel engine (root, or CAP_BPF and CAP_PERFMON) does"
            )


def adopt_present(followed: FollowedGroup, threads: Threads) -> None:
    """Get to know the threads that were there while they stand: they may end as soon as they run."""
    for member in followed.members:
        if not member.is_command:
            with suppress(FileNotFoundError, ProcessLookupError):
                for tid in proc.threads(member.pid):
                    threads.adopt(tid)
        elif (task := threads.adopt(member.pid)) is not None:
            followed.remarks.executed(task.tid, task.comm)
