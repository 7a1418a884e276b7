"""Functions of Python in stacks, against what the interpreters say of themselves: on both engines, in each version."""

import json
import re
import subprocess

import pytest
from support.command.command import SONDE, environment
from support.machine.interpreters import DISTRIBUTIONS, VERSIONS, interpreter

ENGINES = ("kernel", "embedded")

PROGRAM = """
import asyncio, functools, json, os, sys, threading, time, types
# What has been loaded is known by then.
time.sleep(0.3)
told = []
def leaf(fd):
    found, frame = [], sys._getframe()
    while frame is not None:
        code = frame.f_code
        found.append([frame.f_globals.get("__name__"), getattr(code, "co_qualname", code.co_name), frame.f_lineno])
        frame = frame.f_back
    found[0][2] = leaf.__code__.co_firstlineno + 8
    told.append(found)
    os.write(fd, b"x")
def recursing(fd, depth):
    return recursing(fd, depth - 1) if depth else leaf(fd)
class Reader:
    def __init__(self, fd):
        self.fd = fd
        leaf(fd)
    def __del__(self):
        leaf(self.fd)
    def __call__(self, other):
        leaf(self.fd)
        return other
    @property
    def size(self):
        return leaf(self.fd)
    def lines(self):
        for number in range(2):
            leaf(self.fd); yield number
        yield from self.inner()
    def inner(self):
        yield leaf(self.fd)
    def __enter__(self): return self
    def __exit__(self, *error):
        leaf(self.fd)
async def sleeping(fd):
    leaf(fd)
    await asyncio.sleep(0)
    leaf(fd)
async def awaiting(fd):
    await asyncio.gather(sleeping(fd), sleeping(fd))
elsewhere = types.ModuleType("elsewhere")
elsewhere.functools = functools
exec("def wrapping(function):\\n  @functools.wraps(function)\\n  def wrapper(fd): function(fd)\\n  return wrapper",
     vars(elsewhere))
wrapped = elsewhere.wrapping(leaf)
def größe(fd):
    leaf(fd)
def 漢字(fd):
    leaf(fd)
def NAME(fd):
    leaf(fd)
def failing(fd):
    try:
        raise ValueError
    except ValueError:
        leaf(fd)
    finally:
        leaf(fd)
def main(fd):
    recursing(fd, 30)
    reader = Reader(fd)
    list(reader.lines())
    sorted([2, 1], key=reader)
    reader.size
    functools.reduce(lambda a, b: leaf(fd), [1, 2, 3])
    [leaf(each) for each in (fd,)]
    with reader:
        pass
    class Body:
        leaf(fd)
    exec("def made(fd):\\n  leaf(fd)\\nmade(fd)", {"leaf": leaf, "fd": fd, "__name__": "elsewhere"})
    eval(compile("leaf(fd)", "a file", "eval"))
    asyncio.run(awaiting(fd))
    thread = threading.Thread(target=recursing, args=(fd, 2)); thread.start(); thread.join()
    wrapped(fd)
    for number in range(40):
        exec("\\n" * number + "leaf(fd)")
        exec("\\n" * number + "def again(): leaf(fd)\\nagain()", {"leaf": leaf, "fd": fd, "__name__": "again"})
    for number in range(6):
        thread = threading.Thread(target=recursing, args=(fd, number)); thread.start(); thread.join()
    größe(fd); 漢字(fd); NAME(fd); failing(fd)
    del reader
main(os.dup2(os.open("/dev/null", os.O_WRONLY), 99))
json.dump(told, open(sys.argv[1], "w"))
# A name that is so long has to be read while the process is there.
time.sleep(0.3)
""".replace("NAME", "n" * 300)

PYTHON = re.compile(r"^ +(\S+) (.+):(\d+)$")


def run(engine, words, text, *options):
    """Lines of output of a script over a command."""
    command = [SONDE, "-q", "--engine", engine, *options, "-c", " ".join(map(str, words)), "-n", text]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert not done.returncode, done.stderr
    return done.stdout.split("\n"), done.stderr


def stacks(lines):
    """The frames of each stack, the innermost first."""
    found = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def functions(stack):
    """Name, file and line of each function of Python in a stack."""
    found = [match.groups() for each in stack if (match := PYTHON.match(each))]
    return [(name, file, int(line)) for name, file, line in found]


@pytest.mark.share(1, 3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [*VERSIONS, DISTRIBUTIONS])
def test_stacks_are_those_that_the_interpreter_tells(version, engine, tmp_path):
    python, program, told = interpreter(version), tmp_path / "program.py", tmp_path / "told"
    program.write_text(PROGRAM)
    text = "syscall::write:entry /pid == $target && arg2 == 1 && arg0 == 99/ { ustack(120); }"
    lines, _ = run(engine, [python, program, told], text)
    found, expected = stacks(lines), json.loads(told.read_text())
    assert len(found) == len(expected) > 20
    for stack, truth in zip(found, expected, strict=True):
        names = [(f"{module}.{name}", line) for module, name, line in truth]
        assert [(name, line) for name, _, line in functions(stack)] == names
        assert not any("_PyEval_EvalFrameDefault" in each or each.lstrip().startswith("[") for each in stack)
    assert {file for stack in found for _, file, _ in functions(stack)} >= {"program.py", "<string>", "a file"}


