"""Who may import whom (docs/design.md): packages one way, folders one way, no circles."""

import ast
import functools
from pathlib import Path

import pytest
from support.source.parsed import nodes

import sonde

ROOT = Path(sonde.__file__).parent

ALLOWED = {
    "lazy": set(),
    "typed": set(),
    "visible": set(),
    "resources": set(),
    "served": set(),
    "reader": {"served"},
    "others": {"children", "lazy", "reader", "served"},
    "untrusted": {"others", "served"},
    "inherited": set(),
    "directory_walk": set(),
    "written_files": {"model.options", "directory_walk"},
    "launch": {"children", "inherited"},
    "children": set(),
    "recent": set(),
    "formats": set(),
    "bpf": set(),
    "model": {"formats"},
    "machine": {"model"},
    "arch": {"model"},
    "symbols": {"model", "arch", "children", "directory_walk", "recent", "resources", "written_files"},
    "providers": {"model", "arch", "bpf", "machine", "symbols"},
    "notation": {"model", "arch", "bpf.helpers", "resources"},
    "frontends": {"model", "arch", "notation"},
    "frontends.d.programs": {"model", "arch", "resources", "untrusted"},
    "frontends.bpftrace.check": {"model", "arch", "notation", "resources"},
    "frontends.bpftrace.programs": {"model", "untrusted"},
    "frontends.bpftrace.report": {
        "model", "bpf.helpers", "consume", "formats.bpf_ring", "formats.damage", "machine.system", "report",
        "untrusted", "written_files",
    },
    "frontends.d.report": {"model", "consume", "formats.bpf_ring", "formats.damage", "report"},
    "codegen": {"model", "arch", "bpf", "formats.bpf_ring"},
    "runtime": {"model", "arch", "bpf", "formats", "machine"},
    "engines": {
        "model", "arch", "bpf", "children", "directory_walk", "formats", "inherited", "launch", "machine", "recent",
        "runtime", "symbols", "written_files",
    },
    "consume": {"model", "engines.base", "formats", "notation"},
    "report": {"model", "bpf.maps", "children", "consume", "formats", "inherited", "recent", "written_files"},
    "captures": {"model", "consume", "formats", "machine"},
    "pictures": {"model", "consume", "formats", "report", "resources"},
    "objects": {"model", "arch", "bpf", "machine", "providers", "symbols"},
    "recording": {
        "model", "arch", "bpf.helpers", "formats", "machine", "symbols", "directory_walk", "written_files",
        "engines.kernel.process_records",
        "engines.fired", "engines.firing_records", "runtime.kernel_types",
    },
    "everywhere": {"model", "arch", "engines.base", "machine.system", "providers", "symbols"},
    "session": {
        "model", "arch", "bpf", "captures", "children", "codegen", "consume", "engines", "everywhere", "formats",
        "frontends", "launch", "machine", "objects", "providers", "report", "resources", "runtime", "symbols",
    },
    "library": {
        "model", "arch", "bpf", "captures", "children", "codegen", "consume", "engines", "everywhere", "formats",
        "frontends", "machine", "objects", "launch", "pictures", "providers", "recent", "recording", "report",
        "runtime", "session", "symbols", "directory_walk", "written_files",
    },
    "cli": {"library", "lazy"},
    "pytest_plugin": {"pytest_cases", "pytest_runs"},
    "pytest_cases": {"library"},
    "pytest_runs": {"library", "__init__"},
    "__main__": {"cli"},
    "__init__": {"lazy", "library"},
}  # fmt: skip
"""For each package or folder of one what it may import besides itself."""

EVERYWHERE = {"typed", "visible"}
"""What every package may import: whoever shows text, or says it in an error, escapes it by the same functions."""

READERS = {
    "arch", "bpf", "captures", "consume", "engines", "formats", "inherited", "machine", "objects", "pictures",
    "library", "providers", "recording", "report", "runtime", "session", "symbols",
}  # fmt: skip
"""What may open files of others; values, the languages and the compiler read nothing."""


def imports_of(path):
    """The modules of sonde that a file imports anywhere, also inside functions and for types only."""
    found = set()
    for node in nodes(path):
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


@functools.cache
def imports():
    """For each module of the package what it imports, without `sonde`."""
    return {name: imports_of(path) for name, path in modules().items()}


def package_of(name):
    return name.partition(".")[0]


def row_of(name):
    """The row of ALLOWED that a module is under: the longest that it begins with."""
    rows = [each for each in ALLOWED if name == each or name.startswith(f"{each}.")]
    return max(rows, key=len) if rows else ""


