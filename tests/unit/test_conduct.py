"""Which programs only observe: derived from types, helpers, results, and where they write."""

import pytest
from support.bpf.bpf_mutations import mutated
from support.bpf.bpf_programs import from_seed
from support.d.compiled import spec
from support.suite.example_counts import count_of
from test_codegen_determinism import PROGRAMS
from test_specfile import PROGRAMS as SAVED

from sonde.bpf import maps, observing, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.conduct import CONTEXT, PACKET, STACK, Interpretation, conduct
from sonde.bpf.helpers import NAMES, NUMBERS
from sonde.bpf.instructions import call, call_kfunc, encode, exit_, mov_imm
from sonde.model.records import CommandAction, RecordLayout
from sonde.model.spec import MapSpec, ProgramSpec, Stamp, TracingSpec
from sonde.runtime.machine import structure
from sonde.runtime.verifier.scalar import ScalarValue
from sonde.runtime.verifier.values import PointerValue
from sonde.runtime.verifier.verify import Refusal, verify
from sonde.session.harm import harm

pytestmark = pytest.mark.examples

PASS, DROP = 2, 1
XDP = """
    r6 = *(u32 *)(r1 +0)
    r2 = *(u32 *)(r1 +4)
    r3 = r6
    r3 += 14
    if r3 > r2 goto out
"""
OUT = """
out:
    r0 = 2
    exit
"""


def found(text, kind=programs.XDP, stamped=()):
    return conduct(assemble(text).code, kind, stamped)


