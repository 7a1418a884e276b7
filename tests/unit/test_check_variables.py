"""Variables: how they come into being, what they may hold, inline definitions and translators."""

from __future__ import annotations

from typing import Any

import pytest
from support.d.catalog import check, error, expression, statement, tag

from sonde.model.program import Argument, Assign, Cast, Const, Deref, Element, Increment, MemberOf, Var, Variable
from sonde.model.types import INT, LONG, STRING, Pointer, name_of, resolve

IN_OUT = "struct in { int ii; char ic[8]; }; struct out { int oi; string oc; int missing; };"
TRANSLATOR = f"{IN_OUT} translator struct out < struct in *i > {{ oi = i->ii + 1; oc = i->ic; }};"
INPUT = f"{TRANSLATOR} struct in *p;"


def variables(body: str, before: str = "") -> list[Variable]:
    return list(check(f"{before} BEGIN {{ {body} }}").variables)


@pytest.mark.parametrize(
    ("body", "scope", "spelled"),
    [
        ("x = 1;", "global", "int"),
        ("self->x = timestamp;", "self", "uint64_t"),
        ("this->x = curthread;", "this", "struct task_struct *"),
        ('x = "s";', "global", "string"),
        ("x = curthread->comm;", "global", "string"),
        ("x++;", "global", "int64_t"),
    ],
)
def test_the_first_assignment_declares(body: str, scope: str, spelled: str) -> None:
    (variable,) = variables(body)
    assert (variable.scope, name_of(variable.type), variable.keys) == (scope, spelled, None)


def test_the_first_keys_declare_an_array() -> None:
    (variable,) = variables('x[pid, "a", curthread->comm] = 1L;')
    assert variable.type == LONG
    assert [name_of(k) for k in variable.keys or ()] == ["pid_t", "string", "string"]


def test_an_array_may_have_ten_keys_and_more_by_an_option_or_a_declaration() -> None:
    assert variables("x[1, 2, 3, 4, 5, 6, 7, 8, 9, 10] = 1;")[0].keys == (INT,) * 10
    twelve = ", ".join(["1"] * 12)
    found = check(f"BEGIN {{ x[{twelve}] = 1; }}", most_keys=12)
    assert found.variables[0].keys == (INT,) * 12
    declared = variables(f"x[{twelve}] = 1;", f"int x[{', '.join(['int'] * 12)}];")
    assert declared[0].keys == (INT,) * 12
    assert error(f"BEGIN {{ x[{twelve}] = 1; }}").hint.startswith("-xtregs=12")


def test_keys_are_converted() -> None:
    found: Any = statement("x[1] = 1; x[timestamp] = 2;")
    assert isinstance(found.expression.target, Element)
    assert found.expression.target.keys[0].type == INT


def test_variables_are_numbered() -> None:
    assert [v.id for v in variables("a = 1; self->b = 2; this->c = 3;")] == [0, 1, 2]


def test_body_and_predicate_may_each_declare_for_the_other() -> None:
    assert len(check("tick-1 /n < 5/ { n++; }").variables) == 1
    assert len(check("tick-1 /n++ < 5/ { trace(n); }").variables) == 1


UNARY = ("-%s", "+%s", "~%s", "!%s", "sizeof(%s)", "stringof(%s)", "%s++", "--%s")
OWN = ("self->v", "this->v", 'v["k"]', "self->v[pid, 1]")


@pytest.mark.parametrize("operator", UNARY)
@pytest.mark.parametrize("name", OWN)
def test_operators_of_one_operand_bring_variables_into_being(operator: str, name: str) -> None:
    (found,) = variables(f"this_is = 0; trace({operator % name});")[1:]
    assert (found.name, name_of(found.type)) == ("v", "int64_t")


@pytest.mark.parametrize("operator", UNARY)
def test_global_scalars_come_into_being_by_what_changes_them(operator: str) -> None:
    if operator in ("%s++", "--%s"):
        assert name_of(variables(f"trace({operator % 'v'});")[0].type) == "int64_t"
    else:
        assert tag(f"trace({operator % 'v'});") == "D_IDENT_UNDEF"


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("operator", ["%s + 1", "1 == %s", "(char)%s", "%s ? 1 : 2", "%s, 1", "%s += 1", "1 && %s"])
def test_other_reads_of_what_is_not_there_are_errors(operator: str, name: str) -> None:
    assert tag(f"trace({operator % name});") in ("D_IDENT_UNDEF", "D_VAR_UNDEF")


