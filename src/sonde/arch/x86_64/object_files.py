"""ELF files of x86-64: how they are marked, what relocations mean (x86-64 psABI, table 4.10), and where they lie."""

from __future__ import annotations

MACHINE = 62
"""EM_X86_64, as e_machine of elf(5)."""

OF_SYMBOLS = frozenset((1, 6, 7))
"""R_X86_64_64, GLOB_DAT and JUMP_SLOT: the address of a symbol."""

OF_ADDRESSES = frozenset((6, 8, 1))
"""R_X86_64_GLOB_DAT, RELATIVE and R_X86_64_64: an address, perhaps of a symbol."""

INDIRECT = 37
"""R_X86_64_IRELATIVE: the address that a function chooses."""

COPY = 5
"""R_X86_64_COPY: the program has a library's data in its own place, where the library finds them too."""

MODULE, THREAD_OFFSET = 16, 18
"""R_X86_64_DTPMOD64: the number of the module; R_X86_64_TPOFF64: how far data are from the thread pointer."""

ABSOLUTE = {1: 8, 10: 4, 11: 4}
"""Bytes of the number that each kind of relocation of a relocatable file puts in place: R_X86_64_64, 32 and 32S."""

RELATIVE = {2: 4, 4: 4, 24: 8}
"""The same of those that count from the place itself: R_X86_64_PC32, PLT32 and PC64."""

RELOCATABLE = 0xFFFFFFFFC0000000
"""Where the sections of a relocatable file are put when nothing else says so: the area of the kernel's modules
(Documentation/arch/x86/x86_64/mm.rst)."""

ELFTOOLS = {8: "x64", 4: "x86"}
"""What pyelftools calls the processor, by the bytes of an address."""

DYNAMIC_THREAD_VECTOR, THREAD_VECTOR_ENTRY = 8, 16
"""Where the thread's descriptor has the address of its vector of modules, from the thread pointer, and the bytes for
each module (dtv_t of glibc and musl)."""

LIBRARIES = "x86_64-linux-gnu"
"""The directory of libraries below lib, where a system has those of several processors (Debian's multiarch)."""


def thread_block(size: int, alignment: int) -> int:
    """Where the thread-local data of a program begin, from the thread pointer, below which they end (ELF Handling For
    Thread-Local Storage, variant II). `alignment` is at least 1."""
    return -(-(-size // alignment) * alignment)
