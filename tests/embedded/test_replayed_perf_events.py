"""Events of perf.data files that are neither trace events nor clocks fire probes that are listed by their names."""

import subprocess
import sys

import pytest
from support.files import perf_files

from sonde.formats import perf_features
from sonde.formats.perf_data import Event

FREQUENCY = 1 << 10
OWN = 90


@pytest.fixture
def file(tmp_path):
    """Two samples of page faults at a rate, and one of an event that no machine names."""
    events = [
        ("cpu-clock", Event(perf_files.attributes(1, 0, 1000), (2,))),
        ("page-faults", Event(perf_files.attributes(1, 2, 4000, FREQUENCY), (OWN,))),
        ("own", Event(perf_files.attributes(77, 5, 3), (OWN + 1,))),
    ]
    samples = [perf_files.sample(each, 1000 + at, (5, 5)) for at, each in enumerate((OWN, OWN + 1, OWN, 2))]
    told = [(perf_features.EVENT_DESCRIPTIONS, perf_features.event_descriptions(events))]
    path = tmp_path / "perf.data"
    path.write_bytes(perf_files.file(samples, told, events))
    return path


def sonde(path, *words):
    done = subprocess.run([sys.executable, "-m", "sonde", "--replay", path, *words], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def test_they_are_listed(file):
    names = [line.split()[1:] for line in sonde(file, "-l").splitlines()]
    for expected in (
        ["perf", "software", "page-faults-4000hz"], ["perf", "type77", "own-3"], ["profile", "profile-1000ns"],
    ):  # fmt: skip
        assert expected in names


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("perf:::", "page-faults-4000hz own-3 page-faults-4000hz"),
        ("perf:software::page-faults-4000hz", "page-faults-4000hz page-faults-4000hz"),
        ("perf:type77::own-3", "own-3"),
        ("profile-1000ns", "profile-1000ns"),
        ("profile-*", "profile-1000ns"),
    ],
)
def test_they_fire(file, description, expected):
    assert sonde(file, "-qn", f'{description} {{ printf("%s ", probename); }}').split() == expected.split()
