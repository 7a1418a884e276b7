"""Compare the variables that sonde finds in a kernel's debug information with gdb's.

    python3 tools/kernel_variables.py VMLINUX [--pairs 500] [--seed 7]
    python3 tools/kernel_variables.py VMLINUX --image VMLINUZ [--initrd FILE] [--values 50] [--stops 60]

The first form draws instructions of functions, and compares where each variable is there with what gdb's `info scope`
says: with made-up registers and memory both are an address or a value. The second boots the kernel in qemu, where gdb
stops it at lines of its source, and compares values. Both end with status 1 where one differs, or too few are compared.
A vmlinux has some 600 MB, and gdb takes 2 GB of memory for it.
"""

from __future__ import annotations

import argparse
import random
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from support.symbols import gdb_scopes  # noqa: E402
from support.symbols.gdb_comparison import of_kernel  # noqa: E402

from sonde.symbols.dwarf.information import DebugInformation  # noqa: E402
from sonde.symbols.dwarf.places import Places  # noqa: E402
from sonde.symbols.dwarf.points import Points  # noqa: E402
from sonde.symbols.functions import CodeObject  # noqa: E402
from sonde.symbols.kernel_files import VMLINUX  # noqa: E402
from sonde.symbols.kernel_objects import KernelObjects  # noqa: E402

FILES = (
    "fs/namei.c", "fs/open.c", "fs/read_write.c", "fs/dcache.c", "fs/exec.c", "mm/mmap.c", "mm/slub.c",
    "kernel/fork.c", "kernel/sched/core.c", "kernel/workqueue.c", "lib/vsprintf.c",
)  # fmt: skip
"""Sources with code that any boot runs."""

PAIRS_AT_A_PLACE = 3
"""Variables at a drawn instruction, about."""


def drawn(home: CodeObject, points: Points, count: int, seed: int) -> list[int]:
    """Link-time addresses of so many instructions of functions that debug information tells of."""
    draw, found = random.Random(seed), []
    names = sorted(home.function_names)
    while len(found) < count:
        functions = home.find(draw.choice(names))
        begins = list(home.instructions(functions[0])) if functions else []
        address = functions[0].address + draw.choice(begins) if begins else 0
        if address and points.at_address(address) is not None:
            found.append(address)
    return found


def compare_places(path: str, pairs: int, seed: int) -> bool:
    """Print how many pairs are alike; whether all are that can be compared."""
    home = KernelObjects(path, True).of(VMLINUX)
    information: DebugInformation = home.information
    points, places = Points(information, is_user=False), Places(information)
    found: list[gdb_scopes.Pair] = []
    number = seed
    while len(found) < pairs:
        addresses = drawn(home, points, (pairs - len(found)) // PAIRS_AT_A_PLACE + 5, number)
        found += gdb_scopes.compared(path, points, places, addresses)
        number += 1
    wrong = [each for each in found if not each.is_equal and not each.is_beyond]
    beyond = Counter(each[2] if isinstance(each[2], str) else f"sonde: {each[3]}" for each in found if each.is_beyond)
    where = len({each[0] for each in found})
    equal = sum(each.is_equal for each in found)
    print(f"{len(found)} pairs at {where} places: {equal} equal, {len(wrong)} differ, {beyond.total()} not compared")
    print("".join(f"- {why[:90]}: {count}\n" for why, count in beyond.most_common()), end="")
    print("".join(f"differs: {each[0]:#x} {each[1]}: gdb {each[2]}, sonde {each[3]}\n" for each in wrong), end="")
    return not wrong and equal >= 0.9 * len(found)


def compare_values(path: str, image: str, initrd: str, values: int, stops: int) -> bool:
    """Print how many values are alike in a machine; whether all are, and there are as many as wanted."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [
        "qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-m", "1024", "-nodefaults", "-display", "none",
        "-no-reboot", "-kernel", image, "-append", "nokaslr panic=-1", "-S", "-gdb", f"tcp:127.0.0.1:{port}",
    ]  # fmt: skip
    machine = subprocess.Popen([*words, *(["-initrd", initrd] if initrd else [])], stdin=subprocess.DEVNULL)
    try:
        results = of_kernel(path, FILES, f"127.0.0.1:{port}", 4 * stops, stops)
    finally:
        machine.kill()
        machine.wait()
    pairs = [each for each in results if each["gdb"] is not None]
    known = [each for each in pairs if each["sonde"] is not None]
    wrong = [each for each in known if each["sonde"] != each["gdb"]]
    fetched = [each for each in known if each["steps"] is not None]
    wrong += [each for each in fetched if each["steps"] != each["gdb"] and each not in wrong]
    points = len({each["pc"] for each in pairs})
    print(f"{len(pairs)} values at {points} places: {len(known) - len(wrong)} equal, {len(wrong)} differ, "
          f"{len(pairs) - len(known)} not had; {len(fetched)} by steps of a fetch")  # fmt: skip
    reasons = Counter(each["failure"] or each["obstacle"] or "nowhere" for each in pairs if each["sonde"] is None)
    print("".join(f"- {why}: {count}\n" for why, count in reasons.most_common()), end="")
    print("".join(f"differs: {each}\n" for each in wrong), end="")
    return not wrong and len(known) >= values


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare variables of a kernel with gdb's.")
    parser.add_argument("vmlinux", help="the kernel with its debug information")
    parser.add_argument("--pairs", type=int, default=500, help="of a place and a variable, at least (500)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--image", help="the same kernel as machines boot it: compare values in one")
    parser.add_argument("--initrd", default="")
    parser.add_argument("--values", type=int, default=50, help="so many have to be compared (50)")
    parser.add_argument("--stops", type=int, default=60)
    given = parser.parse_args()
    if given.image:
        return 0 if compare_values(given.vmlinux, given.image, given.initrd, given.values, given.stops) else 1
    return 0 if compare_places(given.vmlinux, given.pairs, given.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
