"""Programs with static probes: assembler text of the notes that sys/sdt.h would make, which CI does not have."""

NOTE = """
.macro probe provider, name, semaphore, arguments
990: nop
.pushsection .note.stapsdt, "", "note"
.balign 4
.4byte 992f - 991f, 994f - 993f, 3
991: .asciz "stapsdt"
992: .balign 4
993: .8byte 990b, _.stapsdt.base, \\semaphore
.asciz "\\provider"
.asciz "\\name"
.asciz "\\arguments"
994: .balign 4
.popsection
.ifndef _.stapsdt.base
.pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
.weak _.stapsdt.base
.hidden _.stapsdt.base
_.stapsdt.base: .space 1
.size _.stapsdt.base, 1
.popsection
.endif
.endm
"""


def assembler(text):
    """Top-level asm() of C with the macro `probe` and this text."""
    lines = (NOTE + text).splitlines()
    return "asm(" + "\n".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in lines) + ");\n"
