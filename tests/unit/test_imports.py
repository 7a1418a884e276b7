"""Who may import whom (docs/design.md): one direction, no circles."""

import ast
from pathlib import Path

import pytest

import sonde

ROOT = Path(sonde.__file__).parent


ALLOWED = {
    "typed": set(),
    "untrusted": {"typed"},
    "buckets": set(),
    "conversion": {"typed"},
    "location": {"typed"},
    "options": set(),
    "session_errors": set(),
    "signals": set(),
    "resources": set(),
    "traced": {"typed"},
    "visible": set(),
    "samples": {"typed", "formats"},
    "probe": {"typed", "location"},
    "spec": {"typed", "conversion", "probe"},
    "bpf": {"typed"},
    "plain": {"typed"},
    "specfile": {"typed", "buckets", "conversion", "plain", "probe", "spec"},
    "formats": {"typed"},
    "inherited": {"untrusted"},
    "target": {"typed", "inherited"},
    "symbols": {"typed", "location", "resources", "target", "spec", "lang.types"},
    "lang": {"typed", "conversion", "location", "probe", "options", "resources"},
    "probes": {
        "typed", "location", "probe", "spec", "bpf", "symbols", "target", "lang.catalog", "lang.types", "lang.errors",
    },
    "codegen": {
        "typed", "buckets", "conversion", "location", "probe", "spec", "bpf", "target.target", "lang.program",
        "lang.ranges", "lang.scratch", "lang.types", "lang.errors", "lang.walk",
    },
    "engines": {"typed", "probe", "spec", "bpf", "formats", "samples", "symbols", "target"},
    "consume": {"typed", "buckets", "conversion", "plain", "probe", "spec", "specfile", "engines.base", "samples"},
    "report": {
        "typed", "buckets", "conversion", "probe", "spec", "bpf.maps", "formats", "consume.events", "consume.options",
        "consume.decode", "consume.stacks", "consume.words", "samples", "target.private_files", "inherited",
    },
    "captures": {
        "typed", "conversion", "plain", "probe", "spec", "formats", "target", "consume.events", "consume.decode",
    },
    "pictures": {
        "typed", "buckets", "resources", "spec", "formats", "consume.events",
        "consume.options", "consume.stacks", "consume.store",
        "consume.words",
        "report.callers", "report.stack", "report.symbolizer", "target.private_files",
    },
    "objects": {"typed", "probe", "spec", "bpf", "symbols", "target", "probes.kernel_types",
        "probes.functions", "probes.pattern", "probes.static_sites", "lang.types", "location", "codegen.convention",
        "codegen.context.registers", "codegen.type_table",
    },
    "recording": {"typed", "formats", "samples", "spec", "symbols", "target", "engines.kernel.process_records"},
    "everywhere": {
        "typed", "location", "probe", "probes", "spec", "symbols", "engines.base", "codegen.context.registers",
    },
    "object_session": {
        "typed", "bpf", "engines", "objects", "report", "signals", "spec", "symbols.following", "target", "traced",
    },
    "session": {
        "typed", "buckets", "conversion", "options", "probe", "spec", "lang", "probes", "codegen", "engines",
        "consume", "everywhere", "report", "captures", "samples", "signals", "traced", "target", "symbols",
    },
    "library": {
        "typed", "buckets", "conversion", "options", "probe", "spec", "lang", "probes", "codegen", "engines", "session",
        "consume", "report", "samples", "traced", "target", "symbols", "session_errors",
    },
}  # fmt: skip
"""For each part what it may import besides itself; only the command line may import everything."""

FREE = {"cli", "__init__", "__main__"}

EVERYWHERE = {"visible"}
"""What every part may import: whoever shows text, or says it in an error, escapes it by the same functions."""

READERS = {
    "bpf", "lang", "specfile", "formats", "target", "symbols", "probes", "engines", "consume", "report", "captures",
    "pictures", "objects", "recording", "object_session", "session",
}  # fmt: skip
"""What may open files of others; values and the compiler read nothing."""


def imports_of(path):
    """The modules of sonde that a file imports anywhere, also inside functions and for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # What is imported from a package may be one of its modules.
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    modules = {name.removeprefix("sonde.") for name in found if name.startswith("sonde.")}
    return {name for name in modules if is_module(name)}


def is_module(name):
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def modules():
    """Every file of the package by its module's name without `sonde`."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


IMPORTS = {name: imports_of(path) for name, path in modules().items()}


def part_of(name):
    return name.partition(".")[0]


def is_allowed(name, imported):
    part = part_of(name)
    if part == part_of(imported) or part in FREE or imported in EVERYWHERE:
        return True
    if imported == "untrusted" and part in READERS:
        return True
    return any(imported == each or imported.startswith(f"{each}.") for each in ALLOWED[part]) or (
        # The package itself, imported on the way to a module of it.
        any(each.startswith(f"{imported}.") for each in ALLOWED[part])
    )


@pytest.mark.parametrize("part", sorted({part_of(name) for name in IMPORTS} - FREE))
def test_a_part_imports_only_what_lies_below_it(part):
    assert part in ALLOWED, f"say what {part} may import"
    wrong = [
        f"{name} imports {imported}"
        for name, all_imported in IMPORTS.items()
        if part_of(name) == part
        for imported in sorted(all_imported)
        if not is_allowed(name, imported)
    ]
    assert not wrong, wrong


def test_nothing_imports_the_command_line():
    assert not [name for name, found in IMPORTS.items() if part_of(name) not in FREE for each in found if "cli" in each]


def test_only_the_command_line_imports_the_session():
    importers = {part_of(name) for name, found in IMPORTS.items() if "session" in found}
    assert importers <= FREE


def circle():
    """A path of modules that import each other, [] if there is none; a package stands for its __init__ alone."""
    done = set()

    def visit(name, path):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for imported in sorted(IMPORTS.get(name, ())):
            found = visit(imported, [*path, name])
            if found:
                return found
        done.add(name)
        return []

    return next((found for name in IMPORTS if (found := visit(name, []))), [])


def test_there_are_no_circles():
    assert circle() == []


def test_the_standard_library_and_pyelftools_are_enough():
    """What `pip install` has to bring: one package, and that in one module alone, which opens debug information."""
    import sys

    foreign = {}
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"sonde"}:
                foreign.setdefault(name, set()).add(module)
    assert foreign == {"elftools": {"symbols.dwarf.decoder"}}


SLOW = {"argparse", "getopt", "logging", "dataclasses", "subprocess", "json", "inspect", "asyncio", "numpy", "elftools"}


def test_the_shortest_program_loads_nothing_slow():
    import subprocess
    import sys

    code = (
        "import sys; from sonde.cli.main import main; "
        "status = main(['sonde', '-e', '-n', 'BEGIN { exit(0) }']); print(status, *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, *loaded = done.stdout.split()
    assert status == "0"
    assert SLOW.isdisjoint(loaded)
