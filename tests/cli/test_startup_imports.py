"""What a one-liner imports before it traces: start-up is a feature (docs/design.md)."""

import subprocess
import sys

import pytest
from support.machine.access import needs

HEAVY = (
    "argparse", "asyncio", "concurrent.futures", "dataclasses", "elftools", "inspect", "json", "logging", "numpy",
    "pathlib", "shutil", "subprocess", "tempfile", "threading", "typing", "urllib",
)  # fmt: skip

RUN = """import sys
from sonde import lazy
from sonde.cli.main import main
main(sys.argv)
print(*[name for name, module in sys.modules.items() if lazy.is_executed(module)])"""


OTHERS = (
    "sonde.objects.", "sonde.runtime.perf.", "sonde.runtime.programs.loaded", "sonde.codegen.firings.adapters",
    "sonde.pictures.", "sonde.captures.", "sonde.recording.", "weakref",
    "heapq", "math", "termios",
    "sonde.bpf.disassembler", "sonde.codegen.basis.firing_records", "sonde.codegen.expressions.assignments",
    "sonde.codegen.expressions.execname", "sonde.codegen.firings.conditions",
    "sonde.engines.embedded.tracer.obstacles", "sonde.engines.fired",
    "sonde.frontends.d.check.arguments", "sonde.frontends.d.check.casts", "sonde.frontends.d.check.declarations",
    "sonde.frontends.d.check.described", "sonde.frontends.d.check.inlines", "sonde.frontends.d.check.translators",
    "sonde.frontends.d.check.actions", "sonde.frontends.d.check.printa", "sonde.frontends.d.check.printf",
    "sonde.frontends.d.format", "sonde.frontends.d.programs.mistakes", "sonde.frontends.d.programs.preprocess",
    "sonde.frontends.d.report.printf", "sonde.machine.event_sources", "sonde.runtime.verifier.messages",
    "sonde.symbols.process_events",
)  # fmt: skip
"""Of other kinds of programs than a count of system calls."""

COUNT = "syscall:::entry { @[probefunc] = count(); }"

MODULES = {COUNT: 374, "BEGIN { exit(0); }": 179}
"""At most so many of sonde's that are executed, for a count of the calls of `true` on the embedded engine, and for a
program that only ends. Each costs a start 0.15 ms; one that is imported and not used, 0.004 ms."""

TYPES = {"sonde.bpf.btf", "sonde.providers.kernel_types"}
"""Of those who may not read tracefs: the kernel's types have the arguments of system calls, too."""


def imported(*words):
    """The modules that the command has executed in the end."""
    # -S -I: nothing that this machine's site configuration may import by itself.
    paths = repr([path for path in sys.path if path])
    code = f"import sys; sys.path[:] = {paths}\n{RUN}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, *words], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.share(1)
@pytest.mark.parametrize("program", ["BEGIN { exit(0); }", "syscall:::entry { @[execname] = count(); }"])
def test_no_heavy_module_is_imported(program):
    loaded = imported("--dry-run", "-q", "-n", program)
    assert not loaded.intersection(HEAVY), "imported on the start-up path"


def test_counting_calls_without_root_imports_nothing_of_other_programs():
    text = f"{COUNT} syscall:::return {{ @errors[errno] = count(); }}"
    loaded = imported("--engine", "embedded", "-qn", text, "-c", "true")
    assert "sonde.engines.embedded.tracing" in loaded
    assert not [name for name in loaded if name.startswith(OTHERS)]


BT = "begin { exit() }"
MOST_OF_BT = 190
"""As of MODULES, for a program of bpftrace's language."""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "words", [("--engine", "embedded", "-c", "true", "-qn", COUNT), ("--dry-run", "-qn", "BEGIN { exit(0); }")]
)
def test_a_short_program_imports_few_modules(words):
    own = {name for name in imported(*words) if name.partition(".")[0] == "sonde"} - TYPES
    assert 150 < len(own) <= MODULES[words[-1]]


@needs("CAP_BPF", "CAP_PERFMON")
def test_a_short_program_of_bpftrace_imports_few_modules():
    loaded = imported("bt", "--dry-run", "-e", BT)
    own = [name for name in loaded if name.partition(".")[0] == "sonde"]
    assert 150 < len(own) <= MOST_OF_BT
    assert not loaded.intersection(
        (*HEAVY, "array", "bisect", "socket", "sonde.frontends.bpftrace.report.json_objects")
    )


GENERATE = """
from sonde.consume.generated import function, variable
assert function("v0", variable(0), {})(101) == 101
print([each for each in object.__subclasses__() if each.__module__ == "ast"])
"""


def test_functions_are_generated_without_classes_of_syntax_trees():
    """compile() makes a hundred of them at its first call, which takes 2 ms."""
    done = subprocess.run([sys.executable, "-c", GENERATE], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
