"""Run the test files of bpf_conformance and ubpf in both executions of the embedded engine's machine.

    python3 tools/conformance.py DIRECTORY... [-v]

The directories are searched for *.data files of either project (github.com/Alan-Jowett/bpf_conformance: tests/,
github.com/iovisor/ubpf: tests/). A file has sections, each headed by `-- name` or `-- name @ file`: `asm` or `raw` (hex
numbers of 64 bits) is the program; `mem` are hex bytes (after offsets, which end with a colon) at the address in r1, as
many as r2 says; `result` is r0 at the end; with `error` there is an error instead. ubpf's machine gives 2**64 - 1 for a
program that it stops. Ends with status 1 if anything is not as expected.
"""

from __future__ import annotations

import argparse
import math
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from support.bpf.bpf_interpreter import Interpreter, bare
from ubpf_assembly import AssemblyError, assemble

from sonde.bpf.instructions import Instruction, decode
from sonde.runtime.machine.faults import AccessError, RunError
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.structure import StructureError
from sonde.runtime.machine.translation.translator import translate

EXECUTIONS: dict[str, Callable[..., Any]] = {"interpreter": Interpreter, "translator": translate}
BUDGET = 1_000_000
STOPPED = (1 << 64) - 1

OWN_TO_UBPF = {
    "reload.data": "tests how its library is called",
    "err-too-many-instructions.data": "tests its limit of 65,536 instructions",
    "err-unknown-opcode.data": "takes the 32-bit jump of later instruction sets for unknown",
}


class Case(NamedTuple):
    """`result` None: an error is expected."""

    file: Path
    code: list[Instruction]
    memory: bytes
    result: int | None


class UnwindError(Exception):
    """The helper that ends the program has been called."""


def sections(file: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in file.read_text(errors="replace").splitlines():
        heading = re.fullmatch(r"-- ([a-z ]+?)(?: \(.*\))?(?: @ (\S+))?\s*", line)
        if heading:
            name = heading[1]
            found[name] = (file.parent / heading[2]).read_text() if heading[2] else ""
        elif name:
            found[name] += line + "\n"
    return found


def case(file: Path) -> Case | None:
    """None if the file is no program of instructions but an ELF file's description. Raises AssemblyError."""
    parts = sections(file)
    plain = {name: re.sub(r"#.*", "", text).split() for name, text in parts.items() if name in ("raw", "mem", "result")}
    if "asm" in parts:
        code = assemble(parts["asm"])
    elif "raw" in parts:
        code = decode(b"".join(struct.pack("<Q", int(word, 16)) for word in plain["raw"]))
    else:
        return None
    memory = bytes.fromhex("".join(word for word in plain.get("mem", []) if not word.endswith(":")))
    result = int(plain["result"][0], 0) if plain.get("result") else None
    is_error = "error" in parts or (result == STOPPED and file.name.startswith("err-"))
    return Case(file, code, memory, None if is_error else result)


def helpers(memory: MachineMemory) -> dict[int, Callable[..., int]]:
    """The functions that ubpf's test program offers, by its numbers."""

    def gather(a: int, b: int, c: int, d: int, e: int) -> int:
        return int.from_bytes(bytes(value & 0xFF for value in (a, b, c, d, e)), "big")

    def invert(address: int, size: int) -> int:
        memory.write(address, bytes(byte ^ 42 for byte in memory.read(address, size)))
        return address

    def compare(one: int, other: int) -> int:
        while True:
            (a,), (b,) = memory.read(one, 1), memory.read(other, 1)
            if a != b or not a:
                return a - b
            one, other = one + 1, other + 1

    def unwind(value: int) -> int:
        if not value:
            raise UnwindError
        return value

    return {0: gather, 1: invert, 2: lambda: 0, 3: math.isqrt, 4: compare, 5: unwind}


def run(code: list[Instruction], data: bytearray, execute: Callable[..., Any]) -> int:
    """r0. Raises RunError or StructureError."""
    memory = MachineMemory()
    address = memory.add(data) if data else 0
    try:
        return execute(bare(code), memory, helpers(memory), {}, budget=BUDGET).run(address, len(data))
    except UnwindError:
        return 0


def interpreted(code: bytes, data: bytearray) -> int:
    """For runners that call a function with a program and its memory: the interpreter."""
    return _as_ubpf(code, data, Interpreter)


def translated(code: bytes, data: bytearray) -> int:
    """The same, translated."""
    return _as_ubpf(code, data, translate)


def _as_ubpf(code: bytes, data: bytearray, execute: Callable[..., Any]) -> int:
    """With ubpf's result for an access outside of memory. Raises StructureError and the other RunErrors."""
    try:
        return run(decode(code), data, execute)
    except AccessError:
        return STOPPED


def outcome(one: Case, execute: Callable[..., Any]) -> int | Exception:
    try:
        return run(one.code, bytearray(one.memory), execute)
    except (RunError, StructureError) as error:
        return error


def is_expected(one: Case, found: int | Exception) -> bool:
    return isinstance(found, Exception) if one.result is None else found == one.result


def files(directories: list[str]) -> Iterator[Path]:
    for directory in directories:
        yield from sorted(Path(directory).rglob("*.data"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", metavar="DIRECTORY")
    parser.add_argument("-v", action="store_true", help="name the files that are left out")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for file in files(arguments.directories):
        reason = OWN_TO_UBPF.get(file.name, "")
        try:
            one = case(file)
        except AssemblyError as error:
            one, reason = None, f"cannot be assembled: {error}"
        if one is None or reason:
            counts["left out"] += 1
            if arguments.v:
                print(f"{file}: left out: {reason or 'no program of instructions'}")
            continue
        for name, execute in EXECUTIONS.items():
            found = outcome(one, execute)
            good = is_expected(one, found)
            counts[f"{name}: as expected" if good else f"{name}: different"] += 1
            if not good:
                print(f"{file}: {name}: {found!r} instead of {'an error' if one.result is None else hex(one.result)}")
    for what, number in sorted(counts.items()):
        print(f"{number:6}  {what}")
    return 1 if any("different" in what for what in counts) or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
