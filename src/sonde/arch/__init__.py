"""Facts about processors, a folder each; nothing outside names a processor or one of its registers.

`from sonde.arch import registers` gives the module of that name for this machine's processor: whoever needs a fact
asks for its subject, and only here is it chosen whose it is. Each folder has all the files of SUBJECTS, which offer the
same names.
"""

from __future__ import annotations

import os
import sys

from sonde.model.errors import ProgramError
from sonde.typed import TYPE_CHECKING

FOLDERS = {"x86_64": "x86_64", "i686": "x86_64"}
"""The folder by what uname(2) calls the machine; a 64-bit kernel calls itself the latter under setarch(8)."""

SUBJECTS = (
    "address_space", "breakpoints", "call_registers", "classification", "compat_syscalls", "convention", "displacement",
    "instruction_lengths",
    "instructions", "languages", "long_jumps", "object_files", "operands", "page_faults", "pages", "perf_registers",
    "registers",
    "rust_convention", "stack_operands", "syscalls", "system_calls", "unwinding",
)  # fmt: skip


class UnsupportedMachineError(ProgramError):
    """Nothing is known of this machine's processor: no program can be compiled for it or run."""


def folder() -> str:
    """That of this machine. Raises UnsupportedMachineError."""
    machine = os.uname().machine
    if machine not in FOLDERS or sys.maxsize < 1 << 32:
        bits = "64-bit " if machine in FOLDERS else ""
        known = " and ".join(dict.fromkeys(FOLDERS.values()))
        raise UnsupportedMachineError(f"sonde knows {bits}{known} processors; this machine says that it is {machine}")
    return FOLDERS[machine]


def is_this_machines(architecture: str) -> bool:
    """Whether a machine that uname(2) calls so has such a processor as this one; "" is this one."""
    return not architecture or FOLDERS.get(architecture) == folder()


if TYPE_CHECKING:
    from sonde.arch.x86_64 import address_space as address_space
    from sonde.arch.x86_64 import breakpoints as breakpoints
    from sonde.arch.x86_64 import call_registers as call_registers
    from sonde.arch.x86_64 import classification as classification
    from sonde.arch.x86_64 import compat_syscalls as compat_syscalls
    from sonde.arch.x86_64 import convention as convention
    from sonde.arch.x86_64 import displacement as displacement
    from sonde.arch.x86_64 import instruction_lengths as instruction_lengths
    from sonde.arch.x86_64 import instructions as instructions
    from sonde.arch.x86_64 import languages as languages
    from sonde.arch.x86_64 import long_jumps as long_jumps
    from sonde.arch.x86_64 import object_files as object_files
    from sonde.arch.x86_64 import operands as operands
    from sonde.arch.x86_64 import page_faults as page_faults
    from sonde.arch.x86_64 import pages as pages
    from sonde.arch.x86_64 import perf_registers as perf_registers
    from sonde.arch.x86_64 import registers as registers
    from sonde.arch.x86_64 import rust_convention as rust_convention
    from sonde.arch.x86_64 import stack_operands as stack_operands
    from sonde.arch.x86_64 import syscalls as syscalls
    from sonde.arch.x86_64 import system_calls as system_calls
    from sonde.arch.x86_64 import unwinding as unwinding
else:

    def __getattr__(name):
        """The module of a subject, imported when it is first asked for."""
        if name not in SUBJECTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = __import__(f"{__name__}.{folder()}.{name}", fromlist=(name,))
        globals()[name] = module
        return module
