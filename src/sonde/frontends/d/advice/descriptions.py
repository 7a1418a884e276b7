"""Descriptions that match no probe: words of other tracers, fields left out, misspelt ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from sonde.frontends.d.advice.finding import Case, Label, Remedy, cause, swap
from sonde.frontends.d.advice.foreign import FIELDS, PROBES
from sonde.frontends.d.advice.words import Span

_FIELD_COUNT = 4


def foreign_words(case: Case) -> Iterator[Remedy]:
    """Whole descriptions as bpftrace, perf, BCC or SystemTap write them."""
    text = case.layout.of(case.span)
    meant = ""
    for pattern, templates in PROBES:
        match = re.fullmatch(pattern, text)
        if match is None:
            continue
        for template in templates:
            written = match.expand(template)
            certain = ":" in text and not pattern.startswith("([a-z]")
            label = _label(text, meant) if (meant := meant or written) else ""
            yield Remedy(f"write {written}", swap(case.span, written), label, is_certain=certain)


def _label(text: str, meant: str) -> str:
    """`meant` is what D has for it, whether this kernel has it or not."""
    provider = text.partition(":")[0]
    if provider in _OF_BPFTRACE:
        return f"{provider} is a word of bpftrace; D has {meant}"
    return "a description is provider:module:function:name"


_OF_BPFTRACE = frozenset((
    "kprobe", "kretprobe", "kfunc", "kretfunc", "fentry", "fexit", "tracepoint", "rawtracepoint", "interval",
    "uretprobe", "software", "hardware",
))  # fmt: skip


def process(case: Case) -> Iterator[Remedy]:
    """`pid:::entry`, where a shell may have taken $target away between double quotes."""
    text = case.layout.of(case.span)
    if text.startswith("pid:"):
        words = "write pid$target, in single quotes so that the shell leaves it alone"
        yield Remedy(words, swap(case.span, "pid$target" + text[3:]), "the provider has no process", is_certain=True)


def fields_left_out(case: Case) -> Iterator[Remedy]:
    """Three fields of four, or the name left out."""
    text = case.layout.of(case.span)
    fields = text.split(":")
    if len(fields) > _FIELD_COUNT:
        yield from _too_many(case, [field for field in fields if field])
        return
    candidates: list[list[str]] = []
    if len(fields) == _FIELD_COUNT - 1:
        candidates += [[fields[0], "", *fields[1:]], [*fields[:2], "", fields[2]], [*fields, "entry"], [*fields, ""]]
    if len(fields) == _FIELD_COUNT - 2:
        candidates += [[fields[0], "", fields[1], "entry"], [fields[0], "", "", fields[1]]]
    if len(fields) == _FIELD_COUNT and not fields[3]:
        candidates += [[*fields[:3], "entry"]]
    if len(fields) == _FIELD_COUNT and not fields[2]:
        candidates += [[fields[0], "", fields[1], fields[3]], [fields[0], fields[1], fields[3], "entry"]]
    for each in candidates:
        yield _written(case, each, "a description has four fields, provider:module:function:name")


def one_field(case: Case) -> Iterator[Remedy]:
    """Four fields of which one is wrong: the others stay as they are."""
    text = case.layout.of(case.span)
    fields = text.split(":")
    if len(fields) != _FIELD_COUNT or not all((fields[0], fields[3])):
        return
    lacking = re.search(r"failed to lookup '(.*)' in module '(.*)'", case.error.text)
    if lacking:
        span = _field(case, fields, 2)
        label = f"{lacking[2]} has no function {lacking[1]}"
        for name in case.error.names:
            yield Remedy(f"did you mean {name}?", swap(span, name), label, span)
        words = case.error.hint or f"sonde -ln '{fields[0]}:{fields[1]}:*{fields[2][:4]}*:' lists those alike"
        yield cause(span, label, words)
    if not fields[1]:
        return
    span = _field(case, fields, 1)
    label = f"{fields[0]} has no module {fields[1]}"
    for name in case.error.names:
        named = name.split(":")
        if len(named) == _FIELD_COUNT and [named[0], *named[2:]] == [fields[0], *fields[2:]]:
            yield Remedy(f"did you mean {named[1]}?", swap(span, named[1]), label, span)
    yield Remedy("leave the module out", swap(span, ""), label, span)


def _field(case: Case, fields: list[str], number: int) -> Span:
    start = case.span.start + sum(len(each) + 1 for each in fields[:number])
    return Span(start, start + len(fields[number]))


def _too_many(case: Case, filled: list[str]) -> Iterator[Remedy]:
    label = "a description has four fields, provider:module:function:name"
    if len(filled) == _FIELD_COUNT - 1:
        yield _written(case, [filled[0], "", *filled[1:]], label)
    if len(filled) == _FIELD_COUNT:
        yield _written(case, filled, label)
        yield _written(case, [filled[0], "", *filled[2:]], label)
    if len(filled) == _FIELD_COUNT:
        yield _written(case, case.layout.of(case.span).split(":")[:_FIELD_COUNT], label)
    if len(filled) > _FIELD_COUNT:
        yield _written(case, filled[:_FIELD_COUNT], label)
        yield _written(case, [filled[0], "", filled[2], filled[3]], label)


def _written(case: Case, fields: list[str], label: str) -> Remedy:
    text = ":".join(fields)
    return Remedy(f"write {text}", swap(case.span, text), label)


def field_words(case: Case) -> Iterator[Remedy]:
    """`enter` for `entry`, `exit` for `return` and the like; a separator that is none; units of timers."""
    text = case.layout.of(case.span)
    fields = text.split(":")
    heads = FIELDS.get(fields[0].lower(), ()) or (fields[0],)
    for name in FIELDS.get(fields[-1].lower(), ()) or (fields[-1],):
        changed = [heads[0], *fields[1:-1], name] if len(fields) > 1 else [name]
        if changed == fields:
            continue
        yield _written(case, changed, "no probe is called so")
        if len(changed) == _FIELD_COUNT - 1:
            yield _written(case, [changed[0], "", *changed[1:]], "no probe is called so")
        if len(changed) == _FIELD_COUNT:
            yield _written(case, [changed[0], "", *changed[2:]], "no probe is called so")
    if text.strip(":") != text and text.strip(":"):
        stripped = text.strip(":")
        yield _written(case, stripped.split(":"), "no field stands behind the last colon")
    if text.lower() != text:
        yield _written(case, text.lower().split(":"), "names have small letters")
    if "." in text and ":" not in text:
        yield _written(case, text.replace(".", "::", 1).replace(".", ":").split(":"), "fields are divided by colons")


_UNITS: dict[str, str] = {
    "": "", "hz": "hz", "herz": "hz", "hertz": "hz", "khz": "000hz",
    "n": "ns", "ns": "ns", "nsec": "ns", "nsecs": "ns", "nano": "ns", "nanosec": "ns", "nanosecond": "ns",
    "u": "us", "us": "us", "usec": "us", "usecs": "us", "micro": "us", "microsec": "us", "microsecond": "us",
    "ms": "ms", "msec": "ms", "msecs": "ms", "milli": "ms", "millis": "ms", "millisec": "ms", "millisecond": "ms",
    "s": "s", "sec": "s", "secs": "s", "second": "s", "sek": "s", "m": "m", "min": "m", "mins": "m", "minute": "m",
    "h": "h", "hr": "h", "hrs": "h", "hour": "h", "d": "d", "day": "d",
}  # fmt: skip
"""Words for units, and D's; the plural is understood."""

