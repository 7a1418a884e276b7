"""What a perf.data file says of the trace events whose samples it has."""

import struct

import pytest

from sonde.formats.perf_tracing_data import tracing_data
from sonde.recording.trace_events import of_events

FILES = {
    "header_page": "page",
    "header_event": "event",
    "enable": "0",
    "sched/enable": "0",
    "sched/sched_switch/id": "308\n",
    "sched/sched_switch/format": "name: sched_switch\n",
    "sched/sched_wakeup/id": "309\n",
    "sched/sched_wakeup/format": "name: sched_wakeup\n",
    "irq/softirq_entry/id": "27\n",
    "irq/softirq_entry/format": "name: softirq_entry\n",
}


def sized(text):
    return struct.pack("<Q", len(text)) + text.encode()


def test_the_formats_of_the_events_that_were_sampled_are_in_it(tmp_path):
    for path, text in FILES.items():
        file = tmp_path / "events" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = of_events({308, 27}, str(tmp_path))
    assert found.startswith(b"\x17\x08\x44tracing0.6\0\0\x08\0\x10\0\0header_page\0" + sized("page"))
    assert b"header_event\0" + sized("event") in found
    assert struct.pack("<I", 2) + b"irq\0" + struct.pack("<I", 1) + sized("name: softirq_entry\n") in found
    assert b"sched\0" + struct.pack("<I", 1) + sized("name: sched_switch\n") in found
    assert b"sched_wakeup" not in found


def test_where_tracefs_is_not_to_be_read_there_is_an_error(tmp_path):
    with pytest.raises(OSError, match="events"):
        of_events({1}, str(tmp_path))


def test_the_byte_order_is_told():
    assert tracing_data(b"", b"", {}, 4096, is_little=False)[14] == 1
