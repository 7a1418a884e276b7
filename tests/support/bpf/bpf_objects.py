"""BPF objects for tests: written by hand, byte by byte, or compiled by whichever compilers there are."""

import functools
import shutil
import struct

import pytest

from sonde.bpf import instructions as i
from support.machine import compilers, packages
from support.places import EXAMPLES as HEADERS

COMPILERS = {
    "gcc": ["bpf-gcc", "-O2", "-gbtf", "-mco-re"],
    "clang": ["clang", "-target", "bpf", "-O2", "-g"],
}
BOTH = [pytest.param(name, marks=packages.needs(words[0])) for name, words in COMPILERS.items()]

EXECUTABLE, ALLOCATED, WRITABLE = 4, 2, 1
PROGBITS, SYMTAB, STRTAB, NOBITS, REL = 1, 2, 3, 8, 9
OBJECT, FUNC, SECTION = 1, 2, 3

HASH = 'struct { __uint(type, 1); __uint(max_entries, 64); __type(key, u64); __type(value, u64); } counts SEC(".maps");'
ADD = (
    HASH
    + """
static __attribute__((noinline)) int add(u64 key, u64 by)
{
    u64 *found = bpf_map_lookup_elem(&counts, &key);
    if (found)
        __sync_fetch_and_add(found, by);
    else
        bpf_map_update_elem(&counts, &key, &by, 0);
    return 0;
}
"""
)
"""Adds to an element of the map `counts`."""
WRITES = """
struct event { u32 number; char comm[16]; s32 sizes[3]; };
struct { __uint(type, 27); __uint(max_entries, 65536); __type(value, struct event); } events SEC(".maps");
struct { __uint(type, 27); __uint(max_entries, 65536); } plain SEC(".maps");
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } perf SEC(".maps");
u32 number;
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *context)
{
    struct event *e;
    u64 word = 0x4847464544434241;
    if (!mine() || number >= 3)
        return 0;
    e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
    if (e) {
        e->number = ++number;
        bpf_get_current_comm(e->comm, sizeof e->comm);
        e->sizes[0] = 0; e->sizes[1] = -5; e->sizes[2] = 0;
        bpf_ringbuf_submit(e, 0);
    }
    bpf_ringbuf_output(&plain, &word, sizeof word, 0);
    bpf_perf_event_output(context, &perf, 0xffffffffULL, &word, sizeof word);
    bpf_printk("call %d of it", number);
    return 0;
}
"""
"""Writes a record of a known type, then eight bytes, into three rings, and prints: at the first three calls of
`mine()`."""


@functools.cache
def compiled(source, compiler="gcc"):
    """The path of the object of a C source."""
    text = '#include "bpf.h"\nchar LICENSE[] SEC("license") = "GPL";\n' + source
    words = [*COMPILERS[compiler], "-w", f"-I{HEADERS}", "-c", "program.c", "-o", "program.o"]
    headers = [each.read_text() for each in sorted(HEADERS.glob("*.h"))]
    return str(compilers.kept(words, {"program.c": text}, "program.o", headers))


def built(source, path):
    """A program of a C source for objects to look at, a copy: they look at every process that runs the file."""
    return str(shutil.copy2(compilers.built(f"{path.name}.c", source, "gcc", "-g", "-O1"), path))


def config(program, *lines):
    """The section that says which places of a program an object's programs are attached to."""
    return f'char lines[] SEC("config") = "exec={program}\\n" ' + " ".join(f'"{each}\\n"' for each in lines) + ";\n"


class Writer:
    """Puts a relocatable BPF object together: sections, symbols by name, relocations."""

    def __init__(self, machine=247, kind=1):
        self.machine, self.kind = machine, kind
        self.sections = []
        self.symbols = []
        self.relocations = {}

    def section(self, name, data, flags=ALLOCATED, kind=PROGBITS, size=None):
        """Its number."""
        self.sections.append((name, bytes(data), flags, kind, len(data) if size is None else size))
        return len(self.sections)

    def code(self, name, instructions):
        return self.section(name, i.encode(instructions), ALLOCATED | EXECUTABLE)

    def symbol(self, name, section, value=0, size=0, kind=OBJECT, is_global=True):
        self.symbols.append((name, section, value, size, kind, is_global))
        return name

    def function(self, name, section, count, start=0, is_global=True):
        return self.symbol(name, section, 8 * start, 8 * count, FUNC, is_global)

    def relocate(self, section, index, symbol, kind=1):
        """The instruction at an index of a section."""
        self.relocations.setdefault(section, []).append((8 * index, kind, symbol))

    def build(self):
        strings, table, numbers = bytearray(1), bytearray(24), {}
        for name, section, value, size, kind, is_global in self.symbols:
            numbers[name] = len(table) // 24
            table += struct.pack("<IBBHQQ", len(strings), is_global << 4 | kind, 0, section, value, size)
            strings += name.encode() + b"\0"
        sections = [(*each, 0, 0, 0) for each in self.sections]
        symtab = len(sections) + len(self.relocations) + 1
        for section, found in self.relocations.items():
            data = b"".join(struct.pack("<QQ", at, numbers[name] << 32 | kind) for at, kind, name in found)
            sections.append((".rel" + self.sections[section - 1][0], data, 0, REL, len(data), symtab, section, 16))
        sections.append((".symtab", bytes(table), 0, SYMTAB, len(table), symtab + 1, 1, 24))
        sections.append((".strtab", bytes(strings), 0, STRTAB, len(strings), 0, 0, 0))
        names = bytearray(1)
        headers, body = bytearray(64), bytearray(64)
        for name, data, flags, kind, size, link, info, entry in [*sections, (".shstrtab", b"", 0, STRTAB, 0, 0, 0, 0)]:
            if name == ".shstrtab":
                data, size = bytes(names) + b".shstrtab\0", len(names) + 10
            body += bytes(-len(body) % 8)
            headers += struct.pack("<IIQQQQIIQQ", len(names), kind, flags, 0, len(body), size, link, info, 8, entry)
            names += name.encode() + b"\0"
            body += b"" if kind == NOBITS else data
        count = len(sections) + 2
        identity = b"\x7fELF\2\1\1" + bytes(9)
        header = struct.pack(
            "<HHIQQQIHHHHHH", self.kind, self.machine, 1, 0, 0, len(body), 0, 64, 0, 0, 64, count, count - 1
        )
        return identity + header + bytes(body[64:]) + bytes(headers)
