"""Nothing of the package is there for tests alone: all of it is reached from where users and the system enter it."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from support.source.reachability import Reachability
from support.source.source_definitions import Sources

import sonde

ROOT = Path(sonde.__file__).parent

ENTRIES = {
    "sonde.cli.start:main": "the command",
    "sonde.lazy:Finder.find_spec": "Python asks it for modules",
    "sonde.lazy:_Loader.get_code": "Python loads modules by it",
    "sonde.lazy:_Loader.create_module": "Python makes modules by it",
    "sonde.lazy:_Loader.exec_module": "Python loads modules by it",
    "sonde.lazy:_Loader.execute": "execute() calls it",
    "sonde.lazy:_LoaderElsewhere.create_module": "Python makes modules by it",
    "sonde.lazy:_LoaderElsewhere.exec_module": "Python loads modules by it",
    "sonde.__main__:start": "python -m sonde, and zip files of the package",
    "sonde.library.kept_files:_NamedFile.writable": "io.BufferedWriter asks it",
    "sonde.library.probing.aggregating:_made_or_own": "sum(), min() and max() call it, behind their overloads",
    "sonde.pytest_plugin": "pytest loads it by its entry point",
    "sonde.pytest_plugin:pytest_collect_file": "pytest calls it",
    "sonde.pytest_plugin:sonde_run": "tests name it",
    "sonde.pytest_cases:CaseFile.collect": "pytest calls it",
    "sonde.pytest_cases:CaseItem.runtest": "pytest calls it",
    "sonde.pytest_cases:CaseItem.repr_failure": "pytest calls it",
    "sonde.pytest_cases:CaseItem.reportinfo": "pytest calls it",
    "sonde.pytest_runs:TracedRun.records": "tests look at it",
    "sonde.pytest_runs:TracedRun.errors": "tests look at it",
    "sonde.pytest_runs:TracedRun.losses": "tests look at it",
    "sonde.symbols.source_names.cxx_worker": "its text is run by a process of its own, which demangles",
    "sonde.cli.manual.man:page": "tools/manual.py writes docs/sonde.1 by it",
    "sonde.frontends.d.programs.front_end": "named by languages.LANGUAGES",
    "sonde.frontends.bpftrace.programs.front_end": "named by languages.LANGUAGES",
    "sonde.frontends.python.programs.front_end": "named by languages.LANGUAGES",
    "sonde.frontends.d.report.text:text_report": "named by languages.LAYOUTS",
    "sonde.frontends.bpftrace.report.text:text_report": "named by languages.LAYOUTS",
    "sonde.frontends.d.report.message_file:MessageFile.write": "a report writes its messages to it",
    "sonde.library.aggregations:LiveAggregation._repr_mimebundle_": "IPython calls it",
    "sonde.library.histograms:Histogram._repr_html_": "IPython calls it",
    "sonde.library.notebook.extension:trace_cell": "IPython calls it for cells",
    "sonde.library.notebook.view:CellView._repr_mimebundle_": "IPython calls it",
    "sonde.library.rich_pictures:HeatMap._repr_mimebundle_": "IPython calls it",
    "sonde.library.rich_pictures:Picture._repr_mimebundle_": "IPython calls it",
    "sonde.library.export.exposition:_Registry.collect": "prometheus_client calls it",
    "sonde.runtime.maps.hash:Hash": "named by maps.creation",
    "sonde.runtime.maps.array:ArrayMap": "named by maps.creation",
    "sonde.runtime.maps.object_array:ObjectArray": "named by maps.creation",
    "sonde.runtime.maps.stack_trace:StackTraceMap": "named by maps.creation",
    "sonde.runtime.maps.queue:Queue": "named by maps.creation",
    "sonde.runtime.maps.ring_buffer:RingBuffer": "named by maps.creation",
    "sonde.runtime.maps.task_storage:TaskStorage": "named by maps.creation",
    "sonde.symbols.dwarf.decoder:_Declarations.get_abbrev": "pyelftools calls it",
    "sonde.symbols.dwarf.decoder:_WindowStream.tell": "pyelftools calls it",
}
"""Where the package is entered, and by whom, besides the names that it offers to Python programs."""

ENTERED_FOLDERS = {
    "sonde.runtime.helpers.": "each file's `make` is named by helpers.table",
    "sonde.providers.derived.": "the registry imports a provider's tables by its name",
    "sonde.arch.x86_64.": "arch chooses the folder by the processor",
}
"""Folders of which each module is imported by a name that is put together while the program runs."""


def entries(sources):
    """The identifiers of all entries; of public classes also their methods."""
    public = [
        sources.meaning(f"sonde.library.{module}", name) for module, names in sonde._NAMES.items() for name in names
    ]
    methods = [
        method
        for each in public
        for owner in sources.ancestors(each)
        for name, method in sources.members[owner].items()
        if not name.startswith("_")
    ]
    folders = [each for each in sources.trees if each.startswith(tuple(ENTERED_FOLDERS))]
    return [*ENTRIES, *public, *methods, *folders]


pytestmark = pytest.mark.long
"""The graph of all functions takes ten seconds."""


@pytest.fixture(scope="module")
def sources():
    return Sources(ROOT, "sonde")


@pytest.fixture(scope="module")
def reachability(sources):
    return Reachability(sources, entries(sources))


@pytest.fixture(scope="module")
def unreached(reachability):
    return reachability.unreached()


def test_nothing_is_called_by_tests_alone(unreached):
    """Functions that nothing calls, classes of which nothing makes an object, modules that nothing imports."""
    assert unreached == []


CALLED = """
import sys
from sonde.cli.main import main
called = set()
def note(frame, event, argument):
    called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))
