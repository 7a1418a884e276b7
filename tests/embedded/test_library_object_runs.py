"""Objects as scripts of the library, run by the embedded engine."""

import sys

import pytest
from support.bpf.bpf_objects import compiled
from support.machine import packages

import sonde

CALLS = [sys.executable, "-c", "import os; [os.getppid() for _ in range(37)]"]
SOURCE = """
u64 calls;
SEC("probe/tracepoint/syscalls/sys_enter_getppid") int f(struct probe *p) { calls++; return 0; }
"""


@pytest.fixture
def path():
    packages.require("bpf-gcc")
    return compiled(SOURCE)


def test_a_run_gives_what_it_counted(path):
    script = sonde.load_object(path, options={"engine": "embedded"})
    assert script.programs == {"f": "probe/tracepoint/syscalls/sys_enter_getppid"}
    assert all(script.verify("embedded"))
    with script.run(CALLS) as run:
        text = b"".join(each.text for each in run if isinstance(each, sonde.Text))
    assert text == b"calls = 37\n"


def test_several_places_are_chosen(path):
    places = ["tracepoint/syscalls/sys_enter_getppid", "tracepoint/syscalls/sys_exit_getppid"]
    script = sonde.load_object(path, options={"engine": "embedded"}, attach={"f": places})
    with script.run(CALLS) as run:
        text = b"".join(each.text for each in run if isinstance(each, sonde.Text))
    assert text == b"calls = 74\n"


def test_without_processes_it_does_not_run(path):
    script = sonde.load_object(path, options={"engine": "embedded"})
    with pytest.raises(sonde.Error, match="need -c or -p with the embedded engine"), script.run() as run:
        run.wait()


def test_the_kernel_has_no_general_programs(path):
    with pytest.raises(sonde.ScriptError, match="the kernel has no general programs"):
        sonde.load_object(path, options={"engine": "kernel"})
