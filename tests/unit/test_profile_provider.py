"""The profile provider: periods, what is refused, identifiers."""

import pytest

from sonde.model.probe import Probe, Timer
from sonde.providers.pattern import Pattern
from sonde.providers.profile import LISTED, ProfileProvider, period


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("profile-97", 10309278),
        ("profile-1000hz", 1_000_000),
        ("tick-5000", 200_000),
        ("tick-200us", 200_000),
        ("tick-200000ns", 200_000),
        ("tick-200000nsec", 200_000),
        ("tick-300usec", 300_000),
        ("tick-7ms", 7_000_000),
        ("tick-7msec", 7_000_000),
        ("tick-3s", 3_000_000_000),
        ("tick-3sec", 3_000_000_000),
        ("tick-2m", 120_000_000_000),
        ("tick-2min", 120_000_000_000),
        ("tick-1h", 3_600_000_000_000),
        ("tick-1hour", 3_600_000_000_000),
        ("tick-1d", 86_400_000_000_000),
        ("tick-1day", 86_400_000_000_000),
        ("tick-5001", None),
        ("tick-199us", None),
        ("tick-199999ns", None),
        ("tick-0", None),
        ("tick-0s", None),
        ("tick-1fortnight", None),
        ("tick--1", None),
        ("tick-", None),
        ("tick-1.5s", None),
        ("profile", None),
        ("tick-99999999999999d", None),
    ],
)
def test_period(name, expected):
    assert period(name) == expected


def test_listed_ones():
    probes = ProfileProvider().match(Pattern("profile"))
    assert [probe.name for probe in probes] == list(LISTED)
    assert probes[0].firing == Timer(10309278, True)
    assert probes[-1].firing == Timer(200_000, False)


def test_a_probe_made_on_request_keeps_its_identifier():
    provider = ProfileProvider()
    (probe,) = provider.match(Pattern("profile", "", "", "tick-3s"))
    assert provider.match(Pattern("profile", "", "", "tick-3s")) == (probe,)
    assert provider.by_id(probe.id) == probe
    assert probe.id not in {listed.id for listed in ProfileProvider().match(Pattern("profile"))}
    assert probe in provider.match(Pattern("profile", "", "", "tick-*"))


def test_globs_do_not_make_probes():
    assert ProfileProvider().match(Pattern("profile", "", "", "tick-3*")) == []


def test_a_module_or_function_matches_nothing():
    provider = ProfileProvider()
    assert not provider.match(Pattern("profile", "vmlinux", "", "tick-1s"))
    assert not provider.match(Pattern("profile", "", "f", "tick-1s"))
    assert provider.match(Pattern("profile", "*", "*", "tick-1s"))


def test_clocks_of_a_recording_are_listed_whatever_their_period():
    recorded = [Probe(1, "profile", "", "", name, Timer(9, True)) for name in ("profile-97", "profile-9ns")]
    provider = ProfileProvider(recorded)
    assert "profile-9ns" in [each.name for each in provider.match(Pattern("profile"))]
    (found,) = provider.match(Pattern("", "", "", "profile-9ns"))
    assert found.firing == Timer(9, True)
    assert provider.by_id(found.id) == found
