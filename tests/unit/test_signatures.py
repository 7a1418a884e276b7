"""The table of helper signatures is consistent in itself and covers what sonde's code generation calls."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

import sonde
from sonde.bpf import programs
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.signatures import ARGUMENTS, RESULTS, SIGNATURES, may_call

CODEGEN = Path(sonde.__file__).parent / "codegen"
KERNEL_ALONE = {"seq_write", "get_func_arg", "get_func_ret", "override_return"}
"""Programs of iterators write into a file of the kernel's, others run at kernel functions: no other engine takes
them."""


def test_every_helper_that_generated_code_calls_has_a_signature():
    called = {
        name for path in CODEGEN.rglob("*.py") for name in re.findall(r'\bcall\(\s*"([a-z_0-9]+)"', path.read_text())
    }
    assert len(called) > 15
    assert {name for name in called if NUMBERS[name] not in SIGNATURES} == KERNEL_ALONE


@pytest.mark.parametrize("signature", SIGNATURES.values(), ids=lambda signature: signature.name)
def test_signature_is_made_of_known_kinds(signature):
    assert set(signature.arguments) <= set(ARGUMENTS)
    assert signature.result in RESULTS
    assert len(signature.arguments) <= 5
    assert SIGNATURES[NUMBERS[signature.name]] is signature


@pytest.mark.parametrize("signature", SIGNATURES.values(), ids=lambda signature: signature.name)
def test_arguments_go_together(signature):
    sized = {"memory", "memory_or_null", "memory_out", "memory_out_or_null"}
    for kind, following in pairwise((*signature.arguments, "")):
        assert (kind in sized) == following.startswith("size"), "memory is followed by its size"
    assert ("map" in signature.arguments) == bool(signature.map_kinds)
    if {"key", "value", "value_out"} & set(signature.arguments):
        assert signature.arguments[0] == "map"


def test_only_some_program_types_may_call():
    assert may_call(SIGNATURES[NUMBERS["xdp_load_bytes"]], programs.XDP)
    assert not may_call(SIGNATURES[NUMBERS["xdp_load_bytes"]], programs.PERF_EVENT)
    assert may_call(SIGNATURES[NUMBERS["map_lookup_elem"]], programs.LSM)
