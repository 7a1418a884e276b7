"""The documents against the code: links lead somewhere, names exist, nothing that exists is left out."""

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest

from sonde.frontends.d.check import builtins, prototypes

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = (ROOT / "docs" / "reference.md").read_text()


OF_THE_HOUSE = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "design.md", *sorted((ROOT / "docs" / "design").iterdir())]
FOLDERS = ("src", "tests", "tools", "docs", "bench", "examples")


def anchors(path):
    """What links into a document can name: its headings, as code hosts spell them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.share(23)
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@functools.cache
def house():
    """The paths of all files and folders, each with a slash before it."""
    found = [*ROOT.iterdir(), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    return {f"/{path.relative_to(ROOT)}" for path in found}


def missing(text):
    """The files and folders that a text names and nobody finds. NAME and KIND stand for any."""
    for name in re.findall(r"`([\w./-]+(?:\.py|\.d|\.md|/))`", text):
        if not re.search("NAME|KIND", name) and not any(each.endswith(f"/{name.strip('/')}") for each in house()):
            yield name


@pytest.mark.share(5)
@pytest.mark.parametrize("path", OF_THE_HOUSE, ids=lambda path: path.name)
def test_files_that_the_pages_of_the_house_name_are_there(path):
    assert not list(missing(path.read_text()))


@pytest.mark.parametrize("name", ["session/factory.py", "factory.py", "cli/library/"])
def test_a_file_that_is_not_there_is_missed(name):
    assert list(missing(f"See `{name}`, `session/registry.py` and `providers/NAME.py`.")) == [name]


@functools.cache
def words_of_the_sources():
    suffixes = {".py", ".d", ".c", ".h", ".js", ".toml", ".txt", ".md"}
    paths = [path for folder in FOLDERS if folder != "docs" for path in (ROOT / folder).rglob("*")]
    return {word for path in paths if path.suffix in suffixes for word in re.findall(r"\w+", path.read_text())}


OF_THE_KERNEL = {"SECCOMP_RET_USER_NOTIF", "WAIT_KILLABLE_RECV"}
"""What the kernel calls so, and sonde otherwise."""


@pytest.mark.share(1)
@pytest.mark.parametrize("path", OF_THE_HOUSE, ids=lambda path: path.name)
def test_names_that_the_pages_of_the_house_use_are_there(path):
    named = re.findall(r"`([A-Za-z_][\w.]*)(?:\(\))?`", path.read_text())
    words = {word for name in named if not name.endswith((".py", ".d", ".md")) for word in name.split(".")}
    missing_words = words - words_of_the_sources() - OF_THE_KERNEL - {"NAME", "KIND"}
    assert not missing_words


COMMAND = re.compile(
    r"^    (?:\S+=\S+ )*(?:\S*(?:python3?|pytest) )+(?:-rP )?((?:tools|bench|tests)/[\w/]+\.py)(.*)$", re.MULTILINE
)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_tools_that_commands_start_are_there_with_their_options(path):
    for name, words in COMMAND.findall(path.read_text()):
        text = (ROOT / name).read_text()
        for option in re.findall(r" (--[\w-]+)", words):
            assert option in text, f"{name} {option}"
        for chosen in re.findall(r" -k (\w+)", words):
            assert re.search(rf"def test_\w*{chosen}", text), f"{name} -k {chosen}"


def test_commands_of_tools_are_found():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(COMMAND.findall(text)) > 35


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_lines_are_for_people(path):
    """Tables and the set-up commands, each one line, may be long."""
    for line in path.read_text().splitlines():
        assert len(line) <= 88 or line.startswith("|") or "python3 -m venv" in line, line


def test_the_readme_has_two_setup_commands():
    commands = re.findall(r"^    (python3 -m venv .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert [command.split()[-1] for command in commands] == ["}'", "tests"]


def test_continuous_integration_runs_the_readmes_test_command():
    """As .ci/run finds it: by its form."""
    form = re.search(r'sed -n "(s/.*/p)" README', (ROOT / ".ci" / "run").read_text())[1]
    found = subprocess.run(["sed", "-n", form, ROOT / "README.md"], check=True, capture_output=True, text=True).stdout
    assert found.splitlines() == [
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/python tests"
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.d")), ids=lambda path: path.name)
def test_every_example_runs_by_its_name(path):
    assert os.access(path, os.X_OK)
    assert path.read_text().splitlines()[0] == "#!/usr/bin/env -S sonde -s"


def test_what_is_executable_names_its_interpreter():
    """And the other way round, for every file beside the package."""
    for directory in ("examples", "tools", "tests", "docs", ".ci"):
        for path in (ROOT / directory).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                with path.open("rb") as file:
                    assert (file.read(2) == b"#!") == os.access(path, os.X_OK), path


@pytest.mark.parametrize("name", sorted(name for name in prototypes.NAMES if not name.startswith("__")))
def test_every_function_is_in_the_reference(name):
    assert re.search(rf"`{name}[`(]", REFERENCE)


@pytest.mark.share(1)
@pytest.mark.parametrize("name", sorted(builtins.NAMES))
def test_every_variable_is_in_the_reference(name):
    assert f"`{name}`" in REFERENCE or f"`{name}[" in REFERENCE or re.fullmatch(r"arg\d", name)


@pytest.mark.long
def test_the_page_of_scripts_shows_them_as_they_are():
    """Each script without its heading comment, which the page's own text stands for."""
    page = (ROOT / "docs" / "scripts.md").read_text()
    shown = dict(re.findall(r"^\[([\w-]+\.d)\]\(\.\./examples/[\w-]+\.d\):\n\n```c\n(.*?)\n```$", page, re.M | re.S))
    assert len(shown) >= 20
    for name, text in shown.items():
        assert (ROOT / "examples" / name).read_text().partition("*/\n")[2].strip() == text
        assert f"$ sonde -s {name}" in page
