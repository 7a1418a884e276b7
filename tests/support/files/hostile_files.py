"""Files that do harm to who believes them, made of files that make sense."""

import contextlib
import gzip
import lzma
import os
import socket
import struct
import threading
import zlib

from sonde.symbols.elf.file import ElfFile
from support.files.damage import damaged

SPARSE = 512 << 30
SIZES = (SPARSE, (1 << 32) - 16, (1 << 64) - 1, 1 << 63, 300 << 20, 1)
KINDS = ("FIFO", "directory", "socket", "device", "loop", "missing", "no memory")
DIRECT = (".note.gnu.build-id", ".gnu_debuglink", ".gnu_debugaltlink", ".gnu_debugdata", ".eh_frame", ".eh_frame_hdr",
          ".note.stapsdt", ".rodata", ".dynamic", ".symtab", ".strtab", ".dynsym", ".dynstr", ".rela.dyn", ".rela.plt",
          ".debug_info", ".debug_abbrev", ".debug_str", ".debug_line", ".debug_line_str", ".debug_aranges",
          ".debug_rnglists", ".debug_loclists", ".shstrtab")  # fmt: skip


def header_of(data, name):
    """Where the header of a section is, None if there is no such section."""
    file = ElfFile(data)
    place = int.from_bytes(data[0x28:0x30], "little")
    return next((place + 64 * number for number, each in enumerate(file.sections) if each.name == name), None)


def with_size(path, data, name, size):
    """A section that claims to have a size, from the end of the file on, which has a hole as large as it can be."""
    changed, at = bytearray(data), header_of(data, name)
    if at is None:
        return False
    file = ElfFile(data)
    content = file.section(name) or b""
    struct.pack_into("<QQ", changed, at + 24, len(data), size)
    write(path, bytes(changed) + content)
    with contextlib.suppress(OSError):
        os.truncate(path, min(len(data) + size, SPARSE + len(data)))
    return True


def with_note(path, data, name, sizes):
    """A note whose own header claims to have these sizes of its name and its content."""
    changed = bytearray(data)
    section = next((each for each in ElfFile(data).sections if each.name == name), None)
    if section is None or section.size < 12:
        return False
    struct.pack_into("<II", changed, section.offset, *sizes)
    write(path, bytes(changed))
    os.truncate(path, len(data) + (8 << 30))
    return True


