"""BTF blobs, read back by a small reader written from the documentation and by bpftool where it is installed."""

import json
import struct
import subprocess

from support.machine import packages

from sonde.bpf.btf_writer import (
    INT_SIGNED,
    KIND_FUNC,
    KIND_INT,
    KIND_STRUCT,
    BtfBuilder,
    LineInfo,
    WrittenMember,
    pack_func_info,
    pack_line_info,
)


def sample():
    builder = BtfBuilder()
    int_id = builder.add_int("int", 4, INT_SIGNED)
    pair = builder.add_struct("pair", 8, [WrittenMember("a", int_id, 0), WrittenMember("b", int_id, 32)])
    pointer = builder.add_pointer(pair)
    builder.add_array(pair, int_id, 5)
    builder.add_typedef("number", int_id)
    builder.add_union("either", 8, [WrittenMember("p", pointer, 0), WrittenMember("i", int_id, 0)])
    prototype = builder.add_function_type(int_id, [("context", pointer)])
    function = builder.add_func("probe", prototype)
    return builder, function


def read(blob):
    """(strings by offset, list of (kind, name, vlen, size or type, tail bytes))."""
    magic, version, _, header, type_at, type_size, string_at, string_size = struct.unpack_from("<HBBIIIII", blob)
    assert (magic, version) == (0xEB9F, 1)
    strings = blob[header + string_at : header + string_at + string_size]
    assert header + string_at + string_size == len(blob)
    at, end, types = header + type_at, header + type_at + type_size, []
    while at < end:
        name, info, value = struct.unpack_from("<III", blob, at)
        kind, count = info >> 24 & 31, info & 0xFFFF
        tail = {1: 4, 3: 12, 4: 12 * count, 5: 12 * count, 13: 8 * count}.get(kind, 0)
        text = strings[name : strings.index(b"\0", name)].decode()
        types.append((kind, text, count, value, blob[at + 12 : at + 12 + tail]))
        at += 12 + tail
    return strings, types


def test_types_are_numbered_from_one():
    builder, function = sample()
    _, types = read(builder.build())
    assert types[0] == (KIND_INT, "int", 0, 4, struct.pack("<I", 1 << 24 | 32))
    assert types[1][:4] == (KIND_STRUCT, "pair", 2, 8)
    assert types[function - 1][:2] == (KIND_FUNC, "probe")


def test_strings_are_kept_once():
    builder = BtfBuilder()
    first = builder.string("a.d")
    assert builder.string("b.d") != first
    assert builder.string("a.d") == first
    assert builder.string("") == 0
    assert builder.string("cut\0here") != builder.string("cut")
    strings, _ = read(builder.build())
    assert strings == b"\0a.d\0b.d\0cut\0cut\0"


def test_records():
    assert pack_func_info([(0, 8), (20, 9)]) == struct.pack("<4I", 0, 8, 20, 9)
    packed = pack_line_info([LineInfo(3, 1, 5, 12, 7), LineInfo(4, 1, 5, 1 << 30, 5000)])
    assert packed == struct.pack("<4I4I", 3, 1, 5, 12 << 10 | 7, 4, 1, 5, 0xFFFFFFFF)


@packages.needs("bpftool")
def test_bpftool_reads_the_same(tmp_path):
    builder, function = sample()
    path = tmp_path / "sample.btf"
    path.write_bytes(builder.build())
    done = subprocess.run(["bpftool", "-j", "btf", "dump", "file", path], capture_output=True, check=True)
    types = {t["id"]: t for t in json.loads(done.stdout)["types"]}
    assert (types[1]["kind"], types[1]["name"], types[1]["encoding"], types[1]["nr_bits"]) == (
        "INT",
        "int",
        "SIGNED",
        32,
    )
    assert [(m["name"], m["bits_offset"]) for m in types[2]["members"]] == [("a", 0), ("b", 32)]
    assert [types[n]["kind"] for n in range(3, 8)] == ["PTR", "ARRAY", "TYPEDEF", "UNION", "FUNC_PROTO"]
    assert (types[function]["kind"], types[function]["linkage"]) == ("FUNC", "static")
