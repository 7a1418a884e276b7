"""A header for C and C++ that gives a program static probes: inline functions that leave a `nop` in the code and a note
in section .note.stapsdt that says where it is and where the arguments are (see `symbols/elf/stapsdt.py`).

For each probe it defines PROVIDER_NAME(), to be called with the arguments, and PROVIDER_NAME_ENABLED(), which tells
whether anybody listens. It is for gcc and clang on 64-bit machines, and needs no other header and no library.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.typed import NamedTuple


class HeaderParameter(NamedTuple):
    """A parameter of a probe by its kind, `integer`, `pointer` or `float`, and its size in bytes."""

    kind: str
    size: int
    is_signed: bool = False


class Provided(NamedTuple):
    """A probe as the provider's definition has it; its name has dashes. `shown` are the numbers of the parameters that
    tracers are to see, in their order; None are all."""

    provider: str
    name: str
    parameters: tuple[HeaderParameter, ...]
    shown: tuple[int, ...] | None = None


_START = """\
/* Static probes for gcc and clang on 64-bit machines, made by sonde -h. */

#ifdef __cplusplus
extern "C" {
#endif
"""

_END = """
#ifdef __cplusplus
}
#endif
"""

_PROBE = """
#ifndef {macro}
extern unsigned short {counter} __attribute__((visibility("hidden")));
__attribute__((weak, visibility("hidden"), section(".probes"))) unsigned short {counter} = 0;
#define {macro}_ENABLED() __builtin_expect(*(volatile unsigned short *)&{counter}, 0)
static __inline__ __attribute__((always_inline, unused)) void {function}({declared})
{{
    __asm__ __volatile__(
        "990: nop\\n"
        ".pushsection .note.stapsdt, \\"?\\", \\"note\\"\\n"
        ".balign 4\\n"
        ".4byte 992f - 991f, 994f - 993f, 3\\n"
        "991: .asciz \\"stapsdt\\"\\n"
        "992: .balign 4\\n"
        "993: .8byte 990b, _.stapsdt.base, {counter}\\n"
        ".asciz \\"{provider}\\"\\n"
        ".asciz \\"{name}\\"\\n"
        ".asciz \\"{operands}\\"\\n"
        "994: .balign 4\\n"
        ".popsection\\n"
        ".ifndef _.stapsdt.base\\n"
        ".pushsection .stapsdt.base, \\"aG\\", \\"progbits\\", .stapsdt.base, comdat\\n"
        ".weak _.stapsdt.base\\n"
        ".hidden _.stapsdt.base\\n"
        "_.stapsdt.base: .space 1\\n"
        ".size _.stapsdt.base, 1\\n"
        ".popsection\\n"
        ".endif\\n"
        :{inputs});
}}
#define {macro}({names}) {function}({names})
#endif
"""

MOST_PARAMETERS = 30
"""The operands that an asm statement may have."""


def header(probes: Sequence[Provided]) -> str:
    """The text of the header."""
    return _START + "".join(map(_probe, probes)) + _END


def counter_name(probe: Provided) -> str:
    """The symbol that counts who listens, as SystemTap calls it, too."""
    return f"{probe.provider}_{_in_c(probe.name)}_semaphore"


def _probe(probe: Provided) -> str:
    numbered = list(enumerate(probe.parameters))
    shown = range(len(numbered)) if probe.shown is None else probe.shown
    names = ", ".join(f"a{number}" for number, _ in numbered)
    return _PROBE.format(
        macro=f"{probe.provider}_{probe.name.replace('-', '_')}".upper(),
        function=f"sonde_{probe.provider}_{_in_c(probe.name)}",
        counter=counter_name(probe),
        provider=probe.provider,
        name=_in_c(probe.name),
        declared=", ".join(f"{_type(each)} a{number}" for number, each in numbered) or "void",
        operands=" ".join(f"{_size(probe.parameters[number])}@%{number}" for number in shown),
        inputs=f" : {', '.join(f'{_constraint(each)} (a{number})' for number, each in numbered)}" if numbered else "",
        names=names,
    )


def _in_c(name: str) -> str:
    return name.replace("-", "__")


def _type(parameter: HeaderParameter) -> str:
    if parameter.kind == "pointer":
        return "const volatile void *"
    if parameter.kind == "float":
        return "float" if parameter.size == 4 else "double"
    return f"__{'' if parameter.is_signed else 'U'}INT{8 * parameter.size}_TYPE__"


def _size(parameter: HeaderParameter) -> str:
    return f"{'-' if parameter.is_signed else ''}{parameter.size}{'f' if parameter.kind == 'float' else ''}"


def _constraint(parameter: HeaderParameter) -> str:
    """Numbers may be constants, in memory or in registers; the kernel shows no vector registers."""
    return '"m"' if parameter.kind == "float" else '"nor"'
