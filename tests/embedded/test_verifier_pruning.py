"""What is not explored because a state covers it would not have changed the verdict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.verified import MAPS, outcome, program

from sonde.runtime.verifier import meeting
from sonde.runtime.verifier.relevance import EVERYTHING, FRAME_BITS, Effect, PathSegment, bit, slot_bits
from sonde.runtime.verifier.verify import Refusal, verify

REGISTERS = st.integers(2, 7)
SLOTS = st.sampled_from([-8, -16, -24])
SMALL = st.integers(0, 70)


def verdict(given_program):
    try:
        return verify(given_program, MAPS).steps
    except Refusal:
        return -1


@st.composite
def pieces(draw):
    """One or more lines of a program that computes with r2 to r7 and three slots; `{n}` is a label of its own."""
    kind = draw(
        st.sampled_from(["set", "copy", "add", "and", "spill", "narrow", "fill", "skip", "skip", "skip", "use"])
    )
    a, b, number, slot = draw(REGISTERS), draw(REGISTERS), draw(SMALL), draw(SLOTS)
    if kind == "set":
        return f"r{a} = {number}"
    if kind == "copy":
        return f"r{a} = r{b}"
    if kind == "add":
        return f"r{a} += {draw(st.sampled_from([f'r{b}', number]))}"
    if kind == "and":
        return f"r{a} &= {draw(st.sampled_from([3, 8, 31, 56]))}"
    if kind == "spill":
        return f"*(u64 *)(r10 {slot}) = r{a}"
    if kind == "narrow":
        return f"*(u32 *)(r10 {slot}) = r{a}"
    if kind == "fill":
        return f"r{a} = *({draw(st.sampled_from(['u64', 'u32', 'u8']))} *)(r10 {slot})"
    if kind == "skip":
        operator = draw(st.sampled_from([">", "<", "==", "!=", "s>", "&"]))
        other = draw(st.sampled_from([f"r{b}", number]))
        body = "\n".join(draw(st.lists(simple(), min_size=1, max_size=2)))
        return f"if r{a} {operator} {other} goto {{n}}\n{body}\n{{n}}:"
    return f"r0 = map[one][0]+0\nr0 += r{a}\nr0 = *(u8 *)(r0 +0)"


def simple():
    return st.one_of(
        st.builds("r{} = {}".format, REGISTERS, SMALL),
        st.builds("r{} = r{}".format, REGISTERS, REGISTERS),
        st.builds("*(u64 *)(r10 {}) = r{}".format, SLOTS, REGISTERS),
        st.builds("*(u32 *)(r10 {}) = {}".format, SLOTS, SMALL),
        st.builds("r{} = *(u64 *)(r10 {})".format, REGISTERS, SLOTS),
    )


START = """
    r2 = *(u64 *)(r1 +0)
    r3 = *(u64 *)(r1 +8)
    r4 = *(u32 *)(r1 +16)
    r5 = r2
    r6 = 1
    r7 = *(u8 *)(r1 +24)
    *(u64 *)(r10 -8) = 0
    *(u64 *)(r10 -16) = r2
    *(u64 *)(r10 -24) = 9
"""


@pytest.mark.long
@settings(max_examples=300)
@given(st.lists(pieces(), min_size=3, max_size=9))
def test_states_that_are_covered_change_no_verdict(lines):
    text = START + "\n".join(line.replace("{n}", f"label{n}") for n, line in enumerate(lines)) + "\nr0 = 0\nexit"
    made = program(text)
    pruned = verdict(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meeting, "covers", lambda checkpoint, state: False)
        full = verdict(made)
    assert (pruned < 0) == (full < 0)
    assert pruned <= full


BRANCHES = """
    r6 = *(u64 *)(r1 +0)
    r7 = 0
    {tests}
    r0 = map[one][0]+0
    r0 += {used}
    r0 = *(u8 *)(r0 +0)
    exit
