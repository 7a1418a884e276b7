"""The kernel runs compiled functions to the same result as the tests' interpreters."""

import os

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.bpf.ir_machine import IrMachine
from support.bpf.ir_recipes import MEMORY_SIZE, Maker, duplicate, inputs, kept, memory_of, part, recipes

from sonde.bpf import maps, programs
from sonde.bpf.instructions import encode
from sonde.codegen.intermediate import flow
from sonde.codegen.intermediate.allocate import allocate
from sonde.codegen.intermediate.emit import emit
from sonde.codegen.intermediate.link import ProgramPieces, optimize
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.features import detect
from sonde.model.probe import Internal, Probe
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, TracingSpec

MEMORY = MapSpec("memory", maps.ARRAY, 4, MEMORY_SIZE, 1)
SIGNED_DIVISION = bool(detect(["sign_extension"]))
PROBE = Probe(1, "test", "", "", "run", Internal("run"))


@pytest.fixture(autouse=True, scope="module")
def one_cpu():
    """The helper that recipes call tells the CPU: 0."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    yield
    os.sched_setaffinity(0, before)


def program(name, function, passes):
    linked = ProgramPieces()
    for each in (function, part()):
        each = duplicate(each)
        passes(each)
        linked.add(emit(each, allocate(each)), ())
    if "part" not in {called for _, called in linked._calls}:
        del linked.code[linked.starts["part"] :]
    linked.resolve()
    return ProgramSpec(
        name, programs.RAW_TRACEPOINT, 0, encode(linked.code), tuple(linked.references), (ProbeSpec(PROBE, 0),)
    )


def in_kernel(function, values):
    """The memory after the function, compiled as it is and through all passes."""
    spec = TracingSpec(
        (MEMORY,), (program("plain", function, flow.tidy), program("optimized", function, optimize)),
        (), (), (), (), rings=(),
    )  # fmt: skip
    tracing = KernelEngine().load(spec)
    try:
        results = []
        for each in spec.programs:
            tracing.write_map("memory", bytes(4), bytes(memory_of(values)))
            tracing.run(each.name)
            results.append(tracing.read_map("memory")[0][1])
        return results
    finally:
        tracing.close()


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(recipes, inputs, kept, st.booleans(), st.booleans())
def test_the_kernel_agrees_with_the_interpreter(recipe, values, kept, raw, constant):
    """Any function, its inputs constant or from memory."""
    assume(SIGNED_DIVISION or not any(op in repr(recipe) for op in ("sdiv", "smod")))
    function = Maker(raw, values if constant else None, kept).function(recipe)
    expected = memory_of(values)
    IrMachine({"main": function, "part": part()}, expected).run("main", 0)
    assert in_kernel(function, values) == [expected, expected]
