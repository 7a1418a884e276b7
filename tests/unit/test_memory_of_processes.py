"""What is kept of processes follows what may still be shown of them, however many there have been."""

import gc
import os
import random
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.records import Session, conversions, record

from sonde.consume import consumer, held
from sonde.consume.options import Options
from sonde.model.records import AggregationSpec, Field, PrintaAction, PrintfAction, RecordLayout, TruncAction
from sonde.report import stack
from sonde.report.stack import Addresses
from sonde.symbols import symbolizer
from sonde.symbols.current_images import CurrentImages
from sonde.symbols.images import Images, mark_of
from sonde.symbols.mappings import VDSO, Mapping
from sonde.symbols.process import ProcessNames
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, MappingsSnapshot
from sonde.symbols.symbolizer import SystemSymbolizer

PAGE = 4096
OWN = os.path.realpath(sys.executable)


def mapping(start, path=OWN, size=PAGE * 64):
    found = os.stat(OWN)
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    return Mapping(start, start + size, 0, device, found.st_ino, path, True)


def vdso(number):
    return Mapping(PAGE * number, PAGE * (number + 2), 0, "00:00", 0, VDSO, True)


def word(pid, number):
    return mark_of(PAGE * number) << 32 | pid


def run(take, pid, number, parent=1):
    """A process that is forked and executes something, up to its end."""
    take(Forked(0, pid, parent))
    take(Executed(0, pid))
    take(Mapped(0, pid, vdso(number)))
    take(Mapped(0, pid, mapping(PAGE * (number + 1000))))


def released(images, processes):
    images.settle()
    images.release(processes)


def test_past_images_go_when_nobody_holds_a_stack_of_theirs():
    images = Images(spare=20)
    for number in range(500):
        run(images.take, 100 + number % 7, number + 1)
        images.take(Exited(0, 100 + number % 7))
        if images.are_many:
            released(images, {word(103, 4)})
    assert len(images) < 25
    assert images.find(word(103, 4)).find(PAGE * 1004).path == OWN
    assert images.forgotten == 0


def test_what_one_process_executes_again_and_again_goes_too():
    images = Images(spare=20)
    for number in range(1, 400):
        images.take(Executed(0, 7))
        images.take(Mapped(0, 7, vdso(number)))
        if images.are_many:
            released(images, {word(7, 3)})
    assert len(images) < 25
    assert images.find(7 | mark_of(PAGE * 399) << 32)
    assert images.find(word(7, 3))


def test_stacks_that_are_on_their_way_keep_what_has_just_ended():
    images = Images(spare=4)
    for number in range(1, 9):
        run(images.take, 10 + number, number)
        images.take(Exited(0, 10 + number))
    images.release(set())
    assert all(images.find(word(10 + number, number)) for number in range(1, 9))
    released(images, set())
    assert not images.find(word(11, 1))


def test_what_is_held_beyond_all_room_is_forgotten_and_counted():
    images = Images(retained=60, spare=10)
    for number in range(1, 101):
        run(images.take, 1000 + number, number)
        images.take(Exited(0, 1000 + number))
        released(images, {word(1000 + each, each) for each in range(1, 101)})
    left = sum(images.find(word(1000 + each, each)) is not None for each in range(1, 101))
    assert 0 < left < 60
    assert images.forgotten >= 100 - left


PIDS = st.integers(1, 3)
HAPPENINGS = st.one_of(
    st.builds(Forked, st.just(0), PIDS, PIDS),
    st.builds(Executed, st.just(0), PIDS),
    st.builds(Exited, st.just(0), PIDS),
    st.builds(Mapped, st.just(0), PIDS, st.builds(mapping, st.integers(0, 9).map(PAGE.__mul__)), st.integers(0, 2)),
    st.builds(
        MappingsSnapshot, st.just(0), PIDS, st.integers(0, 2), st.tuples(st.builds(mapping, st.just(PAGE * 100)))
    ),
)


