"""Between scrapes and the thread that traces: the one waits for nobody, the others not for ever."""

import threading
import time
from types import SimpleNamespace

import pytest

from sonde.library.export import scrapes as module
from sonde.library.export.scrapes import Scrapes


class Maker:
    """Makes snapshots that are numbers of looks, each of which takes so long."""

    def __init__(self, seconds=0.0):
        self.looks = 0
        self._seconds = seconds

    def take(self, sight):
        self.looks += 1
        return SimpleNamespace(number=self.looks, seconds=self._seconds)


@pytest.fixture
def scrapes():
    made = Scrapes(Maker(), lambda: None)
    made.begin(object())
    return made


def test_nothing_is_read_where_nobody_scrapes():
    maker = Maker()
    made = Scrapes(maker, lambda: None)
    made.begin(object())
    assert {made.poll() for _ in range(100)} == {float("inf")}
    assert maker.looks == 1


def test_a_scrape_gets_what_is_read_after_it_has_come(scrapes):
    found = []
    asking = [threading.Thread(target=lambda: found.append(scrapes.latest().number)) for _ in range(7)]
    for each in asking:
        each.start()
    while any(each.is_alive() for each in asking):
        scrapes.poll()
        time.sleep(0.01)
    assert min(found) >= 2


def test_a_scrape_gets_the_last_snapshot_where_tracing_has_no_time(scrapes, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    assert scrapes.latest().number == 1


def test_reading_takes_a_part_of_the_time_alone():
    maker = Maker(seconds=10)
    made = Scrapes(maker, lambda: None)
    made.begin(object())
    threading.Thread(target=made.latest, daemon=True).start()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        made.poll()
    assert maker.looks == 1
