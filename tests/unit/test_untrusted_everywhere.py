"""Nothing in the package opens a file by itself that is not its own to make: that is the business of `untrusted`; what
is, `written_files` opens (`test_written_everywhere.py`)."""

import ast
import re
from pathlib import Path

import pytest
from support.source.parsed import parsed

import sonde

ROOT = Path(sonde.__file__).parent

JUSTIFIED = {
    "bpf.btf.Btf.open": "maps a file of sysfs, which the kernel alone writes",
    "library.memory_bounds.bounded_memory": "a short text of /proc",
    "frontends.d.programs.preprocess.preprocess": "memory of its own",
    "runtime.maps.base.allocate": "memory of its own",
    "runtime.maps.ring_buffer.RingBuffer.__init__": "memory of its own",
    "engines.kernel.event_ring._mapped": "a ring of the kernel's",
    "engines.kernel.perf_rings._map": "a ring of the kernel's",
    "engines.kernel.ring.KernelRing.__init__": "a ring of the kernel's",
    "recording.file.PerfDataFile.complete": "the file that it has made itself",
    "resources.text": "a part of the package",
    "lazy._code": "a part of the package",
    "lazy._bundle": "a part of the package",
    "cli.module_bundle._compiled": "a part of the package",
    "symbols.objects.Objects._vdso": "its own memory, of which it reads so much as it says",
    "engines.embedded.tracer.events.remove_copy": "a process's memory, to be written",
    "engines.embedded.tracer.code_space.CodeSpace.__init__": "a process's memory, to be read in words and written",
    "library.kept_files.read_again": "the file that it writes itself, of which it reads so much as it says",
    "cli.bt._is_compiled": "one byte of a regular file",
    "machine.own_name._write_command_line": "a short text of /proc, and its own memory, to be written",
    "children.open_nothing": "/dev/null",
    "engines.embedded.tracer.held_command._is_foreground": "the terminal",
    "engines.embedded.tracer.held_command._wait": "a pipe from sonde itself",
    "launch.problem": "a pipe from a child that is still sonde's",
    "engines.embedded.tracer.running_threads.RunningThreads._open": "short texts of /proc, some of which are kept open",
    "engines.embedded.tracer.unfinished._may_wait": "a short text of /proc, of a thread that stands",
    "engines.embedded.tracer.turns._read": "a short text of /proc, which a thread waits for",
    "reader.AbandonableReader._data": "a place alone, in the reader, which may wait",
    "reader.AbandonableReader._open": "a place alone, in the reader, which may wait",
    "reader.AbandonableReader._copy": "a memory file of its own",
    "reader.AbandonableReader._memory": "a process's memory, of which it reads so much as it is asked for",
    "reader._is_of_own_users": "a place alone, in the reader, which may wait",
    "reader._place": "a place alone, in the reader, which may wait",
    "reader._reopened": "a regular file, in the reader",
    "served._text": "a text of /proc with a bound, for which no lock is needed",
    "others.memory": "its own memory, or that of a process of its own user, of which it reads so much as it says",
    "others.executable": "a place alone, through a link of /proc that leads there at once",
    "others.held": "a directory of /proc alone",
    "others._start_time": "a short text of /proc, for which no lock is needed",
    "others._wants_to_run": "a short text of /proc, for which no lock is needed",
    "engines.embedded.tracer.presence.Presence._descriptor": "a process's list of pages, of which it reads a few words",
    "report.commands.captured": "memory of its own, which a command of the program has written to",
}  # fmt: skip
"""Functions that open something by themselves to read it, and why that is no file of others."""

OPENING = {
    "bz2.decompress", "bz2.open", "codecs.open", "gzip.decompress", "gzip.open", "io.open", "linecache.getline",
    "lzma.decompress", "lzma.open", "mmap.mmap", "os.open", "tokenize.open", "zlib.decompress",
}  # fmt: skip
"""What opens a file by its name, or has no bound on what it makes."""


def functions_that_open(tree):
    """The qualified names of functions that call what opens files, or splits text at more than line feeds."""

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef)
            yield from visit(child, [*inside, child.name] if named else inside)
            if isinstance(child, ast.Call) and opens(child):
                yield ".".join(inside)

    return set(visit(tree, []))


def opens(call):
    text = ast.unparse(call)
    if isinstance(call.func, ast.Name):
        return call.func.id == "open" and not WRITING.search(text)
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in ("splitlines", "read_text", "read_bytes", "readlines", "fdopen"):
        return True
    return ast.unparse(call.func) in OPENING and "os.O_WRONLY" not in text


