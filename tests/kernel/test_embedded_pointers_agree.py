"""What a program sees through a pointer to a map's value while the map changes: the same in both engines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.helper_twins import twins
from support.suite.example_counts import count_of

from sonde.bpf import maps
from sonde.model.spec import MapSpec

pytestmark = pytest.mark.examples

EXAMPLES = count_of(60)

STEPS = 6
UPDATE, DELETE, WRITE = 1, 2, 3

STEP = """
    r8 = *(u64 *)(r6 +{at})
    r1 = r8
    r1 >>= 8
    *(u64 *)(r10 -8) = r1
    r8 &= 255
    r1 = {value}
    *(u64 *)(r10 -16) = r1
    r2 = r10
    r2 += -8
    r3 = r10
    r3 += -16
    r4 = 0
    r1 = map[a_map]
    if r8 == 1 goto update{n}
    if r8 == 2 goto delete{n}
    *(u64 *)(r7 +0) = r8
    r0 = 0
    goto done{n}
update{n}:
    call bpf_map_update_elem
    goto done{n}
delete{n}:
    call bpf_map_delete_elem
done{n}:
    r0 <<= 32
    r1 = *(u64 *)(r7 +0)
    r0 += r1
    *(u64 *)(r6 +{at}) = r0
"""
"""Do what the context says; leave there the result and what the pointer in r7 shows."""

PROGRAM = f"""
    r6 = r1
    r1 = 1
    *(u64 *)(r10 -8) = r1
    r1 = map[a_map]
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r7 = r0
    {"".join(STEP.format(n=n, at=8 * n, value=100 + n) for n in range(STEPS))}
out:
    r0 = 0
    exit
"""

OPERATIONS = st.lists(
    st.builds(lambda what, key: key << 8 | what, st.sampled_from([UPDATE, UPDATE, DELETE, WRITE]), st.integers(1, 3)),
    min_size=STEPS,
    max_size=STEPS,
)


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [0, maps.F_NO_PREALLOC])
@pytest.mark.parametrize("kind", [maps.HASH, maps.PERCPU_HASH])
def test_a_pointer_shows_the_same_whatever_happens_to_its_element(kind, flags):
    spec = MapSpec("a_map", kind, 8, 8, 3, flags, contents=(((1).to_bytes(8, "little"), (7).to_bytes(8, "little")),))

    # A map for each example: what a slot held before shows through.
    @given(operations=OPERATIONS)
    @settings(max_examples=2 * EXAMPLES)
    def agrees(operations):
        with twins((spec,), PROGRAM) as both:
            kernel, embedded = both.both(*operations)
            assert embedded == kernel
            if kind == maps.HASH:
                contents = both.read("a_map")
                assert contents[1] == contents[0]

    agrees()