_SMALLER = {"s": ("ms", 1000), "ms": ("us", 1000), "m": ("s", 60), "h": ("m", 60), "d": ("h", 24)}


def timer(case: Case) -> Iterator[Remedy]:
    """A timer whose unit or number is not one of D's."""
    text = case.layout.of(case.span)
    match = re.fullmatch(r"((?:profile)?:*(?:tick|profile))[-_:.]*(\d+)(\.\d+)?[-_:.]?([a-zA-Z]*)", text, re.IGNORECASE)
    if match is None:
        return
    head, number, fraction, word = match[1].lower(), match[2], match[3], match[4].lower()
    label = "a timer is tick-N or profile-N, N a rate or a time with a unit"
    unit = _UNITS.get(word, _UNITS.get(word.removesuffix("s")))
    if fraction and unit in _SMALLER:
        unit, factor = _SMALLER[unit]
        value = Fraction(number + fraction) * factor
        number = str(value.numerator) if value.denominator == 1 else ""
    if unit is not None and number and (not fraction or unit not in ("", "hz")):
        written = f"{head}-{number}{unit}"
        if written == text and case.error.hint and not case.error.hint.startswith("a timer is"):
            # It is written as it should be, and is not there for another reason.
            return
        yield Remedy(f"write {written}", swap(case.span, written), label, case.span)
    yield cause(case.span, label, "units are ns, us, ms, s, m (minutes), h, d and hz; the shortest time is 200us")


def spelling(case: Case) -> Iterator[Remedy]:
    """The names that the providers have, the nearest first."""
    label = ""
    if case.error.hint and not case.error.hint.startswith("list "):
        label = case.error.hint.split(";")[0].partition("\n")[0]
    for name in case.error.names:
        yield Remedy(f"did you mean {name}?", swap(case.span, name), label)


def process_advice(case: Case) -> tuple[str, tuple[Label, ...], str]:
    """For a process that is not there."""
    text = case.layout.of(case.span)
    if "$target" in text and "pid0" in case.error.text:
        words = "give the process: -c 'COMMAND' starts one, -p PID takes one that runs"
        return "$target has no process", (), words
    return "", (), ""