RESULTS = {
    "a constant": ("r0 = 2\nexit", {PASS}),
    "a wide constant": ("r0 = 2 ll\nexit", {PASS}),
    "the same on both ways": ("if r1 > 5 goto two\nr0 = 2\nexit\ntwo:\nr0 = 1\nr0 += 1\nexit", {PASS}),
    "two on two ways": ("r0 = 2\nif r1 > 5 goto out\nr0 = 1\nout:\nexit", None),
    "drop at another exit": ("if r1 > 5 goto out\nr0 = 2\nexit\nout:\nr0 = 1\nexit", {PASS, DROP}),
    "kept in another register": ("r7 = 2\ncall bpf_ktime_get_ns\nr0 = r7\nexit", {PASS}),
    "a helper's": ("call bpf_ktime_get_ns\nexit", None),
    "a function's": ("call verdict\nexit\nverdict:\nr0 = 2\nexit", {PASS}),
    "either of a function's": ("call verdict\nexit\nverdict:\nr0 = 2\nif r1 > 1 goto out\nr0 = 1\nout:\nexit", None),
    "one that is computed": ("r0 = 1\nr0 <<= 1\nexit", None),
    "through a loop": ("r0 = 2\nr1 = 0\nagain:\nr1 += 1\nif r1 < 5 goto again\nexit", {PASS}),
    "one that a loop counts": ("r0 = 2\nagain:\nr0 += 1\nif r0 < 5 goto again\nexit", None),
    "from the stack": ("r1 = 2\n*(u64 *)(r10 -8) = r1\nr0 = *(u64 *)(r10 -8)\nexit", None),
    "a pointer": ("r0 = r10\nexit", None),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    text, expected = RESULTS[name]
    assert found(text).results == expected


def test_a_constant_that_loading_changes_is_not_known():
    assert found("r0 = 2 ll\nexit", stamped=[0]).results is None


WRITES = {
    "a packet": (XDP + "*(u8 *)(r6 +0) = 1" + OUT, programs.XDP),
    "a packet, at a distance": (XDP + "r4 = 3\nr6 += r4\n*(u8 *)(r6 +0) = 1" + OUT, programs.XDP),
    "a packet, the other way round": (XDP + "r4 = 3\nr4 += r6\n*(u8 *)(r4 +0) = 1" + OUT, programs.XDP),
    "a packet, atomically": (XDP + "r4 = 1\nlock *(u32 *)(r6 +0) += r4" + OUT, programs.XDP),
    "metadata": ("r6 = *(u32 *)(r1 +8)\n*(u8 *)(r6 +0) = 1\nr0 = 2\nexit", programs.XDP),
    "by way of the stack": (
        XDP + "*(u64 *)(r10 -8) = r6\nr6 = 0\nr7 = *(u64 *)(r10 -8)\n*(u8 *)(r7 +1) = 1" + OUT, programs.XDP,
    ),
    "by way of a pointer to the stack": (
        XDP + "r7 = r10\nr7 += -16\n*(u64 *)(r7 +8) = r6\nr8 = *(u64 *)(r10 -8)\n*(u8 *)(r8 +1) = 1" + OUT,
        programs.XDP,
    ),
    "in a function": (XDP + "r1 = r6\ncall change" + OUT + "change:\n*(u8 *)(r1 +0) = 1\nr0 = 0\nexit", programs.XDP),
    "in a function, through its caller's frame": (
        XDP + "*(u64 *)(r10 -8) = r6\nr1 = r10\nr1 += -8\ncall change" + OUT
        + "change:\nr1 = *(u64 *)(r1 +0)\n*(u8 *)(r1 +0) = 1\nr0 = 0\nexit", programs.XDP,
    ),
    "where a function has put it into its caller's frame": (
        XDP + "r1 = r6\nr2 = r10\nr2 += -8\ncall put\nr1 = *(u64 *)(r10 -8)\n*(u8 *)(r1 +0) = 1" + OUT
        + "put:\n*(u64 *)(r2 +0) = r1\nr0 = 0\nexit", programs.XDP,
    ),
    "in a callback": (
        XDP + "*(u64 *)(r10 -8) = r6\nr1 = 4\nr2 = subprog[turn]\nr3 = r10\nr3 += -8\nr4 = 0\ncall bpf_loop" + OUT
        + "turn:\nr1 = *(u64 *)(r2 +0)\n*(u8 *)(r1 +0) = 1\nr0 = 0\nexit", programs.XDP,
    ),
    "what a function returns": (
        "r9 = r1\ncall data\n*(u8 *)(r0 +0) = 1\nr0 = 2\nexit\ndata:\nr0 = *(u32 *)(r1 +0)\nexit", programs.XDP,
    ),
    "on one way only": (
        "r6 = r10\nr6 += -8\nif r2 > 1 goto on\nr6 = *(u32 *)(r1 +0)\non:\n*(u8 *)(r6 +0) = 1\nr0 = 2\nexit",
        programs.XDP,
    ),
    "a helper's output": (XDP + "r1 = map[queue]\nr2 = r6\ncall bpf_map_peek_elem" + OUT, programs.XDP),
    "a packet at tcx": ("r6 = *(u32 *)(r1 +76)\n*(u8 *)(r6 +0) = 1\nr0 = -1\nexit", programs.SCHED_CLS),
    "a packet's mark": ("*(u32 *)(r1 +8) = r2\nr0 = -1\nexit", programs.SCHED_CLS),
    "a register of a process": ("r2 = 1\nr6 = r1\n*(u64 *)(r6 +80) = r2\nr0 = 0\nexit", programs.KPROBE),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    text, kind = WRITES[name]
    code = assemble(text).code
    assert len(conduct(code, kind).writes) == 1


OWN = {
    "the stack": "r1 = 1\n*(u64 *)(r10 -8) = r1\nr2 = r10\nr2 += -8\n*(u64 *)(r2 +0) = 5\nr0 = 2\nexit",
    "a map's value": (
        XDP + "*(u64 *)(r10 -8) = 0\nr1 = map[m]\nr2 = r10\nr2 += -8\ncall bpf_map_lookup_elem\nif r0 == 0 goto out\n"
        "r4 = *(u8 *)(r6 +3)\nr0 += r4\n*(u8 *)(r0 +0) = 1" + OUT
    ),
    "at the packet's length": (
        XDP + "r2 -= r6\nr1 = map[m][0]+0\nr1 += r2\n*(u8 *)(r1 +0) = 1" + OUT
    ),
    "a register that held a packet": (XDP + "r6 = r10\n*(u64 *)(r6 -8) = 1" + OUT),
    "a slot that is not the packet's": (
        XDP + "*(u64 *)(r10 -8) = r6\nr7 = r10\n*(u64 *)(r10 -16) = r7\nr8 = *(u64 *)(r10 -16)\n*(u64 *)(r8 -24) = 1"
        + OUT
    ),
    "a key that is a packet's": (XDP + "r1 = map[m]\nr2 = r6\ncall bpf_map_lookup_elem" + OUT),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_what_is_its_own_it_may_write(name):
    assert found(OWN[name]).writes == ()
    assert found(OWN[name]).results == {PASS}


# What the embedded engine's verifier knows of each path holds of what is known of all ways.


def mistakes(sample):
    """Registers of which less can be than there is, by instruction; None if the program is refused."""
    states = {}
    try:
        structure.check(sample.code)
        verify(sample.spec(), {each.name: each for each in sample.maps},
               observe=lambda at, state: states.setdefault(at, set()).add(
                   (len(state.frames) - 1, tuple(state.frame.registers[:10]))))  # fmt: skip
    except (Refusal, structure.StructureError):
        return None
    known = Interpretation(list(sample.code), sample.kind, frozenset()).states
    return [
        (at, register, value)
        for at, found in states.items() for level, registers in found for register, value in enumerate(registers)
        if value is not None and not is_covered(value, known[at][register], level)
    ]  # fmt: skip


POINTERS = {"context": CONTEXT, "packet": PACKET, "packet_meta": PACKET, "stack": STACK}


def is_covered(value, known, level):
    if known is None:
        return False
    if isinstance(value, ScalarValue):
        return bool(known.points_to) or known.number is None or (not value.mask and value.value == known.number)
    assert isinstance(value, PointerValue)
    bit = POINTERS.get(value.kind, 0)
    if bit == STACK and known.points_to == STACK and known.number is not None:
        return (
            value.referent == level and not value.variable.mask and value.offset + value.variable.value == known.number
        )
    return known.points_to & bit == bit


@pytest.mark.share(1)
@pytest.mark.parametrize("make", [from_seed, mutated], ids=["random", "changed"])
def test_no_path_has_what_is_not_known(make):
    looked = 0
    for seed in range(900_000, 900_000 + count_of(200)):
        sample = make(seed)
        wrong = mistakes(sample)
        assert not wrong, f"program {seed}"
        looked += wrong is not None
    assert looked > count_of(200) / 4


# Whole specs


def of_program(code, kind, attach_type=0, **more):
    made = ProgramSpec("p", kind, attach_type, encode(code), (), (), **more)
    return TracingSpec((), (made,), (), (), (), ())


@pytest.mark.parametrize("kind", range(len(programs.NAMES)))
def test_a_type_that_is_not_known_to_observe_needs_permission(kind):
    """Even one whose program does nothing at all."""
    reason = harm(of_program([mov_imm(0, 0), exit_()], kind))
    if kind in (programs.SOCKET_FILTER, programs.KPROBE, programs.TRACEPOINT, programs.PERF_EVENT,
                programs.RAW_TRACEPOINT):  # fmt: skip
        assert reason == ""
    else:
        assert reason.startswith("program p ")


@pytest.mark.parametrize("kind", [65537, -1, 1 << 40])
def test_types_of_kernels_to_come_do(kind):
    assert harm(of_program([mov_imm(0, 0), exit_()], kind))


@pytest.mark.parametrize("attach_type", range(60))
def test_attach_types_that_decide_do(attach_type):
    harmless = (programs.TRACE_RAW_TP, programs.TRACE_FENTRY, programs.TRACE_FEXIT, programs.TRACE_ITER)
    assert bool(harm(of_program([mov_imm(0, 0), exit_()], programs.TRACING, attach_type))) == (
        attach_type not in harmless
    )


@pytest.mark.parametrize(("kind", "result", "needs"), [
    (programs.XDP, 2, False), (programs.XDP, 1, True), (programs.XDP, 0, True), (programs.XDP, 3, True),
    (programs.SCHED_CLS, -1, False), (programs.SCHED_CLS, 0, True), (programs.SCHED_CLS, 2, True),
    (programs.SOCKET_FILTER, 0, False), (programs.KPROBE, 1, False),
])  # fmt: skip
def test_results_that_decide_do(kind, result, needs):
    assert bool(harm(of_program([mov_imm(0, result), exit_()], kind))) == needs


CHANGES = (
    "probe_write_user send_signal send_signal_thread override_return skb_store_bytes xdp_adjust_head redirect "
    "clone_redirect setsockopt sys_bpf set_retval msg_redirect_map bprm_opts_set skb_change_type xdp_store_bytes"
)


@pytest.mark.share(148)
@pytest.mark.parametrize("number", range(1, len(NAMES)))
def test_helpers_that_are_not_known_to_observe_do(number):
    code = [call(number), mov_imm(0, 0), exit_()]
    reason = harm(of_program(code, programs.RAW_TRACEPOINT))
    assert bool(reason) == (number in observing.CHANGING)
    assert NAMES[number] not in CHANGES.split() or f"bpf_{NAMES[number]} " in reason


def test_helpers_and_functions_of_kernels_to_come_do():
    assert harm(of_program([call(len(NAMES)), exit_()], programs.KPROBE))
    asked = [call_kfunc(5), mov_imm(0, 0), exit_()]
    assert harm(of_program(asked, programs.TRACING, programs.TRACE_FENTRY), lambda number: "") != ""
    assert harm(of_program(asked, programs.TRACING, programs.TRACE_FENTRY), lambda number: "bpf_rcu_read_lock") == ""
    of_module = [call_kfunc(5, 1), mov_imm(0, 0), exit_()]
    assert harm(of_program(of_module, programs.TRACING, programs.TRACE_FENTRY), lambda number: "bpf_rcu_read_lock")


@pytest.mark.parametrize("kind", range(1, len(maps.NAMES) + 1))
def test_maps_that_do_more_than_hold_data_do(kind):
    made = MapSpec("m", kind, 4, 8, 1)
    inside = MapSpec("o", maps.ARRAY_OF_MAPS, 4, 4, 1, inner=made)
    reasons = [harm(TracingSpec((each,), (), (), (), (), ())) for each in (made, inside)]
    assert [bool(each) for each in reasons] == [kind not in observing.MAPS] * 2
    for name in ("sockmap", "devmap", "cpumap", "struct_ops", "xskmap"):
        assert maps.NAMES.index(name) not in observing.MAPS


@pytest.mark.long
def test_commands_do():
    layout = RecordLayout(1, 16, (CommandAction("system", (), ()),))
    assert harm(TracingSpec((), (), (layout,), (), (), ())) == "it calls system()"


DESTRUCTIVE = ("system(", "freopen(", "raise(", "stop(", "copyout")


@pytest.mark.long
@pytest.mark.parametrize("text", {**PROGRAMS, **SAVED}.values())
def test_what_is_compiled_from_d_needs_what_its_source_does(text):
    reason = harm(spec(text))
    assert bool(reason) == any(word in text for word in DESTRUCTIVE), reason


@pytest.mark.long
def test_stamps_are_not_taken_for_constants():
    code = assemble("r0 = 2 ll\nexit").code
    assert harm(of_program(code, programs.XDP)) == ""
    assert "its result is not always 2" in harm(of_program(code, programs.XDP, stamps=(Stamp(0, "cookie"),)))
    assert NUMBERS["send_signal"] in observing.CHANGING