def is_allowed(name, imported):
    package = package_of(name)
    if package == package_of(imported) or package_of(imported) in EVERYWHERE:
        return True
    if imported in ("others", "untrusted") and package in READERS:
        return True
    wanted = ALLOWED[row_of(name)]
    return any(imported == each or imported.startswith(f"{each}.") for each in wanted) or (
        # The package itself, imported on the way to a module of it.
        any(each.startswith(f"{imported}.") for each in wanted)
    )


@pytest.mark.share(1)
@pytest.mark.parametrize("package", sorted({package_of(name) for name in modules()}))
def test_a_package_imports_only_what_lies_below_it(package):
    assert package in ALLOWED, f"say what {package} may import"
    wrong = [
        f"{name} imports {imported}"
        for name, all_imported in imports().items()
        if package_of(name) == package
        for imported in sorted(all_imported)
        if not is_allowed(name, imported)
    ]
    assert not wrong, wrong


MOST_INSIDE = 40
"""Imports in functions: of what only some runs need and this package does not execute lazily, as it does its own."""


def inner_imports(path):
    """The lines of a file's imports in functions, and the line before each."""
    lines = path.read_text().splitlines()
    functions = [each for each in nodes(path) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {
        (each.lineno, each.end_lineno)
        for function in functions
        for each in ast.walk(function)
        if isinstance(each, ast.Import | ast.ImportFrom)
    }
    return [(lines[begin - 2], lines[end - 1]) for begin, end in sorted(inside)]


def test_imports_are_at_the_top_of_files_or_have_a_reason():
    found = [(name, before, line) for name, path in modules().items() for before, line in inner_imports(path)]
    assert len(found) <= MOST_INSIDE
    explained = "  # "
    assert not [
        (name, line)
        for name, before, line in found
        if explained not in line and not before.strip().startswith(("#", "import"))
    ]


def test_nothing_imports_the_command_line():
    importers = {name for name, found in imports().items() if any(package_of(each) == "cli" for each in found)}
    assert {package_of(name) for name in importers} <= {"cli", "__main__"}


def test_only_the_library_imports_the_session():
    importers = {name for name, found in imports().items() if any(package_of(each) == "session" for each in found)}
    assert {package_of(name) for name in importers} <= {"library", "session"}


def test_the_command_line_stands_on_the_library_alone():
    """Whatever it can do a Python program can; also what functions and annotations import counts."""
    below = {
        f"{name} imports {each}"
        for name, found in imports().items()
        if package_of(name) == "cli"
        for each in found
        if package_of(each) not in ("cli", "library", "lazy")
    }
    assert not below


def circle(graph):
    """A path of nodes that lead to each other, [] if there is none."""
    done = set()

    def visit(name, path):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            found = visit(other, [*path, name])
            if found:
                return found
        done.add(name)
        return []

    return next((found for name in graph if (found := visit(name, []))), [])


def test_there_are_no_circles_of_modules():
    """A package stands for its __init__ alone."""
    assert circle(imports()) == []


def folders():
    """The folders that the modules of each folder import from."""
    found = {}
    for name, imported in imports().items():
        if ROOT.joinpath(*name.split(".")).is_dir():
            continue
        folder = name.rpartition(".")[0]
        others = {each.rpartition(".")[0] for each in imported if not ROOT.joinpath(*each.split(".")).is_dir()}
        found.setdefault(folder, set()).update(others - {folder, ""})
    return found


def test_there_are_no_circles_of_folders():
    """So no two folders import each other."""
    assert len(folders()) > 30
    assert circle(folders()) == []


def test_there_are_no_circles_of_packages():
    graph = {}
    for name, imported in imports().items():
        others = {package_of(each) for each in imported} - {package_of(name)}
        graph.setdefault(package_of(name), set()).update(others)
    assert circle(graph) == []


@pytest.mark.long
def test_the_standard_library_and_pyelftools_are_enough():
    """What `pip install` has to bring: one package, and that in one module alone, which opens debug information. What
    pytest loads has pytest, what makes tables has pyarrow, what makes metrics prometheus_client, what is in
    notebooks IPython: extras."""
    import sys

    foreign = {}
    for module, path in modules().items():
        for node in nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"sonde"}:
                foreign.setdefault(name, set()).add(module)
    tables = foreign.pop("pyarrow")
    assert foreign.pop("pandas") == {"library.arrow_extra"}
    assert foreign.pop("IPython") == {"library.notebook.cell", "library.notebook.extension"}
    assert foreign.pop("ipywidgets") == {"library.notebook.cell"}
    assert foreign.pop("prometheus_client") == {"library.export.exposition", "library.export.wanted"}
    assert foreign == {"elftools": {"symbols.dwarf.decoder"}, "pytest": {"pytest_plugin", "pytest_cases"}}
    extra = {"library.arrow_", "library.data.table_files", "library.data.tables", "library.data.written_tables"}
    assert all(name.startswith(tuple(extra)) for name in tables), tables


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