@given(st.lists(HAPPENINGS, max_size=30), st.integers(3, 30))
def test_every_table_that_past_images_alone_have_is_counted_once(happenings, retained):
    images = Images(retained)
    for each in happenings:
        images.take(each)
        every = [image for pid in (1, 2, 3) for image in images.all(pid)]
        present = {id(image.table) for image in every if not image.is_past}
        past = [image for image in every if image.is_past]
        alone = {id(image.table): len(image.table) for image in past if id(image.table) not in present}
        assert images.held == len(past) + sum(alone.values()) <= retained


def test_a_process_whose_end_was_not_heard_of_has_ended():
    images = Images(spare=4)
    for number in range(1, 50):
        run(images.take, 1000 + number, number)
    images.release(set(), running={1003})
    released(images, set())
    assert len(images) < 6
    assert images.find(word(1003, 3))


def test_a_table_counts_as_long_as_one_of_those_that_share_it():
    images = Images(retained=30, spare=30)
    run(images.take, 5, 1)
    for number in range(2, 300):
        images.take(Forked(0, 5 + number, 5))
        images.take(Exited(0, 5 + number))
    assert images.find(word(5, 1)).find(PAGE * 1001)
    assert len(images) <= 32


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=60), st.sets(st.integers(0, 60)))
def test_whatever_is_held_keeps_its_names(steps, wanted):
    images, known = Images(spare=3), {}
    for number, (pid, ends) in enumerate(steps, 1):
        run(images.take, pid, number, 9)
        known[number] = word(pid, number)
        if ends:
            images.take(Exited(0, pid))
        released(images, {known[each] for each in wanted & known.keys()})
    for number in wanted & known.keys():
        assert images.find(known[number]).find(PAGE * (number + 1000)).path == OWN


def test_what_is_executed_now_is_forgotten_with_its_process():
    current = CurrentImages()
    for number in range(1, 2000):
        run(current.take, number, number)
        current.take(Exited(0, number))
    assert current.mark(1999) == mark_of(PAGE * 1999)
    assert current.mark(1) == 0
    assert len(current._of) < 100


@pytest.mark.long
def test_names_and_texts_of_nine_hundred_processes_take_as_much_as_of_three_hundred(monkeypatch):
    monkeypatch.setattr(stack, "_MOST_BYTES", 60_000)
    monkeypatch.setattr(symbolizer, "_MOST_OF_USER", 200)
    names = SystemSymbolizer(processes=ProcessNames(images=Images(spare=300)))
    addresses, pick, blocks = Addresses(names, Options()), random.Random(1), []
    for number in range(1, 901):
        pid = (1 << 22) + number
        run(names.take, pid, number)
        start = PAGE * (number + 1000)
        for _ in range(3):
            frames = [start + 16 * pick.randrange(400) for _ in range(6)]
            assert addresses.user_stack(struct.pack(">7Q", word(pid, number), *frames)).count(b"`") == 6
        names.take(Exited(0, pid))
        names.release(set)
        if number in (300, 900):
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    names.close()
    assert abs(blocks[1] - blocks[0]) < 12_000, blocks


LINES, TICK = 1, 2
STACK_KEY = Field(0, 56, "ustack")


def raw_stack(pid, number):
    return struct.pack("<7Q", word(pid, number), PAGE * (number + 1000), *bytes(5))


