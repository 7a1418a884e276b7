"""Which modules of sonde are executed while the command runs: a hook in the start of Python notes each module whose
first function is called. `noting()` gives the environment that has the hook. With SONDE_EXECUTED in the environment,
the path of a file, what the tests of TESTS start is noted there; tools/executed_modules.py looks at the result."""

import importlib.util
import os
import py_compile
import sys
import tempfile
import threading
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

import sonde

SOURCES = Path(sonde.__file__).parent

TESTS = (
    "tests/cli/test_command.py::test_a_",
    "tests/cli/test_command.py::test_an_output_that_takes_no_more_is_one_message",
    "tests/cli/test_command.py::test_the_stability_report",
    "tests/cli/test_manual.py::test_a_wrong_command_line_is_told_how_it_is_written",
    "tests/cli/test_manual.py::test_bash_completes",
    "tests/cli/test_pictures.py::test_a_saved_program_has_pictures",
    "tests/cli/test_pictures.py::test_all_formats_tell_the_same",
    "tests/cli/test_pytest_plugin.py",
    "tests/cli/test_script_tests.py::test_output_is_written_anew",
    "tests/cli/test_verify.py",
    "tests/embedded/test_calls_example.py",
    "tests/embedded/test_filed_packets.py::test_devices_are_the_interfaces_and_directions_those_of_the_file",
    "tests/embedded/test_objects_fetch.py",
    "tests/embedded/test_table_output.py",
    "tests/kernel/test_bpftrace_live.py::test_addresses_have_names_and_faults_are_told",
    "tests/kernel/test_bpftrace_live.py::test_stacks_are_values_and_have_modes",
    "tests/kernel/test_bpftrace_live.py::test_timers_and_system",
    "tests/kernel/test_bpftrace_live.py::test_tuples_records_macros_and_settings",
    "tests/kernel/test_bt_tables.py::test_formats_of_the_command_stay_its_own",
    "tests/kernel/test_commands_of_modules.py",
    "tests/kernel/test_documents_live.py",
    "tests/kernel/test_examples_notebook.py",
    "tests/kernel/test_export.py::test_maps_of_a_bpftrace_program_are_metrics",
    "tests/kernel/test_files_on_both_engines.py",
    "tests/kernel/test_headers_of_probes.py",
    "tests/kernel/test_object_choices_live.py::test_a_program_that_cannot_be_attached_can_be_left_out",
    "tests/kernel/test_object_choices_live.py::test_records_of_a_stripped_object_are_bytes",
    "tests/kernel/test_object_choices_live.py::test_static_probes_by_libbpfs_own_header",
    "tests/kernel/test_objects_on_both_engines.py",
    "tests/kernel/test_overflow_objects.py",
    "tests/kernel/test_same_on_both_engines.py",
    "tests/kernel/test_saved_specs.py",
    "tests/kernel/test_source_names_live.py",
    "tests/kernel/test_thread_data.py",
)
"""Beginnings of the names of tests that start `sonde` as users do, with examples and what the documents show: as few as
reach all modules, since a hook costs as much time as sonde itself."""

SHORT_TESTS = (
    "tests/embedded/test_switches.py",
    "tests/embedded/test_user_probes.py",
    "tests/kernel/test_object_globals.py",
    "tests/kernel/test_packet_objects.py",
    "tests/kernel/test_perf_data_live.py",
    "tests/kernel/test_static_probes_everywhere.py",
)
"""Likewise, those of which the share that the short suite has is enough."""

PROGRAMS = (
    "tests/embedded/test_library_page.py",
    "tests/embedded/test_runs_as_tables.py",
    "tests/kernel/test_library_objects.py",
)
"""Tests that are users of the library themselves."""

_HOOK = '''\
"""Notes the modules of sonde of which a function is called, in a file that only grows."""
import os
import sys
import threading

_NOTES, _SOURCES = os.environ["SONDE_EXECUTED"], os.environ["SONDE_SOURCES"]
_seen = set()


def called(frame, event, argument):
    code = frame.f_code
    name = code.co_filename
    # Only functions have fast locals: a module's or a class's body has not.
    if name in _seen or not code.co_flags & 1 or code.co_name.startswith("<"):
        return
    _seen.add(name)
    if name.startswith(_SOURCES):
        try:
            notes = os.open(_NOTES, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError:
            return
        os.write(notes, name.encode() + b"\\n")
        os.close(notes)


if __name__ == "sitecustomize":
    threading.settrace(called)
    sys.settrace(called)
'''


def noting(notes):
    """The changes of the environment that have all processes of sonde write to a file of notes, which anybody may write
    to then. The file is the only one in its directory, and the hook is put beside it."""
    directory = Path(notes).parent
    hook = directory / "sitecustomize.py"
    if not hook.exists():
        _put(hook)
        directory.chmod(0o755)
        Path(notes).touch()
        os.chmod(notes, 0o666)
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(directory), os.environ.get("PYTHONPATH")))),
        "SONDE_EXECUTED": str(notes),
        "SONDE_SOURCES": str(SOURCES),
    }


def _put(hook):
    """Write the hook, compiled first: a program that is traced opens the same files in each of its runs, at once with
    other processes of the suite too."""
    with tempfile.TemporaryDirectory(dir=hook.parent) as directory:
        source = Path(directory) / hook.name
        source.write_text(_HOOK)
        compiled = Path(importlib.util.cache_from_source(str(hook)))
        compiled.parent.mkdir(exist_ok=True)
        part = Path(directory) / compiled.name
        py_compile.compile(source, part, hook, True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
        part.rename(compiled)
        source.rename(hook)


def modules(notes):
    """The names of the modules, without `sonde.`, that a file of notes has."""
    return {name_of(Path(each)) for each in Path(notes).read_text().splitlines()}


def name_of(path):
    """The name of a module of sonde, without `sonde.`."""
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Note what the tests of TESTS start, and what those of PROGRAMS call."""
    notes = os.environ.get("SONDE_EXECUTED")
    is_short = not item.get_closest_marker("long")
    if not notes or not item.nodeid.startswith(TESTS + PROGRAMS + (SHORT_TESTS if is_short else ())):
        yield
        return
    changes = noting(notes)
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    if item.nodeid.startswith(PROGRAMS):
        hook = {"__name__": "hook"}
        exec(_HOOK, hook)
        threading.settrace(hook["called"])
        sys.settrace(hook["called"])
    yield
    sys.settrace(None)
    threading.settrace(None)
    for name, value in before.items():
        os.environ.pop(name)
        os.environ.update({} if value is None else {name: value})
