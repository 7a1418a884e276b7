"""Any function gives the same result interpreted, compiled as it is, and compiled through all passes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.bpf_machine import Machine
from support.bpf.ir_machine import IrMachine
from support.bpf.ir_recipes import HELPER, Maker, duplicate, inputs, kept, memory_of, part, recipes

from sonde.bpf.instructions import decode
from sonde.codegen.intermediate import flow
from sonde.codegen.intermediate.allocate import allocate
from sonde.codegen.intermediate.emit import emit
from sonde.codegen.intermediate.link import ProgramPieces, optimize


def interpreted(function, values):
    memory = memory_of(values)
    IrMachine({"main": function, "part": part()}, memory).run("main", 0)
    return memory


def compiled(function, values, passes):
    linked = ProgramPieces()
    for each in (function, part()):
        each = duplicate(each)
        passes(each)
        linked.add(emit(each, allocate(each)), ())
    linked.resolve()
    memory = memory_of(values)
    Machine(linked.code, linked.references, {"memory": memory}, {HELPER: lambda machine, *_: 0}).run(0)
    return memory


def check(function, values):
    expected = interpreted(function, values)
    assert compiled(function, values, lambda f: None) == expected
    assert compiled(function, values, flow.tidy) == expected
    assert compiled(function, values, optimize) == expected
    return expected


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(recipes, inputs, kept)
def test_passes_keep_meaning(recipe, values, kept):
    """With inputs from memory."""
    check(Maker(kept=kept).function(recipe), values)


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(recipes, inputs, kept)
def test_passes_keep_meaning_of_raw_code(recipe, values, kept):
    """With every instruction as it is asked for, not as the builder would write it."""
    check(Maker(raw=True, kept=kept).function(recipe), values)


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(recipes, inputs, st.booleans(), kept)
def test_constants_fold_to_what_would_be_computed(recipe, values, raw, kept):
    """With constants for inputs, results are those with the same inputs from memory."""
    expected = check(Maker(kept=kept).function(recipe), values)
    assert check(Maker(raw, values, kept).function(recipe), values) == expected


def test_the_machine_reads_what_is_encoded():
    """Instructions survive their encoding, so the machine runs what the kernel would."""
    from sonde.bpf.instructions import encode

    code = emit(f := optimize(part()), allocate(f)).instructions
    assert decode(encode(code)) == code
