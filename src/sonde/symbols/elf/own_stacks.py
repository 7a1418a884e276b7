"""Objects that have ways of their own with stacks, by the names of the functions that they use or have.

The kernel replaces a return address by its own, and keeps the original in a list of the thread (struct uprobe_task,
linux/uprobes.h). That list has the order of one stack.
"""

from __future__ import annotations

from sonde.symbols.elf.file import ElfFile

_LARGEST = 64 << 20
_TABLES = ".dynstr", ".strtab"

_OF_PROGRAMS = "makecontext", "swapcontext"
"""Of the C library: what is called on one stack returns on another. Of libraries some have it for whoever asks, as
libcrypto has for jobs beside others (ASYNC_start_job(3))."""

_SWITCHES = "jump_fcontext", "make_fcontext", "zend_fiber_switch_context", "co_switch", "coro_transfer"
"""The same of Boost.Context and of PHP, libco and libcoro."""

_MACHINES = "JNI_CreateJavaVM", "_ZN2v87Isolate10GetCurrentEv"
"""Of the Java virtual machine and of V8, which look for return addresses on their stacks, and change them."""

_COUNTERS = "mcount", "_mcount", "__fentry__"
"""The profiling functions that code compiled with -pg calls first; they read the caller's address."""

_EXECUTABLE = 2
"""ET_EXEC."""

SWITCHES, READS, COUNTS = "switches", "reads", "counts"


def own_stacks(file: ElfFile) -> str:
    """SWITCHES, READS or COUNTS for an object that treats stacks in a way of its own, else "". The C library itself,
    which defines these functions, counts as "". Raises ElfError."""
    is_program = file.kind == _EXECUTABLE or file.is_position_independent_program
    switches = (*_SWITCHES, *(_OF_PROGRAMS if is_program else ()))
    for section in file.sections:
        if section.name in _TABLES:
            names = file.contents(section, _LARGEST)
            for kind, known in ((SWITCHES, switches), (READS, _MACHINES), (COUNTS, _COUNTERS)):
                if any(_has(names, each.encode()) for each in known) and (kind != COUNTS or not _offers(file)):
                    return kind
    return ""


def _has(names: bytes, name: bytes) -> bool:
    """True if the string table has this name, with or without a version."""
    return any(b"\0" + name + end in names for end in (b"\0", b"@"))


def _offers(file: ElfFile) -> bool:
    """True for the C library."""
    return bool(file.find("gnu_get_libc_version"))
