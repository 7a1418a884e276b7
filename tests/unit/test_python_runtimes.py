"""What is known of interpreters of Python in files: by their debug information, stripped, and of other builds."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine import compilers, packages
from support.machine.interpreters import DISTRIBUTIONS, VERSIONS, interpreter

from sonde.model.python_frames import FREE_THREADED, IS_UNKNOWN, OTHER_VERSION, RUNTIME
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.python.interpreting import interpreting
from sonde.symbols.python.layouts import LAYOUTS
from sonde.symbols.python.runtimes import layout_of, runtime_of, version_of

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
from python_layouts import layout_by_debug_information

WHERE = """
import sys
paths = {line.split()[-1] for line in open("/proc/self/maps") if "libpython" in line}
print(sys.hexversion >> 16, *(paths or {sys.executable}))
"""


def file_of(version):
    """The version of an interpreter as it tells itself, and the file that has it."""
    done = subprocess.run([interpreter(version), "-c", WHERE], capture_output=True, text=True, check=True)
    number, path = done.stdout.split(maxsplit=1)
    return int(number), path.rstrip()


def known(path):
    """The layout of the interpreter in a file."""
    file = ElfFile.open(path)
    return layout_of(file, file.find_exported("_PyRuntime").address)


@pytest.mark.share(5)
@pytest.mark.parametrize("version", [*VERSIONS, DISTRIBUTIONS])
def test_versions_are_known(version):
    number, path = file_of(version)
    assert version_of(ElfFile.open(path)) == number
    assert known(path).version == number
    assert known(path).kind != IS_UNKNOWN


@pytest.mark.share(1)
@pytest.mark.parametrize("version", VERSIONS)
def test_layouts_are_those_of_the_debug_information(version):
    packages.require("gdb")
    _, path = file_of(version)
    told = layout_by_debug_information(path)
    if told is None:
        pytest.skip(f"Python {version} has no debug information here")
    assert known(path) == told


@pytest.mark.share(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_stripped_interpreters_are_as_others(version, tmp_path):
    packages.require("gcc")
    _, path = file_of(version)
    stripped = str(tmp_path / "stripped")
    subprocess.run(["strip", "-o", stripped, path], check=True)
    whole, bare = (RUNTIME.unpack(runtime_of(ElfFile.open(each))) for each in (path, stripped))
    assert bare[:3] == whole[:3]
    assert bare[9:] == whole[9:]


def test_what_is_no_interpreter_is_none():
    assert runtime_of(ElfFile.open("/bin/ls")) is None


def changed(path, to, **words):
    """A copy of an interpreter that says something else of itself, by the numbers of its u64."""
    file = ElfFile.open(path)
    start = file.offset_of(file.find_exported("_PyRuntime").address)
    data = bytearray(Path(path).read_bytes())
    for number, value in words.items():
        struct.pack_into("<Q", data, start + 8 * int(number[1:]), value)
    to.write_bytes(data)
    return known(str(to))


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "version", "remark"),
    [
        ({"_2": 1}, 0x030D, FREE_THREADED),
        ({"_1": 0x030F00F0}, 0x030F, OTHER_VERSION),
        ({"_35": 120}, 0x030D, OTHER_VERSION),
        ({"_9": 1 << 40}, 0x030D, OTHER_VERSION),
    ],
)
def test_what_an_interpreter_says_is_believed_within_bounds(words, version, remark, tmp_path):
    found = changed(file_of("3.13")[1], tmp_path / "changed", **words)
    assert (found.kind, found.version, found.remark) == (IS_UNKNOWN, version, remark)


def test_what_3_14_says_is_read_where_it_says_it(tmp_path):
    """It has more to say than 3.13, so the same stands elsewhere."""
    known_of_3_13 = LAYOUTS[0x030D]
    words = {
        "_1": 0x030E00F0, "_5": 640, "_8": 7000, "_9": 7100, "_24": 8, "_26": 72, "_27": 152, "_32": 8, "_33": 0,
        "_34": 56, "_36": 74, "_40": 112, "_41": 120, "_42": 128, "_43": 136, "_44": 68, "_48": 200,
    }  # fmt: skip
    expected = known_of_3_13._replace(version=0x030E, interpreters=640, following=7000, threads=7100, mark=74)
    assert changed(file_of("3.13")[1], tmp_path / "changed", **words) == expected


PIECES = """
int seen;
__attribute__((cold, noinline)) int seldom(int n) { return seen += n; }
%s
int _PyEval_EvalFrameDefault(int *values, int count) {
    int total = 0;
    for (int n = 0; n < count; n++) {
        if (__builtin_expect(values[n] < 0, 0)) {
            int more = seldom(values[n]);
            for (int m = 0; m < more; m++) total += seldom(m) * values[m];
        }
        total += other(values, n);
    }
    return total;
}
int _PyRuntime;
"""
OTHER = """
__attribute__((noinline)) int %s(int *values, int count) {
    int total = 1;
    for (int n = 0; n < count; n++) {
        if (__builtin_expect(values[n] > 9, 0)) { total += seldom(values[n]) * seldom(total); }
        total *= values[n];
    }
    return total;
}
"""


def test_pieces_of_a_stripped_interpreter_are_found(tmp_path):
    source, bare = PIECES % (OTHER % "other" + OTHER % "another"), tmp_path / "bare.so"
    whole = compilers.built("pieces.c", source, "gcc", "-O2", "-shared", "-fPIC")
    subprocess.run(["strip", "-o", bare, whole], check=True)
    found = [
        list(interpreting(file, file.find_exported("_PyEval_EvalFrameDefault")))
        for file in map(ElfFile.open, map(str, (whole, bare)))
    ]
    assert len(found[0]) == 1
    assert found[1] == found[0]
