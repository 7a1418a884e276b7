"""Options that have no effect where they are given are mistakes: whoever gives one expects something of it."""

from __future__ import annotations

from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError
from sonde.library import NamedTuple


class Mode(NamedTuple):
    """What a command line does, in words, and what it takes of `_FIELDS` and `_FLAGS`."""

    does: str
    fields: frozenset[str]
    flags: frozenset[str]


_FIELDS = {
    "output": "-o", "raw": "--raw", "save": "--save", "spec": "--spec", "bpf_object": "--object",
    "flame_diff": "--flame-diff", "commands": "-c", "pids": "-p",
}  # fmt: skip
_FLAGS = {
    "dump": "--dump", "disassemble": "--disasm", "intermediate": "-S", "list": "-l", "header": "-h", "object": "-G",
    "compile_only": "-e", "dry_run": "--dry-run",
}  # fmt: skip

LIST = Mode("-l lists probes", frozenset(("save", "commands", "pids")), frozenset(("list", "compile_only", "dry_run")))
OBJECT = Mode(
    "--object runs programs that are compiled already", frozenset(_FIELDS),
    frozenset(("dump", "disassemble", "compile_only", "dry_run")),
)  # fmt: skip
"""`cli/object.py` says itself why an object has no pictures, raw files and the like."""

SPEC = Mode(
    "--spec runs a program that is compiled already",
    frozenset(("spec", "output", "raw", "flame_diff", "commands", "pids")),
    frozenset(("disassemble", "compile_only", "dry_run")),
)
TRACE = Mode(
    "a program is traced", frozenset(_FIELDS) - {"spec", "bpf_object"},
    frozenset(("disassemble", "intermediate", "compile_only", "dry_run")),
)  # fmt: skip
VERIFY = Mode("verify runs nothing", frozenset(), frozenset())


def mode_of(arguments: Arguments) -> Mode | None:
    """What a command line for tracing does; None where its parts are written, which has rules of its own."""
    if arguments.flags & {"header", "object"}:
        return None
    if "list" in arguments.flags:
        return LIST
    return OBJECT if arguments.bpf_object is not None else SPEC if arguments.spec is not None else TRACE


def require_effect(arguments: Arguments, mode: Mode | None) -> None:
    """Raises FatalError for an option that has none."""
    if mode is None:
        return
    given = [option for name, option in _FIELDS.items() if getattr(arguments, name) and name not in mode.fields]
    given += [option for name, option in _FLAGS.items() if name in arguments.flags and name not in mode.flags]
    if arguments.pictures and mode in (LIST, VERIFY):
        given += [f"--{arguments.pictures[0][0]}"]
    if given:
        raise FatalError(f"{given[0]} has no effect here: {mode.does}", 2)
