"""Modules of the package are executed at the first use of one of their names, once, by the thread that is first."""

import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.places import TESTS
from support.suite.example_counts import share_of

import sonde

MODULES = {
    "__init__": "from made import lazy\nlazy.install()\n",
    "shown": "print('shown')\nVALUE = 101\nclass Thing: pass\ndef later(): return SET_LAST\nSET_LAST = 103\n",
    "wrong": "BEFORE = 1\nraise ValueError(7)\n",
    "first": "from made import second\nTWICE = 2 * second.VALUE\n",
    "second": "from made import first\nVALUE = 107\ndef twice(): return first.TWICE\n",
    "slow": """
import threading, time
EARLY = 1
def value(): return LATE
while threading.active_count() < 9: time.sleep(0.001)
LATE = 109
COUNT = globals().get('COUNT', 0) + 1
""",
}


@pytest.fixture(params=["folder", "zip"])
def package(tmp_path, request):
    """A package with the finder, in a folder or in a file."""
    place = tmp_path / "made"
    place.mkdir()
    (place / "lazy.py").write_text(Path(sonde.__file__).with_name("lazy.py").read_text())
    for name, text in MODULES.items():
        (place / f"{name}.py").write_text(text)
    if request.param == "folder":
        return tmp_path
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as file:
        for each in place.iterdir():
            file.write(each, f"made/{each.name}")
    return path


def run(package, code, *words):
    done = subprocess.run(
        [sys.executable, "-I", *words, "-c", f"import sys; sys.path.insert(0, {str(package)!r})\n{code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("words", [(), ("-O",), ("-B",)])
def test_a_module_is_executed_by_the_first_look_at_a_name(package, words):
    code = """
from made import shown
print("imported", shown.__name__, shown.__spec__.name, hasattr(shown, "__path__"))
print(shown.VALUE, shown.later(), type(shown).__name__)
"""
    assert run(package, code, *words) == [
        "imported",
        "made.shown",
        "made.shown",
        "False",
        "shown",
        "101",
        "103",
        "module",
    ]


def test_a_name_that_is_imported_executes_it(package):
    assert run(package, "from made.shown import VALUE; print(VALUE)") == ["shown", "101"]


def test_what_fails_fails_each_time_and_leaves_no_names(package):
    code = """
from made import wrong
for _ in range(2):
    try:
        wrong.BEFORE
    except ValueError as error:
        print(error, "BEFORE" in vars(wrong))
"""
    assert run(package, code) == ["7", "False", "7", "False"]


def test_modules_that_use_each_other_in_functions(package):
    assert run(package, "from made import first; print(first.TWICE, first.second.twice())") == ["214", "214"]


def test_threads_that_meet_at_the_first_use_have_all_names(package):
    code = """
import threading, time
from made import slow
found = []
threads = [threading.Thread(target=lambda: found.append((slow.EARLY, slow.value(), slow.COUNT))) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(*{repr(each).replace(" ", "") for each in found}, len(found))
"""
    assert run(package, code) == ["(1,109,1)", "8"]


def test_a_name_that_is_set_stays_so(package):
    assert run(package, "from made import shown; shown.VALUE = 7; print(shown.VALUE)") == ["shown", "7"]


def test_names_are_listed(package):
    assert "VALUE" in run(package, "from made import shown; print(*dir(shown))")


def test_an_object_of_a_lazy_module_is_pickled_and_read(package):
    code = """
import pickle
from made import shown
data = pickle.dumps(shown.Thing())
import importlib
import os
import subprocess
print(data.hex())
"""
    *_, data = run(package, code)
    read = f"import pickle; print(type(pickle.loads(bytes.fromhex({data!r}))).__name__)"
    assert run(package, read) == ["shown", "Thing"]


def test_a_traceback_shows_the_line(package):
    code = """
import traceback
from made import wrong
try:
    wrong.BEFORE
except ValueError:
    print("raise ValueError(7)" in traceback.format_exc())
"""
    assert run(package, code) == ["True"]


def test_a_fork_while_another_thread_executes_a_module_executes_it_anew(package):
    """Here that thread waits for others, of which there is one in the child, too."""
    code = """
import os, threading
from made import slow
thread = threading.Thread(target=lambda: slow.EARLY)
thread.start()
while "EARLY" not in object.__getattribute__(slow, "__dict__"): pass
child = os.fork()
threads = [threading.Thread(target=lambda: slow.value()) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
if not child:
    print(slow.value(), slow.COUNT, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(slow.value(), slow.COUNT)
"""
    assert run(package, code) == ["109", "1", "109", "1"]


ROOT = Path(sonde.__file__).parent


def failure_of(name):
    """The last line of the error, "" if the module is executed in a process that has executed no other."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            dir(importlib.import_module(name))
        except BaseException as error:
            os.write(writer, f"{name}: {error!r}\n".encode()[-1000:])
        os._exit(0)
    os.close(writer)
    with open(reader) as file:
        told = file.read()
    os.waitpid(child, 0)
    return told


@pytest.mark.long
def test_each_module_is_executed_by_itself():
    """No module's code needs a name of another one whose code needs it, in whatever order they are used."""
    paths = (each for each in sorted(ROOT.rglob("*.py")) if each.stem != "__main__")
    names = [".".join(("sonde", *path.relative_to(ROOT).with_suffix("").parts)) for path in share_of(paths)]
    code = f"import sys, test_lazy; print(*map(test_lazy.failure_of, {names!r}), sep='', end='')"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT.parent}:{TESTS}:{TESTS / 'unit'}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == ""
    assert len(names) > 300


MEETING = """
import faulthandler, random, sys, threading
import sonde
faulthandler.dump_traceback_later(300, exit=True)
sys.setswitchinterval(1e-5)
seed, gate, errors = int(sys.argv[1]), threading.Barrier(8), []
PROGRAMS = ("BEGIN { exit(0); }", "syscall:::entry { @[execname, ustack()] = count(); }",
            "profile-97 { @ = quantize(arg0); }", 'proc:::exec { printf("%Y %s", walltimestamp, execname); }')
def meet(number):
    drawn = random.Random(8 * seed + number)
    gate.wait()
    try:
        for _ in range(30): getattr(sonde, drawn.choice(sonde.__all__))
        for each in drawn.sample(PROGRAMS, 3): sonde.compile(each, engine=drawn.choice(("embedded", "kernel")))
    except BaseException as error:
        errors.append(repr(error))
threads = [threading.Thread(target=meet, args=(number,)) for number in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(*errors)
"""


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_threads_that_use_the_library_first_meet_in_its_modules(seed):
    done = subprocess.run([sys.executable, "-c", MEETING, str(seed)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
