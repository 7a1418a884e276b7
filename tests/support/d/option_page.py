"""The section of docs/reference.md about options, made of their records."""

import textwrap

from sonde.model.known_options import OPTIONS, RATE, SIZE, SWITCH, TEXT, TRACING

BEGIN = "Options of `-x`. Sizes take k, m, g, t; times ns, us, ms, s, m, h, d, or hz.\n"
_SIZES = (("t", 1 << 40), ("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10))
_TIMES = (("s", 10**9), ("ms", 10**6), ("us", 10**3))


def section():
    """The text behind the heading, to the end of the section."""
    rows = [f"| `{each.name}` | {default(each)} | {meaning(each)} |" for each in OPTIONS.values() if each.reader]
    names = [f"`{each.name}`" for each in OPTIONS.values() if each.settled == TRACING and each.reader]
    late = f"These can also be set while tracing, with `setopt()`: {', '.join(names)}."
    ignored = (
        "DTrace's other options are accepted, their values checked, and then ignored, because what they steer does not "
        "exist here:"
    )
    parts = ["\n".join(["| option | default | meaning |", "|---|---|---|", *rows]), filled(late), filled(ignored)]
    return "\n\n".join([BEGIN.rstrip(), *parts, "\n".join(reasons())]) + "\n"


def default(option):
    """As one would write it."""
    value = option.default
    if value is None:
        return ""
    if option.kind == SWITCH:
        return "on" if value else "off"
    return number(option.kind, value)


def number(kind, value):
    units = {SIZE: _SIZES, RATE: _TIMES}.get(kind, ())
    unit, factor = next(((unit, size) for unit, size in units if value and value % size == 0), ("", 1))
    return f"{value // factor}{unit}" if kind != TEXT else value


def meaning(option):
    """The record's text, with the bounds where it has any."""
    if not option.is_bounded:
        return option.meaning
    return f"{option.meaning}; {number(option.kind, option.least)} to {number(option.kind, option.most)}"


def reasons():
    """A point for each reason why options are ignored."""
    found = {}
    for each in OPTIONS.values():
        if not each.reader:
            found.setdefault(each.meaning, []).append(f"`{each.name}`")
    return [filled(f"- {', '.join(names)}: {reason}.", "  ") for reason, names in found.items()]


def filled(text, indent=""):
    return textwrap.fill(text, 80, subsequent_indent=indent, break_on_hyphens=False)
