"""Damaged programs of bpftrace's language compile or end in one mistake: no traceback, no hang.

SONDE_EXAMPLES=N tries N instead of a few; so does `tools/bt_programs.py mutations --count N`.
"""

import pytest
from support.bpftrace.bt_compiling import outcome
from support.bpftrace.bt_mutations import mutated
from support.suite.example_counts import count_of

pytestmark = pytest.mark.examples

COUNT = count_of(307)


def test_a_damaged_program_has_one_mistake():
    for seed in range(COUNT):
        problem = outcome(mutated(seed))
        assert not problem, (seed, mutated(seed)[:1000], problem)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "text",
    [
        "begin { print(" + "(" * 3000 + "1" + ")" * 3000 + "); }",
        "begin { print(" + "9" * 100_000 + "); }",
        "begin { print($" + "9" * 100_000 + "); }",
        "begin:$" + "9" * 100_000 + " { }",
        "begin { print(0x); }",
        "begin { print(1" + "+1" * 5000 + "); }",
        "begin { " + "if (1) { " * 1000 + "}" * 1000 + " }",
        "begin /" + "1 / " * 2000 + "{ }",
        'begin { printf("' + "%d" * 5000 + '"); }',
        "macro a() { a() } begin { a(); }",
        "macro a(x) { x + x } begin { print(" + "a(" * 40 + "1" + ")" * 40 + "); }",
        "begin { @[" + "1," * 3000 + "1] = 1; }",
        "begin { unroll(100) { unroll(100) { unroll(100) { @++; } } } }",
    ],
)
def test_what_is_too_much_is_told(text):
    assert not outcome(text)
