"""Actions, functions and aggregations: prototypes, formats, constants and order."""

from __future__ import annotations

from typing import Any

import pytest
from support.d.catalog import check, clause, error, statement, tag

from sonde.frontends.d.errors import DError
from sonde.model.program import (
    Act,
    Aggregate,
    Call,
    Clear,
    Evaluate,
    Exit,
    FormattedCommand,
    Normalize,
    Print,
    Printa,
    Printf,
    SetOption,
    StackTrace,
    Trace,
    Tracemem,
    Trunc,
)
from sonde.model.types import INT, STRING, SYMADDR, name_of


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("trace(1);", Trace),
        ("stack();", Trace),
        ("sym(arg0);", Trace),
        ('printf("%d", 1);', Printf),
        ("exit(0);", Exit),
        ("@ = count(); printa(@);", Printa),
        ("@ = count(); clear(@);", Clear),
        ("@ = count(); trunc(@, 5);", Trunc),
        ("@ = count(); normalize(@, 2);", Normalize),
        ("@ = count(); denormalize(@);", Normalize),
        ('setopt("quiet");', SetOption),
        ('system("ls %d", 1);', FormattedCommand),
        ('freopen("");', FormattedCommand),
        ("tracemem(curthread, 16, pid);", Tracemem),
        ("raise(9);", Act),
        ("print(curthread);", Print),
        ("strlen(execname);", Evaluate),
        ("pid;", Evaluate),
        ("@ = sum(pid);", Aggregate),
    ],
)
def test_statements(body: str, kind: type) -> None:
    assert isinstance(statement(body), kind)


def test_arguments_become_what_the_prototype_says() -> None:
    found: Any = statement("trace(substr(curthread->comm, 1L));")
    call = found.value
    assert isinstance(call, Call)
    assert [a.type for a in call.arguments] == [STRING, INT]


def test_stacks_and_symbols() -> None:
    found: Any = statement("ustack(5, 100);")
    assert isinstance(found.value, StackTrace)
    assert (found.value.is_user, found.value.frames, found.value.string_size) == (True, 5, 100)
    found = statement("@[sym(arg0), stack()] = count();")
    assert found.aggregation.keys[0] == SYMADDR


def test_printf_values_are_in_order() -> None:
    found: Any = statement('printf("%*.*d %s\\n", 1, 2, 3L, curthread->comm);')
    assert [name_of(v.type) for v in found.values] == ["int", "int", "long", "string"]


def test_printf_messages() -> None:
    found = error('BEGIN { printf("%d %s", 1, 2); }')
    assert found.tag == "D_PRINTF_ARG_TYPE"
    assert found.text == (
        "printf( ) argument #3 is incompatible with conversion #2 prototype:\n\tconversion: %s\n"
        "\t prototype: char [] or string (or use stringof)\n\t  argument: int"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("exit();", "exit( ) prototype mismatch: 0 args passed, 1 expected"),
        ("strlen();", "strlen( ) prototype mismatch: 0 args passed, 1 expected"),
        ("panic(1);", "panic( ) prototype mismatch: 1 arg passed, 0 expected"),
        ("printf();", "printf( ) prototype mismatch: 0 args passed, at least 1 expected"),
        ("trace(substr(execname, 1, 2, 3));", "substr( ) prototype mismatch: 4 args passed, at most 3 expected"),
        ("trace(substr(execname));", "substr( ) prototype mismatch: 1 arg passed, at least 2 expected"),
    ],
)
def test_wrong_numbers_of_arguments(body: str, text: str) -> None:
    found = error(f"BEGIN {{ {body} }}")
    assert (found.tag, found.text) == ("D_PROTO_LEN", text)


