"""Everything in the package that writes files: each as a function that takes a path and writes there."""

import ast
import os
from pathlib import Path

import pyarrow as pa

import sonde
from sonde.frontends.bpftrace.report.packet_files import PacketFiles
from sonde.library import readable_files
from sonde.library.data.table_files import ParquetParts, StreamFile, parquet_file
from sonde.library.inspection.type_files import write_types
from sonde.library.outputs import OUTPUT, emptied, opened
from sonde.library.pictures import OutputFiles
from sonde.library.rich_pictures import Picture
from sonde.library.settings import option_table
from sonde.library.testing import updating
from sonde.model.spec import TracingSpec
from sonde.pictures.requests import FLAME, PictureTask
from sonde.recording.file import PerfDataFile
from sonde.report.output import Output
from sonde.symbols.dwarf.unwind_rows import UnwindRows
from sonde.symbols.unwinding import kept_rows
from support.files.recordings import EVENTS
from support.source.parsed import parsed

ROOT = Path(sonde.__file__).parent

SCHEMA = pa.schema([("number", pa.int64())], {"sonde.realtime_offset": "0"})
NO_RECORDS = TracingSpec((), (), (), (), (), ())


def text(path):
    """-o, --raw, --record, packets: all that is printed or recorded goes through this one."""
    with opened(str(path), OUTPUT, os.O_TRUNC) as descriptor:
        os.write(descriptor, b"text")


def appended(path):
    with opened(str(path), OUTPUT) as descriptor:
        os.write(descriptor, b"text")


def begun_anew(path):
    emptied(str(path), OUTPUT)


def switched(path):
    """freopen()."""
    output = Output(1)
    output.switch(os.fsencode(path))
    try:
        output.write(b"text")
    finally:
        output.close()


def types(path):
    write_types(option_table([("ctypes", str(path))]), [])


def spec(path):
    sonde.compile("BEGIN { }", engine="embedded").save(str(path))


def table(kind):
    def write(path):
        file = kind(str(path), SCHEMA)
        try:
            file.write(pa.table({"number": [1]}, SCHEMA))
        finally:
            file.close()

    return write


def two_parts(path):
    file = ParquetParts(str(path), SCHEMA)
    try:
        for _ in range(2):
            file.write(pa.table({"number": [1]}, SCHEMA))
            file.settle()
    finally:
        file.close()


def picture(path):
    Picture("title", "html", "svg").save(str(path))


def drawn(path):
    files = OutputFiles([PictureTask(FLAME, str(path), (0,))])
    try:
        files.write(str(path), b"html")
    finally:
        files.close()


def not_drawn(path):
    OutputFiles([PictureTask(FLAME, str(path), (0,))]).close()


def header(path):
    readable_files.write(str(path), b"header")


def bundle(path):
    readable_files.replace(str(path), b"bundle")


def updated(path):
    updating._write(str(path), "text")


def packets(path):
    files = PacketFiles(NO_RECORDS)
    try:
        files._open(str(path))
    finally:
        files.close()


def recording(path):
    file = PerfDataFile(str(path), "1.0", ["sonde"], lambda trailer: ())
    try:
        file.begin(EVENTS)
    finally:
        file.close()


def recorded_nothing(path):
    PerfDataFile(str(path), "1.0", ["sonde"]).close()


def kept(path):
    """The cache: the path is its directory."""
    kept_rows._write(str(path), "0" * 40, UnwindRows(b"blocks", b"rows", b"rules"))


def read_of_kept(path):
    kept_rows._read(str(path), "0" * 40)


OUTPUTS = {
    "library.outputs.opened": (text, appended, begun_anew),
    "library.outputs.emptied": (begun_anew,),
    "library.inspection.type_files._write": (types,),
    "library.spec_file.save": (spec,),
    "library.data.table_files.opened_file": (table(StreamFile), table(parquet_file)),
    "library.data.table_files.ParquetParts.__init__": (table(ParquetParts), two_parts),
    "library.rich_pictures.Picture.save": (picture,),
    "library.pictures._opened": (drawn, not_drawn),
    "library.pictures.OutputFiles.write": (drawn,),
    "library.pictures.OutputFiles.close": (drawn, not_drawn),
    "library.readable_files.write": (header,),
    "library.readable_files.replace": (bundle,),
    "library.testing.updating._write": (updated,),
    "frontends.bpftrace.report.packet_files.PacketFiles._created": (packets,),
    "report.output.Output.switch": (switched,),
    "recording.file._opened": (recording, recorded_nothing),
    "recording.file.PerfDataFile.begin": (recording,),
    "recording.file.PerfDataFile.close": (recording, recorded_nothing),
    "symbols.unwinding.kept_rows._read": (read_of_kept,),
    "symbols.unwinding.kept_rows._write": (kept,),
}
"""Functions that call those of `written_files`, and what has them do so."""

ELSEWHERE = {
    "library.testing.running.run": "in a directory that `checking` has just made",
    "library.testing.running._run": "in a directory that `checking` has just made",
    "library.testing.checking._one": "a directory of a name that nobody knows before",
    "library.piped.keep_piped": "a file without a name",
    "engines.kernel.iterators.pinned": "the kernel's file system for BPF, where a name is made or refused",
    "engines.kernel.tracing.KernelTracing.close": "the kernel's file system for BPF",
}
"""Those that take no path of the user's, or where the kernel alone makes files."""

MODULES = {"sonde.written_files", "sonde.directory_walk"}
HARMLESS = {"is_trusted", "Place"}


def callers():
    """The functions that call what `written_files` and `directory_walk` offer."""
    found = set()
    for path in ROOT.rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if f"sonde.{module}" in MODULES or not any(each.rpartition(".")[2] in path.read_text() for each in MODULES):
            continue
        if names := imported(parsed(path)):
            found |= {f"{module}.{each}" for each in functions_that_call(parsed(path), names)}
    return found


def imported(tree):
    """The functions that calls name, with the module if that is imported whole."""
    nodes = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
    names = {alias.asname or alias.name for node in nodes if node.module in MODULES for alias in node.names}
    for node in nodes:
        for alias in node.names:
            if f"{node.module}.{alias.name}" in MODULES:
                module = alias.asname or alias.name
                used = {each.attr for each in ast.walk(tree) if is_attribute(each, module)}
                names |= {f"{module}.{name}" for name in used - HARMLESS}
    return names - HARMLESS


def is_attribute(node, module):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module


def functions_that_call(tree, names):
    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef)
            yield from visit(child, [*inside, child.name] if named else inside)
            if isinstance(child, ast.Call) and ast.unparse(child.func) in names:
                yield ".".join(inside)

    return set(visit(tree, []))
