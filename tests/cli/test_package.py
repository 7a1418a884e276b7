"""The package that is published: what its page and metadata say, and that it runs from a wheel and from a zip file."""

import email
import os
import re
import shutil
import subprocess
import sys
import zipapp
import zipfile
from pathlib import Path

import elftools
import pytest
from support.machine.access import missing

from sonde import __version__

ROOT = Path(__file__).parents[2]
SONDE = str(Path(sys.executable).parent / "sonde")
MAIN = "sonde.__main__:start"
REPOSITORY = "https://forge.example/group/sonde"


def built(directory, repository=""):
    """The wheel, built offline from a copy of what it is made of."""
    pytest.importorskip("hatchling", reason="needs hatchling of the package index")
    for name in ("src", "README.md", "LICENSE", "pyproject.toml", "hatch_build.py"):
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        (shutil.copytree if source.is_dir() else shutil.copy)(
            source, directory / name, **({"ignore": ignored} if source.is_dir() else {})
        )
    settings = directory / "pyproject.toml"
    settings.write_text(settings.read_text().replace('repository = ""', f'repository = "{repository}"'))
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory / "dist"]
    subprocess.run(words, cwd=directory, check=True, capture_output=True)
    (wheel,) = (directory / "dist").iterdir()
    return wheel


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The directory that `pip install --target` makes of the wheel and of what it needs."""
    directory = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    shutil.copytree(Path(elftools.__file__).parent, directory / "elftools")
    return directory


@pytest.fixture(scope="module")
def zipped(installed, tmp_path_factory):
    assert f"-m {MAIN} -o sonde.pyz" in (ROOT / "docs" / "reference.md").read_text()
    path = tmp_path_factory.mktemp("zip") / "sonde.pyz"
    zipapp.create_archive(installed, path, interpreter="/usr/bin/env python3", main=MAIN)
    return path


def isolated(*words):
    """Python without this checkout: nothing but the standard library and what the words name."""
    return [sys.executable, "-I", "-S", *words]


@pytest.fixture(params=["directory", "zip"])
def command(request):
    if request.param == "zip":
        return isolated(str(request.getfixturevalue("zipped")))
    directory = str(request.getfixturevalue("installed"))
    return isolated("-c", f"import sys; sys.path.insert(0, {directory!r}); from sonde.__main__ import start; start()")


def run(command, *words, status=0):
    done = subprocess.run([*command, *words], capture_output=True, text=True, cwd="/")
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.mark.long
def test_the_distribution_has_another_name_than_the_command(wheel):
    found = metadata(wheel)
    assert (found["Name"], found["Version"]) == ("sonde-trace", __version__)
    assert found["Requires-Python"] == ">=3.11"
    assert found["License-Expression"] == "Apache-2.0"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        points = next(name for name in names if name.endswith("/entry_points.txt"))
        assert "sonde = sonde.cli.start:main" in archive.read(points).decode()
    assert {name.split("/")[0] for name in names} == {"sonde", f"sonde_trace-{__version__}.dist-info"}


def links(text):
    return re.findall(r"\]\(([^)]+)\)", text)


def test_without_an_address_nothing_links_anywhere(wheel):
    found = metadata(wheel)
    assert found.get_all("Project-URL") is None
    page = found.get_payload()
    assert links(page) == []
    assert "venv .venv && .venv/bin/pip install -q sonde-trace && " in page
    # What needs the sources is no matter of the package's page.
    assert ".[test]" not in page
    assert "([" not in page
    assert len(page) > 0.7 * len((ROOT / "README.md").read_text())


def test_with_an_address_links_lead_there(tmp_path):
    found = metadata(built(tmp_path, REPOSITORY))
    addresses = dict(text.split(", ") for text in found.get_all("Project-URL"))
    assert addresses["Source"] == REPOSITORY
    assert {"Documentation", "Issues", "Changes"} < set(addresses)
    page = links(found.get_payload())
    assert len(page) > 10
    for address in [*page, addresses["Documentation"]]:
        path = address.removeprefix(f"{REPOSITORY}/blob/main/").partition("#")[0]
        assert (ROOT / path).is_file(), address


@pytest.mark.long
def test_the_smallest_program_runs(command):
    privileges = missing("CAP_BPF", "CAP_PERFMON")
    if not privileges:
        assert run(command, "-n", "BEGIN { exit(0) }").stdout.split()[-2:] == ["1", ":BEGIN"]
    done = run(
        command, "--engine", "embedded", "-qc", "true", "-n", 'BEGIN { printf("%d", ENOENT); exit(3); }', status=3
    )
    assert done.stdout.strip() == "2"


@pytest.mark.long
def test_a_command_is_traced(command):
    text = "syscall::write:entry /pid == $target/ { @[probefunc] = count(); }"
    done = run(command, "--engine", "embedded", "-qc", "echo hello", "-n", text)
    assert done.stdout.split() == ["hello", "write", "1"]


@pytest.mark.share(1)
@pytest.mark.parametrize("name", ["connections", "disk", "execs", "locks", "packets", "signals"])
def test_examples_find_their_libraries(zipped, name):
    """They compile, or not, as with the files; the libraries of io, ip, net, packet, procfs, sched, signal and tcp."""
    words = ["--dry-run", "-qs", str(ROOT / "examples" / f"{name}.d"), "-c", "true"]
    found, expected = (
        subprocess.run([*each, *words], capture_output=True, text=True) for each in (isolated(str(zipped)), [SONDE])
    )
    assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr)


@pytest.mark.long
@pytest.mark.parametrize("name", ["cpu.html", "cpu.svg"])
def test_pictures_have_their_scripts(command, tmp_path, name):
    text = "syscall::write:entry /pid == $target/ { @[ustack()] = count(); }"
    run(command, "--engine", "embedded", "-qc", "echo hello", "--flame", str(tmp_path / name), "-n", text)
    page = (tmp_path / name).read_text()
    assert (ROOT / "src/sonde/pictures/page/flame.js").read_text() in page


def test_names_of_cpp_are_shown(zipped):
    """By a process of its own, which has its program from the zip file."""
    here = (
        "from sonde.symbols.source_names.demangle import Demangler; print(Demangler().name('_ZN4shop6Basket5totalEi'))"
    )
    code = f"import sys; sys.path.insert(0, {str(zipped)!r}); {here}"
    done = subprocess.run(isolated("-c", code), capture_output=True, text=True)
    expected = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (expected.stdout, expected.stderr)


@pytest.mark.long
def test_a_mistake_has_its_status_and_its_name(zipped, tmp_path):
    done = run(isolated(str(zipped)), "-e", "-n", "BEGIN { nonsense; }", status=1)
    assert done.stderr.startswith("sonde: ")
    other = tmp_path / "dtrace.pyz"
    os.link(zipped, other)
    assert run(isolated(str(other)), "-V").stdout.startswith("dtrace: ")
