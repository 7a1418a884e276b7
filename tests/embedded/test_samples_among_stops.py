"""Samples and stops are taken up in the order of their times, and each held thread is let go by its own record."""

import os

from hypothesis import given
from hypothesis import strategies as st

from sonde.engines.embedded.events import Events
from sonde.engines.embedded.sources.interventions import Interventions
from sonde.engines.embedded.sources.sampling import SampledMemory, Sampling
from sonde.engines.embedded.sources.task_events import ClockSample, WantedEvents
from sonde.engines.embedded.tracer import stops


class Stopped:
    """In the place of Tracees: records of the guardian as they are taken, held ones anywhere, and who was let go."""

    def __init__(self, batches, first):
        self.descriptor = os.eventfd(0)
        self.batches, self.next, self.released = list(batches), first, []

    def take(self, most):
        records = self.batches.pop(0) if self.batches else []
        number = self.next
        self.next += len(records)
        return number, records

    def has_more(self):
        return bool(self.batches)

    def resume(self, number, tid):
        self.released.append((number, tid))


class Samples:
    """In the place of TaskEvents."""

    def __init__(self, times):
        self.times, self.lost, self.descriptors = times, 0, ()
        self.wanted = WantedEvents((), False, False)

    def take(self):
        found = [ClockSample(when, 7, 0, 0, b"", 0, b"") for when in self.times]
        self.times = []
        return found


class Clocks:
    next = 0
    sampled = ()

    def fire(self, clock):
        raise AssertionError


class Group:
    def __init__(self, tracees):
        self.tracees = tracees


TIMES = st.lists(st.integers(1, 60), max_size=20)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=20), TIMES, st.integers(0, 9), st.integers(1, 20)
)
def test_a_held_thread_is_let_go_by_the_number_of_its_own_record(drawn, samples, first, size):
    found = [
        (stops.EXEC, stops.HELD if held else 0, 100 + place, when, *[0] * 15)
        for place, (when, held) in enumerate(sorted(drawn, key=lambda each: each[0]))
    ]
    tracees = Stopped([found[at : at + size] for at in range(0, len(found), size)], first)
    seen = []
    clocks = Clocks()
    sampling = Sampling(Samples(samples), SampledMemory(lambda *place: b""), None, None, clocks, lambda tid: None)
    events = Events(
        Group(tracees), {stops.EXEC: seen.append}, clocks, lambda for_data: False, Interventions(tracees), [sampling]
    )
    events._handlers[0] = seen.append
    # Behind a held record one look ends; what comes later is found by the next.
    for _ in range(len(found) + 2):
        events._take_up_all(False, 1 << 62)
    os.close(tracees.descriptor)
    assert tracees.released == [(first + place, each[2]) for place, each in enumerate(found) if each[1] & stops.HELD]
    assert [each for each in seen if each[0]] == found
    assert len(seen) - len(found) == len(samples)
    if len(found) <= size:
        assert [each[3] for each in seen] == sorted(each[3] for each in seen)
