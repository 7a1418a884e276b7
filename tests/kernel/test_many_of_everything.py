"""What a session does in the kernel grows with what it has to do, and not with its square: calls are counted."""

import os
from collections import Counter

import pytest
from support.d.d_run import Run, compilation
from support.machine.access import needs

from sonde.codegen.intermediate import numbering
from sonde.engines.kernel import commands, syscalls

pytestmark = needs("CAP_BPF", "CAP_PERFMON")


@pytest.fixture
def called(monkeypatch):
    """How often each command of bpf(2) is called."""
    counts = Counter()
    original = commands.bpf

    def counting(command, attributes):
        counts[command] += 1
        return original(command, attributes)

    monkeypatch.setattr(commands, "bpf", counting)
    assert original is syscalls.bpf
    return counts


def aggregations(count):
    return "BEGIN { " + " ".join(f"@a{n} = count();" for n in range(count)) + " }"


def test_many_aggregations_are_put_into_their_array_at_once(called):
    """An update of an array of maps waits for all running programs; one of many elements waits once."""
    with Run(aggregations(211)) as run:
        run.begin()
        assert [list(run.aggregation(f"a{n}").values()) for n in (0, 210)] == [[(1,)], [(1,)]]
    assert called[commands.MAP_CREATE] >= 211
    assert called[commands.MAP_UPDATE_ELEM] + called[commands.MAP_UPDATE_BATCH] < 20


def test_value_numbering_looks_at_each_instruction_once(monkeypatch):
    """Blocks that dominate each other a thousand deep cost no more each than a few."""
    steps = Counter()
    original = numbering._Numbering.rewrite

    def counting(self, instruction, scope):
        steps["rewritten"] += 1
        steps["entered"] = max(steps["entered"], len(scope._added))
        return original(self, instruction, scope)

    monkeypatch.setattr(numbering._Numbering, "rewrite", counting)
    counts = []
    for number in (50, 100, 200):
        steps.clear()
        compilation(aggregations(number)).functions()
        counts.append(steps["rewritten"])
        assert steps["entered"] > number
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_programs_leave_their_tracepoints_in_the_reverse_order(monkeypatch):
    """The kernel waits for a grace period where the first of two programs at a tracepoint goes before the second."""
    with Run("rawtp:::sched_switch { @ = count(); } sdt:::sched_switch { @ = count(); }") as run:
        run.attach()
        links = [each.descriptor for each in run.tracing._attachments if not each.closing_waits]
        closed, original = [], os.close

        def close(descriptor):
            closed.append(descriptor)
            original(descriptor)

        monkeypatch.setattr(os, "close", close)
        run.tracing.close()
        monkeypatch.undo()
    assert len(links) == 2
    assert [each for each in closed if each in links] == links[::-1]
