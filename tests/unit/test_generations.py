"""Names of the moment: a stack has the names of its generation, however late it is told what was mapped."""

import random
import struct

import pytest

from sonde.engines.kernel.generations import Change, Numbering
from sonde.symbols.images import Images, mark_of
from sonde.symbols.mappings import VDSO, Mapping, MappingTable, origin
from sonde.symbols.perf_map import Home, PerfMap
from sonde.symbols.process import ProcessNames
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped
from sonde.symbols.same_names import SameNames

SPACE = 12
"""Addresses that code is mapped at."""


def vdso(page):
    return Mapping(page << 12, (page << 12) + 8192, 0, "00:00", 0, VDSO, True)


class Machine:
    """A process whose stacks are taken, and what is told of it later."""

    def __init__(self, chance):
        self.chance = chance
        self.generation, self.page, self.table = 3, 500, MappingTable()
        self.events, self.stacks = [], []
        self.execute()

    def execute(self):
        self.events.append(Executed(0, 7, self.generation))
        self.table = MappingTable()
        # Addresses are not randomised, or they are.
        self.page += self.chance.choice((0, 0, 1 << 22))
        self.generation += 2
        self.events.append(Mapped(0, 7, vdso(self.page), 0, self.generation))
        self.table.add(vdso(self.page))

    def map(self):
        start = self.chance.randrange(SPACE)
        end = start + self.chance.randrange(1, 5)
        mapping = Mapping(start, end, 0, "fe:00", 1, f"/{self.chance.choice('ab')}", True)
        self.generation += self.chance.choice((1, 1, 2))
        self.events.append(Mapped(0, 7, mapping, 0, self.generation))
        self.table.add(mapping)

    def stack(self):
        """Addresses, and what each was called."""
        word = (mark_of(self.page << 12) + self.generation) << 32 | 7
        addresses = [self.chance.randrange(SPACE + 4) for _ in range(3)]
        self.stacks.append((word, addresses, self.names(addresses)))

    def names(self, addresses):
        found = map(self.table.find, addresses)
        return [None if each is None else origin(each) for each in found]


def names(images, word, addresses):
    image = images.find(word)
    return [None if each is None else origin(each) for each in map(image.find, addresses)]


def packed(word, addresses):
    return struct.pack(f">{1 + len(addresses)}Q", word, *addresses)


@pytest.mark.parametrize("seed", range(40))
def test_stacks_have_the_names_of_their_moment(seed):
    chance = random.Random(seed)
    machine = Machine(chance)
    for _ in range(60):
        chance.choice((machine.map, machine.stack, machine.stack, machine.stack))()
        if chance.random() < 0.05:
            machine.execute()
    images = Images()
    for event in machine.events:
        images.take(event)
    same = SameNames(
        images, lambda process: None, lambda pid, image, at: origin(image.find(at)) if image.find(at) else None
    )
    first = {}
    for word, addresses, expected in machine.stacks:
        # What is mapped besides, later, is known of a generation, too: nothing of it has been executed before.
        found = names(images, word, addresses)
        assert [each for each, known in zip(found, expected, strict=True) if known] == [
            each for each in expected if each
        ]
        shown = same.canonical(packed(word, addresses))
        again = names(images, int.from_bytes(shown[:8], "big"), addresses)
        assert again == found
        # Stacks with the same names are one, within a program.
        key = mark_of(0) + images.find(word).base, *addresses, *found
        assert first.setdefault(key, shown) == shown


def test_a_child_has_generations_of_its_own():
    images = Images()
    for event in (
        Executed(0, 7, 0),
        Mapped(0, 7, vdso(900), 0, 2),
        Mapped(0, 7, code("one"), 0, 3),
        Forked(0, 8, 7, 40),
    ):
        images.take(event)
    images.take(Mapped(0, 8, code("two"), 0, 41))
    marks = {generation: images.find((900 + generation) << 32 | 8) for generation in (40, 41, 50)}
    assert [each.find(3).path for each in marks.values()] == ["/one", "/two", "/two"]
    assert images.find((900 + 3) << 32 | 7).find(3).path == "/one"


