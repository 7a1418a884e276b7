"""Odd and hostile programs under a glob for the provider: those who are traced beside them lose nothing, and they
themselves do what they do without sonde."""

import random
import signal
import subprocess
import time

import pytest
from support.command.command import build
from support.machine import compilers
from support.symbols.static_programs import assembler
from test_static_probes_everywhere import COUNTED, SITES, Held, Tracer

from sonde.model.named_maps import SITES as ROOM
from sonde.symbols.elf.file import ElfFile

COUNT = "tally*:::unit-done { @[probeprov] = count(); }"


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    return build(tmp_path_factory.mktemp("odd"), "counted", SITES + COUNTED)


THROWS = """
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
int main(int count, char **words) {
    char buffer[2];
    if (count > 2) { puts("here"); fflush(stdout); read(0, buffer, 1); }
    for (int n = 0; n < atoi(words[1]); n++) {
        try {
            try { throw n; } catch (int) { if (n % 3 == 0) throw; }
        } catch (int) {}
    }
    if (count > 2) { puts("done"); fflush(stdout); read(0, buffer, 1); }
    return 0;
}
"""


def thrown(times):
    """What a process does that throws so often: each third time it throws again, and catches that."""
    again = (times + 2) // 3
    return {"throw": times, "catch": times + again, "rethrow": again}


@pytest.mark.long
def test_exceptions_of_all_processes():
    """libstdc++ by a glob, in a program that runs before sonde and one that starts while it traces."""
    program = compilers.built("throws.cc", THROWS, "g++", "-w")
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in shown.splitlines() if "libstdc++" in line)
    if "libstdcxx" not in subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout:
        pytest.skip("libstdc++ is built without probes")
    with Held(program, 101) as before, Tracer("libstdcxx*:::throw, libstdcxx*:::catch, libstdcxx*:::rethrow "
                "{ @[probeprov, probename] = count(); }") as tracer:  # fmt: skip
        before.work()
        after = subprocess.Popen([program, "53"])
        after.wait(20)
    wanted = {(before.pid, 101), (after.pid, 53)}
    mine = {key: n for key, n in tracer.counts.items() if key[0] in {f"libstdcxx{pid}" for pid, _ in wanted}}
    assert mine == {(f"libstdcxx{pid}", name): n for pid, times in wanted for name, n in thrown(times).items()}


def many(sites, more=""):
    """A program that passes so many sites, each once; `more` is assembler text."""
    code = f"""
.text
.globl unit
.type unit, @function
unit:
    .rept {sites}
    probe tally, unit__done, 0, "-4@%edi"
    .endr
    ret
.size unit, . - unit
.globl other
.type other, @function
other: ret
.size other, . - other
"""
    return assembler(code + more) + COUNTED


@pytest.mark.long
@pytest.mark.parametrize("more", [0, 311])
def test_as_many_sites_as_there_is_room_for(tmp_path, more):
    """Those beyond it do not fire, and are told."""
    program = build(tmp_path, "many", many(ROOM + more))
    with Held(program, 3) as held, Tracer(COUNT) as tracer:
        held.work()
    assert tracer.counts == {(f"tally{held.pid}",): 3 * ROOM}
    told = f"{more} of its sites are beyond the {ROOM} that there is room for: its probes do not fire"
    assert (told in " ".join(tracer.messages.split())) == bool(more), tracer.messages


SLOW = """
.section .text.one, "ax"
.type one, @function
one: .fill 1000000, 1, 0x90
.section .text.two, "ax"
.type two, @function
two: .fill 1000000, 1, 0x90
.rept 100
.section .text.one
probe tally, slow, 0, ""
.section .text.two
probe tally, slow, 0, ""
.endr
.section .text.one
.size one, . - one
.section .text.two
.size two, . - two
.text
"""


@pytest.mark.long
def test_notes_that_take_long_to_check(counted, tmp_path):
    """Each leads to another large function than the one before. The file is given up, and others are traced."""
    program = build(tmp_path, "slow", many(1, SLOW))
    with (
        Held(program, 3) as slow,
        Held(counted, 5) as held,
        Tracer("tally*::: { @[probeprov] = count(); }") as tracer,
    ):
        slow.work()
        held.work()
    assert tracer.counts == {(f"tally{held.pid}",): 10}
    told = " ".join(tracer.messages.split())
    assert f"{program}: reading it takes more than 2 seconds: its probes do not fire" in told


def test_a_full_ring(counted):
    """Records that do not fit are counted; aggregations and other processes are not touched."""
    text = COUNT + 'tally*:::unit-done { printf("%-900s\\n", probefunc); }'
    with Held(counted, 1009) as held, Tracer(text, "-b", "8k", "-xswitchrate=1s") as tracer:
        processes = [subprocess.Popen([counted, "1009"]) for _ in range(6)]
        held.work()
        assert [each.wait(30) for each in processes] == [0] * 6
    keyed = {line.split()[0]: int(line.split()[1]) for line in tracer.lines if len(line.split()) == 2}
    assert keyed == {f"tally{each.pid}": 1009 for each in (held, *processes)}
    shown = sum(line.strip() == "unit" for line in tracer.lines)
    lost = sum(int(line.split()[1]) for line in tracer.messages.splitlines() if " drops on CPU" in line)
    assert lost > 0
    assert shown + lost == 7 * 1009


@pytest.mark.long
def test_processes_that_are_killed(counted):
    """While they fire, in the order of chance; one that is left alone is counted to the last."""
    chance = random.Random(7)
    with Held(counted, 1009) as held, Tracer(COUNT) as tracer:
        for _ in range(23):
            process = subprocess.Popen([counted, "100000000"])
            time.sleep(chance.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            assert process.wait(10) == -signal.SIGKILL
        held.work()
    assert tracer.counts[f"tally{held.pid}",] == 1009


def notes_of(data):
    section = next(each for each in ElfFile(data).sections if each.name == ".note.stapsdt")
    return section.offset, section.size


def damaged(data, chance):
    """A copy whose notes are damaged, most of them in the addresses, which then lead anywhere near."""
    start, size = notes_of(data)
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = start + chance.randrange(size)
        found[at] = chance.choice((found[at] ^ 1 << chance.randrange(8), 0, 0xFF))
    # The address, the base and the counter of the first note are behind its three numbers and its owner's name.
    address = start + 12 + 8 + chance.choice((0, 0, 0, 8, 16))
    if chance.random() < 0.7:
        number = int.from_bytes(found[address : address + 8], "little")
        found[address : address + 8] = (number + chance.randrange(-40, 40) & (1 << 64) - 1).to_bytes(8, "little")
    return bytes(found)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_damaged_notes(counted, tmp_path, seed):
    """40 programs: each ends as it does without sonde, though a note may lead into the middle of an instruction."""
    chance = random.Random(seed)
    with open(counted, "rb") as file:
        data = file.read()
    programs = []
    for number in range(40):
        path = tmp_path / f"damaged{number}"
        path.write_bytes(damaged(data, chance))
        path.chmod(0o755)
        programs.append(str(path))
    # Those that hold are known when tracing begins, and so are their files.
    holders = [Held(each, 11) for each in programs]
    try:
        with Held(counted, 1009) as held, Tracer("*:::unit-done, *:damaged*:: { @[probeprov] = count(); }") as tracer:
            for each in holders:
                each.work()
            again = [subprocess.Popen([each, "11"]) for each in programs]
            held.work()
            assert [each.wait(10) for each in again] == [0] * len(programs)
    finally:
        for each in holders:
            each.__exit__()
    assert tracer.counts[f"tally{held.pid}",] == 1009
