"""Damaged recordings: each is one message at most, in bounded time and memory, behind what stands before the damage.

A longer run: SONDE_EXAMPLES=5000 pytest tests/unit/test_damaged_recordings.py
"""

import copy
import io
import json
import os
import random
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command import usage
from support.files import pcapng_reader
from support.files.damage import damaged
from support.files.records import FakeTracing, record
from support.suite.example_counts import count_of
from test_captures import ENDING, IN, OUT, PLAIN, PRINTED, STRINGS, TRACED, packet, pattern

import sonde
from sonde.captures import sink
from sonde.cli.messages import FatalError, Messages
from sonde.cli.raw import show_file
from sonde.consume.recorder import Recorder
from sonde.consume.runs import spans
from sonde.formats.damage import DamagedError
from sonde.formats.raw_file import MAGIC, RawBlocks, RawFile
from sonde.library.errors import Error
from sonde.library.outputs import Files
from sonde.model.spec import TracingSpec

pytestmark = pytest.mark.examples

SONDE = str(Path(sys.executable).parent / "sonde")
PROGRAMS = {
    "values": """
        struct inside { short s; char c[4]; };
        struct shown { int a[3]; long b : 5; struct inside i[2]; string t; enum { ONE = 1, TWO } e; char *p; } o;
        BEGIN { o.a[1] = 7; o.i[1].s = 3; o.e = TWO; o.t = "text"; print(o); print(execname); trace(o.a); trace("s"); }
        BEGIN { printf("%d %s %-10.3s|%*d %Y %x\\n", pid, execname, "abcdef", 7, 3, walltimestamp, 255); }
        BEGIN { tracemem(o.a, 12, 5); setopt("quiet"); setopt("stackindent", "3"); system("true"); freopen(""); }
        BEGIN { ustack(); sym(1); usym(2); ftruncate(); exit(3); }
    """,
    "aggregations": """
        BEGIN { @ = count(); @a["k", 1] = sum(2); @a["l", 2] = sum(5); @q = quantize(9); @l[1] = lquantize(4, 0, 9); }
        BEGIN { @m = llquantize(50, 10, 0, 3, 10); @s = stddev(3); @x = max(4); @u[ustack()] = avg(1); }
        BEGIN { @y[usym(9)] = min(3); }
        BEGIN { printa(@a); printa("%s %d %@d\\n", @a); clear(@x); printa(@q); printa(@l); normalize(@a, 2); }
        BEGIN { trunc(@a, 1); printa(@a); exit(0); } END { printa("%@d\\n", @); }
    """,
    "speculations": """
        #pragma D option nspec=3
        BEGIN { self->s = speculation(); speculate(self->s); printf("kept %d\\n", 1); }
        BEGIN { speculate(self->s); trace(timestamp); } BEGIN { commit(self->s); i = speculation(); }
        BEGIN { speculate(i); printf("gone"); } BEGIN { discard(i); } BEGIN { x = *(int *)0; }
        ERROR { printf("fault"); } BEGIN { exit(0); }
    """,
}  # fmt: skip
BT_PROGRAMS = {
    "bt maps": """
        begin { @c = count(); @s["k", 1] = sum(2); @h[1] = hist(9); @l = lhist(5, 0, 9, 3); @m = max(4); }
        begin { @v = 5; @st = stats(7); @t[1] = (1, "two", 3); @str["a"] = "text"; @n[comm] = avg(5); }
        begin { @k[kstack, ustack] = 1; print(@s); print(@t); print(@h, 1, 2); clear(@s); zero(@v); }
        begin { delete(@t, 1); print(@st); exit(); }
    """,
    "bt values": """
        begin { printf("%d %s %-8x %c %p %5lld|\\n", pid, comm, 255, 65, 16, -1); print((1, "x", (int64)2)); }
        begin { printf("%s %r\\n", kstack, buf("abc", 3)); print(1 == 1); $x = (a = 1, b = "t"); print($x); }
        begin { system("true"); cat("/dev/null"); time("%H\\n"); errorf("e %d", 1); warnf("w"); print(comm); }
        begin { print(*(int32 *)8); print(ntop(2130706433)); }
        begin { print(strftime("%S", nsecs)); exit(); }
    """,
}  # fmt: skip
SECONDS, BYTES = 5, 600 << 20


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Raw files by name: of programs as they were recorded, and one of packets."""
    directory = tmp_path_factory.mktemp("raw")
    found = {}
    for name, program in PROGRAMS.items():
        path = str(directory / name)
        words = ["--engine", "embedded", "-w", "--raw", path, "-n", program]
        done = subprocess.run([SONDE, *words], capture_output=True, text=True, cwd=directory, check=False)
        assert done.returncode in (0, 3), done.stderr
        found[name] = Path(path).read_bytes()
    for name, program in BT_PROGRAMS.items():
        path = str(directory / name)
        made = sonde.compile(program, "bpftrace", engine="embedded", options={"destructive": True})
        with made.run(engine="embedded", files=Files(raw=path)) as run:
            run.wait()
        found[name] = Path(path).read_bytes()
    return found | {"packets": of_packets()}


def of_packets():
    layouts = (PLAIN, TRACED, PRINTED, ENDING)
    tracing, file = FakeTracing(), io.BytesIO()
    recorder = Recorder(tracing, TracingSpec((), (), layouts, (), STRINGS, (IN, OUT)), RawFile(file).block)
    for number, size in enumerate((60, 60, 60, 1400, 0, 61)):
        tracing.feed(packet(layouts[number % 4], pattern(size, number), number % 3, number % 3, (IN, OUT)[number % 2]))
        tracing.feed(record(PLAIN.number, bytes(32), IN.id))
        (ring,) = recorder.rings
        ring.advance(len(ring.read()))
    return file.getvalue()


def blocks(data):
    return list(RawBlocks(io.BytesIO(data)))


def joined(parts):
    return MAGIC + b"".join(struct.pack("<II", kind, len(payload)) + payload for kind, payload in parts)


VALUES = (0, 1, -1, 7, 255, 1 << 31, (1 << 64) - 1, 1 << 80, 1e300, "", "s", "x" * 300, None, True, [], {}, [[]],
          {"class": "Field", "values": []}, {"bytes": "AA=="}, {"class": "nothing", "values": []},
          {"is": "Field"}, {"is": "PrintfAction"}, {"is": []})  # fmt: skip


def changed_description(data, chance):
    """One to three values of the description replaced, or put in the place of another one."""
    parts = blocks(data)
    described = json.loads(parts[0][1])
    for _ in range(chance.randint(1, 3)):
        at, place = described, None
        while isinstance(at, (list, dict)) and at and (place is None or chance.random() < 0.85):
            holder, place = at, chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
            at = at[place]
        holder[place] = copy.deepcopy(chance.choice(VALUES))
    return joined([(1, json.dumps(described).encode()), *parts[1:]])


def places(at, name=""):
    """Each member and element of JSON, with the name that its kind of value goes by: its holder, its place there."""
    for place in at if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ():
        own = place if isinstance(at, dict) else name
        yield own, at, place
        yield from places(at[place], own)


def exchanged_values(data, chance):
    """One to three values of the description in place of others of the same name: each alone makes sense."""
    parts = blocks(data)
    described = json.loads(parts[0][1])
    for _ in range(chance.randint(1, 3)):
        found = list(places(described))
        own, holder, place = chance.choice(found)
        _, other, there = chance.choice([each for each in found if each[0] == own])
        holder[place] = copy.deepcopy(other[there])
    return joined([(1, json.dumps(described).encode()), *parts[1:]])


def changed_blocks(data, chance):
    """Blocks lost, doubled, exchanged, of another kind, or with other sizes than they say."""
    parts = blocks(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(parts))
        kind, payload = parts[at]
        match chance.randrange(6):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, parts[chance.randrange(len(parts))])
            case 2:
                parts.reverse()
            case 3:
                parts[at] = (chance.randrange(5), payload)
            case 4:
                parts[at] = (kind, payload[: chance.randrange(len(payload) + 1)])
            case _:
                parts[at] = (kind, damaged(payload or b"x", [(0, len(payload) or 1)], chance))
        if not parts:
            break
    return joined(parts)


def changed_bytes(data, chance):
    return damaged(data, [(0, 80), (80, len(data) - 80)], chance)


def show(path, out, *words):
    """Status and message; the time is looked at."""
    begin = time.process_time()
    try:
        status, message = show_file(["-o", str(out), *words, str(path)], Messages("sonde")), ""
    except (FatalError, Error) as error:
        status, message = getattr(error, "status", 1), error.text
    assert time.process_time() - begin < SECONDS
    return status, message


@pytest.mark.long
@pytest.mark.parametrize("change", [changed_bytes, changed_description, exchanged_values, changed_blocks])
def test_a_damaged_file_is_shown_or_refused_in_words(recordings, change, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, memory = sorted(os.listdir()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    chance = random.Random(11)
    for number in range(count_of(300)):
        name = chance.choice(list(recordings))
        Path("damaged").write_bytes(change(recordings[name], chance))
        words = chance.choice(([], ["-q"], ["-F"], ["-xrawbytes"], ["-xaggpercpu"], ["-xaggrate=1ms"]))
        capfd.readouterr()
        status, message = show("damaged", "shown", *words)
        assert "\n" not in message, number
        refused += bool(message)
        assert not message or status == 1
        said = [line for line in capfd.readouterr().err.splitlines() if "damaged: " in line]
        # What the file's program did is told, and where it is cut off: each at most once.
        assert len(said) <= 2, said
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * 1024 < BYTES
    assert refused > count_of(300) / 5
    assert sorted(os.listdir()) == sorted([*before, "damaged", "shown"])


@pytest.mark.long
def test_packets_of_a_damaged_file_are_whole_blocks(recordings, tmp_path, monkeypatch):
    monkeypatch.setattr(sink, "link_type", lambda name: 1)
    chance = random.Random(5)
    shown = 0
    for number in range(count_of(150)):
        change = (changed_bytes, changed_description, changed_blocks)[number % 3]
        (tmp_path / "damaged").write_bytes(change(recordings["packets"], chance))
        (tmp_path / "out.pcapng").unlink(missing_ok=True)
        show(tmp_path / "damaged", tmp_path / "out.pcapng", "-q")
        if (tmp_path / "out.pcapng").exists():
            found = list(pcapng_reader.blocks((tmp_path / "out.pcapng").read_bytes()))
            shown += len(found) > 3
    assert shown > count_of(150) / 8


@pytest.mark.long
@pytest.mark.parametrize("junk", [
    b"\0" * 40, struct.pack("<II", 9, 0), struct.pack("<II", 2, 8) + bytes(8) + b"x" * 3,
    struct.pack("<II", 3, 4) + b"oops", struct.pack("<II", 2, 4) + struct.pack("<I", 77),
    struct.pack("<II", 3, 14) + b'"b"\n' + struct.pack("<IHI", 2, 7, 0), struct.pack("<II", 2, 1 << 31),
    struct.pack("<II", 2, 36) + struct.pack("<IIIIIIIII", 0, 24, 0, 99, 1, 0, 0, 0, 0),
])  # fmt: skip
def test_what_stands_before_the_damage_is_shown_and_counted(recordings, junk, tmp_path, capfd):
    """Every line that the file shows when it ends there, and no traceback."""
    parts = blocks(recordings["values"])
    first = next(at for at, (kind, _) in enumerate(parts) if kind == 2) + 1
    whole = joined(parts[:first])
    (tmp_path / "cut").write_bytes(whole)
    assert show(tmp_path / "cut", tmp_path / "a", "-q") == (3, "")
    text = (tmp_path / "a").read_text()
    assert text.count("\n") > 10
    (tmp_path / "damaged").write_bytes(whole + junk + joined(parts[first:])[len(MAGIC) :])
    capfd.readouterr()
    status, message = show(tmp_path / "damaged", tmp_path / "b", "-q")
    said = message or capfd.readouterr().err
    if struct.unpack_from("<II", junk) == (2, 1 << 31):
        assert "cut off in the block at byte" in said
    else:
        assert status == 1
        assert "could be shown" in message
        assert f"at byte {len(whole)}" in message
    records = 0
    for kind, payload in parts[:first]:
        if kind == 2:
            at = 4
            while at < len(payload):
                (length,) = struct.unpack_from("<I", payload, at)
                at, records = at + (length + 15 & ~7), records + 1
    assert f"{records} records" in said
    # What follows at the end of a whole file is not there.
    assert (tmp_path / "b").read_text().rstrip("\n") == text.rstrip("\n")


HOSTILE = {
    "a hole": lambda data: data + struct.pack("<II", 2, 255 << 20) + struct.pack("<I", 0),
    "a hole of map elements": lambda data: data + struct.pack("<II", 3, 1 << 29) + b'"counters"\n',
    "a hole of nothing": lambda data: data,
    "a description that is a hole": lambda data: MAGIC + struct.pack("<II", 1, 60 << 20),
    "a larger description": lambda data: MAGIC + struct.pack("<II", 1, 1 << 30),
    "lists in lists": lambda data: MAGIC + struct.pack("<II", 1, 1 << 20) + b"[" * (1 << 20),
    "objects": lambda data: MAGIC + struct.pack("<II", 1, 40 << 20) + b"[" + b"{}," * (40 << 18),
}


@pytest.mark.share(1)
@pytest.mark.parametrize("name", HOSTILE)
def test_sparse_and_swollen_files_take_little(recordings, name, tmp_path):
    """In a process of its own, whose time and memory are looked at."""
    path = tmp_path / "hostile"
    path.write_bytes(HOSTILE[name](recordings["values"]))
    os.truncate(path, 1 << 40)
    done = usage.run([SONDE, "raw", "-q", path])
    assert done.seconds < SECONDS
    assert done.bytes < BYTES + (128 << 20)
    assert done.status == 1
    (line,) = [line for line in done.stderr.splitlines() if "not performed" not in line]
    assert "damaged" in line or "memory" in line


def test_zeros_in_the_place_of_records_cost_as_much_as_they_are_long():
    """Few are passed over, many are damage, and none is looked at again and again."""
    one = record(1, bytes(8))
    for zeros in (0, 8, 16, 24, 1 << 10, 1 << 19):
        begin = time.process_time()
        data = memoryview((bytes(zeros) + one) * 3)
        assert [start for _, _, start, _, _ in spans(data)] == [(zeros + 32) * n + zeros for n in range(3)] or not zeros
        assert time.process_time() - begin < 1
    with pytest.raises(DamagedError, match="zeros in the place"):
        list(spans(memoryview(one + bytes(1 << 21) + one)))
    begin = time.process_time()
    assert len(list(spans(memoryview((bytes(8) + one) * 50_000)))) == 50_000
    assert time.process_time() - begin < 1


def test_every_reason_is_of_the_file(recordings, tmp_path):
    """An error of the output is not taken for damage."""
    (tmp_path / "whole").write_bytes(recordings["values"])
    with pytest.raises(OSError, match="No space left") as error:
        show(tmp_path / "whole", "/dev/full")
    assert error.value.filename == "/dev/full"
