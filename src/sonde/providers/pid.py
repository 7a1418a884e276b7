"""Descriptions of user-function probes, `pid1234:a.out:main:entry`, and what can be wrong with one."""

from __future__ import annotations

import os
import re

from sonde.model.errors import (
    ADDRESS_IN_LIBRARY,
    BAD_PROBE_NAME,
    BAD_PROCESS,
    NO_PROCESS,
    OPEN_ADDRESS,
    OWN_PROCESS,
    SourceError,
)
from sonde.providers.pattern import Pattern, plain
from sonde.providers.source_lines import source_line

UNAVAILABLE = (
    "the embedded engine has no static probes of all processes, but those of one, PROVIDER$target or PROVIDER123; the "
    "kernel engine (root, or CAP_BPF and CAP_PERFMON) has them"
)

_OFFSET = re.compile(r"(0[xX])?[0-9a-fA-F]+")
_MAX_PID = (1 << 31) - 1


def check(pattern: Pattern, processes: str = "/proc") -> None:
    """Raise SourceError for a description that no process could satisfy.

    `processes` is where procfs is mounted.
    """
    pid = _pid(pattern.provider)
    if pid == os.getpid():
        raise SourceError(OWN_PROCESS, f"process {pid} is the tracer itself", about=(pid,))
    directory = f"{processes}/{pid}"
    if not os.path.isdir(directory):
        raise not_to_be_had(pid, "there is no such process")
    if pattern.function == "-":
        _check_module(pattern.module, directory)
    check_name(pattern)


def check_name(pattern: Pattern) -> None:
    """Raise SourceError for a name that no probe in a function can have: it is `entry`, `return`, a glob or an offset
    in hexadecimal; that of a source position is the place, which depends on the file."""
    if pattern.function == "-" and not plain(pattern.name):
        raise SourceError(OPEN_ADDRESS, "a probe without a function is at one address, which has to be given")
    exact, name = plain(pattern.name), pattern.name
    if source_line(pattern.function) is not None or exact is None or name in ("entry", "return"):
        return
    if not _OFFSET.fullmatch(exact):
        raise badly_named(name)


def _pid(provider: str) -> int:
    digits = provider.removeprefix("pid")
    # int() would refuse thousands of digits.
    pid = int(digits) if len(digits.lstrip("0")) < 11 else _MAX_PID + 1
    if not 0 < pid <= _MAX_PID:
        shown = provider if pid else "pid0"
        quoted = shown if shown == "pid0" else f"'{shown}'"
        raise SourceError(BAD_PROCESS, f"{quoted} names no process", about=(quoted,))
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
        raise SourceError(ADDRESS_IN_LIBRARY, "a probe without a function is in the program itself, not in a library")


def badly_named(name: str) -> SourceError:
    """A name that no probe in a function can have."""
    return SourceError(BAD_PROBE_NAME, f"no probe in a function is called '{name}'", about=(name,))


def not_to_be_had(pid: int | str, hint: str = "") -> SourceError:
    """A process that is not there, or may not be looked at."""
    return SourceError(NO_PROCESS, f"process {pid} cannot be traced", hint=hint, about=(pid,))
