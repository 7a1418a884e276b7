"""Descriptions of user-function probes, `pid1234:a.out:main:entry`.

What is wrong with one is said as dtrace says it.
"""

from __future__ import annotations

import os
import re

from sonde.model.errors import DError
from sonde.providers.pattern import Pattern, plain
from sonde.providers.source_lines import source_line

UNAVAILABLE = (
    "the embedded engine has no probes in the functions of processes; the kernel engine (root, or CAP_BPF and "
    "CAP_PERFMON) has them"
)

_OFFSET = re.compile(r"(0[xX])?[0-9a-fA-F]+")
_MAX_PID = (1 << 31) - 1


def check(pattern: Pattern, processes: str = "/proc") -> None:
    """Raise DError with a D_PROC_* tag for a description that no process could satisfy.

    `processes` is where procfs is mounted.
    """
    pid = _pid(pattern.provider)
    if pid == os.getpid():
        raise DError("D_PROC_DYN", f"process {pid} is dtrace itself")
    directory = f"{processes}/{pid}"
    if not os.path.isdir(directory):
        raise DError("D_PROC_GRAB", f"failed to grab process {pid}")
    if pattern.function == "-":
        _check_module(pattern.module, directory)
    check_name(pattern)


def check_name(pattern: Pattern) -> None:
    """Raise DError with D_PROC_NAME for a name that no probe in a function can have: it is `entry`, `return`, a glob or
    an offset in hexadecimal; that of a source position is the place, which depends on the file."""
    if pattern.function == "-" and not plain(pattern.name):
        text = "only individual addresses may be specified with the '-' function"
        raise DError("D_PROC_NAME", text)
    exact, name = plain(pattern.name), pattern.name
    if source_line(pattern.function) is not None or exact is None or name in ("entry", "return"):
        return
    if not _OFFSET.fullmatch(exact):
        raise DError("D_PROC_NAME", f"'{name}' is an invalid probe name")


def _pid(provider: str) -> int:
    digits = provider.removeprefix("pid")
    # int() would refuse thousands of digits.
    pid = int(digits) if len(digits.lstrip("0")) < 11 else _MAX_PID + 1
    if not 0 < pid <= _MAX_PID:
        shown = provider if pid else "pid0"
        quoted = shown if shown == "pid0" else f"'{shown}'"
        raise DError("D_PROC_BADPID", f"{quoted} does not contain a valid pid")
    return pid


def _check_module(module: str, directory: str) -> None:
    """The function `-` stands for addresses of the executable, which every process calls a.out."""
    if module in ("", "*", "a.out"):
        return
    try:
        executable = os.path.basename(os.readlink(f"{directory}/exe"))
    except OSError:
        executable = ""
    if module != executable:
        raise DError("D_PROC_LIB", "only the a.out module is valid with the '-' function")
