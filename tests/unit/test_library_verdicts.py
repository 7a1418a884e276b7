"""Verdicts of the verifier as values; `tests/cli/test_verify.py` has them as text."""

import pytest

import sonde
from sonde.bpf import programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.library.verdicts import verdicts
from sonde.model.spec import ProgramSpec, TracingSpec

ENGINES = ["kernel", "embedded"]


def spec_of(*texts):
    made = []
    for number, text in enumerate(texts):
        assembly = assemble(text)
        made.append(
            ProgramSpec(f"p{number}", programs.RAW_TRACEPOINT, 0, encode(assembly.code), assembly.map_references, ())
        )
    return TracingSpec((), tuple(made), (), (), (), ())


@pytest.mark.parametrize("engine", ENGINES)
def test_each_program_has_its_own_verdict(engine):
    found = verdicts(spec_of("r0 = 0\nexit", "r0 = r5\nexit", "r0 = 1\nr0 += 1\nexit"), engine)
    assert [(each.program, each.accepted, bool(each)) for each in found] == [
        ("p0", True, True), ("p1", False, False), ("p2", True, True),
    ]  # fmt: skip
    assert [(each.kind, each.instructions, each.steps) for each in found] == [
        ("raw_tracepoint", 2, 2), ("raw_tracepoint", 2, 0), ("raw_tracepoint", 3, 3),
    ]  # fmt: skip
    assert [bool(each.reason) for each in found] == [False, True, False]
    assert [each.listing for each in found] == ["", "", ""]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_listing_goes_as_far_as_the_verifier_has_come(engine):
    (verdict,) = verdicts(spec_of("r1 = 7\nr0 = r5\nexit"), engine, with_listing=True)
    assert not verdict
    assert "r1 = 7" in verdict.listing
    assert "exit    (never reached)" in verdict.listing


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_has_verdicts_with_and_without_listing(engine):
    script = sonde.compile("syscall::read:entry { @[execname] = count(); } END { printa(@); }", engine=engine)
    plain, listed = script.verify(), script.verify(listing=True)
    assert all(plain)
    assert len(plain) == len(script.spec.programs)
    assert [each._replace(listing="") for each in listed] == list(plain)
    assert all("r1 = ctx" in each.listing for each in listed)
