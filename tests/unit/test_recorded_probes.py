"""Probes of processes in a recording, by all the names that they had: each place once, by the closest name."""

from collections import namedtuple

from hypothesis import given
from hypothesis import strategies as st

from sonde.engines.fired import OtherNames
from sonde.model.probe import Probe, Uprobe
from sonde.providers.pattern import Pattern
from sonde.session.recorded_probes import RecordedPlaces

Source = namedtuple("Source", "probes names")

functions = st.lists(st.text("ab_", min_size=1, max_size=4), min_size=1, max_size=4, unique=True)
places = st.lists(functions, min_size=1, max_size=4)


@given(places, st.text("ab_*?", min_size=1, max_size=4))
def test_a_place_is_there_once_however_many_names_match(names_of_places, pattern):
    """And a probe is there for each of a place's names, as if a script had described them all."""
    probes, names = [], []
    for offset, every in enumerate(names_of_places):
        for own in every:
            names.append(OtherNames(len(probes), (), tuple(each for each in every if each != own)))
            firing = Uprobe(7, "/lib/x", offset, "entry", is_32_bit=False)
            probes.append(Probe(1_000_000 + len(probes), "pid7", "x", own, "entry", firing))
    found = RecordedPlaces(Source(tuple(probes), tuple(names))).match(Pattern("pid7", "x", pattern, ""))
    alone = [RecordedPlaces(Source((each,), ())).match(Pattern("pid7", "x", pattern, "")) for each in probes]
    matching = {each.firing.offset for own in alone for each in own}
    assert sorted(each.firing.offset for each in found) == sorted(matching)
    assert all([each] in alone for each in found)
    assert RecordedPlaces(Source(tuple(probes), ())).by_id(probes[-1].id) == probes[-1]