sys.settrace(note)
status = main(["sonde", "--engine", "embedded", *sys.argv[1:]])
sys.settrace(None)
for path, line in called:
    print("CALLED", line, path)
sys.exit(status)
"""

PROGRAMS = [
    ("-e", "-n", 'syscall::open*:entry { printf("%s", copyinstr(arg0)); @[ustack(3)] = quantize(arg1); }'),
    ("-e", "-xoutput=perf-reserve", "-n", 'BEGIN { self->x = speculation(); trace(strtok(execname, "a")); }'),
    ("-l", "-n", "proc:::"),
    ("verify", "-n", "tick-1s { @ = count(); exit(0); }"),
]


@pytest.mark.parametrize("words", PROGRAMS, ids=["stacks", "slots", "list", "verify"])
def test_what_a_command_calls_is_reached(sources, reachability, words):
    """Else the graph has no edge where there is one, and would have used code deleted."""
    done = subprocess.run([sys.executable, "-c", CALLED, *words], capture_output=True, text=True)
    lines = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith("CALLED ")]
    called = {(path, int(number)) for _, number, path in lines if path.startswith(str(ROOT))}
    assert len(called) > 500, done.stderr
    missed = []
    for each in sources.definitions.values():
        if each.kind == "function" and reachability.levels.get(each.id, 0) == 0:
            path = sources.paths[each.module]
            first = min([each.node.lineno, *(decorator.lineno for decorator in each.node.decorator_list)])
            missed += [each.id] if (str(path), first) in called else []
    assert missed == []


def test_each_entry_exists(sources):
    assert [each for each in entries(sources) if each not in sources.definitions and each not in sources.trees] == []


def found(tmp_path, entry="app.main:main", **modules):
    """What is unreached in a package of these modules."""
    (tmp_path / "__init__.py").write_text("")
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(dedent(text))
    return Reachability(Sources(tmp_path, "app"), [entry]).unreached()


def test_a_function_that_nothing_calls_is_found(tmp_path):
    unreached = found(
        tmp_path,
        main="""
            from app.work import live
            def main(): live()
        """,
        work="""
            def live(): return inner()
            def inner(): return 1
            def dead(): return only_from_dead()
            def only_from_dead(): return 2
        """,
    )
    assert unreached == ["app.work:dead", "app.work:only_from_dead"]


def test_a_module_that_nothing_imports_is_found(tmp_path):
    unreached = found(tmp_path, main="def main(): pass", alone="def helper(): pass")
    assert unreached == ["app.alone:"]


def test_methods_are_told_apart_by_what_annotations_say(tmp_path):
    unreached = found(
        tmp_path,
        main="""
            class Tree:
                def height(self): return 1
                def width(self): return 2
            class Table:
                def height(self): return 1
                def width(self): return 2
            def main(tree: Tree | None = None):
                Table().width()
                made = Tree()
                print(tree.height(), made.height())
        """,
    )
    assert unreached == ["app.main:Table.height", "app.main:Tree.width"]


def test_what_has_no_known_class_may_be_any(tmp_path):
    unreached = found(
        tmp_path,
        main="""
            class Tree:
                def height(self): return 1
                def width(self): return 2
            class Never:
                def height(self): return 1
            def main(trees=(Tree(),)):
                for tree in trees: print(tree.height())
        """,
    )
    assert unreached == ["app.main:Never", "app.main:Tree.width"]


@pytest.mark.parametrize(
    "test",
    [
        "if isinstance(value, Never): handle()",
        "match value:\n        case Never(): handle()",
        "{Never: handle}[value]()",
    ],
)
def test_a_class_that_is_only_tested_for_is_not_made(tmp_path, test):
    unreached = found(
        tmp_path,
        main=f"""
class Never: pass
def handle(): pass
def main(value: Never):
    {test}
""",
    )
    assert unreached == ["app.main:Never", "app.main:handle"]


def test_tables_protocols_decorators_and_properties_count(tmp_path):
    unreached = found(
        tmp_path,
        main="""
            from typing import Protocol
            class Shape(Protocol):
                def area(self) -> int: ...
            class Square:
                def area(self) -> int: return self._side * self.side
                @property
                def side(self): return 2
                def __len__(self): return 4
            def told(shape: Shape): return shape.area()
            def listed(): pass
            def registered(register): return lambda function: register
            @registered(1)
            def by_decorator(): pass
            def unlisted(): pass
            TABLE = {"one": listed}
            UNUSED = {"one": unlisted}
            _UNREAD = 1
            def main(): TABLE["one"](), told(Square())
        """,
    )
    assert unreached == ["app.main:_UNREAD", "app.main:unlisted"]


def test_a_function_within_a_function_counts_by_itself(tmp_path):
    unreached = found(
        tmp_path,
        main="""
            def main():
                def used(): return other()
                def unused(): return 1
                def other(): return 2
                return used
        """,
    )
    assert unreached == ["app.main:main.unused"]
