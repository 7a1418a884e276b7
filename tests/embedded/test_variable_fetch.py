"""Variables of a probe: small programs of steps, run when the helper fetch_variables asks for them."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bpf.embedded_world import World
from support.bpf.perf_programs import load as load_program
from support.bpf.perf_programs import program

from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.disassembler import disassemble
from sonde.bpf.helpers import FETCH_VARIABLES, NAMES
from sonde.model.errors import EngineError
from sonde.model.spec import Fetch, FetchStep, VariablesSpec, buffer_size
from sonde.runtime.programs.variables import ProbeVariables
from sonde.runtime.verifier.rules import STRICT
from sonde.runtime.verifier.verify import Refusal, verify

DI, SI, SP = 112, 104, 152
STRUCT, TEXT, STACK = 0x5000_0000, 0x5000_1FF8, 0x7FFD_0000_0000


def steps(*pairs):
    return tuple(FetchStep(*pair) for pair in pairs)


REGISTER = Fetch(0, 8, "value", steps(("register", DI)))
NARROW = Fetch(8, 2, "value", steps(("register", DI)))
ON_STACK = Fetch(16, 4, "value", steps(("register", SP), ("offset", -8), ("dereference", 4)))
SIGNED = Fetch(24, 8, "value", steps(("register", SP), ("offset", -8), ("dereference", 2), ("extend", 2)))
MEMBER = Fetch(32, 12, "memory", steps(("register", SI), ("offset", 16), ("dereference", 8), ("offset", 4)))
NAME = Fetch(48, 32, "string", steps(("constant", TEXT)))
NOWHERE = Fetch(80, 8, "memory", steps(("constant", 0x10)))


class Probe:
    """A world whose task stopped at a probe: registers, a structure that points to another, a string over two pages."""

    def __init__(self):
        self.world = World()
        task = self.world.task
        registers = bytearray(168)
        for place, value in ((DI, 0x1122334455667788), (SI, STRUCT), (SP, STACK)):
            struct.pack_into("=Q", registers, place, value)
        task.registers = self.world.place(registers)
        task.put(STACK - 8, struct.pack("=hhi", -5, 7, 9))
        task.put(STRUCT + 16, struct.pack("=Q", STRUCT + 0x100))
        task.put(STRUCT + 0x104, b"twelve bytes")
        task.put(TEXT, b"a string over two pages\0and more")
        self.reads = []
        read = task.read_memory
        task.read_memory = lambda address, size: self.reads.append((address, size)) or read(address, size)

    def fetch(self, *fetches, size=96):
        """(result, buffer) of the helper, which finds rubbish in the buffer."""
        self.world.environment.variables = ProbeVariables(fetches)
        buffer = self.world.place(b"\xff" * size)
        result = self.world.call("fetch_variables", 0, buffer, size)
        return result, self.world.memory.read(buffer, size)


def test_the_helpers_number_is_outside_of_the_kernels():
    assert max(len(NAMES), 0xFFFF) < FETCH_VARIABLES
    (line,) = disassemble(assemble("call bpf_fetch_variables").code)
    assert "bpf_fetch_variables" in str(line)


@pytest.mark.parametrize(
    ("fetch", "expected"),
    [
        (REGISTER, struct.pack("=Q", 0x1122334455667788)),
        (NARROW, b"\x88\x77"),
        (ON_STACK, struct.pack("=hh", -5, 7)),
        (SIGNED, struct.pack("=q", -5)),
        (MEMBER, b"twelve bytes"),
        (NAME, b"a string over two pages".ljust(32, b"\0")),
    ],
    ids=["register", "narrow", "on_stack", "signed", "member", "string"],
)
def test_a_variable_is_fetched_by_register_memory_offset_and_dereference_steps(fetch, expected):
    result, buffer = Probe().fetch(fetch)
    assert result == 0
    assert buffer == bytes(fetch.offset) + expected + bytes(96 - fetch.offset - fetch.size)


@pytest.mark.parametrize(("size", "expected"), [(1, b""), (2, b"a"), (9, b"a string"), (10, b"a string "), (24, None)])
def test_a_string_ends_in_a_nul_within_its_place(size, expected):
    _, buffer = Probe().fetch(NAME._replace(offset=0, size=size))
    assert buffer[:size] == (expected if expected is not None else b"a string over two pages").ljust(size, b"\0")


def test_an_error_of_a_fetch_is_told_and_the_rest_of_the_buffer_is_defined():
    result, buffer = Probe().fetch(NOWHERE, REGISTER, NAME)
    assert result == -errno.EFAULT
    assert buffer == (
        struct.pack("=Q", 0x1122334455667788) + bytes(40) + b"a string over two pages".ljust(32, b"\0") + bytes(16)
    )


@pytest.mark.parametrize("address", [0x7FFF_FFFF_F000, 1 << 47, 0xFFFF_8000_0000_0000, (1 << 64) - 1])
@pytest.mark.parametrize("kind", ["memory", "string"])
def test_addresses_that_no_process_has_are_an_error_not_the_programs_memory(kind, address):
    probe = Probe()
    probe.world.place(b"of the engine")
    assert probe.fetch(Fetch(0, 8, kind, steps(("constant", address)))) == (-errno.EFAULT, bytes(96))
    assert probe.reads == []


STEP = st.one_of(
    st.tuples(st.just("register"), st.integers(0, 20).map(lambda n: 8 * n)),
    st.tuples(st.just("constant"), st.sampled_from([STRUCT, TEXT, STACK, 0, (1 << 64) - 1])),
    st.tuples(st.just("offset"), st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-16, 16)),
    st.tuples(st.just("dereference"), st.sampled_from([1, 2, 4, 8])),
    st.tuples(st.just("shift"), st.sampled_from(range(8, 64, 8))),
    st.tuples(st.just("extend"), st.sampled_from([1, 2, 4])),
)
VALUES = st.sampled_from([1, 2, 4, 8])
KINDS = st.tuples(st.just("value"), VALUES) | st.tuples(st.sampled_from(["memory", "string"]), st.integers(1, 40))


@given(st.lists(st.tuples(KINDS, st.lists(STEP, max_size=5)), max_size=5), st.integers(0, 20))
def test_any_steps_fill_the_buffer_and_end_in_zero_or_an_error(described, spare):
    fetches, at = [], 0
    for (kind, size), pairs in described:
        fetches.append(Fetch(at, size, kind, steps(*pairs)))
        at += size
    result, buffer = Probe().fetch(*fetches, size=at + spare)
    assert result in (0, -errno.EFAULT)
    assert len(buffer) == at + spare
    assert buffer[at:] == bytes(spare)


PROGRAM = """
    r6 = *(u64 *)(r1 +0)
    if r6 == 0 goto out
    r2 = r10
    r2 += -96
    r3 = 96
    call bpf_fetch_variables
    r0 = *(u64 *)(r10 -96)
    exit
