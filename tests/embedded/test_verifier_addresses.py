"""Addresses in the place of numbers are refused, unless the rules are the kernel's; what has a meaning is not."""

import pytest
from support.bpf.verified import outcome

from sonde.runtime.verifier.rules import KERNEL, USUAL

REFUSED = {
    "w2 = w10": "r10 is fp, an address",
    "r2 = (s32)r10": "r10 is fp, an address",
    "r2 = r10; r2 = -r2": "r2 is fp, an address",
    "r2 = r10; r2 = be64 r2": "r2 is fp, an address",
    "r2 = r10; w2 -= 1": "r2 is a pointer, and `-=` in 32 bits would cut it",
    "if r1 s> 0 goto pc+0": "neither sign nor bits",
    "if r1 & 0 goto pc+0": "neither sign nor bits",
    "if w1 == 0 goto pc+0": "compared with 0 in 64 bits",
    "r2 = map[hash]; r3 = map[array]; if r2 < r3 goto pc+0": "maps have no order",
    "r2 = map[one][0]; lock *(u64 *)(r2 +0) += r10": "r10 is fp, an address",
    "r0 = 1; r2 = map[one][0]; r0 = atomic64_cmpxchg((u64 *)(r2 +0), r0, r1)": "r1 is ctx, an address",
    "r2 = map[one][0]; r3 = map[one][0]+8; r2 -= r3": "distance has no meaning",
    "r2 = r10; r2 -= r1": "distance has no meaning",
    "r2 = r10; r2 += 8; r2 -= r10": "outside of the stack",
}
ACCEPTED = (
    "r2 = r10",
    "if r1 == 0 goto pc+0",
    "if r1 > 1 goto pc+0",
    "if w1 != 1 goto pc+0",
    "if r1 > r10 goto pc+0",
    "r2 = map[hash]; r3 = map[array]; if r2 == r3 goto pc+0",
    "r0 = r1; r2 = map[one][0]; r3 = 0; r0 = atomic64_cmpxchg((u64 *)(r2 +0), r0, r3)",
    "r2 = r10; if r2 != r10 goto pc+0",
    "r2 = r10; r2 += -8; if r2 > r10 goto pc+0",
    "r2 = r10; r2 += -8; r2 -= r10",
    "*(u64 *)(r10 -8) = r1",
)


def whole(text):
    return f"{text}; r0 = 0; exit".replace(";", "\n")


@pytest.mark.parametrize("text", REFUSED)
def test_refused_but_by_the_kernels_rules(text):
    assert REFUSED[text] in outcome(whole(text), rules=USUAL)
    assert outcome(whole(text), rules=KERNEL) == ""


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text):
    assert outcome(whole(text), rules=USUAL) == ""


def test_no_address_is_returned():
    assert "r0 is ctx, an address" in outcome("r0 = r1\nexit", rules=USUAL)
