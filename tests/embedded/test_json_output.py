"""`-f json`: every line is of the schema, and has what the same program prints as text."""

import json
import subprocess
import sys

import jsonschema
import pyarrow as pa
import pytest
from support.files.json_schema import SCHEMA

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


@pytest.mark.long
def test_floating_point_numbers_are_numbers_wherever_they_are_recorded(tmp_path):
    """As trace(), printf() and print() show them; a table has them in columns of their type."""
    program = r"""
    typedef struct { float single; double whole; long double wide; double none; } numbers;
    BEGIN {
        this->p = (numbers *)alloca(sizeof(numbers));
        *(int *)&this->p->single = 0x3fc00000;
        *(long long *)&this->p->whole = 0xc002000000000000;
        *(long long *)&this->p->wide = 0xc000000000000000;
        *((long long *)&this->p->wide + 1) = 16384;
        *(long long *)&this->p->none = 0x7ff8000000000000;
        trace(this->p->single);
        printf("%g %*Lf %f", this->p->whole, 3, this->p->wide, this->p->none);
        print(*this->p);
        exit(0);
    }
    """
    truth = {"single": 1.5, "whole": -2.25, "wide": 3.0, "none": "nan"}
    done = sonde("--engine", "embedded", "-q", "-f", "json", "-n", program)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for each in found:
        jsonschema.validate(each, SCHEMA)
    alone = {name: number for each in found[:2] for name, number in each["values"].items()}
    assert alone == {f"this->p->{name}": number for name, number in truth.items()} | {"3": 3}
    assert found[2]["values"] == {"*this->p": truth}
    path = tmp_path / "table.arrow"
    assert sonde("--engine", "embedded", "-q", "-o", str(path), "-n", program).returncode == 0
    table = pa.ipc.open_stream(path).read_all()
    types = {"single": pa.float32(), "whole": pa.float64(), "wide": pa.float64(), "none": pa.float64()}
    for name, wanted in types.items():
        column = table.column(f"this->p->{name}")
        assert column.type == wanted
        assert [str(each) for each in column.drop_null().to_pylist()] == [str(truth[name])]
    assert table.schema.field("*this->p").type == pa.struct([*types.items()])
