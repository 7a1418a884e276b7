"""The providers cpc and perf: how events are spelled, what is refused, where a source wants the terms of an event."""

import pytest

from sonde.machine import event_sources
from sonde.machine.event_sources import EventSourceError
from sonde.model.errors import BAD_DESCRIPTION, SourceError
from sonde.model.probe import PerfEvent, Probe
from sonde.providers.counted import CountedEvents
from sonde.providers.cpc import CounterNames
from sonde.providers.pattern import Pattern
from sonde.providers.perf_sources import SourceNames
from sonde.providers.provider import CPC, PERF

FILES = {
    "software/type": "1",
    "cpu/type": "4",
    "cpu/format/event": "config:0-7,32-35",
    "cpu/format/umask": "config:8-15",
    "cpu/format/edge": "config:18",
    "cpu/format/ldlat": "config1:0-15",
    "cpu/format/frontend": "config2:4-27",
    "cpu/format/odd": "somewhere",
    "cpu/events/cache-misses": "event=0x2e,umask=0x41",
    "cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
    "cpu/events/mem-loads.scale": "2.5",
    "cpu/events/wide_one": "event=0xfab,edge",
    "cpu/events/ahead": "frontend=0x12,config=0x100",
    "cpu/events/with-parameter": "event=0x1,ldlat=?",
    "cpu/events/too-wide": "umask=0x100",
    "cpu/events/unknown-term": "flavour=3",
    "uncore/type": "17",
    "uncore/cpumask": "0,4-5",
    "uncore/events/reads": "config=0x7",
    "other/type": "18",
    "other/events/reads": "config=0x9",
}


@pytest.fixture
def root(tmp_path):
    for path, text in FILES.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return str(tmp_path)


def cpc(root):
    return CountedEvents("cpc", CPC, CounterNames(root))


def perf(root):
    return CountedEvents("perf", PERF, SourceNames(root))


def firing(provider, name, module=""):
    found = provider.match(Pattern("", module, "", name))
    return found[0].firing if found else None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu_clock-all-1000000", PerfEvent("software", (0, 0, 0), 1_000_000)),
        ("cpu_clock-all-10000", PerfEvent("software", (0, 0, 0), 10_000)),
        ("cpu_clock-all-9999", None),
        ("task_clock-user-500000", PerfEvent("software", (1, 0, 0), 500_000, "user")),
        ("page_faults-kernel-1", PerfEvent("software", (2, 0, 0), 1, "kernel")),
        ("faults-all-1", PerfEvent("software", (2, 0, 0), 1)),
        ("perf_count_sw_cpu_clock-user-20000", PerfEvent("software", (0, 0, 0), 20_000, "user")),
        ("perf_count_sw_page_faults_maj-all-1", PerfEvent("software", (6, 0, 0), 1)),
        ("perf_count_hw_ref_cpu_cycles-all-1", PerfEvent("hardware", (9, 0, 0), 1)),
        ("cgroup_switches-all-7", PerfEvent("software", (11, 0, 0), 7)),
        ("cpu_cycles-all-1000", PerfEvent("hardware", (0, 0, 0), 1000)),
        ("ref_cycles-all-1000", PerfEvent("hardware", (9, 0, 0), 1000)),
        ("LLC_load_misses-user-3", PerfEvent("hw-cache", (0x10002, 0, 0), 3, "user")),
        ("dTLB_stores-all-3", PerfEvent("hw-cache", (0x103, 0, 0), 3)),
        ("page_faults-all-0", None),
        ("page_faults-all-9223372036854775808", None),
        ("page_faults-every-1", None),
        ("page-faults-all-1", None),
        ("page_faults-1", None),
        ("bpf_output-all-1", None),
        ("nonsense-all-1", None),
    ],
)
def test_names_of_cpc(root, name, expected):
    assert firing(cpc(root), name) == expected


def test_events_are_listed_by_the_names_of_the_headers(root):
    """As DTrace lists them."""
    names = [probe.name for probe in cpc(root).match(Pattern("cpc"))]
    assert "perf_count_sw_cpu_clock-all-1000000" in names
    assert "perf_count_sw_page_faults_min-all-1" in names
    assert "perf_count_hw_cpu_cycles-all-1000000" in names


def test_hardware_events_need_a_performance_monitoring_unit(tmp_path):
    (tmp_path / "software").mkdir()
    provider = cpc(str(tmp_path))
    assert firing(provider, "cpu_cycles-all-1000") is None
    why = provider.absence(Pattern("cpc", "", "", "cpu_cycles-all-1000"))
    assert "no performance monitoring unit" in why
    assert "page_faults" in why
    assert not [each for each in provider.match(Pattern("cpc")) if each.firing.source != "software"]


