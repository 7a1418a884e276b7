"""Why the kernel's verifier refused a program."""

from __future__ import annotations

import errno
import os
import re

from sonde.bpf import programs
from sonde.bpf.programs import name_of
from sonde.engines.kernel import commands
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.failures import NOT_SUPPORTED, reason
from sonde.engines.kernel.requirements import PROGRAMS, missing_helper, too_old
from sonde.model.errors import EngineError
from sonde.model.spec import ProgramSpec
from sonde.untrusted import lines

_LOG_SIZES = (1 << 18, (1 << 24) - 1)
"""Sizes of the verifier's log, in bytes, the next if one is too small; more than the last is refused by Linux 5.1."""

_LOG_TAIL = 20
"""Lines of the log's end that a user is shown."""

_NETWORK = (programs.XDP, programs.SCHED_CLS)

_STATISTICS = re.compile(r"processed \d+ insns|verification time|stack depth")
_CALL = re.compile(r"^(\d+): \(85\) call pc([+-]\d+)", re.MULTILINE)
_INSTRUCTION = re.compile(r"^(?:from \d+ to )?(\d+): \(", re.MULTILINE)


def refusal(spec: ProgramSpec, program: ProgramCode, error: OSError) -> EngineError:
    """What to tell the user: the cause in one line, the end of the log, the D position of the refused instruction."""
    what = f"the kernel refuses program {spec.name}"
    if spec.kind == programs.PROBE:
        return EngineError(
            f"{what}: it has no general programs; --engine embedded runs them, over the processes of -c and -p"
        )
    log = _log(program)
    if not log:
        requirement = PROGRAMS.get(spec.kind)
        if error.errno in NOT_SUPPORTED and requirement and (text := too_old(requirement)):
            return EngineError(f"{what}: {text}")
        kind = name_of(spec.kind)
        # is_net_admin_prog_type() of kernel/bpf/syscall.c; what is in question here is loaded for a device.
        network = ", CAP_PERFMON and CAP_NET_ADMIN" if spec.kind in _NETWORK else " and CAP_PERFMON"
        return EngineError(f"{what} (of type {kind}): {reason(error, f'CAP_BPF{network}')}")
    if text := missing_helper(log):
        return EngineError(f"{what}: {text}", place=_place(spec, log))
    found = [line for line in lines(log) if line and not _STATISTICS.match(line)]
    cause = found[-1].strip() if found else reason(error)
    return EngineError(f"{what}: {cause}", "\n".join(lines(log)[-_LOG_TAIL:]), _place(spec, log))


def _log(program: ProgramCode) -> str:
    """The verifier's log of a program that was refused."""
    text = ""
    for size in _LOG_SIZES:
        log = bytearray(size)
        try:
            # Whatever made it fail the first time is gone: do not keep what was loaded only for its log.
            os.close(commands.load_program(program, log))
        except OSError as error:
            text = log.partition(b"\0")[0].decode(errors="replace")
            if error.errno != errno.ENOSPC:
                break
    return text


def _place(spec: ProgramSpec, log: str) -> str:
    """The position in the source of the last instruction the log speaks of: that of the nearest one before it that has
    one; of a function that has none, that of the call it comes from."""
    numbers = _INSTRUCTION.findall(log)
    if not numbers:
        return ""
    start, place = _nearest(spec, int(numbers[-1]))
    if not place:
        calls = [int(at) for at, distance in _CALL.findall(log) if int(at) + 1 + int(distance) == start]
        place = _nearest(spec, calls[-1])[1] if calls else ""
    return place


def _nearest(spec: ProgramSpec, at: int) -> tuple[int, str]:
    return max(((index, place) for index, place in spec.lines if index <= at), default=(0, ""))
