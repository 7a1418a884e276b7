"""Where functions have their return addresses when they begin, by the frame descriptions of compiled programs."""

import pytest
from support.machine import compilers, packages
from support.places import PROGRAMS

from sonde.symbols.dwarf.entry_rows import AT_STACK_POINTER, ELSEWHERE, NOT_DESCRIBED, EntryRows
from sonde.symbols.elf.file import ElfFile

ASSEMBLER = {
    "f": AT_STACK_POINTER, "g": AT_STACK_POINTER, "f.cold": ELSEWHERE, "g_target": ELSEWHERE, "restore": ELSEWHERE,
    "of_data": NOT_DESCRIBED, "plain": NOT_DESCRIBED, "of_code_target": NOT_DESCRIBED,
}  # fmt: skip
"""Those of jumps.c whose descriptions are written by hand, in .eh_frame."""

FORMS = {
    "listed": ((), AT_STACK_POINTER),
    "unlisted": (("-Wl,--no-eh-frame-hdr",), AT_STACK_POINTER),
    "debug_frame": (("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g"), AT_STACK_POINTER),
    "compressed": (
        ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g", "-gz=zlib"), AT_STACK_POINTER,
    ),
    "none": (("-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), NOT_DESCRIBED),
}  # fmt: skip


def rows(source, *flags):
    words = ["gcc", "-O1", "-w", "-o", "program", "program.c", *flags]
    file = ElfFile.open(str(compilers.kept(words, {"program.c": source}, "program")))
    found = EntryRows(file)
    return lambda name: found.at(file.find(name)[0].address)


@packages.needs("gcc")
@pytest.mark.parametrize("form", FORMS)
def test_functions_are_called_or_jumped_to(form):
    flags, of_compiler = FORMS[form]
    kind = rows((PROGRAMS / "jumps.c").read_text(), *flags)
    assert {name: kind(name) for name in ASSEMBLER} == ASSEMBLER
    assert kind("main") == kind("handler") == of_compiler
    # It is nobody's to return from.
    assert kind("_start") == ELSEWHERE


FREESTANDING = "int one(void) { return 1; } void _start(void) { one(); }"


@packages.needs("gcc")
def test_functions_of_32_bit_programs():
    kind = rows(FREESTANDING, "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie")
    assert kind("one") == AT_STACK_POINTER


DAMAGED = """
__asm__(".section .eh_frame, \\"a\\"\\n.long 0x7fffffff, 0, 0x01010101, 0x7fffffff\\n.text");
int one(void) { return 1; }
int main(void) { return one(); }
"""


@packages.needs("gcc")
def test_what_makes_no_sense_describes_nothing():
    flags = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-nostdlib", "-static", "-Wl,-emain")
    kind = rows(DAMAGED, *flags, "-Wl,--no-eh-frame-hdr")
    assert kind("one") == NOT_DESCRIBED