def test_a_unit_for_some_cpus_counts_hardware_events_too(tmp_path):
    """So on machines with two kinds of CPUs, and on other architectures."""
    (tmp_path / "armv8_pmuv3_0").mkdir()
    (tmp_path / "armv8_pmuv3_0" / "cpus").write_text("0-3\n")
    assert firing(cpc(str(tmp_path)), "cpu_cycles-all-1000") is not None


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("cpu", "cache-misses-100", PerfEvent("cpu", (0x412E, 0, 0), 100)),
        ("cpu", "cache_misses-100", PerfEvent("cpu", (0x412E, 0, 0), 100)),
        ("cpu", "cache-misses-u-100", PerfEvent("cpu", (0x412E, 0, 0), 100, "user")),
        ("cpu", "mem-loads-k-2", PerfEvent("cpu", (0x1CD, 3, 0), 2, "kernel")),
        ("cpu", "wide_one-1", PerfEvent("cpu", (0xF000400AB, 0, 0), 1)),
        ("cpu", "ahead-1", PerfEvent("cpu", (0x100, 0, 0x120), 1)),
        ("software", "page-faults-1", PerfEvent("software", (2, 0, 0), 1)),
        ("software", "cpu-clock-9999", None),
        ("software", "page_faults-user-1", None),
        ("cpu", "mem-loads.scale-1", None),
        ("cpu", "cache-misses", None),
        ("cpu", "cache-misses-0", None),
        ("uncore", "cache-misses-1", None),
        ("elsewhere", "cache-misses-1", None),
    ],
)
def test_names_of_perf(root, module, name, expected):
    assert firing(perf(root), name, module) == expected


def test_without_a_source_it_is_every_one_that_has_the_event(root):
    found = perf(root).match(Pattern("perf", "", "", "reads-5"))
    assert [(probe.module, probe.firing.config[0]) for probe in found] == [("other", 9), ("uncore", 7)]


@pytest.mark.parametrize(
    ("event", "why"),
    [("with-parameter", "parameter, ldlat"), ("too-wide", "does not fit"), ("unknown-term", "where flavour goes")],
)
def test_events_that_no_probe_can_name(root, event, why):
    with pytest.raises(SourceError, match=why) as caught:
        perf(root).match(Pattern("perf", "cpu", "", f"{event}-1"))
    assert caught.value.kind == BAD_DESCRIPTION


def test_a_place_that_is_not_understood(root):
    with pytest.raises(EventSourceError, match="somewhere"):
        event_sources.encode("cpu", "odd=1", root)


@pytest.mark.parametrize(
    ("module", "name", "why"),
    [
        ("nowhere", "reads-1", "no event source nowhere"),
        ("cpu", "reads-1", "no event reads"),
        ("", "reads", "EVENT-COUNT"),
        ("software", "cpu-clock-1", "at least 10000"),
    ],
)
def test_why_there_is_no_such_probe(root, module, name, why):
    assert why in perf(root).absence(Pattern("perf", module, "", name))


def test_identifiers_lead_back_to_probes(root):
    for provider in (cpc(root), perf(root)):
        listed = provider.match(Pattern())
        made = provider.match(Pattern("", "", "", "page_faults-all-13" if provider.match(Pattern("", "", "", "*all*"))
                                      else "reads-13"))  # fmt: skip
        assert made
        assert all(provider.by_id(probe.id) == probe for probe in [*listed, *made])
        assert len({probe.id for probe in [*listed, *made]}) == len(listed) + len(made)


def test_sources_of_a_package_name_the_cpus_that_count(root):
    assert event_sources.cpus("uncore", root) == (0, 4, 5)
    assert event_sources.cpus("cpu", root) == ()
    assert event_sources.number("uncore", root) == 17


def test_events_of_a_recording_come_first_whatever_this_machine_has(tmp_path):
    faults, clock = PerfEvent("software", (2, 0, 0), 4000), PerfEvent("software", (0, 0, 0), 5)
    recorded = [
        Probe(7, "perf", "software", "", "page-faults-4000hz", faults),
        Probe(8, "perf", "software", "", "cpu-clock-1000000", clock),
        Probe(9, "perf", "type77", "", "0x1-9", PerfEvent("cpu", (1, 0, 0), 9)),
        Probe(10, "cpc", "", "", "other", faults),
    ]
    provider = CountedEvents("perf", PERF, SourceNames(str(tmp_path)), recorded)
    assert [str(each) for each in provider.match(Pattern("perf"))][:3] == [str(each) for each in recorded[:3]]
    (found,) = provider.match(Pattern("", "soft*", "", "page-faults-4000hz"))
    assert found.firing == faults
    assert provider.by_id(found.id) == found
    assert firing(provider, "cpu-clock-1000000", "software") == clock
    assert firing(provider, "0x1-9") == PerfEvent("cpu", (1, 0, 0), 9)
    assert firing(provider, "0x1-9", "software") is None
