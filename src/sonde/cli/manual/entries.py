"""What the manual consists of: one description of each command, from which --help, the man page and completions are
made."""

from __future__ import annotations

from sonde.library import NamedTuple

FILE, DIRECTORY, PROCESS = "file", "directory", "process"
"""What a value is, where the shell can complete it."""


class ManualOption(NamedTuple):
    """`names` as they are typed; `value` is what stands behind them, "" for nothing. `choices` are all values that
    there are, or one of FILE, DIRECTORY and PROCESS."""

    names: tuple[str, ...]
    value: str
    text: str
    choices: tuple[str, ...] = ()


class ManualSection(NamedTuple):
    title: str
    options: tuple[ManualOption, ...]


class Example(NamedTuple):
    line: str
    text: str


class Command(NamedTuple):
    """`name` is "" for tracing. `usage` are lines behind the command's name; `text` paragraphs about it as a whole.
    `operands` are what words that are no options can be: FILE, or names; `heading` is a line before
    the usage, "" for a word in it."""

    name: str
    summary: str
    usage: tuple[str, ...]
    text: tuple[str, ...] = ()
    sections: tuple[ManualSection, ...] = ()
    examples: tuple[Example, ...] = ()
    operands: tuple[str, ...] = ()
    heading: str = ""
