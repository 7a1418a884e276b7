"""What processes had mapped, against a model that has every byte on its own."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sonde.symbols import images
from sonde.symbols.images import Images, mark_of, split
from sonde.symbols.mappings import VDSO, Mapping, MappingTable
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, MappingsSnapshot


def mapping(start, size, name, offset=0):
    return Mapping(start, start + size, offset, "fe:00", 1, f"/{name}", True)


def vdso(page):
    return Mapping(page << 12, (page << 12) + 8192, 0, "00:00", 0, VDSO, True)


MAPPINGS = st.builds(
    mapping, st.integers(0, 40), st.integers(0, 15), st.sampled_from("abcdef"), st.integers(0, 3).map(lambda n: n * 64)
)


def place(found, address):
    return found and (found.path, address - found.start + found.offset)


class Model:
    """An address space byte by byte."""

    def __init__(self, places=None):
        self.places = dict(places or {})

    def add(self, each):
        for address in range(each.start, each.end):
            self.places[address] = each.path, address - each.start + each.offset


@given(st.lists(MAPPINGS, max_size=30))
def test_a_mapping_takes_the_place_of_what_was_there(added):
    table, model = MappingTable(), Model()
    for each in added:
        table.add(each)
        model.add(each)
    for address in range(-1, 60):
        assert place(table.find(address), address) == model.places.get(address)
    ends = [(each.start, each.end) for each in table]
    assert all(start < end for start, end in ends)
    assert all(before[1] <= after[0] for before, after in pairwise(ends))


PIDS = st.integers(1, 4)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("map"), PIDS, MAPPINGS),
        st.tuples(st.just("exec"), PIDS, st.none()),
        st.tuples(st.just("fork"), PIDS, PIDS),
        st.tuples(st.just("exit"), PIDS, st.none()),
    ),
    max_size=40,
)


@given(EVENTS)
def test_every_image_that_ever_was_keeps_its_mappings(events):
    images, current, ever, alive = Images(), {}, {}, set()
    pages = iter(range(1000, 2000))

    def begin(pid, model, page):
        current[pid] = page, model
        ever[pid | page << 32] = model

    def execute(pid):
        page = next(pages)
        images.take(Executed(0, pid))
        images.take(Mapped(0, pid, vdso(page)))
        begin(pid, Model(), page)

    for pid in range(1, 5):
        execute(pid)
        alive.add(pid)
    for kind, pid, argument in events:
        if kind == "fork" and pid not in alive and argument in alive:
            images.take(Forked(0, pid, argument))
            page, model = current[argument]
            begin(pid, Model(model.places), page)
            alive.add(pid)
        elif pid not in alive:
            continue
        elif kind == "map":
            images.take(Mapped(0, pid, argument))
            current[pid][1].add(argument)
        elif kind == "exec":
            execute(pid)
        elif kind == "exit":
            images.take(Exited(0, pid))
            alive.discard(pid)
    for process, model in ever.items():
        for address in range(60):
            assert place(images.find(process).find(address), address) == model.places.get(address)


def test_a_process_is_a_pid_and_a_mark():
    page = 0x7FFF12345
    assert split(4711 | mark_of(page << 12) << 32) == (4711, 0xFFF12345)


def test_without_a_mark_it_is_the_last_image():
    images = Images()
    for path in ("one", "two"):
        images.take(Executed(0, 7))
        images.take(Mapped(0, 7, mapping(0, 16, path)))
    assert images.find(7).find(3).path == "/two"
    assert images.find(7 | 5 << 32) is None
    assert images.find(8) is None


def test_a_snapshot_completes_what_was_seen_and_keeps_what_was_unmapped():
    images = Images()
    images.take(Mapped(0, 7, mapping(0, 16, "plugin")))
    images.take(MappingsSnapshot(0, 7, 9, (mapping(32, 16, "program"),)))
    found = images.find(7 | 9 << 32)
    assert found.find(33).path == "/program"
    assert found.find(3).path == "/plugin"


def test_processes_that_have_ended_are_given_up_when_there_are_too_many():
    images = Images(retained=10)
    images.take(Executed(0, 1))
    images.take(Mapped(0, 1, mapping(0, 16, "runs")))
    for pid in range(2, 30):
        images.take(Executed(0, pid))
        images.take(Mapped(0, pid, mapping(0, 16, "short")))
        images.take(Exited(0, pid))
    assert images.find(1).find(3).path == "/runs"
    assert images.find(29)
    assert not images.find(2)
    assert images.forgotten == 23


def test_no_more_processes_run_than_a_bound(monkeypatch):
    """A recording can tell of any number that never end: those that began first are taken to have ended."""
    monkeypatch.setattr(images, "_MOST_PROCESSES", 8)
    found = Images(retained=40, spare=20)
    for pid in range(1, 1001):
        found.take(MappingsSnapshot(pid, pid, 0, (Mapping(0x1000, 0x2000, 0, "08:01", pid, f"/lib/{pid}", True),)))
    present = [pid for pid in range(1, 1001) for each in found.all(pid) if not each.is_past]
    assert len(present) <= 48
    assert present[-1] == 1000
    assert len(found) <= 90
    assert found.find(1000).find(0x1800).path == "/lib/1000"