WRITING = re.compile(r"""['"][wax]b?\+?['"]""")


def found():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if name not in ("untrusted", "written_files", "directory_walk"):
            for function in functions_that_open(parsed(path)):
                yield f"{name}.{function}"


@pytest.mark.long
def test_only_the_listed_functions_open_something_by_themselves():
    assert set(found()) == set(JUSTIFIED)


@pytest.mark.parametrize(
    "text",
    [
        "open(path)", "os.open(path, 0)", "gzip.open(path)", "Path(path).read_text()", "file.read_bytes()",
        "text.splitlines()", "mmap.mmap(d, 0)", "os.fdopen(d)", "file.readlines()", "gzip.decompress(data)",
        "os.open(path, os.O_RDWR)", "open(path, 'rb')",
    ],
)  # fmt: skip
def test_what_opens_is_seen(text):
    assert functions_that_open(ast.parse(f"class A:\n  def b(self):\n    with {text} as file: pass")) == {"A.b"}


def test_what_writes_is_not():
    assert not functions_that_open(ast.parse("def a():\n  open(path, 'wb'), os.open(path, os.O_WRONLY | os.O_CREAT)"))


def test_what_opens_by_way_of_the_module_is_not():
    assert not functions_that_open(ast.parse("def a():\n  return untrusted.open_file(p), ElfFile.open(p)"))


WAITING = {
    "os.stat", "os.lstat", "os.listdir", "os.scandir", "os.path.exists", "os.path.isfile", "os.path.isdir",
    "os.path.realpath", "os.path.samefile", "os.path.getsize", "os.statvfs",
}  # fmt: skip
"""What looks a path up: who serves the file system may not answer (others.py)."""

OF_OTHERS = ("symbols", "everywhere", "recording", "providers", "engines", "report", "machine")
"""Packages that look at what processes have."""

OWN = {
    "machine.proc": "a directory of /proc alone", "machine.descendants.descendants": "a directory of /proc alone",
    "machine.mounts": "a namespace in /proc", "machine.open_files.open_file": "a directory of /proc alone",
    "machine.control_groups": "a directory of cgroup2", "machine.event_sources": "/sys", "machine.system": "/proc",
    "machine.obstacles": "/proc and /sys", "machine.tracefs": "tracefs", "engines.kernel.features": "/sys and tracefs",
    "engines.embedded.tracer.busy": "a directory of /proc alone", "symbols.following": "a directory of /proc alone",
    "engines.embedded.tracer.events._made": "a directory of /proc alone", "recording.running": "a directory of /proc",
    "engines.embedded.tracer.obeying._tasks": "a directory of /proc alone", "recording.trace_events": "tracefs",
    "engines.embedded.tracer.obstacles": "a file of /proc that needs nothing of the process",
    "providers.installed_files._in_directories": "directories that a shell would search as well",
    "providers.kernel_types": "/sys", "providers.syscall": "tracefs", "providers.tracefs": "tracefs",
    "providers.pid.check": "a directory of /proc alone",
    "providers.static_files.StaticFiles.processes": "a directory of /proc alone",
    "symbols.process.ProcessNames._running": "the directory of /proc itself",
    "machine.facts._holder": "a directory of /proc alone", "symbols.mappings.directories": "a directory of /proc alone",
    "symbols.kernel_objects": "/sys", "symbols.perf_map.home_of": "a directory of /proc alone",
    "symbols.objects.root_of": "sonde's own root",
    "symbols.unwinding.kept_rows": "the cache of this user",
}  # fmt: skip
"""Where they look, by the module or the function, if that is nothing that another process may serve."""


def functions_that_look(tree):
    """The qualified names of functions that look something up without `others`."""

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef)
            yield from visit(child, [*inside, child.name] if named else inside)
            # A function may be passed on as well.
            if isinstance(child, ast.Attribute) and ast.unparse(child) in WAITING:
                yield ".".join(inside)

    return set(visit(tree, []))


def test_what_another_process_may_serve_is_looked_up_by_others_alone():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if name.partition(".")[0] in OF_OTHERS:
            wrong += [each for each in (f"{name}.{each}" for each in functions_that_look(parsed(path)))
                      if not any(each == known or each.startswith(f"{known}.") for known in OWN)]  # fmt: skip
    assert not wrong