def with_field(path, data, name, field, value):
    """Another type (4), flags (8), link (40), or size of entries (56) of a section."""
    changed, at = bytearray(data), header_of(data, name)
    if at is None:
        return False
    width = 8 if field in (8, 56) else 4
    changed[at + field : at + field + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
    write(path, bytes(changed))
    return True


def with_content(path, data, name, content):
    """Another content of a section, which is made by a function, at the end of the file."""
    changed, at = bytearray(data), header_of(data, name)
    if at is None:
        return False
    made = content()
    struct.pack_into("<QQ", changed, at + 24, len(data), len(made))
    write(path, bytes(changed) + made)
    return True


def bomb():
    """256 MiB, compressed."""
    compressed = zlib.compressobj(9)
    zeros = bytes(16 << 20)
    return b"".join(compressed.compress(zeros) for _ in range(16)) + compressed.flush()


def bombs():
    """What makes contents of few bytes, or of few different ones, that become very many: by section, with its flags."""
    many = 24 << 20
    yield ".gnu_debugdata", lambda: lzma.compress(bytes(80 << 20), preset=1), 0
    yield ".debug_info", lambda: struct.pack("<IIQQ", 1, 0, 256 << 20, 1) + bomb(), 0x800
    yield ".debug_info", lambda: struct.pack("<IIQQ", 1, 0, 1 << 62, 1) + bomb(), 0x800
    yield ".debug_str", lambda: struct.pack("<IIQQ", 1, 0, 127 << 20, 1) + bomb(), 0x800
    # Units of nothing, entries of one byte each, abbreviations and rows of the least size.
    yield ".debug_info", lambda: struct.pack("<IHBBI", 8, 5, 1, 8, 0) * (many // 12), 0
    yield ".debug_info", lambda: struct.pack("<IHBBI", many, 5, 1, 8, 0) + b"\1" * (many - 8), 0
    yield (
        ".debug_abbrev",
        lambda: b"\1\x2e\1\0\0" + b"".join(b"%c\x2e\0\0\0" % (n % 126 + 1) for n in range(many // 5)),
        0,
    )
    yield ".debug_line", lambda: struct.pack("<IHBBIBBBbBB", many, 5, 8, 0, 10, 1, 1, 1, -5, 14, 1) + b"\x20" * many, 0
    yield ".debug_aranges", lambda: struct.pack("<IHIBB", many, 2, 0, 8, 0) + b"\1" * many, 0
    yield ".debug_str", lambda: b"total\0" * (many // 6), 0
    yield ".eh_frame", lambda: struct.pack("<II", 8, 0) * (many // 12), 0
    yield ".symtab", lambda: struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1139, 1) * (many // 24), 0
    yield ".symtab", lambda: b"".join(struct.pack("<IBBHQQ", n & 0xFF, 0x12, 0, 1, n, 1) for n in range(1 << 19)), 0
    yield ".strtab", lambda: b"a" * many, 0
    yield ".shstrtab", lambda: b"a" * many, 0
    yield ".rela.dyn", lambda: struct.pack("<QQq", 1, 1 << 32 | 6, 0) * (many // 24), 0
    yield ".rela.plt", lambda: b"".join(struct.pack("<QQq", n, 1 << 32 | 7, 0) for n in range(1 << 19)), 0
    yield ".note.stapsdt", lambda: (struct.pack("<III", 8, 28, 3) + b"stapsdt\0" + bytes(28)) * (many // 48), 0
    yield ".dynamic", lambda: struct.pack("<QQ", 29, 1) * (many // 16), 0


def texts():
    """What makes the contents of what is no object: maps, profiles, programs."""
    yield lambda: b"1 1 a\n" * (11 << 20)
    yield lambda: b"".join(b"%x 40 f%d\n" % (64 * n, n) for n in range(1 << 20))
    yield (
        lambda: (
            b"7f0000000000-7f0000001000 r-xp 00000000 08:01 7    /tmp/a\rb\x0bc\x1c\xc2\x85\xe2\x80\xa8\xff\n" * 1001
        )
    )
    yield lambda: b"7f0000000000-7f0000001000 r-xp 00000000 08:01 7    /" + b"a" * (20 << 20)
    yield lambda: b"\n" * (20 << 20)
    yield lambda: b"a" * (20 << 20)
    yield lambda: bytes(20 << 20)
    yield lambda: b"a;b;c 1\n" * (1 << 20)
    yield lambda: b"a;" * (1 << 20) + b" 1\n"
    yield lambda: b"[" * (1 << 20)
    yield lambda: b'{"a":' * (1 << 20)
    yield lambda: b"{" * (1 << 20)
    yield lambda: b"(" * (1 << 20)
    yield lambda: b"1+" * (1 << 20)
    yield lambda: b"/*" * (1 << 20)
    yield lambda: gzip.compress(bytes(256 << 20))
    yield lambda: gzip.compress(b"\x0a\x02\x08\x01" * (16 << 20))
    yield lambda: b"SONDERAW" + struct.pack("<II", 1, 0xFFFFFFFF)
    yield lambda: b"SONDERAW" + struct.pack("<II", 1, 2) + b"{}" + struct.pack("<II", 2, 0xFFFFFFF0)
    yield lambda: b"PERFILE2" + struct.pack("<QQQQQQQ", 104, 136, 104, 136, 240, SPARSE, 0) + bytes(200)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def clear(path):
    """Have nothing at a path."""
    try:
        os.unlink(path)
    except IsADirectoryError:
        os.rmdir(path)
    except FileNotFoundError:
        pass


def make(kind, path):
    """Put what is no file of the wanted kind at a path."""
    clear(path)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
    elif kind == "device":
        os.symlink("/dev/zero", path)
    elif kind == "loop":
        os.symlink(path, path)
    elif kind == "no memory":
        os.symlink("/proc/self/mem", path)


@contextlib.contextmanager
def swapped(kind, path):
    """The file at a path becomes another one as soon as somebody has looked at it."""
    looks = {name: getattr(os, name) for name in ("stat", "fstat")}

    def looking(name):
        def look(what, *arguments, **more):
            found = looks[name](what, *arguments, **more)
            for each, function in looks.items():
                setattr(os, each, function)
            make(kind, path)
            return found

        return look

    for name in looks:
        setattr(os, name, looking(name))
    try:
        yield
    finally:
        for name, function in looks.items():
            setattr(os, name, function)


@contextlib.contextmanager
def changing(path, is_growing):
    """The file grows, or is cut off and whole again, while it is read."""
    is_over = threading.Event()
    size = os.path.getsize(path)

    def change():
        for number in range(200):
            with contextlib.suppress(OSError):
                os.truncate(path, size + (number << 16) if is_growing else size * (number % 7) // 7)
            if is_over.wait(0.0005):
                break

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def areas(data):
    """Where damage matters: the tables of an object, and its sections."""
    try:
        sections = [each for each in ElfFile(data).sections if each.size and each.kind not in (0, 8)]
    except Exception:
        return [(0, min(len(data), 64)), (0, len(data))]
    found = [(each.offset, each.size) for each in sections if each.offset + each.size <= len(data)]
    return [(0, 64), (max(len(data) - 64 * 40, 0), 64 * 40), *found]


def mutated(path, data, chance):
    write(path, damaged(data, areas(data), chance))
