"""D's functions under their names: what a call of each becomes in Python is what it becomes in D."""

import ast
import importlib.util
import keyword

import pytest
from support.python.python_pairs import length

import sonde
from sonde.frontends.d.check.prototypes import _ACTIONS, _SUBROUTINES, _SYMBOLS, AGGREGATING

FUNCTIONS = {name: text for name, text in {**_SUBROUTINES, **_SYMBOLS, **_ACTIONS}.items() if name[0] != "_"}
AGGREGATED = ("clear", "denormalize", "normalize", "printa", "trunc")
SPELLED = {"raise": "raise_"}
PYTHONS = {"print"}
"""Python's own name is for records; what D's does is done where a structure is printed."""

WRITING = {"bcopy", "copyinto"}
"""They write where alloca() has made room, which a variable keeps: they have a test of their own."""


def argument(parameter, is_constant):
    """A value for a parameter: in D and in Python."""
    kind = parameter.strip("[]")
    if is_constant or kind in ("size_t", "uint32_t", "int"):
        return "3", "3"
    if kind in ("char *", "string", "@"):
        return "execname", "p.execname"
    if kind.endswith("*"):
        return f"({kind})(uintptr_t)arg0", f'cast("{kind}", p.arg0)'
    return "arg0", "p.arg0"


def call_of(name):
    """A call: in D and in Python."""
    parameters = [each for each in FUNCTIONS[name].partition("(")[2].rstrip(")").split(", ") if each and each != "..."]
    given = [argument(each, name == "tracemem" and number) for number, each in enumerate(parameters)]
    if name in AGGREGATED:
        given[0] = ("@sizes", "sizes")
    if name == "printf":
        given = [('"%d\\n"', '"%d\\n"'), ("pid", "p.pid")]
    return tuple(
        f"{called}({', '.join(each[side] for each in given)})" for side, called in enumerate((name, spelled(name)))
    )


def spelled(name):
    return SPELLED.get(name, name)


def compiled(program):
    """The length of a program, or that there is none."""
    try:
        return length(sonde.compile(program, engine="embedded", options={"quiet": True}))
    except sonde.CompileError as error:
        return error.tag


def module_of(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("words_of_probes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_names_are_there():
    for name in {*FUNCTIONS, *AGGREGATING} - PYTHONS:
        assert callable(getattr(sonde, spelled(name))), name
    assert all(not keyword.iskeyword(spelled(name)) for name in FUNCTIONS)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - PYTHONS - WRITING))
def test_a_call_is_the_same_in_both_languages(name, tmp_path):
    in_d, in_python = call_of(name)
    is_value = name in _SUBROUTINES and not FUNCTIONS[name].startswith("void(")
    probe = "syscall::write:entry"
    before = "sizes[p.execname].add(1)" if name in AGGREGATED else "pass"
    text = (
        f"from sonde import cast, probe, quantize, {spelled(name)}\nsizes = quantize()\n\n@probe('{probe}')\n"
        f"def written(p):\n    {before}\n    {'kept = ' if is_value else ''}{in_python}\n"
    )
    ast.parse(text)
    start = "@sizes[execname] = quantize(1); " if name in AGGREGATED else ""
    d = f"{probe} {{ {start}{'this->kept = ' if is_value else ''}{in_d}; }}"
    expected, found = compiled(d), compiled(module_of(tmp_path / "words.py", text).written)
    if isinstance(expected, int) and isinstance(found, int):
        assert abs(expected - found) <= expected / 50
    else:
        assert found == expected


def test_memory_that_alloca_has_made_is_written_to(tmp_path):
    d = """
    syscall::write:entry { this->room = alloca(8); this->from = copyin(arg1, 8); bcopy(this->from, this->room, 8); }
    syscall::write:entry { this->more = alloca(8); copyinto(arg1, 8, this->more); trace(stringof((char *)this->more)); }
    """
    text = """
from sonde import alloca, bcopy, cast, copyin, copyinto, probe, stringof, trace

@probe("syscall::write:entry")
def filled(p):
    room = alloca(8)
    source = copyin(p.arg1, 8)
    bcopy(source, room, 8)

@probe("syscall::write:entry")
def fetched(p):
    more = alloca(8)
    copyinto(p.arg1, 8, more)
    trace(stringof(cast("char *", more)))
"""
    module = module_of(tmp_path / "words.py", text)
    expected, found = compiled(d), compiled([module.filled, module.fetched])
    assert isinstance(expected, int), expected
    assert abs(expected - found) <= expected / 50
