"""Numbers of an object's maps that make no sense end in a message, whoever looks at them: a type of map that nobody
knows, no size, too many elements."""

import struct

import pytest
from support.bpf.bpf_objects import compiled
from support.machine import packages

from sonde.cli.main import main
from sonde.symbols.elf.file import ElfFile

pytestmark = packages.needs("clang")

SOURCE = """
struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u64); } first SEC(".maps");
struct { __uint(type, 12); __uint(max_entries, 4); __type(key, u32); __array(values, struct inner); }
    outer SEC(".maps") = { .values = { [1] = (void *)&first } };
struct { __uint(type, 1); __uint(max_entries, 64); __type(key, u32); __type(value, u64); } known SEC(".maps");
struct { __uint(type, 27); __uint(max_entries, 4096); } events SEC(".maps");
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } written SEC(".maps");
SEC("raw_tp/sys_exit") int last(void *c)
{
    u32 key = 1; u64 one = 1, *room = bpf_ringbuf_reserve(&events, 8, 0);
    if (room) bpf_ringbuf_submit(room, 0);
    bpf_map_update_elem(&known, &key, &one, 0);
    bpf_perf_event_output(c, &written, 0xffffffffULL, &one, sizeof one);
    return bpf_map_lookup_elem(&outer, &key) != 0;
}
"""
ARRAY = 3
EXTRA = {1: 4, ARRAY: 12, 14: 4, 17: 4}
"""Bytes behind some kinds of types in BTF (Documentation/bpf/btf.rst); of those with members or values 12 or 8 each."""
WORDS = (["verify"], ["verify", "-xengine=embedded"], ["-e", "--object"])


def lengths(data):
    """Where the lengths of arrays stand, of which declarations of maps make numbers."""
    section = next(each for each in ElfFile(data).sections if each.name == ".BTF")
    head, types, size = struct.unpack_from("<III", data, section.offset + 4)
    at = section.offset + head + types
    end = at + size
    while at < end:
        info = struct.unpack_from("<I", data, at + 4)[0]
        kind, members = info >> 24 & 31, info & 0xFFFF
        if kind == ARRAY:
            yield at + 12 + 8
        each = 12 if kind in (4, 5, 15, 19) else 8 if kind in (6, 13) else 0
        at += 12 + EXTRA.get(kind, each * members)


@pytest.mark.parametrize(
    "number", [99, *(pytest.param(each, marks=pytest.mark.long) for each in (0, 34, 0x7FFFFFFF, 0xFFFFFFFF))]
)
def test_each_number_of_a_map_ends_in_a_message(tmp_path, capfd, number):
    with open(compiled(SOURCE, "clang"), "rb") as file:
        data = file.read()
    places = [*lengths(data)]
    assert len(places) > 8
    path = tmp_path / "changed.o"
    told = ""
    for place in places:
        changed = bytearray(data)
        struct.pack_into("<I", changed, place, number)
        path.write_bytes(changed)
        for words in WORDS:
            assert main(["sonde", *words, str(path)]) in (0, 1)
        told += "".join(capfd.readouterr())
    assert "Traceback" not in told
    if number == 99:
        assert "of type number 99, but bpf_ringbuf_reserve takes only: ringbuf" in told