out:
    r0 = 1
    exit
"""
"""The first eight bytes of the variables, if the context's first word is not 0."""


def load(probe, *variables, source=PROGRAM, **named):
    return load_program(probe.world, program(programs.RAW_TRACEPOINT, source, variables), named)


def test_variables_are_fetched_lazily_on_the_path_that_asks():
    probe = Probe()
    loaded = load(probe, VariablesSpec(0, (ON_STACK._replace(offset=0),)))
    assert loaded.run(probe.world.place(bytes(96))) == 1
    assert probe.reads == []
    assert loaded.run(probe.world.place(bytes([1] * 96))) == 0x7FFFB
    assert probe.reads == [(STACK - 8, 4)]


def test_each_probe_of_a_program_has_its_own_variables():
    probe = Probe()
    loaded = load(
        probe,
        VariablesSpec(3, (REGISTER,)),
        VariablesSpec(4, (REGISTER._replace(steps=steps(("register", SI))),)),
    )
    context = probe.world.place(bytes([1] * 96))
    assert [loaded.run(context, cookie) for cookie in (3, 4, 5)] == [0x1122334455667788, STRUCT, 0]
    assert probe.world.environment.variables is None


def test_a_program_that_is_called_fetches_its_own_variables_not_the_callers():
    probe = Probe()
    array = probe.world.map(maps.PROG_ARRAY, 4, 4, 1)
    array.set(0, load(probe, VariablesSpec(3, (REGISTER,))))
    call = "r2 = map[programs]\nr3 = 0\ncall bpf_tail_call\nr0 = 77\nexit"
    caller = load(probe, VariablesSpec(3, (NAME,)), source=call, programs=array)
    assert caller.run(probe.world.place(bytes([1] * 96)), 3) == 0x1122334455667788