"""


def steps(used):
    tests = "\n".join(f"if r6 & {1 << n} goto on{n}\nr7 = {n}\non{n}:" for n in range(12))
    return verdict(program(BRANCHES.format(tests=tests, used=used)))


def test_numbers_on_which_nothing_depends_do_not_multiply_the_paths():
    assert 0 < steps("0") < 200


def test_numbers_that_matter_are_followed():
    assert steps("r7") > steps("0")


LOOPS = """
    r6 = *(u64 *)(r1 +0)
    {turns}
    r0 = 0
    exit
turn:
    r0 = 0
    exit
"""

TURN = """
    r7 = 0
    if r6 & {bit} goto on{n}
    r7 = 1
on{n}:
    *(u64 *)(r10 -{slot}) = r7
    r7 = *(u64 *)(r10 -{slot})
    r1 = 9
    r2 = subprog[turn]
    r3 = 0
    r4 = 0
    call bpf_loop
"""


def test_dead_slots_of_the_callers_of_a_loop_do_not_multiply_the_paths():
    def of(count):
        turns = "\n".join(TURN.format(n=n, bit=1 << n, slot=8 * n + 8) for n in range(count))
        return verdict(program(LOOPS.format(turns=turns)))

    assert 0 < of(16) < 3 * of(8)


# Before, what was done, after: (live, precise) behind the effects, the effects, and what matters before them.


def matters(effects, live, precise):
    from sonde.runtime.verifier.relevance import _before

    return _before(effects, live, precise)


R1, R2, R3, SLOT = bit(1), bit(2), bit(3), slot_bits(0, 0, 0)


@pytest.mark.parametrize(
    ("effects", "after", "before"),
    [
        ([Effect(kills=R1)], (R1 | R2, R1), (R2, 0)),
        ([Effect(R1, R1, R2, R2)], (R1, R1), (R2, R2)),
        ([Effect(R1, R1, R2, R2)], (R1, 0), (R2, 0)),
        ([Effect(SLOT, SLOT, R1, R1), Effect(R2, R2, SLOT, SLOT)], (R2, R2), (R1, R1)),
        ([Effect(uses=R3, demands=R3)], (0, 0), (R3, R3)),
        ([Effect(0, R1, R1 | R2, R1 | R2)], (R1, R1), (R1 | R2, R1 | R2)),
        ([Effect(kills=R1)], (EVERYTHING, EVERYTHING), (EVERYTHING & ~R1, EVERYTHING & ~R1)),
    ],
)
def test_what_matters_before(effects, after, before):
    assert matters(effects, *after) == before


def test_a_segment_is_done_when_all_its_ways_are():
    from sonde.runtime.verifier.relevance import Checkpoint
    from sonde.runtime.verifier.state import Activation, State

    segment = PathSegment()
    segment.checkpoint = Checkpoint(State(Activation(0, -1, 0)), 0)
    segment.pending = 2
    first, second = PathSegment(segment), PathSegment(segment)
    first.end(R1, R1)
    assert not segment.checkpoint.is_complete
    second.end(R2, 0)
    assert segment.checkpoint.is_complete
    assert (segment.checkpoint.live, segment.checkpoint.precise) == (R1 | R2, R1)


def test_slots_of_callers_are_further_up():
    assert slot_bits(1, 0, 0) == slot_bits(0, 0, 0) << FRAME_BITS


AROUND_A_CALLBACK = """
    {before}
again:
    r1 = 4
    r2 = subprog[callback]
    r3 = 0
    r4 = 0
    call bpf_loop
    {after}
    if {condition} goto again
    r0 = 0
    exit
callback:
    r0 = 0
    exit
"""


def test_a_callback_does_not_hide_that_a_loop_around_it_never_ends():
    text = AROUND_A_CALLBACK.format(before="", after="call bpf_get_prandom_u32", condition="r0 == 0x0")
    assert "never ends" in outcome(text)


def test_a_loop_around_a_callback_may_count():
    assert outcome(AROUND_A_CALLBACK.format(before="r6 = 5", after="r6 += -1", condition="r6 != 0x0")) == ""
