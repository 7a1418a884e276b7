"""The runner of the two suites: a failure is never silent, and a second run is listed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT, TESTS
from support.suite import scheduling, second_runs
from support.suite.left_out import LINES, summary
from support.suite.shares import drawn

PASSES = "def test_a(): pass\ndef test_b(): print('unseen')\n"
FAILS = "def test_wrong(): assert 6 * 9 == 42\ndef test_right(): pass\n"
RAISES = "import pytest\n@pytest.fixture\ndef bad(): raise ValueError('bad')\ndef test_it(bad): pass\n"
BROKEN = "import nothing_of_this_name\n"
DIES = "import os, signal\ndef test_dies(): os.kill(os.getpid(), signal.SIGKILL)\n"
LEAVES = "import os\ndef test_leaves(): os._exit(0)\n"
SKIPS = "import pytest\ndef test_skipped(): pytest.skip('needs package gdb')\n"
DISTURBED = (
    "import os, pytest\n{}\ndef test_disturbed():\n"
    "    if not os.path.exists('seen'):\n        os.mkdir('seen')\n        assert 0\n"
)
LONG = "import pytest\n@pytest.mark.long\n"
SHARE = "import pytest\n@pytest.mark.share(3)\n@pytest.mark.parametrize('n', range(10))\ndef test_n(n): pass\n"

CONFTEST = "from support.suite.left_out import pytest_terminal_summary\n" + (
    "from support.suite.shares import pytest_collection_modifyitems\n"
)
PLUGINS = ("-p", "xdist", "-p", "pytest_timeout", "-p", "pytest_rerunfailures")
PROGRAM = "import sys; from support.suite.suite import main; sys.exit(main(sys.argv[1:]))"


def run(directory, *words, **files):
    """The status and output of a suite over these files of tests."""
    for name, text in files.items():
        (directory / f"test_{name}.py").write_text(text)
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "pytest.ini").write_text("[pytest]\nmarkers = long\n  share\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = [
        sys.executable,
        "-c",
        PROGRAM,
        f"--rootdir={directory}",
        "--numprocesses=2",
        *PLUGINS,
        *words,
        str(directory),
    ]
    done = subprocess.run(words, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by their names alone, so the second one would end the run."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("one", "two", "status", "counts"),
    [
        (PASSES, PASSES, 0, "4 passed"),
        (FAILS, PASSES, 1, "1 failed, 3 passed"),
        (PASSES, RAISES, 1, "2 passed, 1 error"),
        (BROKEN, PASSES, 1, "2 passed, 1 error"),
        (DIES, PASSES, 1, "1 failed, 2 passed"),
        (LEAVES, PASSES, 1, "1 failed, 2 passed"),
        (SKIPS, PASSES, 0, "2 passed, 1 skipped"),
        (DISTURBED.format(""), PASSES, 1, "1 failed, 2 passed"),
        (DISTURBED.format("@pytest.mark.long"), PASSES, 0, "2 passed"),
        ("", "", 5, "no tests ran"),
    ],
)
@pytest.mark.share(2)
def test_a_failure_of_any_process_is_that_of_the_suite(tmp_path, one, two, status, counts):
    done, output = run(tmp_path, one=one, two=two)
    assert (done, output.splitlines()[-1].partition(" in ")[0]) == (status, counts), output


LAST = "def test_last(): open('done', 'w').close()\n"
DIES_AFTER_IT = """
import os, signal, time
def test_dies():
    while not os.path.exists("done"): time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_work_of_a_worker_that_ends_last_is_done(tmp_path):
    """It has one test left besides the one that ends it, when nobody else has any."""
    (tmp_path / "test_first.py").write_text(DIES_AFTER_IT)
    files = dict.fromkeys(("middle", "other", "second", "third"), "def test_it(): pass\n")
    done, output = run(tmp_path, "-p", "support.suite.scheduling", **files, z_last=LAST)
    assert (done, output.splitlines()[-1].partition(" in ")[0]) == (1, "1 failed, 5 passed"), output


@pytest.mark.long
def test_the_long_suite_has_the_other_tests_and_lists_second_runs(tmp_path):
    disturbed = DISTURBED.format("@pytest.mark.long")
    done, output = run(tmp_path, "--all", one=disturbed, two=PASSES + LONG + "def test_long(): pass\n")
    assert (done, output.splitlines()[-1].partition(" in ")[0]) == (0, "2 passed, 1 rerun"), output
    assert re.search(r"= second runs: 1 =+\ntest_one.py::test_disturbed\n", output)
    (tmp_path / "seen").rmdir()
    assert "test_one.py::test_disturbed (2 of the last 2 runs: mend it)\n" in run(tmp_path, "--all")[1]


