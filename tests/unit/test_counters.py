"""Losses are told once, as differences, per CPU where the programs count them there."""

import struct

from support.files.records import FakeTracing

from sonde.consume.counters import Counters
from sonde.consume.events import Drop
from sonde.model.named_maps import COUNTERS, SKIPPED


def counted(**per_cpu):
    """The contents of the map `counters` with two CPUs."""
    words = [[per_cpu.get(name, (0, 0))[cpu] for name in COUNTERS] for cpu in (0, 1)]
    return b"".join(struct.pack(f"<{len(COUNTERS)}Q", *row) for row in words)


def test_a_loss_is_told_once():
    tracing = FakeTracing()
    counters = Counters(tracing)
    tracing.write_map("counters", bytes(4), counted(records=(3, 5), variables=(1, 1)))
    assert list(counters.drops()) == [Drop("records", 0, 3), Drop("records", 1, 5), Drop("variables", None, 2)]
    assert list(counters.drops()) == []
    tracing.write_map("counters", bytes(4), counted(records=(3, 12), variables=(1, 1)))
    assert list(counters.drops()) == [Drop("records", 1, 7)]


def test_firings_that_the_engine_skipped_are_losses():
    """They are counted by the engine for all CPUs together."""
    tracing = FakeTracing()
    counters = Counters(tracing)
    tracing.write_map("counters", bytes(4), counted())
    tracing.write_map(SKIPPED, b"", struct.pack("<Q", 11))
    assert list(counters.drops()) == [Drop("nested", None, 11)]
    tracing.write_map(SKIPPED, b"", struct.pack("<Q", 13))
    assert list(counters.drops()) == [Drop("nested", None, 2)]
