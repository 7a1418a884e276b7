"""Objects that load on both engines say the same of the same workload."""

import pytest
from support.bpf.bpf_objects import COMPILERS, compiled
from support.bpf.object_sources import HEAD, SOURCES, STATUS, WORKLOAD
from support.command import command
from support.machine import packages

CASES = [
    pytest.param(name, compiler, marks=packages.needs(COMPILERS[compiler][0]), id=f"{name}-{compiler}")
    for number, name in enumerate(SOURCES)
    for compiler in list(COMPILERS)[number % 2 :: 2]
]


def said(engine, source, compiler):
    """What it prints, writes and has in its maps, but for where text lies, which compilers put into maps of their
    own."""
    words = ["--engine", engine, "--object", compiled(HEAD + source, compiler), "-D", "target=$target", "--dump"]
    done = command.sonde(*words, "-c", WORKLOAD, status=0)
    assert f"exited with status {STATUS}" in done.stderr
    return [each for each in done.stdout.splitlines() if not each.startswith((".rodata", "target = "))]


@pytest.mark.share(1, 16)
@pytest.mark.parametrize(("name", "compiler"), CASES)
def test_an_object_says_the_same_on_both_engines(name, compiler):
    source, wanted = SOURCES[name]
    kernel, embedded = (said(engine, source, compiler) for engine in ("kernel", "embedded"))
    assert embedded == kernel
    assert kernel
    assert set(wanted) <= set(kernel)


def test_there_are_enough_of_them():
    assert len(SOURCES) >= 20
