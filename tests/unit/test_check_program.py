"""Clauses, probes, pragmas and several sources."""

from __future__ import annotations

from typing import Any

import pytest
from support.d.catalog import FakeCatalog, check, error
from support.d.d_checking import DEFAULTS, compile_sources

from sonde.frontends.d.source import Macros, ProgramSource
from sonde.model.program import Argument, Index


def test_a_clause_for_each_description() -> None:
    found = check("BEGIN, syscall::read:entry /pid/ { trace(1); }").clauses
    assert [(c.id, [p.id for p in c.probes]) for c in found] == [(1, [1]), (2, [4])]
    assert all(c.predicate for c in found)


def test_several_sources_make_one_program() -> None:
    sources = [ProgramSource("BEGIN { x = 1; }"), ProgramSource("END { trace(x); }")]
    found = compile_sources(sources, FakeCatalog())
    assert [c.id for c in found.clauses] == [1, 2]
    assert len(found.variables) == 1


def test_probes_by_number() -> None:
    assert check("7 { }").clauses[0].probes[0].name == "tick-1"
    assert error("99 { }").tag == "D_PDESC_INVAL"


def test_descriptions_that_match_nothing() -> None:
    found = error("syscall::nothing:entry { }")
    text = "probe description syscall::nothing:entry does not match any probes"
    assert (found.tag, found.text) == ("D_PDESC_ZERO", text)
    assert check("syscall::nothing:entry { }", zero_probes=True).clauses[0].probes == ()


def test_typed_arguments() -> None:
    found: Any = check("syscall:::entry { trace(args[0]); }").clauses[0].statements[0]
    assert isinstance(found.value, Argument)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("syscall:::entry { trace(args[2]); }", "D_ARGS_IDX"),
        ("BEGIN { trace(args[0]); }", "D_ARGS_IDX"),
        ("syscall::: { trace(args[0]); }", "D_ARGS_MULTI"),
        ('syscall:::entry { trace(args["a"]); }', "D_PROTO_ARG"),
        ("BEGIN { trace(uregs[26]); }", "D_UNKNOWN"),
        ("BEGIN { trace(uregs[pid]); }", "D_PROTO_ARG"),
        ("BEGIN { trace(args); }", "D_IDENT_BADREF"),
        ("BEGIN /execname/ { }", "D_PRED_SCALAR"),
        ("BEGIN /trace(1)/ { }", "D_PRED_SCALAR"),
        ("#pragma D option nothing=1\n", "D_EMPTY"),
        ("#pragma D attributes Nice/Stable/Common x\nBEGIN { }", "D_PRAGMA_INVAL"),
        ("#pragma D attributes Stable/Stable/Common x\nBEGIN { }", "D_PRAGMA_UNUSED"),
        ("#pragma D option\nBEGIN { }", "D_PRAGMA_MALFORM"),
        ("#pragma D depends_on library x.d\nBEGIN { }", "D_PRAGMA_DEPEND"),
        ("#pragma D option amin=Evolving/Evolving/Common\nBEGIN { }", "D_ATTR_MIN"),
        (
            "#pragma D option amin=Evolving/Evolving/Common\nint x;\n#pragma D attributes Stable/Unstable/Common x\n"
            "dtrace:::BEGIN { trace(x); }",
            "D_ATTR_MIN",
        ),
    ],
)
def test_refusals(text: str, tag: str) -> None:
    assert error(text).tag == tag


def test_registers() -> None:
    found: Any = check("BEGIN { trace(uregs[16]); }").clauses[0].statements[0]
    assert isinstance(found.value, Index)


def test_options_of_pragmas() -> None:
    text = "#pragma D option strsize=64\n#pragma D option quiet\nBEGIN { trace(sizeof(string)); }"
    found = check(text)
    traced: Any = found.clauses[0].statements[0]
    assert found.options == (("strsize", "64"), ("quiet", None))
    assert traced.value.value == 64


def test_options_are_judged_by_who_knows_them() -> None:
    def refuse(_name: str, _value: str | None) -> object:
        raise ValueError("Invalid option name")

    found = error("#pragma D option x=1\nBEGIN { }", parse_option=refuse)
    assert (found.tag, found.text) == ("D_PRAGMA_OPTSET", "failed to set option 'x' to '1': Invalid option name")


def test_arguments_must_be_used() -> None:
    macros = Macros(arguments=("sonde", "5"))
    assert error("BEGIN { }", macros=macros).tag == "D_MACRO_UNUSED"
    assert check("BEGIN { }", macros=macros, unused_arguments=True).clauses
    assert check("BEGIN { trace($1); }", macros=macros).clauses


def test_an_empty_program() -> None:
    assert error("/* nothing */").tag == "D_EMPTY"
    assert compile_sources([ProgramSource("")], FakeCatalog(), DEFAULTS._replace(empty=True)).clauses == ()