def with_buffer(size):
    return PROGRAM.replace("r3 = 96", f"r3 = {size}")


RANDOM_SIZE = PROGRAM.replace("r3 = 96", "r3 = r6\n if r3 > 96 goto out\n if r3 < {least} goto out")


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        (with_buffer(96), True),
        (with_buffer(80), True),
        (with_buffer(79), False),
        (with_buffer(8), False),
        (RANDOM_SIZE.format(least=80), True),
        (RANDOM_SIZE.format(least=79), False),
    ],
)
def test_the_verifier_demands_a_buffer_that_is_large_enough_for_every_probe(text, accepted):
    variables = [VariablesSpec(0, (REGISTER,)), VariablesSpec(1, (REGISTER, NAME))]
    spec = program(programs.RAW_TRACEPOINT, text.replace("r0 = *(u64 *)(r10 -96)", "r0 = 0"), variables)
    if accepted:
        verify(spec, {})
        return
    with pytest.raises(Refusal) as refused:
        verify(spec, {})
    assert "variables that take 80 bytes" in refused.value.reason
    assert "make the buffer that large" in refused.value.reason


def test_the_verifier_demands_that_the_buffer_is_the_programs_own_memory():
    for text in (with_buffer(97), PROGRAM.replace("r2 = r10", "r2 = r1"), PROGRAM.replace("r3 = 96", "r3 = 0")):
        with pytest.raises(Refusal):
            verify(program(programs.RAW_TRACEPOINT, text, [VariablesSpec(0, (REGISTER,))]), {})


def test_the_buffer_counts_as_written_as_far_as_its_size():
    verify(program(programs.RAW_TRACEPOINT, PROGRAM), {}, rules=STRICT)
    text = with_buffer(88).replace("*(u64 *)(r10 -96)", "*(u64 *)(r10 -8)")
    with pytest.raises(Refusal):
        verify(program(programs.RAW_TRACEPOINT, text), {}, rules=STRICT)


def test_programs_that_look_at_packets_have_no_variables():
    with pytest.raises(Refusal, match="xdp"):
        verify(program(programs.XDP, PROGRAM.replace("*(u64 *)(r1 +0)", "*(u32 *)(r1 +12)")), {})


def test_a_buffer_too_small_is_refused_where_no_verifier_has_looked():
    result, buffer = Probe().fetch(REGISTER, NAME, size=79)
    assert (result, buffer) == (-errno.E2BIG, bytes(79))
    assert buffer_size((VariablesSpec(0, (REGISTER, NAME)), VariablesSpec(1, (REGISTER,)))) == 80


@pytest.mark.parametrize(
    "wrong",
    [
        REGISTER._replace(kind="thing"),
        REGISTER._replace(size=3),
        MEMBER._replace(size=0),
        MEMBER._replace(size=1 << 20),
        REGISTER._replace(offset=-8),
        REGISTER._replace(steps=steps(("register", 168))),
        REGISTER._replace(steps=steps(("register", 4))),
        REGISTER._replace(steps=steps(("dereference", 16))),
        REGISTER._replace(steps=steps(("extend", 8))),
        REGISTER._replace(steps=steps(("shift", 64))),
        REGISTER._replace(steps=steps(("shift", 3))),
        REGISTER._replace(steps=steps(("jump", 1))),
    ],
)
def test_what_is_no_variable_is_refused_when_it_is_attached(wrong):
    with pytest.raises(EngineError):
        ProbeVariables((wrong,))


def test_variables_have_places_of_their_own():
    with pytest.raises(EngineError, match="another one is there"):
        ProbeVariables((REGISTER, NARROW._replace(offset=6)))
