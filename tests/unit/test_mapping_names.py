"""What a process has mapped under names that its user has chosen: every row stays that of its own file."""

import mmap
import os
import subprocess
import sys

import pytest

from sonde.symbols.mappings import parse_maps

NAMES = [
    b"carriage\rreturn", b"tab\vulator", b"form\ffeed", b"file\x1cseparator", b"next\xc2\x85line",
    b"line\xe2\x80\xa8end", b"paragraph\xe2\x80\xa9end", b"two\nlines", b"not\xff\xfeUTF-8",
    b"gone (deleted)", b"back\\012slash",
    b" blank at both ends ", b"00400000-00500000 r-xp 00000000 00:00 0    fake",
]  # fmt: skip
"""Among them all that `str.splitlines` divides a text at."""


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """A process that has mapped a file of each name, to be executed; its pid and the files' directory."""
    directory = os.fsencode(tmp_path_factory.mktemp("names"))
    for name in NAMES:
        with open(os.path.join(directory, name), "wb") as file:
            file.write(bytes(mmap.PAGESIZE))
    code = (
        "import mmap, os, sys\n"
        "maps = []\n"
        "for each in os.listdir(os.fsencode(sys.argv[1])):\n"
        "    d = os.open(os.path.join(os.fsencode(sys.argv[1]), each), os.O_RDONLY)\n"
        "    maps.append(mmap.mmap(d, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process.pid, directory
        process.stdin.close()


def inodes(directory):
    """The path of each file by its inode, as the kernel writes it; in a name it escapes line feeds alone."""
    return {os.stat(os.path.join(directory, name)).st_ino: os.path.join(directory, name) for name in NAMES}


def test_every_mapping_has_its_own_name(mapped):
    pid, directory = mapped
    wanted = inodes(directory)
    with open(f"/proc/{pid}/maps", "rb") as file:
        found = {
            each.inode: os.fsencode(each.path) for each in parse_maps(file.read().decode(errors="surrogateescape"))
        }
    for inode, path in wanted.items():
        assert found[inode].replace(b"\n", b"\\012") == path.replace(b"\n", b"\\012")


def test_no_name_makes_a_row_of_its_own(mapped):
    pid, _ = mapped
    with open(f"/proc/{pid}/maps", "rb") as file:
        data = file.read()
    assert len(parse_maps(data.decode(errors="surrogateescape"))) == data.count(b"\n")
