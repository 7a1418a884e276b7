"""The plugin that the package brings for pytest: cases are tests, `sonde_run` gives values, others notice nothing."""

import subprocess
import sys
from importlib.metadata import entry_points
from xml.etree import ElementTree

import pytest
from support.command.running import environment

SCRIPT = 'syscall::write:entry /pid == $target/ { @writes[execname] = count(); printf("%d", arg2); }\n'
CASES = """
command = "sh -c 'echo one; echo two'"
[good]
aggregations = '@writes["sh"] == 2'
[bad]
aggregations = '@writes["sh"] == 3'
[left-out]
needs = "no-such-program"
"""
ORDINARY = """
import sys
from sonde import lazy
def test_it():
    own = [name for name in sys.modules if name.startswith("sonde.library.")]
    assert not [name for name in own if lazy.is_executed(sys.modules[name])]
"""


@pytest.fixture
def run_pytest(tmp_path):
    """Run pytest over these files in a directory of its own."""

    def run(*words, files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *words],
            capture_output=True, text=True, cwd=tmp_path, env=environment(),
        )  # fmt: skip

    return run


def test_the_package_has_the_entry_point():
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "sonde"]
    assert found.value == "sonde.pytest_plugin"


@pytest.mark.long
def test_cases_are_tests(run_pytest, tmp_path):
    files = {"w.d": SCRIPT, "w.sonde.toml": CASES, "test_other.py": "def test_other(): pass\n"}
    done = run_pytest("-rs", "-v", "--junitxml", "found.xml", files=files)
    assert done.returncode == 1
    assert "1 failed, 2 passed, 1 skipped" in done.stdout
    assert "w.sonde.toml::good PASSED" in done.stdout
    assert "needs no-such-program, which is not installed" in done.stdout
    failure = done.stdout.partition("= FAILURES =")[2]
    assert '$ sonde --engine embedded -s w.d -c "sh -c ' in failure
    assert 'aggregations: @writes["sh"] == 3' in failure
    assert "Traceback" not in failure
    assert "checking.py" not in failure
    names = [each.get("name") for each in ElementTree.parse(tmp_path / "found.xml").iter("testcase")]
    assert names == ["test_other", "good", "bad", "left-out"]


@pytest.mark.long
def test_cases_are_chosen_as_any_tests(run_pytest):
    done = run_pytest("w.sonde.toml::good", files={"w.d": SCRIPT, "w.sonde.toml": CASES})
    assert "1 passed" in done.stdout
    assert "2 passed" in run_pytest("-k", "good or left", "-q", files={}).stdout.replace(
        "1 passed, 1 skipped", "2 passed"
    )


@pytest.mark.long
def test_a_file_that_makes_no_sense_is_an_error_of_one_message(run_pytest):
    done = run_pytest("-q", files={"w.d": SCRIPT, "w.sonde.toml": "[a]\ncomand = 1\n"})
    assert done.returncode == 2
    assert "w.sonde.toml: a: there is no key comand" in done.stdout
    assert "did you mean command?" in done.stdout
    assert "Traceback" not in done.stdout
    assert "reading.py" not in done.stdout


def test_projects_without_such_files_load_nothing_of_it(run_pytest):
    done = run_pytest("-q", files={"test_it.py": ORDINARY, "config.test.toml": "[", "sonde.toml": "["})
    assert "1 passed" in done.stdout, done.stdout


LOADED = """
import sys
import sonde.pytest_plugin
print(*[name for name in sys.modules if name.split(".")[0] == "sonde" or name in ("tomllib", "tempfile")])
"""


def test_what_the_plugin_loads_at_the_start():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"sonde", "sonde.lazy", "sonde.pytest_plugin", "tempfile"}


RUNS = """
import pytest, sonde

def test_script(sonde_run):
    traced = sonde_run("w.d", command=["sh", "-c", "echo one; exit 3"])
    assert traced.aggregations["writes"]["sh"] == 1
    assert [record[0] for record in traced.records] == [4]
    assert traced.exit_status == 0 and traced.command_status == 3 << 8

def test_program(sonde_run):
    traced = sonde_run(program="BEGIN { trace($1); } BEGIN { trace(*(int *)16); } ERROR { exit(5); }", arguments=[7])
    assert traced.records[0][0] == 7 and traced.exit_status == 5
    assert [error.reason for error in traced.errors] == ["invalid address"]
    assert not traced.losses and isinstance(traced.events[-1], sonde.Exit)

def test_duration(sonde_run):
    assert sonde_run(program="tick-20hz { @ = count(); }", duration=0.5).aggregations["_"][()] > 2

def test_mistakes(sonde_run):
    with pytest.raises(sonde.CompileError):
        sonde_run(program="BEGIN { nothing }")
    with pytest.raises(TypeError):
        sonde_run()
    with pytest.raises(sonde.Error, match="absent.d"):
        sonde_run("absent.d")

@pytest.fixture
def sonde():
    return "a fixture of the project's own"

def test_own(sonde):
    assert sonde.startswith("a fixture")
"""


@pytest.mark.long
def test_the_fixture_runs_scripts(run_pytest):
    """Scripts are found beside the test, wherever pytest was started."""
    done = run_pytest(
        "-q",
        files={
            "w.d": SCRIPT,
            "test_runs.py": RUNS.replace("pytest, sonde\n", "pytest\nimport sonde as sonde_\n")
            .replace("sonde.E", "sonde_.E")
            .replace("sonde.C", "sonde_.C"),
        },
    )
    assert "5 passed" in done.stdout, done.stdout