@pytest.mark.long
def test_a_second_failure_is_one(tmp_path):
    done, output = run(tmp_path, "--all", one=LONG + FAILS)
    assert (done, output.splitlines()[-1].partition(" in ")[0]) == (1, "1 failed, 1 rerun"), output


@pytest.mark.long
def test_a_share_is_short_and_the_rest_is_long(tmp_path):
    shorts, longs = (
        set(re.findall(r"test_n\[\d\]", run(tmp_path, "-vv", *words, one=SHARE)[1])) for words in ((), ("--all",))
    )
    assert (len(shorts), len(longs), len(shorts | longs)) == (3, 7, 10)


@pytest.mark.long
def test_of_a_large_family_the_long_suite_has_a_share_and_the_whole_all(tmp_path):
    shorts, longs, whole = (
        set(re.findall(r"test_n\[\d\]", run(tmp_path, "-vv", *words, one=SHARE.replace("3", "3, 5"))[1]))
        for words in ((), ("--all",), ("--whole",))
    )
    assert (len(shorts), len(longs), len(whole), len(shorts | longs), len(shorts | whole)) == (3, 2, 7, 5, 10)


def test_a_new_case_moves_one_case_at_most():
    names = [f"case-{n}" for n in range(40)]
    before = drawn(names, 7)
    for new in range(20):
        assert len(drawn([*names, f"new-{new}"], 7) - before) <= 1


def test_second_runs_are_counted_over_the_last_runs():
    assert list(second_runs.lines([["a"], ["b"], ["a", "c"]])) == ["a (2 of the last 3 runs: mend it)", "c"]
    assert list(second_runs.lines([["a"], []])) == []


def test_what_traces_the_whole_machine_is_one_group():
    assert all((TESTS / f"kernel/test_{name}.py").exists() for name in scheduling.ALONE)
    assert scheduling.group_of("tests/kernel/test_export.py::test_a[b]") == scheduling.MACHINE
    readers = {path.stem for path in (TESTS / "unit").glob("*.py") if "from support.source.parsed" in path.read_text()}
    assert {f"test_{name}" for name in scheduling.SOURCES} == readers - {"test_suite"}
    assert scheduling.group_of("tests/unit/test_names.py::test_a") == scheduling.SOURCE
    assert scheduling.group_of("tests/kernel/test_unwinding.py::test_a") == "tests/kernel/test_unwinding.py"
    assert scheduling.group_of("tests/unit/test_suite.py::test_a") == "tests/unit/test_suite.py"


def test_the_path_of_the_interpreter_is_quoted_in_commands():
    """It has a blank where the directory of a checkout has one."""
    unquoted = re.compile(r"""f"+([^'"\n]*[^'"\n])?\{(sys\.executable|SONDE)\}[^"]""")
    found = [
        f"{path.relative_to(TESTS)}: {line.strip()}"
        for path in TESTS.rglob("*.py")
        for line in path.read_text().splitlines()
        if unquoted.search(line)
    ]
    assert found == []


def test_the_readme_has_the_command_of_the_short_suite():
    (command,) = re.findall(r"^    (.*bin/python tests)$", Path(ROOT, "README.md").read_text(), re.MULTILINE)
    assert "pip install -q -e '.[test]'" in command


def test_each_missing_package_is_a_line():
    reasons = ["needs package gcc"] * 5 + ["needs package gdb and needs package gcc"] + ["needs package strace"]
    reasons += ["this user lacks CAP_BPF and CAP_PERFMON"] * 7 + ["needs zram and root", "the kernel has no such thing"]
    assert summary(reasons) == [
        "gcc: 6 tests skipped; apt-get install gcc",
        "gdb: 1 test skipped; apt-get install gdb",
        "strace: 1 test skipped; apt-get install strace",
        "privileges: 8 tests skipped; run them as root",
        "other reasons: 1 test skipped; pytest -rs shows them",
    ]
    assert summary([]) == []


@pytest.mark.parametrize("more", [[], ["this user lacks CAP_BPF"], ["this user lacks CAP_BPF", "by chance"]])
@pytest.mark.parametrize("packages", [1, 8, 9, 10, 11, 40])
def test_many_missing_packages_are_told_in_ten_lines(packages, more):
    names = [f"package-{n}" for n in range(packages)]
    lines = summary([f"needs package {name}" for name in names] + more)
    assert len(lines) <= LINES
    assert set(names) == set(re.findall(r"package-\d+", " ".join(line.partition("install ")[2] for line in lines)))
