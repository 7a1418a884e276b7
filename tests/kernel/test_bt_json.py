"""What `bt -f json` writes: every line is an object that docs/bpftrace-json.md describes."""

import json
import re
import struct
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.command.command import sonde

from sonde.frontends.bpftrace.report.json_objects import counted_line, json_value, value_line
from sonde.frontends.bpftrace.report.typed_values import LanguageTypes, value_text
from sonde.model.records import TypeSpec

PAGE = Path(__file__).parents[2] / "docs" / "bpftrace-json.md"
SCHEMA = json.loads(re.search(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
KINDS = [each["$ref"].rpartition("/")[2] for each in SCHEMA["oneOf"]]
ENGINES = ("kernel", "embedded")

PROGRAM = """
    begin {
        printf("a \\"b\\" \\\\ \\t%d\\n", 7);
        print(-7); print("text"); print((1, true, ("in", 3))); print((one=1, two="2"));
        print(18446744073709551615);
        @scalar = 5; @keyed["x", 2] = "text"; @flag = true; @sum = sum(3);
        @pair = (1, "x");
        @levels = hist(37); @by[comm] = hist(3); @steps = lhist(5, 0, 10, 2);
        @all = stats(7); @each[1] = stats(-7); @mean = avg(4);
        @course["x"] = tseries(-5, 1s, 3); @least = tseries(5, 1ms, 3, "min");
        time("%H"); cat("/proc/version");
    }
"""


def mistakes(value, kind):
    """Where an object is not as the schema wants one of that type."""
    return [
        each.message
        for each in Draft202012Validator({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{kind}"}]}).iter_errors(value)
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_each_line_is_an_object_of_its_kind(engine):
    lines = sonde("bt", "--engine", engine, "-f", "json", "-e", PROGRAM, "-c", "true").stdout.splitlines()
    objects = [json.loads(line) for line in lines]
    assert [found for each in objects for found in mistakes(each, each["type"])] == []
    shown = {each["type"] for each in objects}
    assert shown == {"attached_probes", "printf", "value", "map", "hist", "stats", "time", "cat", "tseries"}
    values = [each["data"] for each in objects if each["type"] == "value"]
    assert values == [-7, "text", [1, True, ["in", 3]], {"one": 1, "two": "2"}, "18446744073709551615"]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_commands_write_is_an_object(engine):
    program = 'begin { system("echo %d; printf no; echo lost >&2", 7); system("true"); print(1); exit(); }'
    done = sonde("bt", "-q", "--unsafe", "--engine", engine, "-f", "json", "-e", program)
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["type"], each["data"]) for each in objects] == [
        ("syscall", "7\nno"), ("syscall", ""), ("value", 1)
    ]  # fmt: skip
    assert [found for each in objects for found in mistakes(each, each["type"])] == []
    assert done.stderr == "lost\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_maps_are_no_objects(engine):
    program = """
        begin {
            @c[1] = count(); @h[1] = hist(2); @l = lhist(3, 0, 5, 1); @s[1] = stats(4); @k["a"] = 5; @x = 6;
            @t[1] = tseries(7, 1s, 2); clear(@c); clear(@h); clear(@l); clear(@s); clear(@t); clear(@x);
            delete(@k, "a"); print(@c); print(@k); exit();
        }
    """
    done = sonde("bt", "-q", "--engine", engine, "-f", "json", "-e", program)
    assert done.stdout == ""


def test_the_schema_takes_each_kind_and_nothing_else():
    """One object of each kind is right; without a member, or with one more, it is not."""
    data = {
        "printf": "x", "value": 1, "map": {"@a": 1}, "hist": {"@": [{"min": 1, "count": 2}]}, "stats": {"@x": {"k": 3}},
        "tseries": {"@": [{"interval_start": "12:00", "value": 1}]}, "time": "x", "cat": "x", "join": "x",
        "syscall": "x",
        "test_result": {"a": {"duration": 5, "passed": True, "output": ""}},
        "benchmark_result": {"a": {"average": 5, "iters": 7}}, "attached_probes": {"probes": 1},
        "lost_events": {"events": 1},
    }  # fmt: skip
    messages = {
        kind: {"type": kind, "msg": "x", "filename": "stdin", "line": 1, "col": 2}
        for kind in ("errorf", "warnf", "runtime_error")
    }
    messages["helper_error"] = {**messages["errorf"], "type": "helper_error", "helper": "x", "retcode": -2}
    assert sorted([*data, *messages]) == sorted(KINDS)
    for kind, whole in messages.items():
        assert mistakes(whole, kind) == []
        assert mistakes({**whole, "more": 1}, kind)
        for name in whole:
            assert mistakes({k: v for k, v in whole.items() if k != name}, kind)
        assert all(mistakes(whole, other) for other in KINDS if other != kind)
    for kind, value in data.items():
        whole = {"type": kind, "data": value} | ({"count": 1} if kind in ("attached_probes", "lost_events") else {})
        assert mistakes(whole, kind) == []
        assert mistakes({**whole, "more": 1}, kind)
        for name in whole:
            assert mistakes({k: v for k, v in whole.items() if k != name}, kind)
        assert all(mistakes(whole, other) for other in KINDS if other != kind)


SAYING = r"""
    begin {
        errorf("wrong: %d\n", 7); warnf("a \"%s\"", "b");
        @m[1] = 1; $x = @m[2]; delete(@m, 3); $y = (uint64)5 / ((uint64)$x * 0);
        exit();
    }
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_program_says_of_itself_is_objects(engine):
    """At the places that the text form has, and nothing beside them."""
    words = "--engine", engine, "-k", "-q", "-e", SAYING, "-c", "true"
    done = sonde("bt", "-f", "json", *words)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [text for each in found for text in mistakes(each, each["type"])] == []
    assert done.stderr == ""
    text = sonde("bt", *words).stderr
    told = [each for each in found if "msg" in each]
    assert [each["type"] for each in told] == ["errorf", "warnf", "helper_error", "helper_error", "runtime_error"]
    assert [each["msg"] for each in told[:2]] == ["wrong: 7", 'a "b"']
    assert [(each["helper"], each["retcode"], each["msg"]) for each in told[2:4]] == [
        ("map_lookup_elem", 0, "Success"), ("map_delete_elem", -2, "No such file or directory"),
    ]  # fmt: skip
    places = re.findall(r"^stdin:(\d+):(\d+)-\d+: ", text, re.MULTILINE)
    assert [(str(each["line"]), str(each["col"])) for each in told] == places


def test_records_that_are_lost_are_told_in_an_object():
    lost = json.loads(counted_line("lost_events", "events", 37))
    assert mistakes(lost, "lost_events") == []
    assert lost["count"] == lost["data"]["events"] == 37


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_that_are_no_utf_8_and_keys_of_one_text_are_all_there(engine):
    program = r"""
    begin {
        printf("%s\xff\n", "\xc3\xa9"); print("\xfe"); @["a,b", "c"] = 1; @["a", "b,c"] = 2; @bytes["\xff"] = "\x80";
        @bytes["\\xff"] = "other"; exit();
    }
    """
    lines = sonde("bt", "-q", "--engine", engine, "-f", "json", "-e", program).stdout.encode().splitlines()
    objects = [json.loads(line.decode()) for line in lines]
    assert [found for each in objects for found in mistakes(each, each["type"])] == []
    assert [each["data"] for each in objects[:2]] == ["\xe9\\xff\n", "\\xfe"]
    maps = {name: value for each in objects[2:] for name, value in each["data"].items()}
    assert maps["@"] == {"a,b,c": 1, "a,b,c#2": 2}
    assert {*maps["@bytes"]} == {"\\xff", "\\xff#2"}
    assert {*maps["@bytes"].values()} == {"\\x80", "other"}


@pytest.mark.parametrize(("value", "shown"), [(1.5, 1.5), (float("-inf"), "-inf"), (float("nan"), "nan")])
def test_floating_point_numbers_are_no_bits(value, shown):
    types = LanguageTypes((TypeSpec("float", "double", 8),), lambda *_: b"", 64, b"", bytes)
    data = struct.pack("<d", value)
    assert json_value(types, 0, data) == shown
    assert value_text(types, 0, data) == b"%g" % value
    assert mistakes(json.loads(value_line(types, "", 0, data)), "value") == []
