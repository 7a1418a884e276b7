"""A program of bpftrace's language in its usual layout (--fmt)."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.parameters import parameters
from sonde.frontends.bpftrace.formatting.layout import laid_out
from sonde.frontends.bpftrace.formatting.words import words
from sonde.frontends.bpftrace.programs.front_end import content, parsed
from sonde.library.errors import Error, as_errors


def laid_out_program(program: tuple[str, str]) -> str:
    """A `text` or a `file`, which has to be a program. Raises CompileError for what is none, and Error where the layout
    would change more than blanks."""
    with as_errors():
        parsed((program,), parameters(()), lambda _: None)
        kind, given = program
        text = content(given) if kind == "file" else given
        made = laid_out(text)
        if [each[:2] for each in words(text)] != [each[:2] for each in words(made)]:
            raise Error("this program cannot be laid out without a change of what it says")
        return made
