"""A process that has mapped what does harm to who reads it costs its own names, and nobody else's rows."""

import os
import struct
import sys

import pytest
from support.command.running import run
from support.machine.access import needs

CODE = bytes.fromhex("b827000000 0f05 c3 ff2500000000 9090")
"""getpid(), and behind it what a procedure linkage table has."""

CALLER = """
import ctypes, mmap, os, sys
where, kept = os.fsencode(sys.argv[1]), []
for name in sorted(os.listdir(where)):
    descriptor = os.open(os.path.join(where, name), os.O_RDONLY)
    mapped = mmap.mmap(descriptor, 8192, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    kept.append(mapped)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped, 4096))
    for _ in range(7):
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()
for _ in range(101):
    os.getppid()
# Nothing is unmapped before the end.
os._exit(0)
"""
NAMES = [b"carriage\rreturn", b"next\xc2\x85line", b"separator\xe2\x80\xa8", b"not\xff\xfetext", b"two\nlines"]


def object_with(sections):
    """An executable file with code at 4096 and these sections: name, type, flags, address, offset, size."""
    names = b"\0" + b"".join(each[0].encode() + b"\0" for each in sections) + b".shstrtab\0"
    table = [bytes(64)]
    for name, kind, flags, address, offset, size in [*sections, (".shstrtab", 3, 0, 0, 512, len(names))]:
        place = names.index(b"\0" + name.encode() + b"\0") + 1
        table.append(struct.pack("<IIQQQQIIQQ", place, kind, flags, address, offset, size, 0, 0, 1, 0))
    header = b"\x7fELF\2\1\1" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 4096, 64, 1024, 0, 64, 56, 1, 64, len(table), len(table) - 1)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 8192, 8192, 4096)
    data = (header + segment).ljust(512, b"\0") + names
    return (data.ljust(1024, b"\0") + b"".join(table)).ljust(4096, b"\0") + CODE.ljust(4096, b"\0")


def sparse(path, sections):
    path.write_bytes(object_with(sections))
    os.truncate(path, 512 << 30)


@pytest.fixture
def files(tmp_path):
    where = tmp_path / "mapped"
    where.mkdir()
    huge = 511 << 30
    sparse(where / "relocations", [(".plt", 1, 6, 4096, 4096, 4096), (".rela.dyn", 4, 2, 0, 8192, huge)])
    sparse(where / "note", [(".note.gnu.build-id", 7, 2, 0, 8192, huge)])
    sparse(where / "debug", [(".debug_info", 1, 0, 0, 8192, huge), (".gnu_debuglink", 1, 0, 0, 8192, huge)])
    sparse(where / "symbols", [(".symtab", 2, 0, 0, 8192, huge), (".gnu_debugdata", 1, 0, 0, 8192, huge)])
    for name in NAMES:
        (where / os.fsdecode(name)).write_bytes(object_with([]))
    return where


@pytest.mark.parametrize(
    "engine", ["embedded", pytest.param("kernel", marks=(pytest.mark.long, needs("CAP_BPF", "CAP_PERFMON")))]
)
def test_hostile_mappings_cost_their_own_names_alone(engine, files, tmp_path):
    program = tmp_path / "caller.py"
    program.write_text(CALLER)
    clause = "syscall::getpid:entry, syscall::getppid:entry { @[probefunc, ustack(1)] = count(); }"
    done = run(
        f"-xengine={engine}", "-q", "-n", clause, "-c", f"'{sys.executable}' {program} {files}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    # Every row is there: those of the files by their addresses, those of the library by their names.
    for name in ("relocations", "note", "debug", "symbols", "carriage", "next", "separator", "not", "two"):
        assert name in done.stdout
    assert done.stdout.count(" 7\n") == len(os.listdir(files))
    assert "`getppid" in done.stdout
    (told,) = [line for line in done.stderr.split("\n") if "relocations" in line]
    assert "reading it takes more than 2 seconds: names in it are missing" in told
