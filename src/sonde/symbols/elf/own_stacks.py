"""Objects that have ways of their own with stacks, by the names of the functions that they use or have.

The kernel puts an address of its own in the place of a return address, and keeps the true one in a list for each
thread (struct uprobe_task, linux/uprobes.h), whose order is that of one stack.
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
"""What functions that are compiled with -pg call first, to tell who has called them."""

_EXECUTABLE = 2
"""ET_EXEC."""

SWITCHES, READS, COUNTS = "switches", "reads", "counts"


def own_stacks(file: ElfFile) -> str:
    """What an object does with stacks: SWITCHES, READS or COUNTS; "" is nothing. The C library, which offers to do it
    for others, does nothing. Raises ElfError."""
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
    """Whether it is a whole string of a table, perhaps with a version."""
    return any(b"\0" + name + end in names for end in (b"\0", b"@"))


def _offers(file: ElfFile) -> bool:
    """Whether the object is the C library."""
    return bool(file.find("gnu_get_libc_version"))
