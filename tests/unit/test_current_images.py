"""Addresses named at the end are named as they were when they were taken, whatever took the place of what meanwhile:
against a model that has every page of every process on its own."""

from hypothesis import given
from hypothesis import strategies as st

from sonde.symbols.current_images import CurrentImages
from sonde.symbols.images import Images
from sonde.symbols.mappings import VDSO, Mapping
from sonde.symbols.process_events import Executed, Forked, Mapped, MappingsSnapshot

PAGE = 4096
PLACES = st.integers(0, 5)
KINDS = st.sampled_from(("map", "map", "map", "map", "exec", "fork", "snapshot", "look", "look"))
STEPS = st.lists(
    st.tuples(
        KINDS, PLACES, st.integers(0, 11), st.integers(1, 4), st.sampled_from(("", "/a", "/b")), st.integers(0, 2)
    ),
    max_size=40,
)


class Model:
    """What is at each page of a process: a file and the page of it, or "" for other memory."""

    def __init__(self):
        self.pages, self.vdso = {}, 0

    def copy(self):
        made = Model()
        made.pages, made.vdso = dict(self.pages), self.vdso
        return made

    def map(self, start, size, path, offset):
        for n in range(size):
            self.pages[start + n] = (path, offset + n) if path else ("", 0)

    def mappings(self):
        return (vdso(self.vdso), *(mapping(at, 1, path, offset) for at, (path, offset) in self.pages.items()))


def mapping(start, size, path, offset):
    first = PAGE * offset if path else 0
    return Mapping(PAGE * start, PAGE * (start + size), first, "08:01", len(path), path, True)


def vdso(page):
    return Mapping(PAGE * page, PAGE * (page + 1), 0, "00:00", 0, VDSO, True)


def place(found, address):
    return (found.path, (address - found.start + found.offset) // PAGE) if found is not None and found.path else None


@given(STEPS)
def test_names_are_those_of_the_time(steps):
    current, images, models, looked, next_vdso = CurrentImages(), Images(), {}, [], 1000

    def tell(event):
        images.take(current.take(event))

    def execute(pid):
        nonlocal next_vdso
        next_vdso += 100
        models[pid] = Model()
        models[pid].vdso = next_vdso
        tell(Executed(0, pid))
        tell(Mapped(0, pid, vdso(next_vdso)))

    execute(7)
    execute(8)
    for kind, which, start, size, path, offset in steps:
        pid = 7 + which % len(models)
        model = models[pid]
        match kind:
            case "map":
                model.map(start, size, path, offset)
                tell(Mapped(0, pid, mapping(start, size, path, offset)))
            case "exec":
                execute(pid)
            case "fork":
                other = 7 + len(models)
                models[other] = model.copy()
                tell(Forked(0, other, pid))
            case "snapshot":
                model.map(start, size, path, offset)
                tell(MappingsSnapshot(0, pid, 0, model.mappings()))
            case "look":
                expected = model.pages.get(start)
                if expected is not None:
                    looked.append((current.mark(pid) << 32 | pid, PAGE * start, expected if expected[0] else None))
    for process, address, expected in looked:
        image = images.find(process)
        assert image is not None
        assert place(image.find(address), address) == expected
