"""Registers that nothing reads any more: whatever they hold, a program does the same."""

import random
from functools import partial

import pytest
from support.bpf.bpf_mutations import mutated
from support.bpf.bpf_programs import from_seed
from support.bpf.embedded_runs import can_run, helpers_of, run
from support.bpf.watched_execution import WatchedInterpreter
from support.suite.example_counts import count_of

from sonde.bpf import programs
from sonde.bpf.assembler import assemble
from sonde.bpf.helpers import NUMBERS
from sonde.runtime.machine.structure import StructureError, check
from sonde.runtime.verifier import exploration
from sonde.runtime.verifier.liveness import ProgramLiveness
from sonde.runtime.verifier.state import Activation, State
from sonde.runtime.verifier.structure import structure
from sonde.runtime.verifier.verify import Refusal, verify

pytestmark = pytest.mark.examples

FIRST = 800_000
REGISTERS = (1 << 10) - 1
ALWAYS_DIFFERENT = {number for name, number in NUMBERS.items() if name.startswith(("ktime", "jiffies", "get_prandom"))}


def verified(sample, monkeypatch):
    """The verified code and what is alive in it; None if it is refused."""
    made = []

    def kept(code, shape):
        made.append(ProgramLiveness(code, shape))
        return made[-1]

    monkeypatch.setattr(exploration, "ProgramLiveness", kept)
    try:
        # The machine refuses a malformed instruction also where no path leads.
        check(sample.code)
        return verify(sample.spec(), {spec.name: spec for spec in sample.maps}).code, made[-1]
    except (Refusal, StructureError):
        return None


def alive(liveness, at):
    return liveness.of(at, State(Activation(0, -1, 0))) & REGISTERS


@pytest.mark.share(1)
@pytest.mark.parametrize("make", [from_seed, mutated], ids=["random", "changed"])
def test_dead_registers_may_hold_anything(make, monkeypatch):
    watched = spoilt = 0
    for seed in range(FIRST, FIRST + count_of(600)):
        sample = make(seed)
        if sample.kind == programs.SYSCALL or not can_run(sample) or helpers_of(sample.code) & ALWAYS_DIFFERENT:
            continue
        found = verified(sample, monkeypatch)
        if found is None:
            continue
        code, liveness = found
        noise, count = random.Random(seed), 0

        def spoil(at, registers, liveness=liveness, noise=noise):
            nonlocal count
            kept = alive(liveness, at)
            for number in range(10):
                if not kept >> number & 1:
                    registers[number] = noise.getrandbits(64)
                    count += 1

        expected = run(sample, code=list(code))
        assert run(sample, partial(WatchedInterpreter, seen=spoil), code=list(code)) == expected, f"program {seed}"
        watched += 1
        spoilt += count
    assert watched > count_of(600) / 15
    assert spoilt > 20 * watched


def test_what_is_read_on_any_way_is_alive():
    code = assemble("""
    r6 = 1
    r7 = 2
    r8 = 3
    again:
    if r1 == 0x0 goto out
    r6 += r7
    r1 += -1
    goto again
    out:
    r0 = r6
    exit
    """).code
    liveness = ProgramLiveness(code, structure(code, {}))
    found = [{number for number in range(10) if alive(liveness, at) >> number & 1} for at in range(len(code))]
    assert found == [{1}, {1, 6}, {1, 6, 7}, {1, 6, 7}, {1, 6, 7}, {1, 6, 7}, {1, 6, 7}, {6}, {0}]
