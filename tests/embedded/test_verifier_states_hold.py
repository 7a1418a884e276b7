"""What the verifier knows before an instruction holds when the program runs, and what it accepts never faults."""

from functools import partial

import pytest
from support.bpf.bpf_mutations import mutated
from support.bpf.bpf_programs import from_seed
from support.bpf.embedded_runs import can_run, run
from support.bpf.watched_execution import WatchedInterpreter
from support.suite.example_counts import count_of

from sonde.bpf import programs
from sonde.runtime.machine import structure
from sonde.runtime.verifier import meeting, pruning
from sonde.runtime.verifier.relevance import EVERYTHING
from sonde.runtime.verifier.scalar import ScalarValue, constant, within
from sonde.runtime.verifier.verify import Refusal, verify

pytestmark = pytest.mark.examples

FIRST = 700_000


def states_of(sample):
    """The verified code, and by instruction the registers of all states gone through; None if it is refused."""
    states = {}
    try:
        # The machine refuses a malformed instruction also where no path leads.
        structure.check(sample.code)
        verified = verify(
            sample.spec(), {spec.name: spec for spec in sample.maps},
            observe=lambda at, state: states.setdefault(at, set()).add(tuple(state.frame.registers[:10])),
        )  # fmt: skip
    except (Refusal, structure.StructureError):
        return None
    return verified.code, states


def holds(known, registers):
    """Whether each number is one of those that are known to be possible."""
    return all(
        within(value, constant(number))
        for value, number in zip(known, registers[:10], strict=True)
        if type(value) is ScalarValue
    )


def outside(sample, code, states):
    """The instructions of a run before which the registers are in none of the states."""
    found = []

    def seen(at, registers):
        if not any(holds(known, registers) for known in states.get(at, ())):
            found.append(at)

    run(sample, partial(WatchedInterpreter, seen=seen), code=list(code))
    return found


def whole(checkpoint, state, live=EVERYTHING):
    """Whether a state is one of the checkpoint's in every register and slot, alive or not."""
    return pruning.contains(checkpoint, state, EVERYTHING)


@pytest.mark.share(1)
@pytest.mark.parametrize("make", [from_seed, mutated], ids=["random", "changed"])
def test_a_run_stays_within_the_states(make, monkeypatch):
    # Otherwise states are left out whose numbers differ where that does not matter.
    monkeypatch.setattr(meeting, "covers", whole)
    monkeypatch.setattr(meeting, "contains", whole)
    watched = 0
    for seed in range(FIRST, FIRST + count_of(600)):
        sample = make(seed)
        # A verified context of this type may be larger than the bytes that the run gives.
        if sample.kind == programs.SYSCALL or not can_run(sample) or (found := states_of(sample)) is None:
            continue
        assert outside(sample, *found) == [], f"program {seed}"
        watched += 1
    assert watched > count_of(600) / 15


def test_a_number_that_is_in_no_state_is_seen():
    sample = from_seed(FIRST, programs.XDP)
    code, states = states_of(sample)
    last = max(states)
    assert outside(sample, code, {**states, last: set()}) == [last]
