"""Functions of the kernel that sections name: one, at an offset in it, or all that a pattern matches."""

from __future__ import annotations

import re

from sonde.arch import system_calls
from sonde.model.probe import Firing, KernelFunction
from sonde.objects.errors import ObjectError
from sonde.objects.traceable_code import TraceableCode

_FUNCTION = re.compile(r"([A-Za-z_][\w.]*)(?:\+(0x[0-9a-fA-F]+|\d+))?")
_PATTERN = re.compile(r"[\w.*?]+")
VMLINUX = "vmlinux"


def one_function(text: str, section: str, is_return: bool, traceable: TraceableCode) -> KernelFunction:
    """`FUNCTION+OFFSET`, by a kprobe. Raises ObjectError."""
    found = _FUNCTION.fullmatch(text)
    if found is None:
        raise ObjectError(f"{section} does not name a function", 'write SEC("kprobe/FUNCTION+OFFSET")')
    offset = int(found[2] or "0", 0)
    if is_return and offset:
        raise ObjectError(f"{section}: a return has no offset")
    known = traceable.traceable(found[1])
    module, is_unique = known[0] if known else (VMLINUX, False)
    return KernelFunction(module, found[1], is_return, is_unique, True, offset)


def system_call_function(name: str, is_return: bool, traceable: TraceableCode) -> KernelFunction:
    """The kernel's function of a system call, by a kprobe. It takes the registers of the call in a structure."""
    return one_function(f"{system_calls.KERNEL_FUNCTION}{name}", f"ksyscall/{name}", is_return, traceable)


def matching_functions(pattern: str, section: str, is_return: bool, traceable: TraceableCode) -> tuple[Firing, ...]:
    """All functions that a pattern with `*` and `?` matches. Raises ObjectError if there is none."""
    if not _PATTERN.fullmatch(pattern):
        raise ObjectError(f"{section} does not name functions", 'write SEC("kprobe.multi/PATTERN")')
    functions = traceable.kernel
    if not functions.readable:
        raise ObjectError(
            f"{section}: {functions.path}, the list of functions that can be traced, is not there or cannot be read",
            "mount tracefs; a kernel without CONFIG_DYNAMIC_FTRACE, or one that forbids it, has no such probes",
        )
    found = tuple(
        KernelFunction(each.module, each.name, is_return, each.is_unique) for each in functions.matching("*", pattern)
    )
    if not found:
        raise ObjectError(f"{section}: this kernel has no function {pattern} that can be traced")
    return found
