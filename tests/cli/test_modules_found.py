"""The command finds its own modules in fewer steps than Python; what it gets is what Python would give it."""

import compileall
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sonde

ALL = """
import sys, importlib.machinery
from sonde.cli import modules
modules.find_quickly()
from sonde.cli.main import main
main(["sonde", "--dry-run", "-qn", "syscall:::entry { @[probefunc] = count(); }"])
loaders = {name: type(getattr(each, '__loader__', None)) for name, each in sys.modules.items()}
found = [name for name, each in loaders.items() if each.__module__ == modules.__name__]
for name in found:
    spec, parent = sys.modules[name].__spec__, sys.modules[name.rpartition(".")[0]]
    ordinary = importlib.machinery.PathFinder.find_spec(name, parent.__path__)
    for kind in ("name", "origin", "cached", "parent", "has_location", "submodule_search_locations"):
        assert getattr(spec, kind) == getattr(ordinary, kind), (name, kind)
    code = spec.loader.get_code(name)
    assert code == ordinary.loader.get_code(name) and code.co_filename == spec.origin
    assert spec.loader.get_source(name) == ordinary.loader.get_source(name)
print(len(found))
"""


def test_modules_are_those_that_python_would_find():
    done = subprocess.run([sys.executable, "-c", ALL], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 150


def test_no_module_has_a_package_of_its_name_beside_it():
    """Python would take the package."""
    assert not [
        path for path in Path(sonde.__file__).parent.rglob("*.py") if (path.with_suffix("") / "__init__.py").exists()
    ]


SHOW = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "quickly":
    from sonde.cli.modules import find_quickly
    find_quickly()
import sonde.thing, sonde.part
print(sonde.thing.VALUE, sonde.thing.fail.__code__.co_filename, sonde.part.__path__, sonde.part.VALUE)
"""

THING = "VALUE = 101\ndef fail():\n    assert not VALUE\n"


@pytest.fixture
def package(tmp_path):
    """A package of the same name, with the file that finds modules and a few others."""
    place = tmp_path / "sonde"
    (place / "cli").mkdir(parents=True)
    (place / "part").mkdir()
    for each in ("__init__.py", "cli/__init__.py"):
        (place / each).write_text("")
    shutil.copy(Path(sonde.__file__).parent / "cli/modules.py", place / "cli")
    (place / "part/__init__.py").write_text("VALUE = 103\n")
    (place / "thing.py").write_text(THING)
    compileall.compile_dir(place, quiet=2)
    return place


def change(package):
    (package / "thing.py").write_text(THING.replace("101", "1019"))


def compile_by_content(package):
    py_compile.compile(package / "thing.py", invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    text = THING.replace("101", "107")
    (package / "thing.py").write_text(text)


def take_compiled_away(package):
    shutil.rmtree(package / "__pycache__")


def cut_compiled(package):
    compiled = next(package.glob("__pycache__/thing.*"))
    compiled.write_bytes(compiled.read_bytes()[:40])


def damage_header(package):
    compiled = next(package.glob("__pycache__/thing.*"))
    compiled.write_bytes(b"\0" + compiled.read_bytes()[1:])


def enlarge(package):
    (package / "thing.py").write_text(THING + "".join(f"name_{n} = 'text {n}'\n" for n in range(5003)))
    py_compile.compile(package / "thing.py")


def compile_elsewhere(package):
    py_compile.compile(package / "thing.py", dfile="elsewhere/thing.py")


def leave(package):
    pass


STATES = [
    leave,
    change,
    compile_by_content,
    take_compiled_away,
    cut_compiled,
    damage_header,
    enlarge,
    compile_elsewhere,
]


@pytest.mark.parametrize("state", STATES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("options", [(), ("-O",)], ids=["plain", "-O"])
def test_compiled_modules_count_as_they_do_for_python(package, state, options):
    state(package)
    shown = []
    for way in ("quickly", "ordinarily"):
        words = [sys.executable, "-I", *options, "-c", SHOW, package.parent, way]
        done = subprocess.run(words, capture_output=True, text=True)
        shown.append((done.stdout, done.stderr.splitlines()[-1:], done.returncode))
    assert shown[0] == shown[1]
    assert str(package / "thing.py") in shown[0][0] or state is cut_compiled
