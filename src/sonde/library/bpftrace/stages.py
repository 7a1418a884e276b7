"""What becomes of a bpftrace program on its way into the kernel, to be read."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.parameters import parameters
from sonde.frontends.bpftrace.programs.front_end import parsed
from sonde.frontends.bpftrace.syntax.shown_tree import shown
from sonde.library.bpftrace.programs import BtProgram
from sonde.library.disassembly import intermediate, machine_code
from sonde.library.errors import as_errors

TREE, INTERMEDIATE, CODE = "ast", "codegen", "dis"
"""The stages: the program's syntax tree, the intermediate form, and eBPF beside the lines it came from."""


def stage(name: str, programs: Sequence[tuple[str, str]], words: Sequence[str], made: BtProgram) -> str:
    """The text of one stage; `programs` and `words` as the program was made of."""
    if name == TREE:
        with as_errors():
            return parsed(programs, parameters(words), shown)
    return (
        intermediate(made.made.compilation)
        if name == INTERMEDIATE
        else machine_code(made.made.spec, made.made.checked.lines)
    )