def test_the_text_about_a_wrong_argument() -> None:
    found = error("BEGIN { trace(strlen(12)); }")
    assert found.text == "strlen( ) argument #1 is incompatible with prototype:\n\tprototype: char *\n\t argument: int"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("exit(trace(1));", "D_PROTO_ARG"),
        ("bcopy(curthread, curthread, 1);", "D_PROTO_ARG"),
        ("alloca(1000);", "D_ALLOCA_SIZE"),
        ("trace(trace(1));", "D_TRACE_VOID"),
        ("@a = count(); trace(@a);", "D_TRACE_DYN"),
        ("tracemem(curthread, 0);", "D_TRACEMEM_SIZE"),
        ("tracemem(*curthread, 8);", "D_TRACEMEM_ADDR"),
        ("stack(0);", "D_STACK_SIZE"),
        ("ustack(0);", "D_USTACK_FRAMES"),
        ("ustack(1, -1);", "D_USTACK_STRSIZE"),
        ("print((struct nowhere *)0);", "D_PRINT_SIZE"),
        ('freopen(".");', "D_FREOPEN_INVALID"),
        ("printf(1);", "D_PROTO_ARG"),
        ("printf(execname);", "D_PRINTF_ARG_FMT"),
        ('printf("");', "D_PRINTF_FMT_EMPTY"),
        ('printf("%d");', "D_PRINTF_ARG_PROTO"),
        ('printf("%d", 1, 2);', "D_PRINTF_ARG_EXTRA"),
        ('printf("%*d", "a", 1);', "D_PRINTF_DYN_TYPE"),
        ('printf("%*d");', "D_PRINTF_DYN_PROTO"),
        ('printf("%@d", 1);', "D_PRINTF_AGG_CONV"),
        ("printa(1);", "D_PRINTA_AGGARG"),
        ('printa("%d");', "D_PRINTA_PROTO"),
        ("printa(@none[1]);", "D_PRINTA_AGGBAD"),
        ("@a[1] = count(); @b = count(); printa(@a, @b);", "D_PRINTA_AGGKEY"),
        ('@a[1] = count(); @b["a"] = count(); printa(@a, @b);', "D_PRINTA_AGGPROTO"),
        ("clear(1);", "D_CLEAR_AGGARG"),
        ("clear(@none[1]);", "D_CLEAR_AGGBAD"),
        ("trunc(1);", "D_TRUNC_AGGARG"),
        ("normalize(1, 2);", "D_NORMALIZE_AGGARG"),
        ("normalize(@none[1], 2);", "D_NORMALIZE_AGGBAD"),
    ],
)
def test_refusals(body: str, expected: str) -> None:
    assert tag(body) == expected


# Aggregations


def test_aggregations_are_shared_by_name() -> None:
    found = check("BEGIN { @a[pid] = sum(1); @a[tid] = sum(2); @ = count(); }").aggregations
    assert [(a.name, a.id, a.function) for a in found] == [("a", 0, "sum"), ("_", 1, "count")]


def test_quantizing_parameters() -> None:
    found = check("BEGIN { @a = lquantize(pid, -5, 10); @b = llquantize(pid, 10, 0, 6, 20, 3); }")
    assert [a.parameters for a in found.aggregations] == [(-5, 10, 1), (10, 0, 6, 20)]
    second: Any = found.clauses[0].statements[1]
    assert second.increment.value == 3


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@a[1];", "D_AGG_NULL"),
        ("@a = trace(1);", "D_AGG_FUNC"),
        ("@a[1][2] = count();", "D_AGG_MDIM"),
        ("@a = count(); @a = sum(1);", "D_AGG_REDEF"),
        ('@a = sum("x");', "D_AGG_SCALAR"),
        ("@a[1] = count(); @a[1, 2] = count();", "D_PROTO_LEN"),
        ("@a = lquantize(1, pid, 2);", "D_LQUANT_BASETYPE"),
        ("@a = lquantize(1, 0x80000000, 2);", "D_LQUANT_BASEVAL"),
        ("@a = lquantize(1, 0, pid);", "D_LQUANT_LIMTYPE"),
        ("@a = lquantize(1, 0, 0x80000000);", "D_LQUANT_LIMVAL"),
        ("@a = lquantize(1, 5, 2);", "D_LQUANT_MISMATCH"),
        ("@a = lquantize(1, 0, 2, 0);", "D_LQUANT_STEPTYPE"),
        ("@a = lquantize(1, 0, 200000, 65536);", "D_LQUANT_STEPVAL"),
        ("@a = lquantize(1, 0, 2, 4);", "D_LQUANT_STEPLARGE"),
        ("@a = lquantize(1, 0, 100000, 1);", "D_LQUANT_STEPSMALL"),
        ("@a = lquantize(1, 0, 9); @a = lquantize(1, 1, 9);", "D_LQUANT_MATCHBASE"),
        ("@a = lquantize(1, 0, 9); @a = lquantize(1, 0, 8);", "D_LQUANT_MATCHLIM"),
        ("@a = lquantize(1, 0, 9); @a = lquantize(1, 0, 9, 3);", "D_LQUANT_MATCHSTEP"),
        ("@a = llquantize(1, pid, 0, 6, 20);", "D_LLQUANT_FACTORTYPE"),
        ("@a = llquantize(1, 1, 0, 6, 20);", "D_LLQUANT_FACTORVAL"),
        ("@a = llquantize(1, 10, -1, 6, 20);", "D_LLQUANT_LMAGVAL"),
        ("@a = llquantize(1, 10, 4, 3, 20);", "D_LLQUANT_HMAGVAL"),
        ("@a = llquantize(1, 10, 0, 30, 20);", "D_LLQUANT_HMAGVAL"),
        ("@a = llquantize(1, 10, 0, 6, 25);", "D_LLQUANT_STEPVAL"),
        ("@a = llquantize(1, 10, 2, 6, 80);", "D_LLQUANT_STEPVAL"),
        ("@a = llquantize(1, 10, 0, 6, 20); @a = llquantize(1, 10, 0, 6, 50);", "D_LLQUANT_MATCHSTEPS"),
    ],
)
def test_bad_aggregations(body: str, expected: str) -> None:
    assert tag(body) == expected


