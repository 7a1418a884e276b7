#!/usr/bin/env python3
"""Tell the modules of sonde of which no command of the examples executes anything. `executed_modules.py [NOTES]`.

The commands are those of the tests that tests/support/suite/executed.py names: they start `sonde` as users do, with
the scripts and objects of examples/ and what README and docs/ show, or are users of the library. NOTES is what the
suite has written with SONDE_EXECUTED=NOTES in its environment; without it the tests run here, for some minutes. The
status is 1 if nothing was executed of a module that is not in LEFT_OUT. Needs root and compilers.
"""

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.machine import packages  # noqa: E402
from support.suite import executed  # noqa: E402

_DEBUG = "this machine may have no debug information of its kernel"
_FUNCTIONS = "this kernel may not let its functions be probed"
_RUST = "names and conventions of Rust programs, for which the tests need no compiler"

LEFT_OUT = {
    "arch.x86_64.convention": _FUNCTIONS,
    "arch.x86_64.rust_convention": _RUST,
    "bpf.maps": "messages about types of maps",
    "cli.module_bundle": "installations, and the first use of one",
    "cli.manual.man": "tools/manual.py writes docs/sonde.1 by it",
    "codegen.firings.attachment": _FUNCTIONS,
    "codegen.firings.function": _FUNCTIONS,
    "consume.first_descriptions": "files that sonde 0.1.0 has written",
    "consume.held": "sessions that have seen thousands of processes",
    "engines.embedded.tracer.busy": "kernels whose programs can look at the mappings of a process",
    "engines.embedded.tracer.orphans": "makers of threads that are killed in the act",
    "engines.kernel.requirements": "kernels that are too old for a program",
    "library.inspection.kernel_points": _DEBUG,
    "library.object_events": "Python programs that take records of objects as values",
    "objects.kernel_lines": _DEBUG,
    "objects.kernel_variables": _DEBUG,
    "providers.kernel_places": _DEBUG,
    "providers.kernel_variables": _DEBUG,
    "recording.file_progress": "replays that take long, on a terminal",
    "report.refused_probes": "probes of objects that the kernel refuses where it would put them",
    "report.symbolizer": "its methods answer where a text without addresses has no names for them",
    "runtime.machine.faults": "no verified program ends so",
    "session.progress": "terminals, and probes that take long to detach",
    "symbols.dwarf.relocated": _DEBUG,
    "symbols.kernel_addresses": _DEBUG,
    "symbols.kernel_files": _DEBUG,
    "symbols.kernel_objects": _DEBUG,
    "symbols.kernel_text": _DEBUG,
    "symbols.return_obstacles": "functions that jumps lead to, of programs that have symbols of these",
    "symbols.source_names.cxx_worker": "an isolated process of its own runs it",
    "symbols.source_names.rust_legacy": _RUST,
    "symbols.source_names.rust_mangled": _RUST,
    "symbols.source_names.rust_v0": _RUST,
}
"""Modules that need not be executed here, and why."""

PROGRAMS = ("bpf-gcc", "clang", "g++", "gcc")
"""What the tests need for it."""


def modules() -> list[str]:
    """The names of the modules that have functions which do something."""
    found = []
    for path in sorted(executed.SOURCES.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text()))
        if any(isinstance(node, ast.FunctionDef) and not _is_described(node) for node in nodes):
            found.append(executed.name_of(path))
    return found


def _is_described(node: ast.FunctionDef) -> bool:
    """Whether it is but a protocol's: a docstring, or nothing."""
    return all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in node.body)


def run(notes: Path) -> None:
    """The tests alone."""
    files = sorted(
        {each for name in (*executed.TESTS, *executed.SHORT_TESTS, *executed.PROGRAMS) for each in _files(name)}
    )
    pytest = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", *files]
    subprocess.run(pytest, cwd=ROOT, env={**os.environ, "SONDE_EXECUTED": str(notes)})


def _files(name: str) -> list[str]:
    """The files of a beginning of tests' names, or its folder."""
    if name.endswith("/"):
        return [name]
    stem = name.partition("::")[0].removesuffix(".py")
    return [str(each.relative_to(ROOT)) for each in ROOT.glob(f"{stem}*.py")]


def main(words: list[str]) -> int:
    absent = [packages.PACKAGES[each] for each in PROGRAMS if packages.missing(each)]
    if os.geteuid() or absent:
        print("modules are not looked at: that needs root and", *(absent or PROGRAMS))
        return 0
    with tempfile.TemporaryDirectory(prefix="sonde-executed-") as directory:
        notes = Path(words[0] if words else f"{directory}/modules")
        if not words:
            run(notes)
        found = executed.modules(notes)
    all_of_them = modules()
    gone = [name for name in LEFT_OUT if name not in all_of_them]
    if gone:
        print("LEFT_OUT has what is no module", *gone, sep="\n    ")
        return 1
    wanted = [name for name in all_of_them if name not in LEFT_OUT]
    missing = [name for name in wanted if name not in found]
    print(f"nothing of {len(missing)} of {len(wanted)} modules was executed", *missing, sep="\n    ")
    return bool(missing)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
