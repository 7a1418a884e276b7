"""sonde finds its own modules in fewer steps than Python; what it gets is what Python would give it."""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sonde
from sonde.cli.module_bundle import write_bundle
from sonde.lazy import bundle_path

ALL = """
import sys, importlib.machinery
from sonde import lazy
from sonde.cli.main import main
main(["sonde", "--dry-run", "-qn", "syscall:::entry { @[probefunc] = count(); }"])
loaders = {name: type(getattr(each, '__loader__', None)) for name, each in sys.modules.items()}
found = [name for name, each in loaders.items() if each.__module__ == lazy.__name__]
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
    from sonde import lazy
    lazy.install()
import sonde.thing, sonde.part
print(sonde.thing.VALUE, sonde.thing.fail.__code__.co_filename, sonde.part.__path__, sonde.part.VALUE)
"""

THING = "VALUE = 101\ndef fail():\n    assert not VALUE\n"


@pytest.fixture
def package(tmp_path):
    """A package of the same name, with the file that finds modules and a few others."""
    place = tmp_path / "sonde"
    (place / "part").mkdir(parents=True)
    (place / "__init__.py").write_text("")
    shutil.copy(Path(sonde.__file__).parent / "lazy.py", place)
    (place / "part/__init__.py").write_text("VALUE = 103\n")
    (place / "thing.py").write_text(THING)
    for each in place.rglob("*.py"):
        os.utime(each, (1009, 1009))
    compileall.compile_dir(place, quiet=2)
    return place


@pytest.fixture(params=["bundled", "beside"])
def compiled(package, request):
    """The package, and whether its compiled modules are in a bundle, too."""
    if request.param == "bundled":
        write_bundle(str(package))
    return package, request.param


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


@pytest.mark.share(3)
@pytest.mark.parametrize("state", STATES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("options", [(), ("-O",)], ids=["plain", "-O"])
def test_compiled_modules_count_as_they_do_for_python(compiled, state, options):
    package, way = compiled
    state(package)
    shown = both_ways(package, options)
    if way == "bundled" and state is cut_compiled and not options:
        # Python fails where the bundle has what was there before.
        assert shown[0][0].startswith("101 ")
    else:
        assert shown[0] == shown[1]
    assert str(package / "thing.py") in shown[0][0] or state is cut_compiled


def both_ways(package, options=()):
    """What the modules show as they are found quickly, and as Python finds them."""
    shown = []
    for way in ("quickly", "ordinarily"):
        words = [sys.executable, "-I", *options, "-c", SHOW, package.parent, way]
        done = subprocess.run(words, capture_output=True, text=True)
        shown.append((done.stdout, done.stderr.splitlines()[-1:], done.returncode))
    return shown


def cut(content):
    return content[:-1]


def of_another_python(content):
    return bytes([content[0] ^ 1]) + content[1:]


def emptied(_content):
    return b""


@pytest.mark.parametrize("damage", [cut, of_another_python, emptied], ids=lambda each: each.__name__)
def test_a_bundle_that_is_none_counts_for_nothing(package, damage):
    write_bundle(str(package))
    path = Path(bundle_path(str(package)))
    path.write_bytes(damage(path.read_bytes()))
    shown = both_ways(package)
    assert shown[0] == shown[1]


def test_modules_come_from_the_bundle(package):
    """Where it has them: here the one beside the source is damaged."""
    write_bundle(str(package))
    cut_compiled(package)
    shown = both_ways(package)
    assert shown[0][0].startswith("101 ")
    assert shown[1][2] == 1


START = """
import sys
sys.path.insert(0, sys.argv[1])
from sonde.cli.start import main
sys.argv = ["sonde", "-V"]
main()
"""


def test_commands_bundle_modules_for_the_next_one(tmp_path):
    """As soon as Python has compiled them, and again when one has changed; not where Python may write no such files."""
    package = tmp_path / "sonde"
    shutil.copytree(Path(sonde.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = Path(bundle_path(str(package)))

    def started(*options):
        subprocess.run([sys.executable, "-I", *options, "-c", START, tmp_path], check=True, capture_output=True)
        return path.stat().st_ino if path.exists() else None

    assert started() is None  # Python compiles
    assert started("-B") is None
    first = started()
    assert first is not None
    assert started() == first
    (package / "cli/version.py").touch()
    started()
    assert started("-B") == first
    changed = started()
    assert changed != first
    assert [each.name for each in path.parent.glob("*.bundle*")] == [path.name]
