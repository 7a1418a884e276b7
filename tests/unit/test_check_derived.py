"""Derived probes in the checker: clauses of their own, conditions, arguments as expressions, hidden clauses."""

from typing import Any

import pytest
from support.d.catalog import check, error

from sonde.codegen.firings.conditions import apart
from sonde.model import program as tree
from sonde.model.types import INT, STRING

TRANSLATOR = (
    "typedef struct info { int i_pid; } info_t; translator info_t < struct task_struct *T > { i_pid = T->pid; };"
)


def traced(text: str, probe: str = "born", before: str = "") -> Any:
    """What a clause of a derived probe traces."""
    statement: Any = check(f"{before} derived:::{probe} {{ trace({text}); }}").clauses[-1].statements[0]
    return statement.value


def test_each_derived_probe_has_a_clause_with_its_condition() -> None:
    clauses = check("derived:::, BEGIN { trace(1); }").clauses
    written = [c for c in clauses if not c.is_hidden]
    assert [(c.id, [p.id for p in c.probes]) for c in written] == [(1, [9]), (2, [10]), (3, [1])]
    condition: Any = written[0].condition
    assert (condition.op, condition.left.operand.number) == (">", 2)
    assert [c.predicate for c in written] == [None, None, None]
    assert [c.condition for c in written[1:]] == [None, None]


def test_the_condition_is_apart_from_the_predicate() -> None:
    clause: Any = check("derived:::born /pid == 1/ { }").clauses[0]
    assert (clause.condition.op, clause.predicate.op) == (">", "==")


@pytest.mark.parametrize("is_general", [False, True])
def test_the_condition_comes_before_the_predicate(is_general: bool) -> None:
    """Of a clause that has no other probes."""
    clauses: Any = check("derived:::born /pid == 1/ { }").clauses
    (clause,), conditions = apart(clauses, is_general)
    assert (clause.predicate.op, clause.predicate.left.op, clause.predicate.right.op) == ("&&", ">", "==")
    assert (clause.condition, conditions) == (None, {})


def test_an_adapter_has_the_condition_of_a_clause_with_other_probes() -> None:
    clauses: Any = check("BEGIN, derived:::born /pid == 1/ { }").clauses
    found, conditions = apart(clauses, True)
    assert [clause.predicate.op for clause in found] == ["==", "=="]
    assert list(conditions) == [9]
    assert [clause.predicate.op for clause in apart(clauses, False)[0]] == ["==", "&&"]


def test_all_clauses_of_a_probe_have_its_condition_in_one_place() -> None:
    """Where one of them begins with it, so do the others."""
    clauses: Any = check("BEGIN, derived:::born { } derived:::born { trace(arg1); }").clauses
    found, conditions = apart(clauses, True)
    assert conditions == {}
    assert [clause.predicate is None for clause in found] == [True, False, False]


def test_argn_is_the_expression_in_64_bits() -> None:
    found = traced("arg1")
    assert isinstance(found, tree.Cast)
    assert (found.operand.op, found.operand.left.operand.number) == ("+", 2)
    assert isinstance(traced("arg7"), tree.Const)


def test_args_are_numbered_by_their_own_table() -> None:
    assert traced("args[0]").op == "+"
    assert traced("args[2]->pid").object.pointer == tree.Argument(*traced("args[2]")[:2], 1)


def test_args_go_through_a_translator() -> None:
    found = traced("args[1]->i_pid", before=TRANSLATOR)
    assert isinstance(found, tree.MemberOf)
    assert found.object.pointer.number == 1
    assert error("derived:::born { trace(args[1]->i_pid); }").tag == "D_ARGS_XLATOR"


def test_characters_are_shown_as_a_string() -> None:
    found = traced("args[0]", probe="named")
    assert (type(found), found.type) == (tree.Cast, STRING)


def test_a_probe_that_follows_from_two_has_a_clause_for_each() -> None:
    clauses: Any = check("twice::: { trace(args[0]); }").clauses
    assert [(c.probes[0].id, c.probes[0].firing.name) for c in clauses] == [(11, "fork"), (11, "spawn")]
    assert isinstance(clauses[0].statements[0].value, tree.Const)
    assert clauses[1].statements[0].value.operand.number == 0


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("derived:::born { trace(args[3]); }", "D_ARGS_IDX"),
        ("derived::: { trace(args[0]); }", "D_ARGS_MULTI"),
        ("derived:::born { arg0 = 1; }", "D_OP_LVAL"),
    ],
)
def test_mistakes(text: str, tag: str) -> None:
    assert error(text).tag == tag


def test_hidden_clauses_come_first_and_once() -> None:
    program = check("END { trace(1); } derived:::named { trace(arg1); } derived:::named { trace(arg1); }")
    assert [(c.id, c.probes[0].name) for c in program.clauses] == [
        (-1, "BEGIN"),
        (1, "END"),
        (2, "named"),
        (3, "named"),
    ]
    assert [v.name for v in program.variables] == ["hidden"]


def test_a_hidden_clause_is_checked_for_itself() -> None:
    """In the middle of a clause whose probe and bindings it must not see."""
    program = check("inline int twice[int x] = x + x; derived:::named { trace(twice[arg1 ? 1 : 0]); }")
    statement: Any = program.clauses[0].statements[0]
    assert isinstance(statement.expression, tree.Assign)
    assert statement.expression.target.type == INT
