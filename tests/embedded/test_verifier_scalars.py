"""Abstract numbers hold every number that they stand for, whatever is done to them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sonde.bpf import instructions as i
from sonde.runtime.verifier import tnum
from sonde.runtime.verifier.arithmetic import compute, low_bytes, negated, sign_extended, swapped
from sonde.runtime.verifier.comparison import not_taken, taken
from sonde.runtime.verifier.merging import joined
from sonde.runtime.verifier.scalar import (
    MASK32,
    MASK64,
    MAX32,
    MAX64,
    MIN32,
    MIN64,
    UNKNOWN,
    ScalarValue,
    between,
    bounded,
    constant,
    signed32,
    signed64,
    within,
)

EDGES = [0, 1, 2, 7, 8, 63, 64, MAX32, MAX32 + 1, MASK32, MASK32 + 1, MAX64, MAX64 + 1, MASK64 - 1, MASK64]
numbers = st.one_of(st.sampled_from(EDGES), st.integers(0, 100), st.integers(0, MASK64), st.integers(-100, -1)).map(
    lambda number: number & MASK64
)


def holds(scalar, number):
    """Whether the number is one that the scalar stands for, in all its forms."""
    low = number & MASK32
    return (
        scalar.umin <= number <= scalar.umax
        and scalar.smin <= signed64(number) <= scalar.smax
        and scalar.umin32 <= low <= scalar.umax32
        and scalar.smin32 <= signed32(low) <= scalar.smax32
        and number & ~scalar.mask & MASK64 == scalar.value
    )


@st.composite
def scalars_with_numbers(draw, count=1):
    """A scalar, and numbers that it stands for: as narrow as each of its forms is drawn to be."""
    held = [draw(numbers) for _ in range(count + 1)]
    forms = [
        (0, MASK64, lambda n: n), (MIN64, MAX64, signed64), (0, MASK32, lambda n: n & MASK32),
        (MIN32, MAX32, lambda n: signed32(n & MASK32)),
    ]  # fmt: skip
    bounds = []
    for low, high, form in forms:
        is_wide = draw(st.booleans())
        seen = [form(number) for number in held]
        bounds += [low, high] if is_wide else [min(seen), max(seen)]
    differing = 0
    for number in held:
        differing |= number ^ held[0]
    mask = differing | draw(st.one_of(st.just(0), st.just(MASK64), numbers))
    scalar = bounded(*bounds, held[0] & ~mask, mask)
    assert scalar is not None
    return (scalar, *held[:count])


@given(scalars_with_numbers(2))
def test_bounds_keep_the_numbers(sample):
    scalar, *held = sample
    assert all(holds(scalar, number) for number in held)


def concrete(operation, a, b, bits):
    mask = MASK64 if bits == 64 else MASK32
    a, b = a & mask, b & mask
    signed = a - mask - 1 if a > mask >> 1 else a
    results = {
        i.ADD: lambda: a + b, i.SUB: lambda: a - b, i.MUL: lambda: a * b, i.AND: lambda: a & b, i.OR: lambda: a | b,
        i.XOR: lambda: a ^ b, i.DIV: lambda: a // b if b else 0, i.MOD: lambda: a % b if b else a,
        i.LSH: lambda: a << b % bits, i.RSH: lambda: a >> b % bits, i.ARSH: lambda: signed >> b % bits,
    }  # fmt: skip
    return results[operation]() & mask


OPERATIONS = [i.ADD, i.SUB, i.MUL, i.AND, i.OR, i.XOR, i.DIV, i.MOD, i.LSH, i.RSH, i.ARSH]


@pytest.mark.share(1)
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("operation", OPERATIONS)
@given(left=scalars_with_numbers(), right=scalars_with_numbers())
@example(left=(between(0, 3), 3), right=(between(0, 63), 63))
def test_arithmetic(operation, bits, left, right):
    (a, x), (b, y) = left, right
    assert holds(compute(operation, a, b, bits), concrete(operation, x, y, bits))


@given(scalars_with_numbers(), st.sampled_from([1, 2, 4]), st.sampled_from([32, 64]))
def test_one_operand(sample, size, bits):
    scalar, number = sample
    mask = MASK64 if bits == 64 else MASK32
    width = 8 * size
    low = number & (1 << width) - 1
    assert holds(low_bytes(scalar, size), low)
    assert holds(negated(scalar, bits), -number & mask)
    extended = low - (1 << width) if low >> width - 1 else low
    assert holds(sign_extended(scalar, size, 64), extended & MASK64)
    if size < 4:
        assert holds(sign_extended(scalar, size, 32), extended & MASK32)
    if size > 1:
        reverse = int.from_bytes(low.to_bytes(size, "little"), "big")
        assert holds(swapped(i.ALU64 | i.END, scalar, width), reverse)
        assert holds(swapped(i.ALU | i.END | i.X, scalar, width), reverse)
        assert holds(swapped(i.ALU | i.END | i.K, scalar, width), low)


CONDITIONS = {
    i.JEQ: lambda a, b, s, t: a == b, i.JNE: lambda a, b, s, t: a != b, i.JGT: lambda a, b, s, t: a > b,
    i.JGE: lambda a, b, s, t: a >= b, i.JLT: lambda a, b, s, t: a < b, i.JLE: lambda a, b, s, t: a <= b,
    i.JSGT: lambda a, b, s, t: s > t, i.JSGE: lambda a, b, s, t: s >= t, i.JSLT: lambda a, b, s, t: s < t,
    i.JSLE: lambda a, b, s, t: s <= t, i.JSET: lambda a, b, s, t: bool(a & b),
}  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("condition", CONDITIONS)
@given(left=scalars_with_numbers(), right=scalars_with_numbers())
def test_comparison(condition, bits, left, right):
    (a, x), (b, y) = left, right
    p, q = (x, y) if bits == 64 else (x & MASK32, y & MASK32)
    s, t = (signed64(p), signed64(q)) if bits == 64 else (signed32(p), signed32(q))
    refine = taken if CONDITIONS[condition](p, q, s, t) else not_taken
    found = refine(condition, a, b, bits)
    assert found is not None
    assert holds(found[0], x)
    assert holds(found[1], y)
    assert within(a, found[0])
    assert within(b, found[1])


@given(scalars_with_numbers(), scalars_with_numbers())
def test_what_is_within_holds_no_other_numbers(left, right):
    (a, _), (b, y) = left, right
    if within(a, b):
        assert holds(a, y)


@given(scalars_with_numbers(), scalars_with_numbers())
def test_joined(left, right):
    (a, x), (b, y) = left, right
    both = joined(a, b)
    assert holds(both, x)
    assert holds(both, y)


@given(numbers, numbers, numbers, numbers)
def test_bits_of_a_range(a, b, c, d):
    low, high = min(a, b), max(a, b)
    value, mask = tnum.in_range(low, high)
    for number in (low, high, (low + high) // 2):
        assert number & ~mask == value


# Before, what is done, after: as much is found out as this.


@pytest.mark.parametrize(
    ("scalar", "operation", "other", "bits", "low", "high"),
    [
        (between(0, 10), i.ADD, constant(5), 64, 5, 15),
        (between(0, 10), i.SUB, constant(5), 64, -5, 5),
        (between(0, 10), i.MUL, constant(24), 64, 0, 240),
        (UNKNOWN, i.AND, constant(63), 64, 0, 63),
        (UNKNOWN, i.RSH, constant(32), 64, 0, MASK32),
        (UNKNOWN, i.ARSH, constant(32), 64, MIN32, MAX32),
        (between(0, 10), i.LSH, constant(3), 64, 0, 80),
        (UNKNOWN, i.ADD, constant(0), 32, 0, MASK32),
        (between(-1, 1), i.ADD, constant(0), 32, 0, MASK32),
        (between(0, 255), i.OR, constant(0x100), 64, 0x100, 0x1FF),
        (between(0, 3), i.LSH, between(0, 4), 64, MIN64, MAX64),
        (constant(9), i.DIV, constant(3), 64, MIN64, MAX64),
    ],
)
def test_ranges_after_arithmetic(scalar, operation, other, bits, low, high):
    result = compute(operation, scalar, other, bits)
    assert (result.smin, result.smax) == (low, high)


@pytest.mark.parametrize(
    ("condition", "other", "bits", "if_taken", "if_not"),
    [
        (i.JGT, 10, 64, (11, MASK64), (0, 10)),
        (i.JLT, 10, 64, (0, 9), (10, MASK64)),
        (i.JEQ, 10, 64, (10, 10), (0, MASK64)),
        (i.JNE, 0, 64, (1, MASK64), (0, 0)),
        (i.JSGE, 0, 64, (0, MAX64), (MAX64 + 1, MASK64)),
    ],
)
def test_ranges_after_a_comparison(condition, other, bits, if_taken, if_not):
    yes, no = taken(condition, UNKNOWN, constant(other), bits), not_taken(condition, UNKNOWN, constant(other), bits)
    assert (yes[0].umin, yes[0].umax) == if_taken
    assert (no[0].umin, no[0].umax) == if_not


def test_a_comparison_of_the_lower_half_of_a_small_number():
    yes = taken(i.JLE, low_bytes(UNKNOWN, 4), constant(7), 32)
    assert yes[0].umax == 7


def test_what_cannot_be_is_not_taken():
    assert taken(i.JGT, between(0, 10), constant(10), 64) is None
    assert not_taken(i.JLE, between(0, 10), constant(10), 64) is None
    assert taken(i.JSET, between(0, 7), constant(8), 64) is None


def test_scalars_are_values():
    assert isinstance(UNKNOWN, ScalarValue)
    assert hash(constant(5)) == hash(constant(5))
