"""Operators: types, conversions made explicit, constants folded, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.catalog import check, expression, statement, tag

from sonde.model.program import (
    AddressOf,
    Aggregate,
    Binary,
    Builtin,
    Cast,
    Conditional,
    Const,
    Deref,
    Evaluate,
    Exit,
    Index,
    MemberOf,
    Printf,
    StringConst,
    Trace,
    Unary,
)
from sonde.model.types import CHAR, INT, LONG, STRING, UINT, ULONG, Pointer, Type, name_of, resolve


def constant(text: str, before: str = "") -> int:
    found = expression(text, before)
    assert isinstance(found, Const), found
    return found.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("1 ? 5 : 6", 5),
        ("~0", -1),
        ("!5", 0),
        ("3 && 0 || 1", 1),
        ("1 ^^ 1", 0),
        ("-1 < 1U", 0),
        ("2147483647 + 1", 1 << 31),
        ("1 << 33L", 1 << 33),
        ("(1 << 63) - 1", (1 << 63) - 1),
        ("1u << 63 >> 62", 2),
        ("1 << 31", 1 << 31),
        ("(1 << 63) / 2", -(1 << 62)),
        ("(char)200", -56),
        ("(uint8_t)-1", 255),
        ("sizeof(int)", 4),
        ("sizeof(\"hi\")", 3),
        ("sizeof(string)", 256),
        ("sizeof(NULL)", 4),
        ("'a'", 97),
    ],
)  # fmt: skip
def test_constants_are_folded(text: str, value: int) -> None:
    assert constant(text) == value


@pytest.mark.long
@given(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_division_and_remainder_agree(a: int, b: int) -> None:
    assert constant(f"(-{a} / {b}) * {b} + (-{a} % {b}) == -{a}") == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("c + c", CHAR),
        ("u + i", UINT),
        ("l + u", LONG),
        ("ul + l", ULONG),
        ("c << l", CHAR),
        ("l >> c", LONG),
        ("u >> l", UINT),
        ("i >> sizeof (char)", INT),
        ("-c", CHAR),
        ("i == l", INT),
        ("b.w + 0", UINT),
    ],
)
def test_usual_conversions(text: str, kind: Type) -> None:
    before = "char c; int i; unsigned u; long l; unsigned long ul; struct s { unsigned w : 3; }; struct s b;"
    assert resolve(expression(text, before).type) == kind


def test_operands_are_converted_explicitly() -> None:
    found = expression("c + l", "char c; long l;")
    assert isinstance(found, Binary)
    assert isinstance(found.left, Cast)
    assert found.left.type == LONG
    assert not isinstance(found.right, Cast)


def test_equal_types_need_no_cast() -> None:
    found = expression("timestamp - timestamp")
    assert isinstance(found, Binary)
    assert isinstance(found.left, Builtin)


def test_pointer_arithmetic_is_scaled() -> None:
    found = expression("p + 2", "int *p;")
    assert isinstance(found, Binary)
    assert name_of(found.type) == "int *"
    assert found.right == Const(LONG, found.right.position, 8)


def test_pointer_difference_counts_elements() -> None:
    found = expression("p - q", "int *p; int *q;")
    assert isinstance(found, Binary)
    assert (found.op, found.type) == ("/", LONG)


def test_an_array_decays_where_a_pointer_is_due() -> None:
    found: Any = statement("p = a;", "int a[5]; int *p;")
    assert isinstance(found.expression.value, Cast)
    assert name_of(found.expression.value.type) == "int *"


def test_subscripts_of_arrays_and_of_pointers() -> None:
    assert isinstance(expression("a[1]", "int a[5];"), Index)
    assert isinstance(expression("p[1]", "int *p;"), Deref)
    assert isinstance(expression("execname[0]"), Index)


def test_members_through_pointers() -> None:
    found = expression("curthread->parent->pid")
    assert isinstance(found, MemberOf)
    assert isinstance(found.object, Deref)
    assert found.member.name == "pid"


def test_the_address_of_what_a_pointer_points_to_is_the_pointer() -> None:
    found = expression("&curthread->comm[0]")
    assert isinstance(found, AddressOf)
    assert name_of(found.type) == "char *"


@pytest.mark.parametrize("text", ["execname == \"a\"", "\"a\" < execname", "execname == curthread->comm"])  # fmt: skip
def test_strings_compare_as_strings(text: str) -> None:
    found = expression(text)
    assert isinstance(found, Binary)
    assert (found.left.type, found.right.type) == (STRING, STRING)


def test_a_string_compares_with_null_as_a_pointer() -> None:
    found = expression("execname == NULL")
    assert isinstance(found, Binary)
    assert isinstance(resolve(found.left.type), Pointer)
    assert isinstance(resolve(found.right.type), Pointer)


def test_logical_operators_take_any_scalar() -> None:
    found = expression("curthread && pid || timestamp")
    assert isinstance(found, Binary)
    assert found.type == INT


def test_not_keeps_its_operand() -> None:
    found = expression("!curthread")
    assert isinstance(found, Unary)
    assert isinstance(resolve(found.operand.type), Pointer)


def test_conditional_branches_become_one_type() -> None:
    found = expression('pid ? "a" : NULL')
    assert isinstance(found, Conditional)
    assert (found.then.type, found.otherwise.type) == (STRING, STRING)


def test_stringof_and_casts_to_string() -> None:
    assert expression("stringof(curthread->comm)").type == STRING
    assert expression("(string)arg0").type == STRING
    assert isinstance(expression('stringof("x")'), StringConst)


def test_user_pointers_stay_user_pointers() -> None:
    from support.d.catalog import check

    traced: Any = check("syscall::read:entry { trace(*((int *)(args[1] + 4))); }").clauses[0].statements[0]
    assert resolve(traced.value.pointer.type).user


def test_enumerators_beside_a_value_of_their_type() -> None:
    found = expression("curthread->state == KGREEN")
    assert isinstance(found, Binary)
    assert isinstance(found.right, Const)
    assert found.right.value == 1


def test_kernel_data_is_named_with_a_backquote() -> None:
    assert expression("`max_pfn").type == ULONG
    assert tag("trace(`untyped);") == "D_SYM_NOTYPES"
    assert tag("trace(`nothing);") == "D_IDENT_UNDEF"


def test_a_string_character_is_a_char() -> None:
    assert expression("execname[2]").type == CHAR


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("trace(1 / 0);", "D_DIV_ZERO"),
        ("trace(x = 1, 1 % (7 - 7));", "D_DIV_ZERO"),
        ('trace("a" & 1);', "D_OP_INT"),
        ('trace("a" * 1);', "D_OP_ARITH"),
        ("trace(-curthread);", "D_OP_ARITH"),
        ("trace(~curthread);", "D_OP_INT"),
        ("trace(!*curthread);", "D_OP_SCALAR"),
        ('trace("a" ? 1 : 2);', "D_OP_SCALAR"),
        ("trace(pid ? curthread : 5);", "D_OP_INCOMPAT"),
        ("trace(pid ? trace(1) : trace(2));", "D_OP_ACT"),
        ("trace(curthread + curthread);", "D_OP_INCOMPAT"),
        ("trace(curthread == 5);", "D_OP_INCOMPAT"),
        ("trace(&1);", "D_ADDROF_LVAL"),
        ("x = 1; trace(&x);", "D_ADDROF_VAR"),
        ("trace(&curthread->in_execve);", "D_ADDROF_BITFIELD"),
        ("trace(sizeof(curthread->in_execve));", "D_SIZEOF_BITFIELD"),
        ("trace(sizeof(trace(1)));", "D_SIZEOF_TYPE"),
        ("trace(offsetof(int, x));", "D_OFFSETOF_TYPE"),
        ("trace(offsetof(struct task_struct, in_execve));", "D_OFFSETOF_BITFIELD"),
        ("trace(stringof(*curthread));", "D_STRINGOF_TYPE"),
        ("trace(*pid);", "D_DEREF_NONPTR"),
        ("trace(*(void *)0);", "D_DEREF_VOID"),
        ("trace(curthread.pid);", "D_OP_SOU"),
        ("trace(pid->x);", "D_OP_PTR"),
        ("trace(((int *)0)->x);", "D_OP_SOU"),
        ("trace(((struct nowhere *)0)->x);", "D_OP_INCOMPLETE"),
        ("trace(curthread->nothing);", "D_TYPE_MEMBER"),
        ("trace(curthread->comm[16]);", "D_ARR_BOUNDS"),
        ("trace((int)execname);", "D_CAST_INVAL"),
        ("trace((char *)execname);", "D_CAST_INVAL"),
        ("1 = 2;", "D_OP_LVAL"),
        ("pid = 2;", "D_OP_WRITE"),
        ("`max_pfn = 2;", "D_OP_WRITE"),
        ("execname++;", "D_OP_SCALAR"),
        ("trace((1, trace(1)));", "D_OP_ACT"),
        ("nothing(1);", "D_FUNC_UNDEF"),
        ("x = 1; x(1);", "D_FUNC_IDKIND"),
        ("1(1);", "D_FUNC_IDENT"),
        ("trace(strlen);", "D_IDENT_BADREF"),
        ("x = trace(1);", "D_OP_INCOMPAT"),
    ],
)
def test_refusals(body: str, expected: str) -> None:
    assert tag(body) == expected


# ?: with a constant test

CONSTANT_TESTS = [
    ("1", True),
    ("0", False),
    ("OPT", True),
    ("!OPT", False),
    ("OPT == 1 && 3 > 2", True),
    ("OPT ^^ 1", False),
    ("sizeof(int) == 4", True),
    ("(char)256", False),
    ("NULL", False),
    ("(OPT ? 0 : 1)", False),
]
OPTION = "inline int OPT = 1;"
MEANINGLESS = [
    "zonename",
    "nosuchfunc()",
    "self->missing + 1",
    "*(struct nosuch *)arg0",
    "curthread->t_procp",
    "trace(1) + 1",
]


@pytest.mark.parametrize(("test", "is_true"), CONSTANT_TESTS)
@pytest.mark.parametrize("other", MEANINGLESS)
def test_what_a_constant_does_not_choose_is_not_checked(test: str, is_true: bool, other: str) -> None:
    then, otherwise = ("7", other) if is_true else (other, "7")
    assert constant(f"{test} ? {then} : {otherwise}", OPTION) == 7


@pytest.mark.parametrize(("test", "is_true"), CONSTANT_TESTS)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('printf("x")', Printf),
        ("@a[pid] = count()", Aggregate),
        ("x = 3", Evaluate),
        ("exit(0)", Exit),
        ("stack()", Trace),
        ("OPT ? 0 ? zonename : (@b = sum(pid)) : 1", Aggregate),
    ],
)
def test_what_a_constant_chooses_is_a_statement(test: str, is_true: bool, body: str, kind: type) -> None:
    then, otherwise = (f"{body}", "zonename") if is_true else ("zonename", f"({body})")
    assert isinstance(statement(f"{test} ? {then} : {otherwise};", OPTION), kind)


@pytest.mark.parametrize("test", ["pid", "x", "self->y", "sizeof(int) == pid"])
def test_what_is_not_known_chooses_no_action(test: str) -> None:
    assert tag(f'x = 1; self->y = 1; {test} ? printf("x") : 1;') in ("D_OP_ACT", "D_OP_INCOMPAT")


def test_what_a_constant_chooses_keeps_its_type() -> None:
    assert expression("0 ? timestamp : (char)1").type == CHAR
    assert expression('1 ? "text" : curthread').type == STRING


@pytest.mark.long
def test_the_predicate_may_be_chosen() -> None:
    (clause,) = check(f"{OPTION} BEGIN /OPT ? pid == 1 : zonename/ {{ }}").clauses
    assert isinstance(clause.predicate, Binary)
