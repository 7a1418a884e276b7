"""The BTF by which the embedded engine describes itself, and the layouts it keeps its structures in."""

import pytest

from sonde.bpf import btf
from sonde.bpf.btf import Btf
from sonde.engines.embedded.offer import EmbeddedOffer, needs_processes
from sonde.model.probe import Internal, Probe, RawTracepoint, Syscall, Timer, Tracepoint
from sonde.model.target import Target
from sonde.runtime.kernel_types import TRACEPOINTS, description, layout, pointed_to
from sonde.session.registry import Registry

TARGET = Target("x86_64", "6.18.0")


@pytest.fixture(scope="module")
def types():
    return Btf(description())


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    nothing = str(tmp_path_factory.mktemp("nothing"))
    return Registry(TARGET, btf=nothing, tracefs=nothing, offer=EmbeddedOffer())


def test_the_description_is_the_same_each_time():
    assert description() == description()


@pytest.mark.parametrize(
    ("structure", "member", "offset"),
    [("pt_regs", "orig_ax", 120), ("pt_regs", "sp", 152), ("thread_info", "status", 16), ("siginfo", "_sifields", 16)],
)
def test_what_programs_know_by_heart_is_where_linux_has_it(types, structure, member, offset):
    found = types.type(types.find(structure, btf.STRUCT))
    assert next(each.offset for each in found.members if each.name == member) == 8 * offset
    assert layout(f"struct {structure}").offsets[member] == offset


def is_without_elements(types, number):
    """Whether it is an array that begins where its structure ends."""
    found = types.type(number)
    return found.kind == btf.ARRAY and not found.length


def test_every_member_is_aligned_and_inside(types):
    for number in range(1, 200):
        try:
            found = types.type(number)
        except (btf.BtfError, IndexError, KeyError):
            break
        ends = [each.offset // 8 for each in found.members]
        is_open = bool(found.members) and is_without_elements(types, found.members[-1].type)
        assert all(end < found.size for end in ends[: len(ends) - is_open])
        assert found.kind == btf.UNION or ends == sorted(ends)


@pytest.mark.parametrize("name", TRACEPOINTS)
def test_tracepoints_have_their_arguments_with_names(registry, name):
    assert registry.types.tracepoint_parameters(name) == tuple(own for own, _ in TRACEPOINTS[name])
    assert len(registry.types.tracepoint(name)) == len(TRACEPOINTS[name]) == len(pointed_to(name))


def test_arguments_that_point_somewhere_say_where():
    assert pointed_to("signal_generate") == ("", "kernel_siginfo", "task_struct", "", "")


def test_without_the_kernel_s_btf_types_are_the_engine_s_own(registry):
    assert registry.tagged_type("struct", "task_struct").find("comm").offset == 8 * 24
    assert registry.type_named("pid_t") is not None
    assert registry.tagged_type("struct", "inode") is None
    assert registry.enumerator("PIDTYPE_SID")[1] == 3
    assert registry.symbol("jiffies") is None or registry.lacks("data", "`jiffies")[0]


def test_only_what_can_fire_is_matched(registry):
    names = {probe.name for probe in registry.match("proc", "", "", "")}
    assert names >= {"create", "exec", "exec-success", "exec-failure", "exit", "fault", "signal-send", "start"}
    assert not registry.match("io", "", "", "")
    assert not registry.match("sched", "", "", "wakeup")
    assert len(registry.match("syscall", "", "openat", "")) == 2
    assert "no io probes" in registry.mismatch("io", "", "", "start")


@pytest.mark.parametrize(
    ("firing", "fires"),
    [
        (Internal("BEGIN"), True),
        (Syscall(0, "read", False), True),
        (Syscall(3, "read", False, True), False),
        (Timer(1000000, True), True),
        (RawTracepoint("sched_process_exit", 2), True),
        (RawTracepoint("sched_switch", 4), False),
        (Tracepoint("sched", "sched_switch"), False),
    ],
)
def test_what_fires(firing, fires):
    assert EmbeddedOffer().fires(Probe(1, "any", "", "", "", firing)) is fires


@pytest.mark.parametrize(
    ("firing", "needs"), [(Timer(10**9, False), False), (Timer(10**9, True), True), (Syscall(0, "read", True), True)]
)
def test_probes_of_processes_need_some(firing, needs):
    text, remedy = needs_processes([Probe(1, "some", "", "", "", firing)])
    assert bool(text) is bool(remedy) is needs


@pytest.mark.parametrize(
    ("what", "name", "lacks"),
    [("variable", "curthread", True), ("variable", "pid", False), ("variable", "fds", False),
     ("function", "stack", True), ("function", "d_path", True),
     ("function", "ustack", False), ("data", "`max_pfn", True)],
)  # fmt: skip
def test_what_is_refused_says_what_would_help(what, name, lacks):
    text, remedy = EmbeddedOffer().lacks(what, name)
    assert (name in text) is lacks
    assert ("kernel engine" in remedy) is lacks
