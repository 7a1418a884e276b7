"""The line of `%%sonde`, and what it asks for."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from sonde.library.errors import Error
from sonde.typed import NamedTuple, NoReturn

LANGUAGES = ("d", "bpftrace")
NAME = "trace"
"""Of the variable that has the trace behind the cell."""

_KEPT = 100_000
_MOST_KEPT = 100_000_000
_LONGEST = 30_000_000.0
"""A year, nearly."""


class CellRequest(NamedTuple):
    """What is to be traced: `command` or `pids`, for `duration` seconds; `name` is the variable's, `kept` how many
    records are kept. `is_background`: the cell ends at once."""

    language: str = LANGUAGES[0]
    command: str | None = None
    pids: tuple[int, ...] = ()
    duration: float | None = None
    options: tuple[tuple[str, str | None], ...] = ()
    arguments: tuple[str, ...] = ()
    engine: str = "auto"
    name: str = NAME
    kept: int = _KEPT
    is_background: bool = False


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Error(f"%%sonde: {message}", self.format_usage().strip())


def _parser() -> argparse.ArgumentParser:
    made = _Parser(prog="%%sonde", add_help=False, allow_abbrev=False)
    made.add_argument("-l", "--language", choices=LANGUAGES, default=LANGUAGES[0])
    made.add_argument("-c", "--command")
    made.add_argument("-p", "--pid", type=int, action="append", default=[])
    made.add_argument("-d", "--duration", type=_seconds)
    made.add_argument("-x", "--option", action="append", default=[])
    made.add_argument("-w", "--destructive", action="store_true")
    made.add_argument("-n", "--name", default=NAME)
    made.add_argument("--engine", choices=("auto", "kernel", "embedded"), default="auto")
    made.add_argument("--keep", type=_count, default=_KEPT)
    made.add_argument("--background", action="store_true")
    made.add_argument("arguments", nargs="*")
    return made


def parse(line: str) -> CellRequest:
    """Raises Error."""
    try:
        words: Sequence[str] = shlex.split(line)
    except ValueError as error:
        raise Error(f"%%sonde: {error}", "quotation marks come in pairs") from None
    found = _parser().parse_args(words)
    if not found.name.isidentifier():
        raise Error(f"%%sonde: {found.name} cannot be a variable", "-n takes a name of Python")
    options = [_option(each) for each in found.option] + [("destructive", None)] * found.destructive
    return CellRequest(
        found.language, found.command, tuple(found.pid), found.duration, tuple(options), tuple(found.arguments),
        found.engine, found.name, found.keep, found.background,
    )  # fmt: skip


def _seconds(text: str) -> float:
    """Raises ArgumentTypeError."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found <= _LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return found


def _count(text: str) -> int:
    """Raises ArgumentTypeError."""
    if not text.isdecimal() or not int(text) <= _MOST_KEPT:
        raise argparse.ArgumentTypeError(f"{text} is no number of records from 0 to {_MOST_KEPT:,}")
    return int(text)


def _option(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None