@pytest.mark.parametrize("name", OWN)
def test_a_predicate_may_ask_for_what_a_later_clause_sets(name: str) -> None:
    found = check(f"tick-1 /!{name}/ {{ trace(1); }} tick-1 /!{name}/ {{ {name} = pid; }} tick-1 /{name}/ {{ }}")
    assert [name_of(v.type) for v in found.variables] == ["int64_t"]


@pytest.mark.parametrize("name", OWN)
def test_what_was_asked_for_before_it_is_set_to_a_text_is_to_be_declared(name: str) -> None:
    text = f"tick-1 /!{name}/ {{ trace(1); }} tick-1 {{ {name} = execname; }}"
    hint = error(text).hint
    assert f"since 1:{text.index(name) + 1 + (name.index('[') if '[' in name else 0)} asks for it" in hint
    declared = hint.partition("declare it before, ")[2]
    found = check(f"{declared} {text}".replace(f"!{name}", f"{name} != NULL"))
    assert [name_of(v.type) for v in found.variables] == ["string"]


@pytest.mark.parametrize("name", OWN)
def test_the_statements_of_a_clause_declare_before_its_predicate(name: str) -> None:
    found = check(f"tick-1 /!{name}/ {{ {name} = curthread; }}")
    assert [name_of(v.type) for v in found.variables] == ["struct task_struct *"]


@pytest.mark.parametrize("name", [*OWN, "v"])
@pytest.mark.parametrize(
    ("predicate", "body", "where"),
    [
        ("!V", "V = timestamp; nosuchfunc();", "nosuchfunc"),
        ("V", "V = timestamp; trace(missing);", "missing"),
        ("V", "trace(missing); V = timestamp;", "missing"),
        ("V > 5", "trace(missing); V++;", "missing"),
        ("V && other", "V++; trace(missing);", "other"),
        ("other", "trace(missing); V = 1;", "other"),
        ("V == curthread", "V = pid;", "=="),
    ],
)
def test_a_mistake_is_told_where_it_is(predicate: str, body: str, where: str, name: str) -> None:
    text = f"tick-1 /{predicate}/ {{ {body} }}".replace("V", name)
    position = error(text).position
    assert position is not None
    assert text[position.column - 1 :].startswith(where), text


def test_compound_assignment() -> None:
    found: Any = statement("c += l;", "char c; long l;")
    assert isinstance(found.expression, Assign)
    assert (found.expression.op, found.expression.operation) == ("+", LONG)


def test_steps_of_pointers() -> None:
    found: Any = statement("p++;", "int *p;")
    assert isinstance(found.expression, Increment)
    assert found.expression.step == 4
    found = statement("p -= 2;", "int *p;")
    assert found.expression.value == Const(LONG, found.expression.value.position, 8)


def test_null_is_assigned_to_pointers_and_strings() -> None:
    found: Any = statement("p = NULL;", "int *p;")
    assert isinstance(resolve(found.expression.value.type), Pointer)
    found = statement("s = NULL;", "string s;")
    assert found.expression.value.type == STRING


def test_zero_deletes_whatever_an_array_holds() -> None:
    found: Any = statement("x[1] = *curthread; x[1] = 0;")
    assert isinstance(found.expression.value, Const)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("trace(x);", "D_IDENT_UNDEF"),
        ("trace(self->x);", "D_VAR_UNDEF"),
        ("x += 1;", "D_VAR_UNDEF"),
        ("self->x = curthread; self->x = pid;", "D_OP_INCOMPAT"),
        ("x = 1; x[1] = 2;", "D_DEREF_NONPTR"),
        ("x = 1; x[1, 2] = 2;", "D_ARR_BADREF"),
        ("x[1] = 1; trace(x);", "D_IDENT_BADREF"),
        ("x[1] = 1; x[1, 2] = 1;", "D_PROTO_LEN"),
        ('x[1] = 1; x["a"] = 1;', "D_PROTO_ARG"),
        ("this->x[1] = 1;", "D_ARR_LOCAL"),
        ("x[stack()] = 1;", "D_CG_EXPR"),
        ("x[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] = 1;", "D_UNKNOWN"),
        ("int_array = array;", "D_OP_ARRFUN"),
        ("a = alloca(8); a = &array[0];", "D_ALLOCA_INCOMPAT"),
        ("x++; x = alloca(8);", "D_ALLOCA_INCOMPAT"),
    ],
)
def test_refusals(body: str, expected: str) -> None:
    assert tag(body, "int array[2];") == expected


def test_variables_with_scratch_pointers_are_known() -> None:
    found = check("BEGIN { a = (char *)alloca(8); b = a + 1; c = &curthread->comm[0]; }")
    assert {v.name for v in found.variables if v.id in found.scratch} == {"a", "b"}


# Inline definitions


