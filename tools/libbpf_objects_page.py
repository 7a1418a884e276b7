"""Write docs/libbpf-tools.md: how each object of libbpf-tools is run by sonde, and how it compared with its own tool.

    python3 tools/libbpf_objects_page.py RESULTS...

RESULTS are what `libbpf_objects.py --json` has written, one file or several for each kernel; of an object that is in
several of a kernel the last counts. An object that counts the same on the newest kernel needs no other.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

from libbpf_objects_cases import CASES, Case

PAGE = Path(__file__).resolve().parent.parent / "docs" / "libbpf-tools.md"
HEAD = """# Objects of libbpf-tools

bcc's directory libbpf-tools has tools of which each is a BPF object, compiled by
clang, and a program in C that prepares the object with libbpf, runs it and prints.
sonde runs the same objects; what that program chooses,
[options](reference.md#bpf-objects) choose. `tools/libbpf_objects.py` runs each tool
and sonde at the same time, with a known workload, and compares how often the kernel
has run each of their programs, what their maps have counted, and how many lines are
about the workload.

*equal* means that none of these is apart by more than 3 or 6 %, as the rest of the
system takes part in most. *idle*: nothing has happened that it watches. *neither*:
libbpf does not load or attach it on that kernel, and sonde does not either. *sonde
alone*: its tool gives up for a reason of its own, and sonde attaches it. An object
that is equal on the newer kernel has no cell for the other one.

The tools were built with libbpf {libbpf} and with debug information in the objects
(`LLVM_STRIP=true`), which names the types of what they write. Linux 6.18 here has
neither kprobes nor fentry. 6.12 is Debian's, in an emulated machine with mirrored
disks, a processor whose frequency can be set, two nodes of memory for numamove,
and little memory for drsnoop and oomkill. The options are those for a kernel with
both; where one is missing, the programs of the other are left out instead.

"""


def short(release: str) -> str:
    return ".".join(re.findall(r"\d+", release)[:2])


def options(case: Case) -> str:
    """The options as a shell takes them, without those of a process and numbers of this comparison."""
    words = shlex.join([*case.options, *case.fentry]).replace("{jvm}", "PATH/libjvm.so")
    many = re.findall(r"--attach \S+", words)
    if len(many) > 6:
        words = words.replace(" " + " ".join(many[2:]), f" and {len(many) - 2} more --attach")
    return f"`{words}`" if words else ""


def cell(found: dict[str, str] | None) -> str:
    if found is None:
        return ""
    case, verdict = CASES[found["name"]], found["verdict"]
    remark = {"equal": case.note, "DIFFERS": found["remark"]}.get(verdict, case.reason)
    shown = {"sonde only": "sonde alone", "equal, idle": "idle"}.get(verdict, verdict)
    return f"{shown} ({remark})" if remark else shown


def cells(name: str, kernels: list[dict[str, dict[str, str]]]) -> str:
    """Those of an object on each kernel, the newest first, up to the one on which it is equal."""
    found = [each.get(name) for each in kernels]
    first = next((number for number, each in enumerate(found) if each and each["verdict"] == "equal"), len(found))
    return " | ".join(cell(each if number <= first else None) for number, each in enumerate(found))


def main() -> int:
    by_kernel: dict[str, dict[str, dict[str, str]]] = {}
    libbpf = ""
    for path in sys.argv[1:]:
        read = json.loads(Path(path).read_text())
        by_kernel.setdefault(short(read["kernel"]), {}).update({each["name"]: each for each in read["results"]})
        libbpf = read["libbpf"] or libbpf
    kernels = sorted(by_kernel, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    rows = [
        f"| {name} | {options(case)} | {cells(name, [by_kernel[each] for each in kernels])} |"
        for name, case in sorted(CASES.items())
    ]
    heads = " | ".join(f"Linux {each}" for each in kernels)
    table = [f"| object | options | {heads} |", "|---|---|" + "---|" * len(kernels), *rows]
    PAGE.write_text(HEAD.format(libbpf=libbpf) + "\n".join(table) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