def code(name):
    return Mapping(0, 16, 0, "fe:00", 1, f"/{name}", True)


def test_what_was_given_up_has_no_name():
    """Its generations are nobody's, and not those of what was mapped before."""
    images = Images(retained=0, spare=0)
    for event in (Executed(0, 7, 0), Mapped(0, 7, vdso(900), 0, 1)):
        images.take(event)
    for number, name in enumerate("abc"):
        images.take(Mapped(0, 7, code(name), 0, 2 + number))
    assert images.forgotten > 0
    assert images.find((900 + 2) << 32 | 7) is None
    assert images.find((900 + 4) << 32 | 7).find(3).path == "/c"
    images.take(Exited(0, 7))


def test_the_map_of_compiled_code_keeps_what_code_was_called(tmp_path):
    (tmp_path / "tmp").mkdir()
    path = tmp_path / "tmp" / "perf-7.map"
    path.write_text("1000 40 first\n2000 40 other\n")
    found = PerfMap(Home(7, path.stat().st_uid, str(tmp_path)))
    assert found.refresh()
    assert found.take_move() is None
    with path.open("a") as file:
        file.write("3000 40 new\n1020 40 second\n2000 40 other\n")
    # The file may be gone with the directory that it was in.
    assert found.refresh()
    path.unlink()
    moved = found.take_move()
    assert found.symbolize(0x1030, moved) == ("first", 0x30)
    assert found.symbolize(0x1030) == ("second", 0x10)
    assert found.symbolize(0x1050, moved) == ("second", 0x30)
    assert found.symbolize(0x2004, moved) == found.symbolize(0x2004) == ("other", 4)
    assert not found.refresh()
    found.close()


def test_generations_whose_beginning_is_not_known_are_counted():
    """Numbers of a slot follow each other, but for those that were begun by hand."""
    numbering = Numbering()
    first = numbering.number([Change(10, 7, 1), Change(30, 7, 2)], [Mapped(20, 7, code("a")), Mapped(25, 8, code("b"))])
    assert [each.generation for each in first] == [1, 0]
    assert [each.generation for each in numbering.number([Change(35, 7, 3)], [Executed(40, 7)])] == [3]
    assert numbering.lost == 0
    numbering.skipped[7] += 1
    later = numbering.number([Change(50, 7, 5), Change(60, 7, 9)], [Mapped(70, 7 + (1 << 16), code("c"))])
    assert [each.generation for each in later] == [9]
    assert numbering.lost == 3


def test_numbers_of_a_slot_go_on_behind_the_largest_word():
    numbering = Numbering()
    last = (1 << 32) - 2
    numbering._present[7] = last
    changes = [Change(10, 7, last + 1), Change(20, 7, 0), Change(30, 7, 1)]
    events = [Mapped(time, 7, code("a")) for time in (15, 25, 35)]
    assert [each.generation for each in numbering.number(changes, events)] == [last + 1, last + 2, last + 3]
    assert numbering.lost == 0


PAGES = (1 << 21, 1 << 23, 1 << 30, (1 << 32) - 3)
"""Of a vdso, far from each other; also where marks go on at 0."""


@pytest.mark.parametrize("seed", range(20))
def test_an_image_is_found_by_its_mark_as_if_all_were_looked_at(seed):
    """Of those whose generations have the mark the one that began last."""
    chance = random.Random(seed)
    images, generation = Images(), 0
    for _ in range(60):
        if chance.random() < 0.15:
            page = chance.choice(PAGES)
            images.take(Executed(0, 7, generation))
            generation += chance.choice((1, 2))
            images.take(Mapped(0, 7, vdso(page), 0, generation))
        generation += chance.choice((1, 1, 3, 50))
        images.take(Mapped(0, 7, code(chance.choice("ab")), 0, generation))
    every = images.all(7)
    for image in every:
        for each in range(3 if image.base else 0):
            mark = image.mark + each & (1 << 32) - 1
            having = [one for one in every if one.has(mark, generation)]
            nearest = min(
                (one for one in reversed(having)), key=lambda one: (mark - one.mark) % (1 << 32), default=None
            )
            # 0 is no mark.
            assert images.find(mark << 32 | 7) is (nearest if mark else every[-1])


