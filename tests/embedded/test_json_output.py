"""`-f json`: every line is of the schema, and has what the same program prints as text."""

import json
import subprocess
import sys

import jsonschema
import pytest
from json_schema import SCHEMA

PROGRAM = """
syscall::write:entry /pid == $target/ {
    @calls[execname, probefunc] = count();
    @sizes = quantize(arg2);
    @mean = avg(arg2);
    printf("%d %s\\n", arg2, execname);
    trace(probefunc);
    tracemem(copyin(arg1, 2), 2);
}
syscall::write:return /pid == $target/ { trace(*(int *)0); }
syscall::exit_group:entry /pid == $target/ {
    print((short)-3);
    printf("no value\\n");
    printa(@calls);
    system("true");
    exit(4);
}
"""
COMMAND = "/bin/sh -c 'echo a; echo bcd'"


def sonde(*words):
    return subprocess.run([sys.executable, "-m", "sonde", *words], capture_output=True, check=False)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "lines"
    done = sonde(
        "--engine", "embedded", "-qw", "-f", "json", "-o", str(path), "-c", COMMAND, "-n", PROGRAM,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_of_the_schema(lines):
    assert {each["type"] for each in lines} == {"record", "aggregation", "error", "message", "exit"}
    for each in lines:
        jsonschema.validate(each, SCHEMA)


def test_values_have_the_names_of_the_source(lines):
    records = [each for each in lines if each["type"] == "record"]
    assert [each["values"] for each in records] == [
        {"arg2": 2, "execname": "sh"}, {"probefunc": "write"}, {"copyin(arg1, 2)": "610a"},
        {"arg2": 4, "execname": "sh"}, {"probefunc": "write"}, {"copyin(arg1, 2)": "6263"},
        {"(short)-3": -3}, {},
    ]  # fmt: skip
    assert records[-1]["text"] == "no value\n"
    assert [each["time"] for each in records] == sorted(each["time"] for each in records)
    assert {each["probe"] for each in records[:6]} == {"syscall:vmlinux:write:entry"}


def test_aggregations_are_rows_of_keys_and_values(lines):
    shown = {tuple(each["names"]): each["rows"] for each in lines if each["type"] == "aggregation"}
    assert shown["calls",] == [{"key": ["sh", "write"], "values": [2]}]
    assert shown["mean",] == [{"key": [], "values": [3]}]
    assert shown["sizes",] == [
        {"key": [], "values": [[{"low": 2, "high": 3, "count": 1}, {"low": 4, "high": 7, "count": 1}]]}
    ]


def test_the_end_is_the_last_line(lines):
    assert lines[-1] == {"type": "exit", "status": 4}
    assert [each["reason"] for each in lines if each["type"] == "error"] == ["invalid address"] * 2
    assert [each["text"] for each in lines if each["type"] == "message" and "system()" in each["text"]]


def test_a_pragma_asks_for_it_and_a_function_may_have_the_name():
    done = sonde("--engine", "embedded", "-qn", "#pragma D option format=json\nBEGIN { trace(1); exit(0); }")
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["record", "exit"]
    assert b"json" in sonde("-l", "-f", ":json").stderr
