"""bpftrace's language as a front end among others (`frontends.languages`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.frontends.bpftrace.check.checker import CheckedProgram, CheckInput
from sonde.frontends.bpftrace.check.checker import check as check_items
from sonde.frontends.bpftrace.check.probes import Machine
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.programs.mistakes import told
from sonde.frontends.bpftrace.syntax.program import items, stream_of
from sonde.frontends.languages import Checked, Part, Remark
from sonde.model import program as tree
from sonde.model.catalog import Catalog
from sonde.model.errors import ProgramError, SourceError
from sonde.model.options import OptionTable
from sonde.model.types import Type
from sonde.model.walk import nodes
from sonde.untrusted import lines, read_named, text_of

LARGEST_PROGRAM = 512 << 10
"""Bytes of a program's text."""


def check(
    programs: Sequence[tuple[str, str]], options: OptionTable, catalog: Catalog, arguments: Sequence[str],
    process: int | None, name: str,
) -> Checked:  # fmt: skip
    """See `FrontEnd.check`. There is one program: a `text`, or a `file`. The option `destructive` allows what it does
    to the system. Its `own` is a `CheckedProgram`."""
    ((kind, given),) = programs
    file = given if kind == "file" else None
    text = given if file is None else _content(file)
    machine = Machine(catalog, process or 0)
    try:
        made = _checked(text, CheckInput(file, arguments, machine, options.on("destructive")))
    except SourceError as error:
        raise told(error, text, file) from None
    except RecursionError:
        raise told(BtError("nested too deeply", SourceSpan(1, 1, 1, 2)), text, file) from None
    return Checked(
        made.program,
        (Part(file or "stdin", made.clauses),),
        {file: lines(text)},
        _is_destructive(made.program),
        lambda found: told(found, text, file),
        _no_types,
        _no_remarks,
        lambda _: (),
        made,
    )


def _checked(text: str, given: CheckInput) -> CheckedProgram:
    stream = stream_of(text, given.arguments)
    found = tuple(items(stream))
    if not found:
        stream.fail("syntax error, unexpected end of file, expecting a probe", stream.peek())
    return check_items(found, given)


def _content(path: str) -> str:
    try:
        return text_of(read_named(path, LARGEST_PROGRAM))
    except OSError as error:
        raise ProgramError(f"failed to open file '{path}': {error.strerror}") from None


def _is_destructive(program: tree.Program) -> bool:
    """Whether it does more to the system than look at it."""
    return any(isinstance(node, tree.FormattedCommand) for clause in program.clauses for node in nodes(clause))


def _no_types() -> list[Type]:
    return []


def _no_remarks() -> Iterable[Remark]:
    return ()
