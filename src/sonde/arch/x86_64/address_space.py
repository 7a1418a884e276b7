"""Which addresses are a process's, and which of the others the kernel tries to read (x86-64).

Both follow from the processor and from how the kernel uses it: one that translates 57 bits of an address may have a
kernel with four levels of page tables, which gives processes 47 of them all the same.
"""

from __future__ import annotations

import functools
import re

from sonde.arch.x86_64.pages import PAGE
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_start, text_of

_VSYSCALL = 0xFFFF_FFFF_FF60_0000
"""A page of the kernel that looks like a process's (VSYSCALL_ADDR, arch/x86/include/uapi/asm/vsyscall.h)."""

_FIRST_PROCESSOR = 16 << 10
"""Bytes of /proc/cpuinfo that hold all there is of one processor."""


class AddressSpace(NamedTuple):
    user_end: int
    """Processes have memory below (TASK_SIZE_MAX, arch/x86/include/asm/page_64.h)."""
    bits: int
    """Of an address that the processor translates (x86_virt_bits); those above are copies of the highest of them."""

    def kernel_tries(self, address: int) -> bool:
        """Whether the kernel tries to read what it takes for its own memory there; elsewhere it answers ERANGE at once
        (copy_from_kernel_nofault_allowed, arch/x86/mm/maccess.c)."""
        if address < self.user_end + PAGE or address & -PAGE == _VSYSCALL:
            return False
        high = address >> (self.bits - 1)
        return high in (0, (1 << (65 - self.bits)) - 1)


FOUR_LEVELS = AddressSpace((1 << 47) - PAGE, 48)
FIVE_LEVELS = AddressSpace((1 << 56) - PAGE, 57)


def address_space(cpuinfo: str) -> AddressSpace:
    """That of a machine whose /proc/cpuinfo says so; of one that does not say, four levels.

    The flag la57 is there if the kernel uses five levels, whatever the processor could do; the number of bits is the
    processor's (arch/x86/kernel/cpu/common.c).
    """
    processor = cpuinfo.partition("\n\n")[0]
    found = re.search(r"^address sizes\s*:.*\b(\d+) bits virtual", processor, re.MULTILINE)
    flags = re.search(r"^flags\s*:(.*)", processor, re.MULTILINE)
    bits = int(found[1]) if found else FOUR_LEVELS.bits
    if flags and "la57" in flags[1].split():
        return FIVE_LEVELS._replace(bits=max(bits, FIVE_LEVELS.bits))
    return FOUR_LEVELS._replace(bits=max(bits, FOUR_LEVELS.bits))


@functools.cache
def own_address_space() -> AddressSpace:
    """This machine's."""
    try:
        return address_space(text_of(kernel_start("/proc/cpuinfo", _FIRST_PROCESSOR)))
    except OSError:
        return FOUR_LEVELS
