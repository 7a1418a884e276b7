"""The manual as a page for man(1), in the macros of man(7)."""

from __future__ import annotations

from sonde.cli.manual.entries import Command, ManualOption


def page(tracing: Command, others: tuple[Command, ...]) -> str:
    """All commands on one page."""
    parts = [
        ".TH SONDE 1\n.SH NAME\nsonde \\- " + _text(tracing.summary) + "\n.SH SYNOPSIS\n.nf\n",
        *(f"\\fBsonde\\fR {_text(line)}\n" for line in tracing.usage),
        ".fi\n.SH DESCRIPTION\n",
        ".PP\n".join(_text(each) + "\n" for each in tracing.text),
    ]
    for section in tracing.sections:
        parts.append(f".SH {_text(section.title.upper())}\n")
        parts += map(_option, section.options)
    parts.append(".SH COMMANDS\n")
    parts += map(_command, others)
    parts.append(".SH EXAMPLES\n")
    for example in (*tracing.examples, *(each for other in others for each in other.examples)):
        parts.append(f".TP\n.B {_text(example.line)}\n{_text(example.text)}\n")
    parts.append(
        ".SH SEE ALSO\n.BR bpf (2),\n.BR perf (1),\nand the tutorial and the reference in sonde's directory docs.\n"
    )
    return "".join(parts)


def _command(of: Command) -> str:
    usage = "".join(f"\\fBsonde {of.name}\\fR {_text(line)}\n.br\n" for line in of.usage)
    text = "".join(f"{_text(each)}\n" for each in (of.summary[:1].upper() + of.summary[1:] + ".", *of.text))
    options = "".join(_option(each) for section in of.sections for each in section.options)
    return f".SS {of.name}\n{usage}.PP\n{text}{options}"


def _option(option: ManualOption) -> str:
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in option.names)
    value = f" \\fI{_text(option.value)}\\fR" if option.value else ""
    return f".TP\n{names}{value}\n{_text(option.text)}\n"


def _text(text: str) -> str:
    """With what troff would take for its own written out: dashes as they are typed, no request at a line's start."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