def test_inline_constants_are_folded() -> None:
    found = expression("N + 1", "inline int N = 3;")
    assert found == Const(INT, found.position, 4)


def test_inline_arrays_take_arguments() -> None:
    found = expression("both[10, 20]", "inline int both[int a, int b] = a + b;")
    assert isinstance(found, Const)
    assert found.value == 30


def test_inlines_may_be_objects() -> None:
    assert isinstance(expression("me->pid", "inline struct task_struct *me = curthread;"), MemberOf)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inline int x = x + 1;", "D_IDENT_UNDEF"),
        ("inline int rand = 1;", "D_DECL_IDRED"),
        ("inline int x = execname;", "D_OP_INCOMPAT"),
    ],
)
def test_bad_inlines(text: str, expected: str) -> None:
    assert error(f"{text} BEGIN {{}}").tag == expected


def test_the_text_about_a_redefinition() -> None:
    found = error("inline int rand = 1;")
    assert found.text == "identifier redefined: rand\n\t current: inline definition\n\tprevious: function "


# Translators


def test_a_member_is_its_expression() -> None:
    found: Any = expression("xlate <struct out *> (p)->oi", INPUT)
    assert isinstance(found, Cast), "the sum as the member holds it"
    assert found.operand.op == "+"
    assert isinstance(found.operand.left.operand, MemberOf)


def test_a_pointer_to_translated_data_may_be_followed() -> None:
    assert expression("(*xlate <struct out *> (p)).oi", INPUT).type == INT
    assert expression("xlate <struct out> (p).oi", INPUT).type == INT


def test_arguments_are_translated() -> None:
    library = "typedef struct info { int id; } info_t; translator info_t < struct task_struct *t > { id = t->pid; };"
    found: Any = check("proc:::start { trace(args[0]->id); }", libraries=(library,)).clauses[0].statements[0]
    assert isinstance(found.value, MemberOf)
    assert isinstance(found.value.object, Deref)
    assert isinstance(found.value.object.pointer, Argument)


def test_arguments_without_a_translator() -> None:
    library = "typedef struct info { int id; } info_t;"
    assert error("proc:::start { trace(args[0]->id); }", libraries=(library,)).tag == "D_ARGS_XLATOR"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("trace(xlate <struct out *> (p)->missing);", "D_XLATE_NOCONV"),
        ("trace(xlate <struct out *> (p)->nothing);", "D_XLATE_NOCONV"),
        ("trace(xlate <struct out *> (p));", "D_TRACE_DYN"),
        ("x = (uintptr_t)xlate <struct out *> (p);", "D_CAST_INVAL"),
        ("trace(xlate <struct in> (p)->ii);", "D_XLATE_NONE"),
        ("@[xlate <struct out *> (p)] = count();", "D_KEY_TYPE"),
        ("xlate <struct out *> (p);", "D_CG_DYN"),
    ],
)
def test_uses_that_cannot_be_translated(body: str, expected: str) -> None:
    assert tag(body, INPUT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("translator int < struct in *i > { };", "D_XLATE_SOU"),
        ("translator struct nowhere < struct in *i > { };", "D_XLATE_SOU"),
        ("translator struct out < struct in *i > { zz = 1; };", "D_XLATE_MEMB"),
        ('translator struct out < struct in *i > { oi = "a"; };', "D_XLATE_INCOMPAT"),
        ("translator struct out < struct in *i > { oi = i->zz; };", "D_TYPE_MEMBER"),
        (f"{TRANSLATOR.removeprefix(IN_OUT)} {TRANSLATOR.removeprefix(IN_OUT)}", "D_XLATE_REDECL"),
    ],
)
def test_bad_translators(text: str, expected: str) -> None:
    assert error(f"{IN_OUT} {text} BEGIN {{}}").tag == expected


def test_libraries_are_read_when_a_name_is_used() -> None:
    broken = "inline int GOOD = 1; inline int BAD = ;"
    assert check("BEGIN { trace(1); }", libraries=(broken,)).clauses
    assert error("BEGIN { trace(GOOD); }", libraries=(broken,)).tag == "D_SYNTAX"


def test_a_library_is_checked_as_a_whole() -> None:
    library = "inline int GOOD = 1; inline int LATER = nowhere + 1;"
    for name in ("GOOD", "LATER"):
        assert error(f"BEGIN {{ trace({name}); }}", libraries=(library,)).tag == "D_IDENT_UNDEF"


def test_casts_of_constants_to_pointers_stay_casts() -> None:
    assert isinstance(expression("(char *)0"), Cast)
    assert isinstance(expression("x", prelude="x = 1;"), Var)
