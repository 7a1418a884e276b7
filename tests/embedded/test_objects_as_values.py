"""Records and maps of objects are values of their types, the same in text, in JSON and in the library: bytes are
numbers, and none behind a zero is lost."""

import json
import re
import subprocess
import sys

import jsonschema
import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.places import ROOT

import sonde

SOURCE = """
struct key { u32 pid; char comm[16]; };
struct event {
    u32 pid; unsigned char raw[8]; u8 address[4]; char comm[16]; signed char narrow[2]; u64 big;
    struct { int a : 3, b : 5; } bits; enum { ONE = 1, TWO } which; void *place;
};
struct { __uint(type, 27); __uint(max_entries, 4096); __type(value, struct event); } events SEC(".maps");
struct { __uint(type, 27); __uint(max_entries, 4096); } plain SEC(".maps");
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, struct key); __type(value, u64); } counts SEC(".maps");
unsigned char bytes[4] = { 0, 1, 0, 2 };
u64 total = 1;
SEC("tracepoint/syscalls/sys_enter_exit_group") int left(void *c)
{
    struct event event = { 7, { 0, 2, 3, 4, 5, 6, 7, 0 }, { 10, 0, 0, 1 }, "a\\0b", { -1, 0 }, -2ULL, { -2, 5 }, TWO };
    struct key key = { 5, "abc" };
    u64 count = 7;
    char unknown[3] = { 0, 1, -1 };
    event.place = (void *)0xffffffff81000000;
    bpf_ringbuf_output(&events, &event, sizeof event, 0);
    bpf_ringbuf_output(&plain, unknown, sizeof unknown, 0);
    bpf_map_update_elem(&counts, &key, &count, 0);
    total = 1ULL << 60;
    bpf_printk("hello %d", 5);
    return 0;
}
"""
VALUE = {
    "pid": 7, "raw": [0, 2, 3, 4, 5, 6, 7, 0], "address": [10, 0, 0, 1], "comm": "a", "narrow": [-1, 0],
    "big": (1 << 64) - 2, "bits": {"a": -2, "b": 5}, "which": "TWO", "place": 0xFFFFFFFF81000000,
}  # fmt: skip


def command(path, *words):
    line = [sys.executable, "-m", "sonde", "--engine", "embedded", "--object", path, "-c", "true", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.fixture(params=[BOTH[0], pytest.param(BOTH[1].values[0], marks=[*BOTH[1].marks, pytest.mark.long])])
def path(request):
    return compiled(SOURCE, request.param)


def test_the_library_has_values(path):
    script = sonde.load_object(path, options={"engine": "embedded"})
    with script.run("true", output=None) as run:
        events = [*run]
    known, unknown = (each for each in events if isinstance(each, sonde.RingRecord))
    assert (known.ring, known.value.value, known.value.type) == ("events", VALUE, "struct event")
    assert (unknown.ring, unknown.value) == ("plain", b"\0\x01\xff")
    assert [each.text for each in events if isinstance(each, sonde.Text)] == [b"hello 5\n"]
    found = {each.names[0]: each.rows for each in events if isinstance(each, sonde.Aggregation)}
    ((key,),) = found["counts"]
    assert key.asdict() == {"pid": 5, "comm": "abc"}
    assert [*found["counts"].values()] == [(7,)]
    variables = {name: value for rows in found.values() for (name,), (value,) in rows.items() if isinstance(name, str)}
    assert (variables["bytes"], variables["total"]) == ([0, 1, 0, 2], 1 << 60)
    assert isinstance(events[-1], sonde.Exit)


def test_lines_of_json_have_them(path):
    done = command(path, "-f", "json", "--dump")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    page = (ROOT / "docs" / "data.md").read_text()
    schema = json.loads(re.search(r"```json\n(\{\n  \"\$schema\".*?)```", page, re.S)[1])
    for each in lines:
        jsonschema.validate(each, schema)
    assert [each for each in lines if each["type"] == "ring"] == [
        {"type": "ring", "ring": "events", "time": None, "value": VALUE},
        {"type": "ring", "ring": "plain", "time": None, "value": "0001ff"},
    ]
    assert {"type": "print", "text": "hello 5\n"} in lines
    (counts,) = [each for each in lines if each.get("names") == ["counts"]]
    assert counts["rows"] == [{"key": [{"pid": 5, "comm": "abc"}], "values": [7]}]
    assert lines[-1] == {"type": "exit", "status": 0}


@pytest.mark.long
def test_text_has_them(path):
    done = command(path, "--dump")
    assert 'events: {.pid = 7, .raw = {0, 2, 3, 4, 5, 6, 7}, .address = {10, 0, 0, 1}, .comm = "a"' in done.stdout
    assert "bytes = {0, 1, 0, 2}\n" in done.stdout


@pytest.mark.parametrize("words", [["-f", "arrow"], pytest.param(["-o", "t.parquet"], marks=pytest.mark.long)])
def test_tables_are_refused(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    done = command(compiled(SOURCE, BOTH[0].values[0]), *words)
    assert (done.returncode, "--object makes no tables" in done.stderr) == (1, True)
