"""The manual on a terminal: --help, and the lines on usage behind a wrong command line."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.cli.manual.entries import Command, ManualOption

_WIDTH = 79
_INDENT = 22
"""Where what an option means begins."""


def command_name(of: Command, program: str) -> str:
    """As it is called by that program: one that has the name bpftrace is `bt` by itself."""
    return program if program == "bpftrace" and of.name == "bt" else " ".join(filter(None, (program, of.name)))


def usage(of: Command, program: str) -> str:
    """The lines that say how it is written."""
    name = command_name(of, program)
    if of.heading:
        return f"{of.heading}\n" + "".join(f"    {name} {line}\n" for line in of.usage)
    return "".join(f"{head:<6} {name} {line}\n" for head, line in zip(("Usage:", *_BLANK), of.usage, strict=False))


_BLANK = ("",) * 9


def manual(of: Command, others: tuple[Command, ...], program: str) -> str:
    """All of --help; `others` are the commands that it lists."""
    parts = [usage(of, program), *map(_paragraph, of.text)]
    if of.examples:
        parts.append("Examples:\n" + "".join(f"  {each.line}\n      {each.text}\n" for each in of.examples))
    if others:
        parts.append("Commands:\n" + "".join(_entry(each.name, each.summary) for each in others))
    parts += [f"{each.title}:\n" + "".join(map(entry, each.options)) for each in of.sections]
    return "\n".join(filter(None, parts))


def _paragraph(text: str) -> str:
    return "".join(f"{line}\n" for line in wrapped(text, _WIDTH))


def entry(option: ManualOption) -> str:
    """An option and what it does."""
    return _entry(f"{', '.join(option.names)} {option.value}".rstrip(), option.text)


def _entry(head: str, text: str) -> str:
    lines = wrapped(text, _WIDTH - _INDENT)
    first = f"  {head}"
    if len(first) < _INDENT - 1:
        return f"{first:<{_INDENT}}{lines[0]}\n" + "".join(f"{'':{_INDENT}}{line}\n" for line in lines[1:])
    return f"{first}\n" + "".join(f"{'':{_INDENT}}{line}\n" for line in lines)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of so many characters at most, but for words that are longer. What stands between backquotes is a word."""
    lines = [""]
    for word in _words(text):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _words(text: str) -> Iterator[str]:
    held = ""
    for word in text.split():
        held = f"{held} {word}" if held else word
        if held.count("`") % 2 == 0:
            yield held
            held = ""
    if held:
        yield held
