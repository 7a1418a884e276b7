"""Descriptions of probes in functions, matched with this machine's own programs."""

import re
import subprocess
import sys

import pytest

from sonde.frontends.d.errors import in_d
from sonde.model.errors import NOT_PROBEABLE, UNALIGNED, SourceError
from sonde.model.probe import Uprobe
from sonde.providers.pattern import Pattern
from sonde.providers.user_functions import UserFunctions
from sonde.symbols.elf.file import ElfFile


@pytest.fixture(scope="module")
def process():
    """One that waits, with the C library mapped."""
    found = subprocess.Popen([sys.executable, "-c", "print(1, flush=True); input()"], stdin=-1, stdout=-1)
    assert found.stdout.readline() == b"1\n"
    yield found.pid
    found.communicate(b"\n")


@pytest.fixture(scope="module")
def functions():
    return UserFunctions()


def match(functions, process, text):
    return functions.match(Pattern(f"pid{process}", *text.split(":")))


def test_a_function_of_a_library(functions, process):
    """Its offset is that of the file's symbol."""
    (probe,) = match(functions, process, "libc:getenv:entry")
    assert probe[1:5] == (f"pid{process}", "libc.so.6", "getenv", "entry")
    file = ElfFile.open(probe.firing.path) if _readable(probe.firing.path) else None
    if file:
        assert probe.firing.offset in {file.offset_of(each.address) for each in file.find("getenv")}
    assert (probe.firing.pid, probe.firing.kind) == (process, "entry")


def _readable(path):
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


def test_identifiers_last(functions, process):
    """The same description gives the same probe, and the number finds it."""
    first = match(functions, process, "libc:getenv:entry")
    assert match(functions, process, "libc.so:getenv:entry") == first
    assert functions.by_id(first[0].id) == first[0]
    assert functions.by_id(first[0].id + 10**6) is None


def test_all_probes_of_a_function(functions, process):
    """entry, return, and the offsets from 0 on, which ascend."""
    found = match(functions, process, "libc:getenv:")
    assert [probe.name for probe in found[:3]] == ["entry", "return", "0"]
    offsets = [int(probe.name, 16) for probe in found[2:]]
    assert offsets == sorted(set(offsets))
    base = found[0].firing.offset
    assert {probe.firing for probe in found[2:]} == {
        Uprobe(process, found[0].firing.path, base + offset, "offset", file=found[0].firing.file) for offset in offsets
    }


def test_patterns(functions, process):
    found = match(functions, process, "libc*:get[ep]*:entry")
    assert {"getenv", "getpid"} & {probe.function.lstrip("_") for probe in found}
    assert all(re.match("get[ep]", probe.function) and probe.name == "entry" for probe in found)
    assert len({probe.firing for probe in found}) == len(found)
    assert match(functions, process, "libnone:getenv:entry") == []
    assert match(functions, process, "libc:no_such*:entry") == []


@pytest.mark.parametrize(
    ("description", "tag", "text"),
    [
        ("libc:no_such:entry", "D_PROC_FUNC", "failed to lookup 'no_such' in module 'libc'"),
        ("libc:getenv:fffff", "D_PROC_OFF", "offset 0xfffff outside of function 'getenv'"),
        ("a.out:-:3", "D_PROC_OFF", "address 0x3 is in no function of the program that has a symbol"),
    ],
)
def test_refused(functions, process, description, tag, text):
    with pytest.raises(SourceError) as found:
        match(functions, process, description)
    told = in_d(found.value)
    assert (told.tag, told.text) == (tag, text)


def test_the_middle_of_an_instruction(functions, process):
    """Exactly the offsets that the pattern gives are accepted one by one, or refused as not to be probed."""
    whole = {probe.name for probe in match(functions, process, "libc:getenv:")}
    for name in (f"{offset:x}" for offset in range(60)):
        if name in whole:
            assert [probe.name for probe in match(functions, process, f"libc:getenv:{name}")] == [name]
        else:
            with pytest.raises(SourceError) as found:
                match(functions, process, f"libc:getenv:{name}")
            assert found.value.kind in (UNALIGNED, NOT_PROBEABLE)


def test_why_nothing_matches(functions, process):
    assert "no object libnone; it has a.out, " in functions.mismatch(Pattern(f"pid{process}", "libnone", "f", "entry"))
    assert functions.mismatch(Pattern(f"pid{process}", "libc", "no_*", "entry")) == "no function there matches no_*"
