"""What tests need of Debian: asked for in one place, and left out where it is missing."""

import re
import subprocess
from pathlib import Path

import pytest
from support.machine import packages

TESTS = Path(__file__).parents[1]


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without any program, and without headers."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages, "HEADERS", ())
    packages._is_there.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    packages._is_there.cache_clear()


def test_the_package_is_named_once(bare):
    assert packages.missing() == ""
    assert packages.missing("gdb") == "needs package gdb"
    assert packages.missing("nm", "gcc", "strip") == "needs package binutils and needs package gcc"
    assert packages.needs("gdb", "gcc").args == (True,)
    with pytest.raises(pytest.skip.Exception, match=r"^needs package strace$"):
        packages.require("strace")


def test_a_compiler_without_headers_is_none(bare):
    for name in ("gcc", "gdb"):
        (bare / name).touch(mode=0o755)
    assert packages.missing("gcc") == "needs package libc6-dev"
    assert packages.missing("gdb") == ""
    assert packages.needs("gdb").args == (False,)


def test_what_is_not_in_the_table_is_a_mistake():
    with pytest.raises(KeyError):
        packages.missing("gcc-of-nowhere")


def test_a_test_that_starts_a_missing_program_is_left_out(bare):
    def part(work):
        wrapper = packages.pytest_runtest_call(None)
        next(wrapper)
        try:
            work()
        except FileNotFoundError as error:
            wrapper.throw(error)

    with pytest.raises(pytest.skip.Exception, match=r"^needs package gdb$"):
        part(lambda: subprocess.run(["gdb", "--version"]))
    # What is no matter of packages fails.
    with pytest.raises(FileNotFoundError):
        part(lambda: subprocess.run(["gdb-of-nowhere"]))
    (bare / "gdb").write_text("#!/nowhere/sh\n")
    (bare / "gdb").chmod(0o755)
    packages._is_there.cache_clear()
    with pytest.raises(FileNotFoundError):
        part(lambda: subprocess.run(["gdb"]))


def test_no_test_decides_by_itself_that_a_program_is_missing():
    """But by packages.py, which tells the package. A path may be asked for."""
    asks = re.compile(r"(?:not |if |map\(|is None.*)shutil\.which|shutil\.which\([^)]*\) (?:is|==|or|and|if)\b")
    found = [
        f"{path.relative_to(TESTS)}: {line.strip()}"
        for path in TESTS.rglob("*.py")
        for line in path.read_text().splitlines()
        if asks.search(line) and path.name not in ("packages.py", "test_packages.py")
    ]
    assert not found
