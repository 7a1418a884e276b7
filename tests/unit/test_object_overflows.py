"""Objects' sections `perf_event/...`: the events they name, and what is refused; whether a program lets samples
through."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.machine import event_sources

from sonde.arch import registers
from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.helpers import NUMBERS
from sonde.formats import perf_events as perf
from sonde.model.probe import PerfEvent, Timer, Tracepoint
from sonde.model.spec import ProgramSpec
from sonde.objects.errors import ObjectError
from sonde.objects.overflows import overflow
from sonde.objects.sampling import fields_read, lets_through, with_callees

FAULTS = (2, 0, 0)


@pytest.fixture
def root(tmp_path):
    return event_sources.made(tmp_path)


@pytest.mark.parametrize(
    ("rest", "firing"),
    [
        ("", Timer(10**9 // 99, True)),
        ("997", Timer(10**9 // 997, True)),
        ("10ms", Timer(10**7, True)),
        ("software/page-faults/1", PerfEvent("software", FAULTS, 1)),
        ("software/page_faults-u/7", PerfEvent("software", FAULTS, 7, "user")),
        ("software/faults-k/7", PerfEvent("software", FAULTS, 7, "kernel")),
        ("software/cpu-clock/99hz", PerfEvent("software", (0, 0, 0), 10**9 // 99)),
        ("software/task-clock/1ms", PerfEvent("software", (1, 0, 0), 10**6)),
        ("cpu/cycles/10007", PerfEvent("hardware", (0, 0, 0), 10007)),
        ("cpu/cycles-u/10007", PerfEvent("hardware", (0, 0, 0), 10007, "user")),
        ("cpu/branch-misses/7", PerfEvent("hardware", (5, 0, 0), 7)),
        ("cpu/LLC-load-misses/7", PerfEvent("hw-cache", (0x10002, 0, 0), 7)),
        ("cpu/mem-loads/101", PerfEvent("cpu", (0x1CD, 3, 0), 101)),
        ("cpu/cache_misses/7", PerfEvent("cpu", (0x412E, 0, 0), 7)),
        ("other/reads/7", PerfEvent("other", (9, 0, 0), 7)),
        ("tracepoint/sched/sched_switch/1", Tracepoint("sched", "sched_switch", period=1)),
    ],
)
def test_a_section_names_an_event_as_the_provider_perf_does(root, rest, firing):
    assert overflow(rest, f"perf_event/{rest}", root) == firing


@pytest.mark.share(37)
@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("never", "is no rate"),
        ("0hz", "is no rate"),
        ("100001hz", "is too fast"),
        ("9us", "is too fast"),
        ("\u0669\u0669hz", "is no rate"),
        ("software/page-faults", "is no event, with how many"),
        ("software/page-faults/", "is no event, with how many"),
        ("software/page-faults/0", "0 does not say how many page-faults"),
        ("software/page-faults/many", "many does not say how many page-faults"),
        ("software/page-faults/9hz", "a rate is for clocks, and page-faults is counted"),
        ("software/cpu-clock/9999", "clocks count nanoseconds, at least 10000"),
        ("software/page-faults/9223372036854775808", "less than 2"),
        ("software/page-fault/1", "event source software has no event page-fault; it has cpu-clock"),
        ("other/writes/1", "event source other has no event writes; it has reads"),
        ("nowhere/reads/1", "there is no event source nowhere; event sources are cpu, other, software"),
        ("cpu/with-parameter/1", "the event has a parameter, ldlat"),
        ("../reads/1", "there is no event source"),
        ("\0/reads/1", "there is no event source"),
        ("tracepoint/sched/1", "does not name a trace event"),
        ("tracepoint/sched/sched_switch/0", "0 is no count of trace events"),
        ("tracepoint/sched/sched_switch/9hz", "9hz is no count of trace events"),
        ("a/b/c/d", "is no event, with how many"),
    ],
)
def test_a_section_that_names_none_is_refused_by_what_is_wrong(root, rest, reason):
    with pytest.raises(ObjectError) as error:
        overflow(rest, f"perf_event/{rest}", root)
    assert error.value.text.startswith(f"perf_event/{rest}")
    assert reason in error.value.text


WORDS = (
    "software",
    "cpu",
    "tracepoint",
    "page-faults",
    "cycles",
    "sched",
    "",
    "-u",
    "1",
    "99hz",
    "0",
    "\0",
    "..",
    "%s",
)


@pytest.mark.long
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=6).map("/".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_a_section_is_called_is_an_event_or_refused(root, rest):
    with suppress(ObjectError):
        assert isinstance(overflow(rest, f"perf_event/{rest}", root), (Timer, PerfEvent, Tracepoint))


@pytest.mark.parametrize("event", ["cycles", "LLC-loads", "mem-loads", "branch-misses-u"])
@pytest.mark.parametrize("source", ["cpu", "hardware"])
def test_hardware_events_are_refused_where_there_is_no_pmu(tmp_path, source, event):
    with pytest.raises(ObjectError, match=r"no performance monitoring unit \(PMU\)"):
        overflow(f"{source}/{event}/7", "s", event_sources.made(tmp_path, without=("cpu",)))


CLOCK, HIT = Timer(10**6, True), Tracepoint("a", "b", period=1)


def result(number):
    return [i.mov_imm(i.R0, number), i.exit_()]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (result(0), False),
        (result(1), True),
        ([i.load(8, i.R0, i.R1, 0), i.exit_()], True),
        ([i.mov_imm(i.R0, 0), i.jump_imm(i.JEQ, i.R0, 0, 1), i.mov_imm(i.R0, 1), i.exit_()], True),
        ([i.mov_imm(i.R0, 0), i.jump_imm(i.JEQ, i.R0, 0, 1), i.mov_imm(i.R0, 0), i.exit_()], False),
        ([i.call(NUMBERS["tail_call"]), *result(0)], True),
    ],
)
def test_samples_are_read_where_some_result_is_not_zero(code, expected):
    """That of a program called by a tail call nobody knows; a program that may only return 0 takes no rings."""
    assert lets_through(code, programs.PERF_EVENT, [CLOCK]) == expected
    assert lets_through(code, programs.TRACEPOINT, [HIT]) == expected
    assert not lets_through(code, programs.TRACEPOINT, [Tracepoint("a", "b")])
    assert not lets_through(code, programs.PERF_EVENT, [])


def test_a_constant_that_is_put_in_later_may_be_any():
    code = [*i.ld_imm64(i.R0, 0), i.exit_()]
    assert not lets_through(code, programs.PERF_EVENT, [CLOCK])
    assert lets_through(code, programs.PERF_EVENT, [CLOCK], [0])


def test_a_program_that_calls_others_asks_for_what_they_read():
    call, alone = [i.call(NUMBERS["tail_call"]), *result(0)], result(0)
    made = [
        ProgramSpec(str(number), kind, 0, i.encode(code), (), (), sample_fields=fields)
        for number, (kind, code, fields) in enumerate([
            (programs.PERF_EVENT, call, 1), (programs.PERF_EVENT, alone, 2), (programs.PERF_EVENT, alone, 8),
            (programs.TRACEPOINT, call, 0),
        ])
    ]  # fmt: skip
    assert [each.sample_fields for each in with_callees(made)] == [11, 2, 8, 0]


def test_the_address_is_asked_for_where_its_place_in_the_context_is_read():
    place = registers.SIZE + 8
    assert fields_read([i.load(8, i.R0, i.R1, place)], programs.PERF_EVENT) == perf.SAMPLE_ADDR
    assert not fields_read([i.load(8, i.R0, i.R1, place - 8)], programs.PERF_EVENT)
    assert not fields_read([i.load(8, i.R0, i.R1, place)], programs.TRACEPOINT)
