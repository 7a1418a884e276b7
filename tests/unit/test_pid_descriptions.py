"""Descriptions of user-function probes: what is wrong with them, and that one engine has none."""

import os

import pytest

from sonde.engines.embedded.offer import EmbeddedOffer
from sonde.frontends.d.errors import in_d
from sonde.model.errors import SourceError
from sonde.model.target import Target
from sonde.providers.pattern import Pattern
from sonde.providers.pid import check
from sonde.session.registry import Registry

OTHER = 4711


@pytest.fixture
def processes(tmp_path):
    """A procfs with one process."""
    (tmp_path / str(OTHER)).mkdir()
    (tmp_path / str(OTHER) / "exe").symlink_to("/usr/bin/program")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("description", "tag", "text"),
    [
        ("pid0:::entry", "D_PROC_BADPID", "pid0 does not contain a valid pid"),
        ("pid00:::entry", "D_PROC_BADPID", "pid0 does not contain a valid pid"),
        ("pid99999999999:::entry", "D_PROC_BADPID", "'pid99999999999' does not contain a valid pid"),
        (f"pid{'9' * 9000}:::entry", "D_PROC_BADPID", f"'pid{'9' * 9000}' does not contain a valid pid"),
        ("pid4712:::entry", "D_PROC_GRAB", "failed to grab process 4712"),
        pytest.param(
            f"pid{os.getpid()}:::entry",
            "D_PROC_DYN",
            f"process {os.getpid()} is dtrace itself",
            id="sonde's own process",
        ),
        ("pid4711:libc.so:-:1f", "D_PROC_LIB", "only the a.out module is valid with the '-' function"),
        ("pid4711::-:", "D_PROC_NAME", "only individual addresses may be specified with the '-' function"),
        ("pid4711:a.out:-:1*", "D_PROC_NAME", "only individual addresses may be specified with the '-' function"),
        ("pid4711:a.out:main:begin", "D_PROC_NAME", "'begin' is an invalid probe name"),
    ],
)
def test_refused(description, tag, text, processes):
    with pytest.raises(SourceError) as found:
        check(Pattern(*description.split(":")), processes)
    told = in_d(found.value)
    assert (told.tag, told.text) == (tag, text)
    assert tag != "D_PROC_GRAB" or found.value.hint == "there is no such process"


@pytest.mark.parametrize(
    "description",
    ["pid4711:::", "pid4711:a.out:main:entry", "pid4711::m*:ret*", "pid4711:a.out:main:1f", "pid4711:program:-:401000"],
)
def test_possible(description, processes):
    check(Pattern(*description.split(":")), processes)


def test_only_numbers_behind_pid_make_a_process(tmp_path):
    """Other providers that begin with pid are merely not there."""
    registry = Registry(Target("x86_64", "6.18.0", frozenset()), tracefs=str(tmp_path), offer=EmbeddedOffer())
    assert registry.match("pidgin", "", "", "entry") == ()
    assert registry.absence("pidgin") == registry.absence("pid") == registry.absence("") == ""
    assert "has no static probes of all processes" in registry.absence("python*")
