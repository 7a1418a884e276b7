"""Why functions have no entry or return probes, for people."""

from __future__ import annotations

from sonde.typed import NamedTuple


class ReturnObstacle(NamedTuple):
    """The cause, said of one function, and of how many functions: "3 of them ..."; and what helps, "" if nothing
    does."""

    cause: str
    of_several: str
    remedy: str = ""


OF_GO = ReturnObstacle(
    "programs of Go move their stacks, and end where a return address is not theirs",
    "of programs of Go, which move their stacks",
    "the embedded engine (--engine embedded, with -c or -p) leaves the return address as it is",
)
KEPT = ReturnObstacle(
    "it keeps its return address, or has none", "that keep their return address, or have none", "probe its entry"
)
LOOKED_AT = ReturnObstacle(
    "it reads its own return address, which the kernel replaces",
    "that read their own return address, which the kernel replaces",
    "the embedded engine (--engine embedded, with -c or -p) leaves the return address as it is",
)
SWITCHED = ReturnObstacle(
    "its program switches stacks (swapcontext or its like), and returns in another order than it calls",
    "of programs that switch stacks (swapcontext or its like), which return in another order than they call",
    LOOKED_AT.remedy,
)
READ = ReturnObstacle(
    "it belongs to a virtual machine (Java, V8) that reads return addresses off its stacks",
    "of virtual machines (Java, V8), which read return addresses off their stacks",
    LOOKED_AT.remedy,
)
COUNTED = ReturnObstacle(
    "it is compiled with -pg, and tells mcount its return address, which the kernel replaces",
    "that are compiled with -pg, and tell mcount their return addresses",
    LOOKED_AT.remedy,
)
PASSED = ReturnObstacle(
    "exceptions pass through it, which a return address that is not theirs ends",
    "that exceptions pass through",
    "probe its entry",
)
LEFT = ReturnObstacle(
    "exceptions leave it, which a probe at its return would end",
    "that exceptions leave, which a probe there would end: name one to have it",
    "name it alone",
)
UNDESCRIBED = ReturnObstacle(
    "no unwinding table (.eh_frame, .debug_frame) says where its return address is",
    "that no unwinding table describes, of which the embedded engine tells with each call",
    "the embedded engine (--engine embedded, with -c or -p) looks at each call",
)
WRITABLE = ReturnObstacle(
    "its process may write to the code there, which the kernel does not probe (valid_vma, kernel/events/uprobes.c)",
    "in memory that the process may write to, which the kernel does not probe",
    "the embedded engine (--engine embedded, with -c or -p) does",
)
NOT_PROBEABLE = ReturnObstacle(
    "it begins with an instruction that the kernel cannot probe",
    "that begin with an instruction that the kernel cannot probe",
    "name another of its instructions by its offset",
)

_MOVED = ".cold"
"""What gcc and clang call the part of a function that they move out of it, and others."""


def not_called(name: str) -> ReturnObstacle:
    """That of a function that is entered with its return address elsewhere, or without one."""
    whole, mark, _ = name.partition(_MOVED)
    remedy = f"probe the return of {whole}, which jumps there" if mark and whole else "probe its entry"
    return ReturnObstacle(
        "it is not called: by the file's unwinding table its return address is not at the stack pointer when it begins",
        "that are not called, by the unwinding table (parts like .cold, targets of jumps, frames of signals)",
        remedy,
    )