# The order of actions


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("trace(1); commit(1);", "D_COMM_DREC"),
        ("commit(1); trace(1);", "D_DREC_COMM"),
        ("commit(1); @ = count();", "D_AGG_COMM"),
        ("commit(1); speculate(1);", "D_SPEC_COMM"),
        ("speculate(1); speculate(1);", "D_SPEC_SPEC"),
        ("trace(1); speculate(1);", "D_SPEC_DREC"),
        ("speculate(1); @ = count();", "D_AGG_SPEC"),
        ("speculate(1); stop();", "D_ACT_SPEC"),
        ("speculate(1); copyout(alloca(1), 1, 1);", "D_ACT_SPEC"),
        ("speculate(1); exit(0);", "D_EXIT_SPEC"),
    ],
)
def test_order(body: str, expected: str) -> None:
    assert tag(body) == expected


def test_allowed_orders() -> None:
    assert len(clause("speculate(1); trace(1); x = 2;").statements) == 3
    assert len(clause("commit(1); commit(2); discard(3); x = 2;").statements) == 4


def _accepted(conversion: str) -> set[str]:
    """Which of the types below printf takes for a conversion."""
    names = (
        "char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long", "long long",
        "unsigned long long", "int64_t", "uint64_t", "enum e",
    )  # fmt: skip
    programs = {name: f'enum e {{ A }}; BEGIN {{ printf("%{conversion}", ({name})0); }}' for name in names}
    return {name for name, program in programs.items() if _refusal(program) is None}


def _refusal(program: str) -> str | None:
    try:
        check(program)
    except DError as error:
        return error.tag
    return None


_SIGNED = {"long", "long long", "int64_t", "enum e"}
_UNSIGNED = {"unsigned long", "unsigned long long", "uint64_t", "enum e"}
_WORDS = (_SIGNED | _UNSIGNED) - {"enum e"}


@pytest.mark.parametrize(
    ("conversions", "types"),
    [
        (("hd", "hi"), {"short", "enum e"}),
        (("ho", "hu"), {"unsigned short", "enum e"}),
        (("hx", "hX"), {"short", "unsigned short"}),
        (("ld", "li", "lld", "lli"), _SIGNED),
        (("lo", "lu", "llo", "llu"), _UNSIGNED),
        (("lx", "lX", "llx", "llX"), _WORDS),
        (("lc", "wc"), {"int", "enum e"}),
        (("ls", "ws", "Lf"), set()),
        (("Y", "T"), _WORDS),
    ],
)  # fmt: skip
def test_sizes_of_conversions_are_those_of_their_arguments(conversions: tuple[str, ...], types: set[str]) -> None:
    """As libdtrace's compiler has it, but that `x` goes by the size and not by the name of the type."""
    assert {conversion: _accepted(conversion) for conversion in conversions} == dict.fromkeys(conversions, types)
