"""Records say which statement has made them, in each language and each output of data: by its number, and by its words
where it has some."""

import json
import subprocess
import sys

import pytest
from support.files.table_rows import rows_of

import sonde

D = """
BEGIN /arg0 < 1 << 62/ { trace(pid); trace(pid); printf("open %d", pid); printf("close %*d %%", 4, pid); }
BEGIN { printf("no value\\n"); printf("%d %d\\n", pid, pid); }
BEGIN { if (pid) { trace(pid); } else { trace(cpu); } trace(pid); print(pid); tracemem(alloca(2), 2); exit(0); }
"""
OF_D = [
    (1, None), (2, None), (3, "open {pid}"), (4, "close {pid} %"), (5, "no value\n"), (6, None), (7, None), (9, None),
    (10, None), (11, None),
]  # fmt: skip
BT = """
BEGIN { print(pid); print(pid); printf("open %d", pid); printf("close %d", pid); printf("no value\\n"); exit(); }
"""
OF_BT = [(1, None), (2, None), (3, "open {pid}"), (4, "close {pid}"), (5, "no value\n")]
NAMED = "a name"


@sonde.probe("BEGIN")
def begun(p):
    print(p.pid)
    print("open", p.pid)
    print("close", p.pid, sep="-", end="")
    print("just text")
    print(NAMED)
    f"of {p.pid}{p.cpu:>4}"
    sonde.exit(0)


OF_PYTHON = [
    (1, None), (2, "open {pid}\n"), (3, "close-{pid}"), (4, "just text\n"), (5, None), (6, "of {pid}{cpu}\n"),
]  # fmt: skip
PROGRAMS = [(D, "d", OF_D), (BT, "bpftrace", OF_BT), (begun, "d", OF_PYTHON)]


@pytest.mark.share(2)
@pytest.mark.parametrize(("program", "language", "expected"), PROGRAMS, ids=["d", "bpftrace", "python"])
def test_events_and_tables_say_which_statement_they_are_of(program, language, expected):
    script = sonde.compile(program, language=language, engine="embedded")
    with script.run(engine="embedded") as run:
        records = [each for each in run if isinstance(each, sonde.Record)]
    assert [(each.statement, each.text) for each in records] == expected
    assert len({*records}) == len(records)
    with script.run(engine="embedded", output="arrow") as run:
        rows = rows_of(run.to_arrow())
    found = [(row["statement"], row["text"]) for row in rows if row["event"] == "record"]
    assert sorted(found, key=lambda each: each[0]) == expected


@pytest.mark.parametrize("words", [["-f", "json"], pytest.param(["-f", "json", "--raw", "r"], marks=pytest.mark.long)])
def test_lines_of_json_say_which_statement_they_are_of(tmp_path, words):
    command = [sys.executable, "-m", "sonde", "--engine", "embedded", "-q", *words, "-n", D]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(each["statement"], each.get("text")) for each in lines if each["type"] == "record"]
    assert found == OF_D
    if "--raw" in words:
        kept = [each for each in sonde.read(tmp_path / "r") if isinstance(each, sonde.Record)]
        assert [(each.statement, each.text and each.text[:4]) for each in kept] == [
            (number, text and text[:4]) for number, text in OF_D
        ]


@pytest.mark.long
def test_a_clause_of_several_probes_has_one_statement():
    program = 'syscall::write:entry, syscall::exit_group:entry { printf("at %d", arg0); }'
    with sonde.trace(program, ["/bin/sh", "-c", "echo a"], engine="embedded") as run:
        records = [each for each in run if isinstance(each, sonde.Record)]
    assert {each.probe.function for each in records} == {"write", "exit_group"}
    assert {each.statement for each in records} == {1}
