"""Programs of an object that count the same event in two ways: found by their sections."""

import pytest

from sonde.model.spec import ProbeSpec
from sonde.objects.alternatives import alternatives
from sonde.objects.sections import SectionRequest


def found(*sections, idle=()):
    requests = {
        f"program{n}": SectionRequest(1, firings=() if n in idle else (ProbeSpec(None, 0),), shown=section)
        for n, section in enumerate(sections)
    }
    return [(event, [section for _, section in programs]) for event, programs in alternatives(requests)]


@pytest.mark.parametrize(
    ("first", "second", "event"),
    [
        ("tp_btf/sched_switch", "raw_tp/sched_switch", "sched_switch"),
        ("tracepoint/sched/sched_switch", "tp_btf/sched_switch", "sched_switch"),
        ("tp/irq/irq_handler_entry", "raw_tracepoint/irq_handler_entry", "irq_handler_entry"),
        ("raw_tp.w/x", "tp/a/x", "x"),
        ("kprobe/vfs_read", "fentry/vfs_read", "vfs_read"),
        ("kprobe/vfs_read", "fentry.s/vfs_read", "vfs_read"),
        ("kretprobe/vfs_read", "fexit/vfs_read", "the return of vfs_read"),
        ("?kretprobe/vfs_read", "fexit/vfs_read", "the return of vfs_read"),
    ],
)
def test_two_ways_to_one_event(first, second, event):
    assert found(first, second) == [(event, [first, second])]
    assert found(second, "perf_event", first) == [(event, [second, first])]
    assert found(first, second, idle=(0,)) == []


@pytest.mark.parametrize(
    "sections",
    [
        ("tp_btf/sched_switch", "tp_btf/sched_switch"),
        ("kprobe/vfs_read", "kretprobe/vfs_read"),
        ("fentry/vfs_read", "fexit/vfs_read"),
        ("kprobe/vfs_read", "fentry/vfs_write"),
        ("kprobe/vfs_read+0x10", "fentry/vfs_read"),
        ("uprobe/a:f", "uretprobe/a:f"),
        ("tracepoint/syscalls/sys_enter_openat", "tracepoint/syscalls/sys_exit_openat"),
        ("perf_event", "iter/task", "uprobe", "ksyscall/openat"),
    ],
)
def test_what_is_no_alternative(sections):
    assert found(*sections) == []
