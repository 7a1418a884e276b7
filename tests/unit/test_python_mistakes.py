"""What cannot be compiled of a probe function: the place in the Python file, what is wrong, and what helps."""

import importlib.util
import sys
import textwrap

import pytest

import sonde

BEFORE = """import collections
import os
import sys

import sonde
from sonde import cast, copyinstr, count, exit, kernel, offsetof, printf, probe, quantize, sizeof, strlen, thread, u32

reads, calls = quantize(), count()
tables, config, shared = {}, {"a": 1}, 0
point = collections.namedtuple("Point", "x y")(1, 2)


async def waiting():
    return 1


def recursive(n):
    return recursive(n)


def helper(a):
    return a


def maybe(a):
    if a:
        return 1


"""

MARK = "\u00a7"
"""Stands in the source before the place that is told."""

OF_FORMAT = "print(f'§{p.pid:5.2f}')" if sys.version_info >= (3, 12) else "print(§f'{p.pid:5.2f}')"
"""Before Python 3.12 the parts of an f-string have no places of their own."""

CASES = [
    ("x = §p.arg0 / 2", "/ makes fractions, and a probe has none", "// divides, and rounds down"),
    ("x = §1.5", "probes compute with whole numbers", "multiply first"),
    ("x = §[1, 2]", "a probe has no lists", "a tuple groups values"),
    ("x = §{}", "a probe makes no dicts", "an empty dict outside of the probe is an associative array"),
    ("x = §[y for y in range(3)]", "a probe has no comprehensions", "write a loop"),
    ("x = §lambda: 5", "a probe has no lambdas", "write a function with def"),
    ("x = §yield 5", "a probe yields nothing", "print() a record"),
    ("y = §x + 1", "x is not defined", "define it before the probe is run"),
    ("§copyinst(p.arg0)", "copyinst is not defined", "did you mean copyinstr? from sonde import copyinstr"),
    ("if p.arg0:\n    x = 1\nprint(§x)", "x is not set on every way to this place", "set it before: x = 0"),
    ("for n in range(p.arg0):\n    x = n\nprint(§x)", "x is not set on every way to this place", "set it before"),
    ("§try:\n    pass\nfinally:\n    pass", "a probe has no try", "is told by the run as a ProbeError"),
    ("§raise ValueError", "a probe raises nothing", "raise_(signal) sends a signal"),
    ("§assert p.arg0", "a probe asserts nothing", "write if"),
    ("§import os", "a probe imports nothing", "import outside of the function"),
    ("§with p: pass", "a probe has no with", "set a variable before"),
    ("§match p.pid:\n    case [1]: pass", "a match in a probe compares with values", "write if and elif"),
    ("x = p.pid\nif §x is None: pass", "no value of a probe is None", "ask `if not x`"),
    ("§def inner(): pass", "a probe has no functions in it", "define the function outside, and call it"),
    ("§while p.arg0:\n    pass\nelse:\n    pass", "loops have no else in a probe", "keep in a variable"),
    ("for n in §p.execname: pass", "a loop of a probe goes over a range or a tuple", "for n in range(10):"),
    ("for §a, b in (1, 2): pass", "2 variables need tuples of as many items", ""),
    ("for n in range(3):\n    for §n.x in (1, 2): pass", "a loop sets variables of the function", "name them"),
    ("for n in §range(1, 2, p.arg0): pass", "the step of a range is a constant that is not 0", "range(0, n, 2)"),
    ("x = §y, z = p.pid", "one value is no tuple", "one by one"),
    ("§x, y = 1, 2, 3", "2 variables cannot take 3 values", ""),
    ("x, y = §p.pid", "this is no tuple", "one by one"),
    ("§p.pid", "this does nothing", "print() records it"),
    ("§p.pid = 5", "the firing cannot be changed", "thread.size = ..."),
    ("§thread.x.y = 5", "thread.x.y cannot be set", "a probe sets variables"),
    ("del §p", "there is nothing to free", "del frees variables of `thread`"),
    ("x: §float = 1", "no variable has this type", "u8 to u64"),
    ("print(p.§foo)", "a firing has no foo", ""),
    ("print(p.§exename)", "a firing has no exename", "did you mean execname?"),
    ("print(p.args[0].§fd)", "unsigned int has no members", ""),
    ("print(§p.args[77])", "index 77 is out of range for syscall::read:entry args[]", ""),
    ("x = thread.§never", "no probe sets thread.never", "set it in one of the functions of the run"),
    ("thread.x = 1\nthread.§x = 'a'", "a variable of type long cannot take string", "a variable has one type"),
    ("x = §p.execname + 1", "+ is for numbers, and one side of it is a text", "an f-string puts numbers into a text"),
    ("x = §'a%d' % 3", "% does not format texts in a probe", "write an f-string"),
    ("x = §p.execname.strip()", "a text has no strip in a probe", "startswith, endswith, find"),
    ("x = §p.copyinstr(p.arg0)", "p.copyinstr is no function", "from sonde import copyinstr"),
    ("x = §p.pid // 0", "this divides by zero", ""),
    ("x = §p.pid << 70", "numbers have 64 bits: they are shifted by 0 to 63", ""),
    ("x = §1 << 64", "this number does not fit 64 bits", "mask it"),
    ("x = p.pid + §2 ** 64", "this number does not fit 64 bits", "mask it"),
    ("x = §2 ** 2 ** 20", "this number does not fit 64 bits", ""),
    ("x = §-(2 ** 63) - 1", "this number does not fit 64 bits", "mask it"),
    ("thread.x = 1\nthread.x += §1 << 64", "this number does not fit 64 bits", "mask it"),
    ("x: u32 = §1 << 32", "4294967296 does not fit u32", "it has 0 to 4294967295; u32(4294967296) cuts the number"),
    ("x: sonde.i16 = §-(1 << 15) - 1", "-32769 does not fit sonde.i16", "it has -32768 to 32767"),
    ("x = §p.pid ** p.pid", "** takes a constant exponent", "multiply in a loop"),
    ("x = §123456789012345678901", "this number does not fit 64 bits", "mask it"),
    ("x = §p.arg0 if p.pid else p.execname", "the values to choose from are of two kinds", "convert"),
    ("§reads[p.pid] = 5", "an aggregation is not assigned to", "count in it: reads[p.pid].add(...)"),
    ("print(§reads)", "reads is an aggregation, and cannot be read in a probe", "count in it: reads.add(...)"),
    ("§reads.add()", "reads.add() takes 1 to 2 arguments, not 0", ""),
    ("§calls.add(5)", "calls.add() takes 0 arguments, not 1", ""),
    ("§calls.clear()", "an aggregation has no clear in a probe", "it has add()"),
    ("x = §calls.add()", "add() has no value", "a statement of its own"),
    ("reads['a', 1].add(1)\n§reads['a'].add(1)", "reads has keys of 2 parts, not of 1", "as many parts"),
    ("tables[1] = 1\n§tables['x'] = 1", "part 1 of a key of tables is of type string, and of long elsewhere", ""),
    ("x = §p.pid in tables", "an associative array does not tell what it has", "elements that are not there are 0"),
    ("print(§config)", "config is a dict that is not empty", "can be used from outside"),
    ("print(§os.environ['HOME'])", "os.environ is a _Environ", "value = os.environ['HOME']"),
    ("x = §sys.intern('a')", "sys.intern is a builtin_function_or_method, which the kernel cannot call", "D's"),
    ("x = §helper(1, 2)", "helper() takes 1 arguments, not 2", ""),
    ("x = §helper()", "helper() needs a", ""),
    ("x = §maybe(p.pid)", "maybe() does not return a value on every way", "let it end with a return"),
    ("x = §copyinstr(p.arg0, 1, 2)", "copyinstr() takes at most 2 arguments, not 3", ""),
    ("x = §copyinstr(address=5)", "copyinstr() takes its arguments by their places", "leave the names out"),
    ("x = §strlen(p.pid)", "argument 1 of strlen() is of type pid_t, and has to be char *", ""),
    ("x = §exit(0)", "exit() has no value", "a statement of its own"),
    ("x = §print(5)", "print() is not for this place in a probe", "a statement of its own"),
    (OF_FORMAT, "'5.2f' is no format of a probe", "formats of a probe: {n:8}"),
    ("§print(p.pid, file=1)", "print() of a probe has no file", "sep and end"),
    ("print(§(1, 2))", "a tuple is no value of a record", "one by one"),
    ("x = §u32(p.execname)", "no string becomes uint32_t", "int(text) reads its digits"),
    ("x = §cast('foo bar', p.arg0)", "'foo bar' is no type of C's", "struct file *"),
    ("x = §sizeof('nothing')", "nothing is no type", "struct file"),
    ("x = §quantize()", "quantize() makes an aggregation, which a probe cannot", "make it outside of the probe"),
    ("§printf('%d %d', 1)", "printf() prototype mismatch: conversion #2 (%d) is missing", ""),
    ("x = kernel.§jiffies", "`jiffies is not available with the embedded engine", "the kernel engine"),
    ("x = §p.execname[0:5:2]", "slices have no step in a probe", "leave it out"),
    ("x = §p.execname.find()", "find() of a text takes 1 arguments in a probe", "startswith"),
    ("global shared\nshared = 5\n§shared = 'a'", "a variable of type long cannot take string", "one type"),
    ("§yield", "a probe yields nothing", "print() a record"),
    ("§[print(n) for n in range(3)]", "a probe has no comprehensions", "write a loop"),
    ("§lambda: 5", "a probe has no lambdas", "write a function with def"),
    ("§p.pid and print(p.pid)", "a choice of what to do is an `if`", "write if and else"),
    ("§print(1) if p.pid else print(2)", "a choice of what to do is an `if`", "write if and else"),
    ("x = §'\\ud800'", "half of a surrogate pair is no letter", "write the whole letter"),
    ("print(f'a{p.pid}', §chr(0))", "chr is a builtin_function", "{n:c}"),
    ("§exit(1, 2)", "exit() takes 1 arguments, not 2", ""),
    (
        "if p.execname and §sonde.ustack(): print(1)",
        "only numbers, addresses and texts are true or false",
        "compare it",
    ),
    ("if §sonde.ustack():\n    print(1)", "only numbers, addresses and texts are true or false", "compare it"),
    ("§p.execname()", "p.execname is no function", "leave the brackets out"),
    ("sonde.clear(§reads)", "no probe counts in reads", "add()"),
    ("x = §p.args[p.pid]", "args[] takes a constant number", "if and elif"),
    ("x = §config['a']", "config is a dict that is not empty", "value = config['a']"),
    ("x = §waiting()", "waiting is a function that is made by async def", ""),
    ("x = §round(p.pid)", "round is a builtin_function_or_method", "(n + 5) // 10"),
    ("x = §point.z", "point.z is not defined", ""),
    ("print('é', §nothing)", "nothing is not defined", ""),
]


