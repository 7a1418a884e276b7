"""What helps with the commonest mistakes, below their messages."""

from __future__ import annotations

import pytest
from support.d.catalog import error

from sonde.model.probe import Probe
from sonde.providers.mismatch import explained
from sonde.providers.pattern import Pattern, matches

NO_DATA = "kernels built without CONFIG_KALLSYMS_ALL name no data there"
UNITS = "N a rate or a time with a unit, ns to day"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("BEGIN { // a comment\n }", "comments are written /* ... */"),
        ("BEGIN { int x; }", "variables are declared outside of clauses"),
        ('BEGIN { trace("a") trace("b"); }', "is a semicolon missing before it?"),
        ("BEGIN { x = 1\n y = 2; }", "is a semicolon missing before it?"),
        ("BEGIN { x = 1\n @ = count(); }", "is a semicolon missing before it?"),
        ("BEGIN { this->x = 1 this->y = 2; }", "is a semicolon missing before it?"),
        ("BEGIN { x = ; }", ""),
        ("BEGIN /1 == 1 { }", "the predicate before it has no / at its end"),
        ("#define X 1\nBEGIN { }", "-C runs the C preprocessor"),
        ("BEGIN { switch (1) { } }", "D has no switch"),
        ("BEGIN { do { } while (0); }", "D has no do"),
        ('BEGIN { "abc }', "the text that begins here does not end"),
        ("BEGIN { trace(exename); }", "did you mean execname?"),
        ("BEGIN { self->total = 1; trace(self->totl); }", "did you mean total?"),
        ("BEGIN { self->total = 1; trace(total); }", "there is self->total"),
        ("BEGIN { self.x = 1; }", "a variable of that scope is written self->NAME"),
        ("BEGIN { trace(this.x); }", "a variable of that scope is written this->NAME"),
        ("BEGIN { trace(qqqqqqq); }", ""),
        ("BEGIN { trace(zonename); }", "zonename is of DTrace on illumos; DTrace for Linux has nothing of the kind"),
        ('BEGIN { strlenn("a"); }', "did you mean strlen?"),
        ("BEGIN { trace(`no_such_thing); }", f"/proc/kallsyms has no such name; {NO_DATA}"),
    ],
)  # fmt: skip
def test_slips(text: str, hint: str) -> None:
    assert error(text).hint == hint


PROBES = [
    Probe(number, *fields, None)  # type: ignore[arg-type]
    for number, fields in enumerate(
        [
            ("syscall", "vmlinux", "open", "entry"),
            ("syscall", "vmlinux", "openat", "entry"),
            ("io", "vmlinux", "", "start"),
            ("dtrace", "", "", "BEGIN"),
        ]
    )
]


def found(*fields: str) -> list[Probe]:
    return [probe for probe in PROBES if all(not f or matches(f, v) for f, v in zip(fields, probe[1:5], strict=True))]


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("vminfo:::", "there is no provider vminfo; there are io, syscall"),
        ("syscal::open:", "there is no provider syscal; like it: syscall"),
        ("syscall:genunix::", "syscall has no module genunix; there are vmlinux"),
        ("syscall::opne:entry", "syscall has no function opne; like it: open, openat"),
        ("syscall:vmlinux:q*:entry", "syscall:vmlinux has no function q*; there are open, openat"),
        ("syscall::open:exit", "syscall:open has no name exit; there are entry"),
        (":::BEGN", "there is no name BEGN; like it: BEGIN"),
        (":::tick-1us", f"a timer is tick-N or profile-N, {UNITS}; the shortest is 200us"),
    ],
)  # fmt: skip
def test_the_field_that_no_probe_has(description: str, reason: str) -> None:
    assert explained(Pattern(*description.split(":")), ("syscall", "io"), found) == reason
