"""A vmlinux as small as can be: compiled with debug information, linked where the kernel is, with the symbols that its
linker script has and a note of its build."""

import functools
import subprocess
import tempfile
from pathlib import Path

from support.machine import packages

needs_compiler = packages.needs("gcc", "ld", "readelf", "objdump", "objcopy")

HEADER = """
typedef unsigned long size_t;
struct place { char name[16]; int line; };
struct file { struct place place; long position; struct file *next; };
#define noinline __attribute__((noinline))
"""

FIRST = (
    HEADER
    + """
__asm__(".globl _stext\\n.text\\n_stext: nop\\n");
int counter = 7;
static long hidden = 3;
volatile long sink;
int per_cpu_count __attribute__((section(".data..percpu"))) = 1;
static noinline int same(int first)
{
    sink = first * 3;
    return first + 1;
}
static inline __attribute__((always_inline)) long inlined(long value)
{
    long twice = value * 2;
    sink = twice;
    return twice + hidden;
}
noinline long work(struct file *file, const char *name, size_t count)
{
    long total = file->position;
    for (size_t at = 0; at < count; at++) {
        long square = at * at;
        sink = square;
        total += square;
    }
    struct file copy = *file;
    copy.position = total;
    sink = (long)&copy;
    __asm__ volatile("" : : "r"(&copy) : "memory");
    hidden += total;
    return inlined(total) + name[0] + same(counter);
}
noinline long listed(long first)
{
    sink = first;
    return first + 5;
}
noinline __attribute__((section(".noinstr.text"))) long quiet(long first)
{
    sink = first;
    return first + 6;
}
noinline void warned(long first)
{
    sink = first;
    __asm__ volatile("ud2");
    sink = first + 1;
}
static unsigned long blacklist[] __attribute__((section("_kprobe_blacklist"), used)) = { (unsigned long)listed };
"""
)

SECOND = (
    HEADER
    + """
extern volatile long sink;
static noinline int same(int first)
{
    sink = first * 5;
    return first + 2;
}
int other(int first)
{
    return same(first) + 1;
}
void _start(void) { }
"""
)

LAYOUT = """
SECTIONS {
  . = 0xffffffff81000000;
  .text : { *(.text*) __noinstr_text_start = .; *(.noinstr.text) __noinstr_text_end = .; }
  .notes : { *(.note.gnu.build-id) }
  .rodata : { *(.rodata*) }
  .data..percpu : { __per_cpu_start = .; *(.data..percpu) __per_cpu_end = .; }
  .data : { *(.data*) }
  .init.data : { __start_kprobe_blacklist = .; *(_kprobe_blacklist) __stop_kprobe_blacklist = .; }
  .bss : { *(.bss*) *(COMMON) }
}
"""
FLAGS = ("-O2", "-g", "-ffreestanding", "-fno-pie", "-mcmodel=kernel", "-mno-red-zone", "-fno-stack-protector",
         "-fcf-protection=none", "-fno-toplevel-reorder", "-fno-asynchronous-unwind-tables")  # fmt: skip


@functools.cache
def vmlinux():
    """Its path; compiled once."""
    folder = Path(tempfile.mkdtemp(prefix="sonde-kernel-like-"))
    for name, text in (("first.c", FIRST), ("second.c", SECOND)):
        (folder / name).write_text(text)
        subprocess.run(["gcc", *FLAGS, "-c", name], cwd=folder, check=True)
    (folder / "layout").write_text(LAYOUT)
    words = ["ld", "-static", "--build-id", "-T", "layout", "-o", "vmlinux", "first.o", "second.o"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return str(folder / "vmlinux")


def symbols(path):
    """(address, name) of each, as readelf has them."""
    lines = subprocess.run(["readelf", "-sW", path], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [(int(row[1], 16), row[7]) for row in rows if len(row) == 8 and row[0].rstrip(":").isdigit()]


def offsets(path, function):
    """Where the instructions of a function begin, as objdump disassembles it."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", path], check=True, capture_output=True,
        text=True,
    ).stdout  # fmt: skip
    found = [int(line.split(":")[0], 16) for line in text.splitlines() if line.startswith("ffffffff") and ":\t" in line]
    return [each - found[0] for each in found]


def line_of(text, source=FIRST):
    return source[: source.index(text)].count("\n") + 1