def alternating(count):
    """A process that has put one of two files in the place of the other so many times."""
    images = Images()
    for event in (Executed(0, 7, 0), Mapped(0, 7, vdso(900), 0, 1)):
        images.take(event)
    for number in range(count):
        images.take(Mapped(0, 7, code(f"{number}"), 0, 2 + number))
    return images


def test_what_is_compared_for_a_stack_does_not_grow_with_the_images():
    images, asked = alternating(2000), []

    def named(_, image, address):
        asked.append(address)
        return origin(image.find(address))

    same = SameNames(images, lambda process: None, named)
    costs = []
    for generation in (500, 2000):
        word = (900 + generation) << 32 | 7
        assert same.canonical(packed(word, [3])) == packed(word, [3])
        costs.append(len(asked))
        asked.clear()
    assert costs[0] == costs[1] < 100


def test_images_of_one_process_have_a_bound_and_the_others_are_nobodys(monkeypatch):
    monkeypatch.setattr("sonde.symbols.images._MOST_OF_ONE", 50)
    images = alternating(200)
    assert len(images.all(7)) == 50
    assert images.forgotten == 150
    assert images.find((900 + 100) << 32 | 7) is None
    assert images.find((900 + 190) << 32 | 7).find(3).path == "/188"


@pytest.mark.parametrize("pid", [7, 7 + (1 << 16)], ids=["itself", "a process of its slot"])
@pytest.mark.parametrize("count", [(1 << 20) + 5, (1 << 32) + 5])
def test_mappings_without_end_take_no_names_away(pid, count):
    """Neither a process's own, of which nothing is replaced, nor those of another one of its slot."""
    images = Images()
    for event in (Executed(0, 7, 0), Mapped(0, 7, vdso(900), 0, 1), Mapped(0, 7, code("program"), 0, 2)):
        images.take(event)
    for generation in range(0, count, count // 8):
        there = Mapping(1 << 20, (1 << 20) + 16, 0, "fe:00", 1, "/program", True)
        images.take(Mapped(0, pid, there, 0, generation))
    assert images.find((900 + count & (1 << 32) - 1) << 32 | 7).find(3).path == "/program"


@pytest.mark.parametrize("seed", range(10))
def test_code_that_is_made_executable_after_it_was_mapped_has_generations_from_then_on(seed):
    """The kernel counts no such change: who names code has it count one when it is told."""
    chance = random.Random(seed)
    names = ProcessNames(proc="")
    counted = 2
    for event in (Executed(0, 7, 0), Mapped(0, 7, vdso(900), 0, 1), Mapped(0, 7, code("first"), 0, 2)):
        names.take(event)
    expected = {2: "/first"}

    def advance(pid):
        nonlocal counted
        assert pid == 7
        counted += 1
        return counted

    for number in range(30):
        is_counted = chance.random() < 0.5
        counted += is_counted
        names.take(Mapped(0, 7, code(f"{number}"), 0, counted))
        if is_counted:
            expected[counted] = f"/{number}"
        before = counted
        names.follow_compiled(advance)
        assert counted - before == (not is_counted)
        expected[counted] = f"/{number}"
    for generation, path in expected.items():
        assert names.mapping((900 + generation) << 32 | 7, 3).path == path


def test_a_child_does_not_take_its_parents_numbers_for_its_own():
    images = Images()
    for event in (Executed(0, 7, 50), Mapped(0, 7, vdso(900), 0, 51), Mapped(0, 7, code("one"), 0, 52)):
        images.take(event)
    images.take(Forked(0, 8, 7, 3))
    images.take(Mapped(0, 8, code("two"), 0, 4))
    assert not images.uncounted
    assert images.find((900 + 3) << 32 | 8).find(3).path == "/one"
    assert images.find((900 + 4) << 32 | 8).find(3).path == "/two"
