"""The runner of the whole suite: all parts are told, whatever becomes of either."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import suite
from left_out import LINES, summary

ROOT = Path(__file__).parents[2]

PASSES = "def test_a(): pass\ndef test_b(): print('unseen')\n"
FAILS = "def test_wrong(): assert 6 * 9 == 42, 'the {} part'\ndef test_right(): pass\n"
RAISES = "import pytest\n@pytest.fixture\ndef bad(): raise ValueError('bad')\ndef test_it(bad): pass\n"
BROKEN = "import nothing_of_this_name\n"
DIES = "import os, signal\ndef test_dies(): os.kill(os.getpid(), signal.SIGKILL)\n"
LEAVES = "import os\ndef test_leaves(): os._exit(0)\n"
SKIPS = "import pytest\ndef test_skipped(): pytest.skip('needs package gdb')\n"
DISTURBED = (
    "import os\ndef test_disturbed():\n    if not os.path.exists('seen'):\n        os.mkdir('seen')\n        assert 0\n"
)
SLOW = "import time\ndef test_slow():\n    open({!r}, 'w').close()\n    time.sleep(60)\n"

OPTIONS = ["-q", "-p", "no:hypothesispytest"]
PROGRAM = f"import sys; from suite import main; sys.exit(main({OPTIONS}, {{'one': ['one'], 'two': ['two']}}))"


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by their names alone, so the second one would end the run."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def start(directory, one, two):
    for name, text in (("one", one), ("two", two)):
        (directory / name).mkdir()
        (directory / name / f"test_{name}.py").write_text(text)
    (directory / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=directory, env=environment, stdout=subprocess.PIPE, text=True
    )


def run(directory, one, two):
    process = start(directory, one, two)
    output, _ = process.communicate(timeout=60)
    return process.returncode, output


@pytest.mark.parametrize(
    ("one", "two", "status", "last"),
    [
        (PASSES, PASSES, 0, "4 passed, 0 failed, 0 skipped"),
        (FAILS, PASSES, 1, "3 passed, 1 failed, 0 skipped"),
        (PASSES, FAILS, 1, "3 passed, 1 failed, 0 skipped"),
        (PASSES, RAISES, 1, "2 passed, 1 failed, 0 skipped"),
        (BROKEN, PASSES, 1, "2 passed, 1 failed, 0 skipped"),
        (DIES, PASSES, 1, "2 passed, 1 failed, 0 skipped"),
        (DISTURBED, PASSES, 0, "3 passed, 0 failed, 0 skipped"),
        (DISTURBED, FAILS, 1, "1 passed, 2 failed, 0 skipped"),
        (DISTURBED, DIES, 1, "0 passed, 2 failed, 0 skipped"),
        (SKIPS, PASSES, 0, "2 passed, 0 failed, 1 skipped"),
        ("", PASSES, 0, "2 passed, 0 failed, 0 skipped"),
        ("", "", 1, "0 passed, 0 failed, 0 skipped"),
    ],
)
def test_a_failure_of_either_is_that_of_the_suite(tmp_path, one, two, status, last):
    done, output = run(tmp_path, one, two)
    assert (done, output.splitlines()[-1]) == (status, last), output


def test_a_part_that_leaves_without_a_word_has_failed(tmp_path):
    """What it has left out is told all the same."""
    status, output = run(tmp_path, SKIPS + LEAVES, PASSES)
    assert status == 1, output
    assert "one: ended with status 0 in one/test_one.py::test_leaves" in output
    assert "gdb: 1 test left out; apt-get install gdb\n" in output


def test_who_passes_alone_only_is_named(tmp_path):
    """A failure is repeated once, and if many have failed none is."""
    status, output = run(tmp_path, DISTURBED, PASSES)
    assert (status, output.count("FAILED one/test_one.py::test_disturbed\n")) == (0, 1)
    assert "\nfailed beside other tests, passed by itself: one/test_one.py::test_disturbed\n" in output


def test_many_failures_are_not_repeated(tmp_path):
    many = "".join(f"def test_{n}(): assert 0\n" for n in range(suite.FEW + 1))
    status, output = run(tmp_path, many, PASSES)
    assert status == 1
    assert "=== once more" not in output


def test_both_are_told_one_after_the_other(tmp_path):
    _, output = run(tmp_path, FAILS.format("first"), FAILS.format("second"))
    assert re.search(r"=== one\n(?s:.)*the first part(?s:.)*=== two\n(?s:.)*the second part", output)
    at_once, _, rest = output.partition("=== one")
    assert "the second" not in rest.partition("=== two")[0]
    # Told at once and why, and by each part itself.
    assert re.search(r"^FAILED one/test_one.py::test_wrong\n    .*the first part", at_once, re.MULTILINE)


def test_what_was_left_out_is_told_once(tmp_path):
    _, output = run(tmp_path, SKIPS, SKIPS)
    assert output.count("gdb: 2 tests left out; apt-get install gdb\n") == 1
    assert output.count("left out;") == 1


def test_who_stops_the_suite_sees_what_there_is(tmp_path):
    """By SIGTERM, as a limit on its time does: all parts are told."""
    ready = tmp_path / "ready"
    process = start(tmp_path, FAILS, SLOW.format(str(ready)))
    assert "FAILED one/test_one.py" in process.stdout.readline()
    end = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "assert (6 * 9) == 42" in output
    assert "KeyboardInterrupt" in output.partition("=== two")[2]
    assert re.search(r"^two: .*test_slow$", output, re.MULTILINE)


def test_the_parts_are_all_there_is():
    run = [suite.TESTS / each for part in suite.PARTS.values() for each in part]
    assert all(each.exists() for each in run)
    files = [file.resolve() for each in run for file in ([each] if each.is_file() else each.glob("test_*.py"))]
    assert sorted(files) == sorted((ROOT / "tests").rglob("test_*.py"))
    assert ROOT / "tests/../examples/tests" in run


def test_each_missing_package_is_a_line():
    reasons = ["needs package gcc"] * 5 + ["needs package gdb and needs package gcc"] + ["needs package strace"]
    reasons += ["this user lacks CAP_BPF and CAP_PERFMON"] * 7 + ["needs zram and root", "the kernel has no such thing"]
    assert summary(reasons) == [
        "gcc: 6 tests left out; apt-get install gcc",
        "gdb: 1 test left out; apt-get install gdb",
        "strace: 1 test left out; apt-get install strace",
        "privileges: 8 tests left out; run them as root",
        "other reasons: 1 test left out; pytest -rs tells them",
    ]
    assert summary([]) == []


@pytest.mark.parametrize("more", [[], ["this user lacks CAP_BPF"], ["this user lacks CAP_BPF", "by chance"]])
@pytest.mark.parametrize("packages", [1, 8, 9, 10, 11, 40])
def test_many_missing_packages_are_told_in_ten_lines(packages, more):
    names = [f"package-{n}" for n in range(packages)]
    lines = summary([f"needs package {name}" for name in names] + more)
    assert len(lines) <= LINES
    assert set(names) == set(re.findall(r"package-\d+", " ".join(line.partition("install ")[2] for line in lines)))
