#!/usr/bin/env python3
"""Run the scripts of tests/same as data: each line of JSON is of the schema, and tables have as many records.

    data_formats.py [NAME...]

Each script, or those of these names, runs on each engine over its command, with `-f json`, `-o x.arrow` and `-o
x.parquet/`. Lines are of the schema in docs/data.md, no object has a member twice, and the last is `exit` where the run
came to its end; tables are valid, polars reads all of them, and a script has as many records in each format.
Needs pyarrow, polars and jsonschema. The status is 1 if any of that is not so.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.dataset
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests")]

from support.command.same_run import programs, scripts  # noqa: E402
from support.files.json_schema import SCHEMA  # noqa: E402

ENGINES = ["embedded", "kernel"] if not os.geteuid() else ["embedded"]
START = "import sys; from sonde.cli.start import main; sys.exit(main())"
VALIDATOR = Draft202012Validator(SCHEMA)
PATIENCE = 60


def once(pairs):
    """An object whose members are there once."""
    found = dict(pairs)
    assert len(found) == len(pairs), f"a member is there twice: {[name for name, _ in pairs]}"
    return found


def never(name):
    raise AssertionError(f"{name} is no JSON")


def lines(path):
    """The objects of all lines. Raises AssertionError, and ValueError of what is no JSON."""
    data = path.read_bytes()
    assert data.endswith(b"\n"), "the last line has no end"
    found = [json.loads(each, object_pairs_hook=once, parse_constant=never) for each in data.splitlines()]
    for each in found:
        for mistake in VALIDATOR.iter_errors(each):
            raise AssertionError(f"{mistake.message[:200]}: {each}")
    return found


def tables(folder):
    """Each table there is, valid; its names without the endings."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".arrow":
            table = pa.ipc.open_stream(path).read_all()
            height = polars.read_ipc_stream(path).height
        elif path.suffix == ".parquet":
            table = pyarrow.dataset.dataset(path).to_table()
            height = polars.read_parquet(path / "*.parquet").height
        else:
            continue
        table.validate(full=True)
        assert height == table.num_rows, path.name
        found[path.name] = table
    return found


def run(script, engine, compiled, output, *words):
    """Run the script over its command; sonde's status."""
    first, _, rest = script.command.partition(" ")
    traced = ("-c", f"{compiled.get(first, first)} {rest}")
    command = [
        sys.executable, "-c", START, "--engine", engine, *shlex.split(script.options), *words, "-o", output,
        "-s", script.path, *traced,
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, timeout=PATIENCE, env={**os.environ, "PYTHONPATH": f"{ROOT}/src"}, check=False
    )
    return done.returncode, done.stderr.decode(errors="replace")


def check(script, engine, compiled, folder):
    """How many records and aggregations it has. Raises AssertionError."""
    text = run(script, engine, compiled, folder / "text")
    status, told = run(script, engine, compiled, folder / "lines", "-f", "json")
    assert status == text[0], f"status {text[0]} as text, {status} as JSON: {told}"
    found = lines(folder / "lines")
    kinds = Counter(each["type"] for each in found)
    assert found[-1]["type"] == "exit" or status, "there is no end"
    counts = {"lines": kinds["record"]}
    for name in ("t.arrow", "p.parquet/"):
        status, told = run(script, engine, compiled, f"{folder}/{name}")
        assert status == text[0], f"status {text[0]} as text, {status} as {name}: {told}"
    for name, table in tables(folder).items():
        if name in ("t.arrow", "p.parquet"):
            counts[name] = table.column("event").to_pylist().count("record")
    assert len({*counts.values()}) == 1, f"records: {counts}"
    return kinds


def main():
    wanted, failures, total = {*sys.argv[1:]}, 0, Counter()
    with tempfile.TemporaryDirectory() as built:
        compiled = programs(Path(built))
        chosen = [each for each in scripts() if not wanted or each.path.stem in wanted]
        for script in chosen:
            for engine in ENGINES:
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        total += check(script, engine, compiled, Path(folder))
                    except Exception as error:  # of readers, too
                        failures += 1
                        print(f"{script.path.stem}, {engine}: {type(error).__name__}: {error}", flush=True)
    shown = ", ".join(f"{count:,} {kind}" for kind, count in sorted(total.items()))
    print(f"{len(chosen)} scripts: {failures} failures; lines: {shown}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
