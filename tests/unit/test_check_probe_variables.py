"""Variables of programs in D: what a name is, and what a clause does whose probes have it in different places."""

import pytest
from support.d.catalog import check

from sonde.frontends.d.errors import DError
from sonde.model.program import Argument, ProbeVariable
from sonde.model.types import INT


def clauses(text):
    return [(tuple(p.function for p in c.probes), c) for c in check(text).clauses]


def value_of(clause):
    return clause.statements[0].value


def test_a_variable_has_its_type_and_place():
    ((_, clause),) = clauses("pid7::first:entry { trace(args->count); }")
    value = value_of(clause)
    assert isinstance(value, ProbeVariable)
    assert (value.type, value.name) == (INT, "args->count")


def test_probes_that_have_a_variable_alike_share_a_clause():
    found = clauses("pid7::[fs]*[td]: { trace(locals->count); }")
    assert [probes for probes, _ in found] == [("first", "second")]


def test_another_place_is_another_clause():
    """The use works for all three, two of which have the variable in a register."""
    found = clauses("pid7::*[dt]:entry /args->count > 1/ { @[probefunc] = sum(args->count); }")
    assert [probes for probes, _ in found] == [("first", "second"), ("third",)]
    assert [clause.id for _, clause in found] == [1, 2]
    places = [clause.predicate.left.operand.pieces for _, clause in found]
    assert places[0] != places[1]


def test_types_that_differ_are_compiled_each_if_the_clause_works_for_each():
    found = clauses("pid7::: { trace(args->count != 0); }")
    assert [probes for probes, _ in found] == [("first", "second"), ("third",), ("fourth",)]


def test_types_that_differ_are_named_where_the_clause_does_not_work_for_each():
    with pytest.raises(DError) as raised:
        check("pid7::: { trace(args->count * 2); }")
    assert "args->count is int at pid7:a.out:first:entry" in raised.value.hint
    assert "char * at pid7:a.out:fourth:entry" in raised.value.hint


def test_a_probe_without_the_variable_is_an_error():
    with pytest.raises(DError) as raised:
        check("pid7::: { trace(args->node->value); }")
    assert "no args->node at pid7:a.out:third:entry" in raised.value.text


def test_two_names_divide_a_clause_by_both():
    found = clauses("pid7::first:entry, pid7::second:entry { trace(args->count + args->node->value); }")
    assert [probes for probes, _ in found] == [("first",), ("second",)]
    found = clauses("pid7::[fs]*[td]:entry { trace(args->count + args->node->value); }")
    assert [probes for probes, _ in found] == [("first",), ("second",)]


def test_variables_of_the_program_come_first():
    found = clauses("struct s { int count; }; struct s *locals; pid7::first:entry { trace(locals->count); }")
    assert not isinstance(value_of(found[0][1]), ProbeVariable)


def test_pointers_lead_into_the_process():
    (_, clause) = clauses("pid7::first:entry { trace(args->node->next->value); trace(&args->array[1]); }")[0]
    assert value_of(clause).object.pointer.type.user
    assert clause.statements[1].value.type.user
    ((_, clause),) = clauses("pid7::first:entry { trace(args->array); trace(stringof(args->array)); }")
    assert {statement.value.type for statement in clause.statements} == {clause.statements[1].value.type}


def test_arguments_of_the_kernel_have_names():
    found = clauses("syscall::read:entry, syscall::write:entry { trace(args->descriptor); }")
    values = [value_of(clause) for _, clause in found]
    assert [type(value) for value in values] == [Argument, Argument]
    assert [value.number for value in values] == [0, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("syscall::read:entry { trace(args->descripto); }", "did you mean descriptor?"),
        ("syscall::read:entry { trace(args->xyz); }", "it has descriptor, buffer"),
        ("BEGIN { trace(args->count); }", "no args->count at dtrace:::BEGIN"),
        ("pid7::first:entry { trace(&args->count); }", "has no address"),
        ("pid7::first:entry { trace(&args->pair.value); }", "has no address"),
        ("pid7::first:entry { args->count = 2; }", "can only be applied to a writable variable"),
        ("pid7::first:entry { args->array[1] = 2; }", "can only be applied to a writable variable"),
        ("pid7::first:entry { trace(args.count); }", "args"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(DError) as raised:
        check(text)
    assert words in f"{raised.value.text} {raised.value.hint}"
