"""fds[], cwd and root of every kind of file have the same values on both engines."""

import re
import shlex
import sys

import pytest
from support.command.command import sonde
from support.places import SUPPORT

KINDS = SUPPORT / "command/open_file_kinds.py"
MEMBERS = ("fi_name", "fi_pathname", "fi_dirname", "fi_fs", "fi_mount", "fi_offset", "fi_oflags")
SHOWN = ", ".join(f"fds[arg0].{name}" for name in MEMBERS)
PROGRAM = f"""
syscall::getpgid:entry /pid == $target/ {{
    printf("%d|%s|%s|%s|%s|%s|%d|%o|%s|%s\\n", (int)arg0, {SHOWN}, cwd, root);
}}
"""
MOST_LEFT_OUT = 5
"""Kinds that a kernel may be built without."""


def described(engine, directory, *options):
    """What sonde says of each kind of file, and which kinds there were."""
    directory.mkdir()
    names = directory.with_name(f"{directory.name}.names")
    command = shlex.join([sys.executable, str(KINDS), str(directory)])
    out = directory.with_name(f"{directory.name}.out")
    words = ["--engine", engine, "-xstrsize=1024", *options, "-qn", PROGRAM, "-o", str(out)]
    done = sonde(*words, "-c", f"sh -c {shlex.quote(f'exec {command} > {names}')}")
    assert "error in" not in done.stderr, done.stderr
    # A file without a name is named after its number.
    text = re.sub(r"#\d+", "#NUMBER", out.read_text(errors="backslashreplace")).replace(str(directory), "/PLACE")
    text = re.sub(r"sonde-\d+", "sonde-NUMBER", text)
    # Which terminal comes next depends on who else has some.
    text = re.sub(r"\|\d+\|/dev/pts/\d+\|", "|NUMBER|/dev/pts/NUMBER|", text)
    # A closed root, as in a container, has the directory below another one.
    return re.sub(rf"\|[^|]*{re.escape(str(directory.parent))}\|", "|/|", text), names.read_text().split()


@pytest.fixture(scope="module")
def of_kernel(tmp_path_factory):
    return described("kernel", tmp_path_factory.mktemp("kernel") / "files")


@pytest.mark.long
@pytest.mark.parametrize("seccomp", ["yes", "no"])
def test_every_kind_of_file_is_described_alike(of_kernel, tmp_path, seccomp):
    text, names = described("embedded", tmp_path / "files", f"-xseccomp={seccomp}")
    assert names == of_kernel[1]
    source = KINDS.read_text()
    assert len(names) >= source.count("@kind") - MOST_LEFT_OUT
    assert text.splitlines() == of_kernel[0].splitlines()


def test_the_kinds_show_what_they_are_for(of_kernel):
    """The program opens what it says: each form of a value is among them."""
    text, _ = of_kernel
    for form in (r"\|<none>\|", r" \(deleted\)\|", r"\|pipefs:\|", r"sockfs:TCP", r"anon_inodefs:\[eventfd\]",
                 r"tmpfs:memfd:", r"\|/proc/sys/", r"\|jail\|/\|", r"\|/inner\|/$", r"\|1099511627777\|"):  # fmt: skip
        assert re.search(form, text, re.MULTILINE), form
