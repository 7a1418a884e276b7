"""Nothing in the package opens a file for writing, makes, renames or removes one by itself: that is the business of
`written_files`, and of `directory_walk`, which it stands on."""

import ast
import re
from pathlib import Path

import pytest
from support.source.parsed import parsed

import sonde

ROOT = Path(sonde.__file__).parent

OURS = {"written_files", "directory_walk"}

JUSTIFIED = {
    "machine.own_name.take_name": "the kernel's file of this process",
    "machine.own_name._write_command_line": "the memory of this process",
    "engines.embedded.tracer.guardian._name": "the kernel's file of this process",
    "engines.kernel.detaching._close": "the kernel's file of this process",
    "others._become": "the kernel's file of this process",
    "reader._lock": "the kernel's file of a process",
    "engines.embedded.tracer.code_space.CodeSpace.__init__": "the memory of a traced process",
    "engines.embedded.tracer.memory.ProcessMemory._by_file": "the memory of a traced process",
    "engines.embedded.tracer.events.remove_copy": "the memory of a traced process",
    "engines.embedded.tracer.held_command._is_foreground": "the terminal",
    "engines.embedded.session_maps.SessionMaps.replace": "a map in the place of another",
    "engines.embedded.tracing.EmbeddedTracing.replace_map": "a map in the place of another",
    "engines.kernel.tracing.KernelTracing.replace_map": "a map in the place of another",
    "frontends.d.programs.preprocess.preprocess": "memory of its own",
    "frontends.d.report.text.TextReport.__init__": "the error output",
}
"""Functions that write to what has no name that others could take, or to no file, and what that is."""

OF_OS = {
    "chmod", "chown", "chflags", "lchmod", "lchown", "link", "makedirs", "mkdir", "mkfifo", "mknod", "remove",
    "removedirs", "removexattr", "rename", "renames", "replace", "rmdir", "setxattr", "symlink", "truncate", "unlink",
}  # fmt: skip
"""Functions of os that take a name, and make, change or take away what has it."""

OF_PATHS = {
    "write_text", "write_bytes", "unlink", "mkdir", "rmdir", "touch", "symlink_to", "hardlink_to", "link_to", "lchmod",
    "extractall", "to_parquet", "to_csv", "to_feather", "to_pickle", "to_json", "savez",
}  # fmt: skip
"""Methods, whatever they are called of, that write to a name."""

OF_ARROW, ARROW = {"write_table", "write_dataset", "write_feather"}, {"pq", "parquet", "feather", "dataset"}
"""Functions of pyarrow's modules: its writers have methods of these names."""

ONE_WORD = {"rename", "replace", "chmod"}
"""Methods of paths if they have one argument: others of these names have more, or none by its place."""

MODULES = {"tempfile", "shutil", "shelve", "dbm", "sqlite3", "zipfile", "tarfile", "logging.handlers"}
"""What writes to names by itself. Of shutil `which` looks only."""

WRITING_MODE = re.compile(r"[rbt]*[wax+][bt+]*")
WRITING_FLAGS = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE")
OPENED = {"create", "create_named"}
"""Of written_files: what they give may be made a file of Python's."""


def functions_that_write(tree):
    """The qualified names of functions that do so by themselves."""

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            yield from visit(child, [*inside, child.name] if named else inside)
            if (isinstance(child, ast.Call) and writes(child)) or imports_a_writer(child):
                yield ".".join(inside)

    return set(visit(tree, []))


def imports_a_writer(node):
    if isinstance(node, ast.Import):
        return any(alias.name in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        if node.module in ("os", "posix"):
            return bool(names & (OF_OS | {"open", "fdopen", "mkdtemp"}))
        return node.module in MODULES and names != {"which"}
    return False


def writes(call):
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open" and opens_to_write(call)
    if not isinstance(function, ast.Attribute):
        return False
    of_os = isinstance(function.value, ast.Name) and function.value.id in ("os", "posix")
    if of_os:
        if function.attr == "open":
            return len(call.args) < 2 or has_writing_flags(call.args[1])
        return function.attr in OF_OS or (function.attr == "fdopen" and opens_to_write(call))
    if function.attr in ONE_WORD:
        return len(call.args) == 1 and not call.keywords
    if function.attr in ("open", "FileIO", "memmap"):
        return opens_to_write(call)
    if function.attr in OF_ARROW:
        return (
            isinstance(function.value, ast.Name | ast.Attribute) and ast.unparse(function.value).split(".")[-1] in ARROW
        )
    return function.attr in OF_PATHS


def opens_to_write(call):
    """A mode that says so: of a path's method it is the first argument."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id in OPENED:
        return False
    named = [each.value for each in call.keywords if each.arg == "mode"]
    modes = [*(call.args[:1] if isinstance(call.func, ast.Attribute) else ()), *call.args[1:2], *named]
    texts = [each.value for each in modes if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(WRITING_MODE.fullmatch(each) for each in texts)


def has_writing_flags(node):
    """Also where they are computed by the caller: a name that is not os's is none of reading alone."""
    names = [each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)]
    return any(each in WRITING_FLAGS for each in names)


def found():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if name not in OURS:
            for function in functions_that_write(parsed(path)):
                yield f"{name}.{function}"


@pytest.mark.long
def test_only_the_listed_functions_write_by_themselves():
    assert set(found()) == set(JUSTIFIED)


@pytest.mark.parametrize(
    "text",
    [
        "open(path, 'w')", "open(path, mode='ab')", "open(path, 'r+b')", "open(path, 'x')", "io.open(path, 'w')",
        "Path(path).open('w')", "gzip.open(path, 'wb')", "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.open(path, flags | os.O_RDWR)", "os.rename(a, b)", "os.replace(a, b)", "os.unlink(a, dir_fd=d)",
        "os.remove(a)", "os.mkdir(a)", "os.makedirs(a)", "os.rmdir(a)", "os.link(a, b)", "os.symlink(a, b)",
        "os.mkfifo(a)", "os.truncate(a, 0)", "os.chmod(a, 0)", "Path(a).unlink()", "Path(a).rename(b)",
        "path.replace(other)", "path.mkdir()", "path.touch()", "path.write_text('')", "path.write_bytes(b'')",
        "pq.write_table(table, path)", "frame.to_parquet(path)", "os.fdopen(os.open(a, os.O_RDWR), 'w')",
        "zipfile.ZipFile(path, 'w').extractall()", "io.FileIO(path, 'w')",
    ],
)  # fmt: skip
def test_what_writes_is_seen(text):
    assert functions_that_write(ast.parse(f"class A:\n  def b(self):\n    with {text} as file: pass")) == {"A.b"}


@pytest.mark.parametrize(
    "text",
    ["import tempfile", "from tempfile import mkdtemp", "import shutil", "from os import rename", "import sqlite3"],
)  # fmt: skip
def test_what_is_imported_to_write_is_seen(text):
    assert functions_that_write(ast.parse(f"def a():\n  {text}")) == {"a"}


@pytest.mark.parametrize(
    "text",
    [
        "open(path, 'rb')", "open(path)", "os.open(path, os.O_RDONLY | os.O_CLOEXEC)", "text.replace('a', 'b')",
        "replace(value, name=1)", "found._replace(name=1)", "threads.rename(task, name)", "ElfFile.open(path)",
        "open(create(path, os.O_TRUNC), 'w')", "os.ftruncate(descriptor, 0)",
    ],
)  # fmt: skip
def test_what_does_not_is_not(text):
    assert not functions_that_write(ast.parse(f"from shutil import which\ndef a():\n  return {text}"))