def module_of(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("mistaken", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mistake_of(path, text):
    with pytest.raises(sonde.CompileError) as caught:
        sonde.compile(module_of(path, text).entered, engine="embedded")
    return caught.value


@pytest.mark.share(19)
@pytest.mark.parametrize(("body", "message", "remedy"), CASES, ids=[case[0] for case in CASES])
def test_a_mistake_has_its_place_and_what_helps(tmp_path, body, message, remedy):
    path = tmp_path / "mistaken.py"
    text = f'{BEFORE}@probe("syscall::read:entry")\ndef entered(p):\n{textwrap.indent(body, "    ")}\n'
    error = mistake_of(path, text.replace(MARK, ""))
    before = text[: text.index(MARK)]
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (error.file, error.line, error.column) == (str(path), *place)
    assert error.source_line == text.split("\n")[place[0] - 1].replace(MARK, "")
    assert message in error.message
    assert remedy in error.remedy.split("\n")[-1]
    assert str(error).startswith(f"{path}:{place[0]}:{place[1]}: {error.message}\n")


def test_a_mistake_in_a_called_function_is_told_there(tmp_path):
    body = '@probe("syscall::read:entry")\ndef entered(p):\n    print(recursive(3))\n'
    error = mistake_of(tmp_path / "mistaken.py", BEFORE + body)
    assert (error.line, error.message) == (18, "recursive() calls itself")
    assert error.source_line == "    return recursive(n)"


def test_a_probe_that_there_is_not_is_told_at_its_description(tmp_path):
    body = '@probe("syscall::read:entry", "syscall::raed:entry")\ndef entered(p):\n    pass\n'
    error = mistake_of(tmp_path / "mistaken.py", BEFORE + body)
    assert (error.line, error.column) == (BEFORE.count("\n") + 1, 31)
    assert "syscall::raed:entry does not match any probes" in error.message


def test_two_parameters_are_one_too_many(tmp_path):
    body = '@probe("BEGIN")\ndef entered(p, q):\n    pass\n'
    error = mistake_of(tmp_path / "mistaken.py", BEFORE + body)
    assert error.message == "a probe function has one parameter, the firing"


def test_what_has_no_source_says_so():
    """Whatever exec() runs; so it is with -c, and with what is typed before Python 3.13."""
    names = {"probe": sonde.probe}
    with pytest.raises(sonde.CompileError, match=r"the source of entered\(\) is not to be had") as caught:
        exec('@probe("BEGIN")\ndef entered(p): pass', names)
    assert "write a file, or use IPython or a notebook" in caught.value.remedy


@pytest.mark.parametrize("indent", ["", "    "])
def test_an_async_function_is_no_probe_function(indent, tmp_path):
    path = tmp_path / "mistaken.py"
    made = textwrap.indent('@sonde.probe("BEGIN")\nasync def began(p):\n    pass\n', indent)
    text = "import sonde\n" + ("if 1:\n" if indent else "") + made
    with pytest.raises(sonde.CompileError) as caught:
        module_of(path, text)
    error = caught.value
    place = 3 + bool(indent), 1 + len(indent)
    assert (error.file, error.line, error.column) == (str(path), *place)
    assert (error.message, error.remedy) == ("began is made by async def", "a probe waits for nothing: write def")
    assert error.source_line == f"{indent}async def began(p):"


def test_a_variable_that_nobody_can_set_is_told_by_what_it_is(tmp_path):
    for name, told in (("tables", "an associative array"), ("reads", "an aggregation"), ("config", "a dict")):
        body = f'@probe("syscall::read:entry")\ndef entered(p):\n    global {name}\n    {name} = 5\n'
        error = mistake_of(tmp_path / "mistaken.py", BEFORE + body)
        assert error.message.startswith(f"{name} is {told}")


def test_a_lambda_is_no_probe_function():
    with pytest.raises(sonde.CompileError, match="is not made by a def there"):
        sonde.probe("BEGIN")(lambda p: 5)


def test_words_of_probes_say_in_python_what_they_are_for():
    reads = sonde.quantize()
    for wrong in (lambda: sonde.copyinstr(5), lambda: sonde.thread.size, lambda: reads[5].add(1), lambda: reads.add(1)):
        with pytest.raises(TypeError, match=r"prob"):
            wrong()

    @sonde.probe("BEGIN")
    def began(p):
        pass

    with pytest.raises(TypeError, match=r"sonde.run\(began\)"):
        began(None)
    with pytest.raises(TypeError, match="descriptions of probes"):
        sonde.probe()
    with pytest.raises(TypeError, match="takes probe functions"):
        sonde.run()
    with pytest.raises(TypeError, match="not run together with texts"):
        sonde.compile([began, "BEGIN { }"])
    with pytest.raises(TypeError, match="take no arguments"):
        sonde.compile(began, arguments=[1])


def test_aggregations_of_one_name_are_told_apart():
    def counting(number):
        same = sonde.count()

        @sonde.probe(f"tick-{number}s")
        def counted(p):
            same.add()

        return counted

    with pytest.raises(sonde.Error, match="two aggregations of one run are called same"):
        sonde.compile([counting(1), counting(2)])


def test_a_division_by_zero_is_told_when_it_happens():
    @sonde.probe("BEGIN")
    def divided(p):
        thread = p.pid - p.pid
        print(5 // thread)

    @sonde.probe("BEGIN")
    def ended(p):
        exit(0)

    with sonde.run(divided, ended, engine="embedded") as run:
        (error,) = [event for event in run if isinstance(event, sonde.ProbeError)]
    assert error.reason == "divide-by-zero"


@pytest.mark.parametrize(
    "text", ["", "BEGIN { }", "[]", "[1, 2, 3]", "[[[1]], [], []]", '{"a": 1}', "[[], [[1]], []]", "[[], [], [0]]"]
)
def test_a_text_is_no_program_in_python(text):
    with pytest.raises(sonde.CompileError, match="this is no program of probe functions"):
        sonde.compile(text, "python", engine="embedded")