class Meanwhile:
    """A session in which processes come and go, counted or shown, between any two records that are shown."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(consumer, "_TURN", 0)
        self.images = Images(spare=20)
        self.names = SystemSymbolizer(processes=ProcessNames(images=self.images, proc=""))
        counts = AggregationSpec("s", "count", (), (STACK_KEY,), 56, 1, "map", replaceable=True)
        layouts = (
            (LINES, 72, (PrintfAction(conversions(("", "k")), (Field(16, 56, "ustack"),)),)),
            (TICK, 16, (PrintaAction(None, (0,)), TruncAction(0, None))),
        )
        self.session = Session(layouts, (counts,), symbolizer=self.names, quiet=True, between=self.turn)
        self.most = self.number = 0

    def run(self, count):
        """So many processes from beginning to end: the stacks that they were seen with."""
        found = []
        for _ in range(count):
            self.number += 1
            pid = 100 + self.number % 50
            run(self.names.take, pid, self.number)
            self.names.take(Exited(0, pid))
            found.append(raw_stack(pid, self.number))
        return found

    def turn(self):
        self.names.release(lambda: self.session.consumer.processes(self.session.tracing.read_map))
        self.most = max(self.most, len(self.images))

    def count(self, processes):
        self.session.tracing.maps["map"] = dict.fromkeys(self.run(processes), struct.pack("<Q", 1))


def test_what_ends_while_tables_are_shown_is_given_up_meanwhile(monkeypatch):
    """However many tables wait in the rings: the last ones take as long as all before them."""
    meanwhile = Meanwhile(monkeypatch)
    turn = meanwhile.session.consumer._between

    def also_count():
        turn()
        meanwhile.count(5)

    meanwhile.session.consumer._between = also_count
    text = meanwhile.session.poll(*[record(TICK)] * 200)
    assert text.count("`") == 5 * 199
    assert meanwhile.number == 1000
    assert meanwhile.most < 60
    assert meanwhile.images.forgotten == 0


def test_records_on_their_way_keep_what_has_ended(monkeypatch):
    meanwhile = Meanwhile(monkeypatch)
    stacks = meanwhile.run(300)
    text = meanwhile.session.poll(*(record(LINES, each) for each in stacks))
    assert text.count("`") == 300
    assert len(meanwhile.images) >= 300
    meanwhile.run(10)
    meanwhile.turn()
    assert len(meanwhile.images) < 25


def test_nobody_has_a_turn_amid_what_is_committed(monkeypatch):
    meanwhile, turns = Meanwhile(monkeypatch), []
    meanwhile.session.consumer._between = lambda: turns.append(1)
    stacks = meanwhile.run(3)
    meanwhile.session.consumer._drain(memoryview(b"".join(record(LINES, each) for each in stacks)), committed=True)
    assert not turns


USTACK, USYM = Field(8, 56, "ustack"), Field(64, 16, "user_symbol")
OF_BT = Field(0, 24, "bytes", False, "struct ustack_perf_2")


def test_processes_are_found_in_maps_keys_and_records():
    key = struct.pack("<Q7Q2Q", 1, 4711, 2, 3, 4, 5, 0, 0, 4712, 9)
    found = held.in_maps([("m", (USTACK, USYM), ()), ("n", (Field(0, 8, "int"),), ())], {"m": [(key, b"")]}.__getitem__)
    assert found == {4711, 4712}
    assert held.in_maps([("m", (), (OF_BT,))], {"m": [(b"", struct.pack("<3Q", 4711, 2, 3))]}.__getitem__) >= {4711}
    assert held.in_keys((USTACK, USYM), [(struct.pack(">2Q", 4711, 8), (4712, 9))]) == {4711, 4712}
    assert held.in_keys((Field(0, 8, "int"),), [(4711,)]) == set()
    layout = RecordLayout(3, 0, (PrintfAction((), (Field(16, 56, "ustack"),)),))
    records = b"".join(
        struct.pack("<II", 72, 0) + struct.pack("<IIII7Q", 3, 0, 0, 0, pid, 2, 3, 0, 0, 0, 0) for pid in (4711, 4712)
    )
    assert held.in_records({3: layout}, memoryview(records)) == {4711, 4712}


@pytest.mark.parametrize("kind", ["ustack", "user_symbol"])
def test_other_fields_have_no_processes(kind):
    assert not held.in_keys((Field(0, 8, "string"), Field(8, 8, "stack")), [(b"x", b"12345678")])
    assert held.in_keys((Field(0, 8, kind),), [((5, 6) if kind == "user_symbol" else struct.pack(">2Q", 5, 6),)]) == {5}
