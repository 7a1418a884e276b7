"""pprof's files as protoc decodes them, by the fields that profile.proto gives their numbers and types.

Needs protoc (Debian: protobuf-compiler).
"""

import gzip
import re
import subprocess

from support.machine import packages

from sonde.formats import pprof
from sonde.formats.profile import INLINED, KERNEL, KEY, Profile, ProfileFrame

pytestmark = packages.needs("protoc")

SCHEMA = """
syntax = "proto3";
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
message Mapping {
    uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5;
    int64 build_id = 6; bool has_functions = 7;
}
message Line { uint64 function_id = 1; int64 line = 2; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
message Profile {
    repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3;
    repeated Location location = 4; repeated Function function = 5; repeated string string_table = 6;
    int64 time_nanos = 9; int64 duration_nanos = 10; ValueType period_type = 11; int64 period = 12;
}
"""

FRAMES = (
    ProfileFrame("bash", "", KEY), ProfileFrame('"quoted" \\ <&> 漢字', "libx.so"), ProfileFrame("main", "a.out"),
    ProfileFrame("swap", "a.out", INLINED), ProfileFrame("vfs_read", "vmlinux", KERNEL),
)  # fmt: skip
PROFILE = Profile(
    "@", "sum", "bytes", FRAMES, {(0, 2): 300, (0, 2, 3, 4): 2**62, (): 1, (0, 1): 128}, 10**18 + 1, 2**40
)


def decoded(data, directory):
    """The message as protoc prints it, parsed: a list of (field, number, string or list) for each message."""
    (directory / "profile.proto").write_text(SCHEMA)
    words = ["protoc", "--decode=Profile", f"-I{directory}", "profile.proto"]
    done = subprocess.run(words, input=gzip.decompress(data), capture_output=True)
    assert done.returncode == 0, done.stderr
    stack = [[]]
    for line in done.stdout.decode().splitlines():
        if line.endswith("{"):
            stack.append([])
            stack[-2].append((line.split()[0], stack[-1]))
        elif line.strip() == "}":
            stack.pop()
        else:
            name, _, text = line.strip().partition(": ")
            stack[-1].append((name, plain(text)))
    return stack[0]


def plain(text):
    if text in ("true", "false"):
        return text == "true"
    if not text.startswith('"'):
        return int(text)
    octal = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), text[1:-1].encode())
    return re.sub(rb"\\(.)", rb"\1", octal).decode()


def every(message, name):
    return [value for field, value in message if field == name]


def one(message, name, default=0):
    return next(iter(every(message, name)), default)


def test_protoc_finds_what_was_written(tmp_path):
    message = decoded(pprof.write(PROFILE), tmp_path)
    # A field whose number were wrong would stand there as a number.
    assert not [name for name, _ in message if not name.isidentifier()]
    strings = every(message, "string_table")
    assert strings[0] == ""
    functions = {one(each, "id"): strings[one(each, "name")] for each in every(message, "function")}
    modules = {one(each, "id"): strings[one(each, "filename")] for each in every(message, "mapping")}
    locations = {
        one(each, "id"): (functions[one(one(each, "line"), "function_id")], modules.get(one(each, "mapping_id"), ""))
        for each in every(message, "location")
    }
    assert 0 not in locations.keys() | functions.keys() | modules.keys()
    assert all(one(each, "has_functions") for each in every(message, "mapping"))
    samples = {tuple(locations[each] for each in every(sample, "location_id")): every(sample, "value")
               for sample in every(message, "sample")}  # fmt: skip
    bash, main = ("bash", ""), ("main", "a.out")
    assert samples == {
        (main, bash): [300], (("vfs_read", "[vmlinux]"), ("swap [inlined]", "a.out"), main, bash): [2**62], (): [1],
        (('"quoted" \\ <&> 漢字', "libx.so"), bash): [128],
    }  # fmt: skip
    # The first is the program for pprof.
    assert modules[min(modules)] == "a.out"
    for name in ("sample_type", "period_type"):
        (kind,) = every(message, name)
        assert (strings[one(kind, "type")], strings[one(kind, "unit")]) == ("sum", "bytes")
    assert (one(message, "time_nanos"), one(message, "duration_nanos"), one(message, "period")) == (
        10**18 + 1, 2**40, 1
    )  # fmt: skip