THREADS = """
import os, threading
source = "def worker_%d(fd, n):\\n    for _ in range(n): os.write(fd, b'x')\\n"
for number in range(8):
    exec(source % number)
first = os.open("/dev/null", os.O_WRONLY)
for number in range(8): os.dup2(first, 100 + number)
threads = [threading.Thread(target=globals()["worker_%d" % n], args=(100 + n, 40)) for n in range(8)]
for each in threads: each.start()
for each in threads: each.join()
"""


@pytest.mark.share(0, 3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_thread_has_its_own_functions(version, engine, tmp_path):
    python, program = interpreter(version), tmp_path / "program.py"
    program.write_text(THREADS)
    text = "syscall::write:entry /pid == $target && arg0 >= 100/ { @[arg0, ustack()] = count(); }"
    lines, _ = run(engine, [python, program], text)
    counts, descriptor, workers = {}, 0, []
    for line in lines:
        if re.fullmatch(r" +1\d\d *", line):
            descriptor, workers = int(line), []
        elif match := PYTHON.match(line):
            workers += re.findall(r"worker_(\d)", match[1])
        elif re.fullmatch(r" +\d+", line):
            assert workers == [str(descriptor - 100)]
            counts[descriptor] = counts.get(descriptor, 0) + int(line)
    assert counts == dict.fromkeys(range(100, 108), 40)


INTERPRETERS = """
import os, threading, time
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
time.sleep(0.3)
def outer():
    os.write(100, b'x')
    number = interpreters.create()
    interpreters.run_string(number, '''
import os
def inner(fd):
    for _ in range(3): os.write(fd, b'x')
inner(100)
''')
    os.write(100, b'x')
os.dup2(os.open("/dev/null", os.O_WRONLY), 100)
outer()
thread = threading.Thread(target=outer)
thread.start()
thread.join()
"""


@pytest.mark.share(0, 3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_interpreter_within_another(version, engine, tmp_path):
    python, program = interpreter(version), tmp_path / "program.py"
    program.write_text(INTERPRETERS)
    text = "syscall::write:entry /pid == $target && arg0 == 100/ { ustack(); }"
    found = stacks(run(engine, [python, program], text)[0])
    names = [[name.rpartition(".")[2] for name, _, _ in functions(stack)] for stack in found]
    threads = ["run", "_bootstrap_inner", "_bootstrap"]
    for last, of in ((["<module>"], names[:5]), (threads, names[5:])):
        outside, inside = ["outer", *last], ["inner", "<module>", "outer", *last]
        assert of == [outside, inside, inside, inside, outside]


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.9", DISTRIBUTIONS])
def test_code_that_is_used_once_has_its_lines(version, tmp_path):
    """Of more than fits into a record, and gone when a session comes to read it: the interpreter's own, which finds its
    paths, and a long module."""
    module = tmp_path / "once.py"
    module.write_text("\n".join(["import os", *("value = (1, 2)" for _ in range(500)), "os.getppid()", "os._exit(0)"]))
    text = "syscall::readlink:entry, syscall::getppid:entry /pid == $target/ { ustack(40); }"
    found = [
        re.findall(
            r"(?:<frozen getpath>|once\.py):\d+", "\n".join(run(engine, [interpreter(version), module], text)[0])
        )
        for engine in ENGINES
    ]
    assert found[0] == found[1]
    assert found[0][-1] == "once.py:502"


def test_the_interpreters_own_frames_on_demand():
    python = interpreter(DISTRIBUTIONS)
    text = "syscall::write:entry /pid == $target/ { ustack(); exit(0); }"
    lines, _ = run("kernel", [python, "-c", "'import os; os.write(1, b\"x\")'"], text, "-xpython=no")
    assert any("_PyEval_EvalFrameDefault" in each for each in lines)
    assert not any("<module>" in each for each in lines)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_a_version_that_is_not_known_says_so_in_one_frame(engine):
    python = interpreter("3.8")
    text = "syscall::write:entry /pid == $target && arg2 == 3/ { ustack(); }"
    words = [python, "-c", "'import os; sorted([1, 2], key=lambda n: os.write(2, b\"xyz\"))'"]
    for stack in stacks(run(engine, words, text)[0]):
        said = [each.strip() for each in stack if each.strip().startswith("[")]
        assert said == ["[functions of Python 3.8 are missing: a version that is not known]"]
        assert sum("_PyEval_EvalFrameDefault" in each for each in stack) > 1


def test_a_recording_has_the_functions(tmp_path):
    python, program, raw = interpreter(DISTRIBUTIONS), tmp_path / "program.py", tmp_path / "raw"
    program.write_text("import os\ndef leaf(): os.write(2, b'xyz')\nfor _ in range(3): leaf()\n")
    text = "syscall::write:entry /pid == $target && arg2 == 3/ { ustack(); @[ustack()] = count(); }"
    lines, _ = run("kernel", [python, program], text, "--raw", raw)
    shown = subprocess.run([SONDE, "raw", raw], capture_output=True, text=True, check=True).stdout.split("\n")
    assert [functions(each) for each in stacks(shown)] == [functions(each) for each in stacks(lines)]
    assert ("__main__.leaf", "program.py", 2) in functions(lines)
    # Where another program's tables take long, the first of them is cut, and another key.
    assert sum(int(each) for each in shown if re.fullmatch(r" +\d+", each)) == 3
