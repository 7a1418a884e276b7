"""A file that replaces another one between reading and attaching gets no probe."""

import mmap
import os
import shutil
from pathlib import Path

import pytest
from support.bpf.bpf_objects import built, compiled
from support.symbols.static_programs import assembler

import sonde
from sonde.engines.kernel import uprobes

SOURCE = assembler("") + (
    '__attribute__((noipa)) int step(int n) { asm volatile("probe shop, sale, 0, 4@%%edi" :: "D"(n)); return n + 1; }\n'
    "int main(int count, char **words) { return step(count) != 2; }\n"
)

OTHER = "int before(int n) { return 5 * n; }\n" + SOURCE.replace("n + 1", "n + 2 - 1")

SECTION = 'SEC("%s") int counts(void *context) { return 0; }'

DESCRIPTIONS = [
    "usdt:%s:shop:sale", "usdt:%s:*:*", "uprobe:%s:step:entry", "uprobe:%s:step:return", "uprobe:%s:*:entry",
]  # fmt: skip

SECTIONS = ["usdt/%s:shop:sale", "uprobe/%s:step", "uretprobe/%s:step", "uprobe.multi/%s:st*", "uretprobe.multi/%s:*"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("programs")
    return built(SOURCE, directory / "own"), built(OTHER, directory / "other")


@pytest.fixture
def place(programs, tmp_path):
    found = tmp_path / "program"
    shutil.copy2(programs[0], found)
    return found


@pytest.fixture
def swapped(programs, place, monkeypatch):
    """The mapping of another program, which replaces the first one when attaching begins."""
    attach = uprobes.attach

    def late(*arguments):
        if not place.is_symlink():
            place.unlink()
            place.symlink_to(programs[1])
        attach(*arguments)

    monkeypatch.setattr(uprobes, "attach", late)
    with open(programs[1], "rb") as file:
        yield mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


def check(start, place, programs, swapped):
    before = swapped[:]
    with pytest.raises(sonde.Error, match="was replaced by another file after its symbols were read"):
        start()
    assert place.is_symlink()
    assert swapped[:] == before == Path(programs[1]).read_bytes()


@pytest.mark.share(2)
@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_probes(description, place, programs, swapped):
    def start():
        with sonde.trace(f"{description % place} {{ @n = count(); }}", duration=9, engine="kernel") as run:
            run.wait()

    check(start, place, programs, swapped)


@pytest.mark.share(2)
@pytest.mark.parametrize("section", SECTIONS)
def test_sections_of_objects(section, place, programs, swapped):
    script = sonde.load_object(compiled(SECTION % (section % place)))

    def start():
        with script.run(duration=9) as run:
            run.wait()

    check(start, place, programs, swapped)


@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_what_is_not_swapped_is_probed(description, place):
    with sonde.trace(f"{description % place} {{ @n = count(); }}", str(place), engine="kernel") as run:
        run.wait()
    assert run.aggregations["n"][()] >= 1
    assert os.path.exists(place)
