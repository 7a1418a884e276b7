"""Conditions of bpftrace's language that are decided when a program is compiled."""

import operator
import random

from sonde.frontends.bpftrace.check.predicates import known_truth
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.types import BOOL, INT, Int

AT = Position(None, 1, 1)
INT64 = Int("int64", 8, True)
COMPARING = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def condition(chooser, depth):
    """A condition and whether it is true, None where running decides."""
    kind = chooser.choice(("compare", "not", "both", "either", "unknown") if depth else ("compare", "unknown"))
    if kind == "compare":
        op, a, b = chooser.choice([*COMPARING]), chooser.randrange(-2, 3), chooser.randrange(-2, 3)
        made = tree.Binary(INT, AT, op, tree.Const(INT64, AT, a), tree.Const(INT64, AT, b))
        return tree.Cast(BOOL, AT, made), COMPARING[op](a, b)
    if kind == "unknown":
        return tree.Builtin(INT64, AT, "pid"), None
    inner, truth = condition(chooser, depth - 1)
    if kind == "not":
        return tree.Unary(INT, AT, "!", inner), None if truth is None else not truth
    other, other_truth = condition(chooser, depth - 1)
    if kind == "both":
        decided = False if False in (truth, other_truth) else None if None in (truth, other_truth) else True
        return tree.Binary(INT, AT, "&&", inner, other), decided
    decided = True if True in (truth, other_truth) else None if None in (truth, other_truth) else False
    return tree.Binary(INT, AT, "||", inner, other), decided


def test_conditions_of_constants_are_decided_and_others_are_not():
    chooser = random.Random(11)
    seen = set()
    for _ in range(997):
        made, truth = condition(chooser, 3)
        assert known_truth(made) is truth
        seen.add(truth)
    assert seen == {True, False, None}
