"""Probe lines: how they are read, the way from a parameter to a member, and how variables arrive in a function."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bpf.bpf_objects import BOTH, compiled

from sonde.arch.x86_64 import registers
from sonde.model.spec import FetchStep
from sonde.model.types import CHAR, INT, LONG, Array, Function, Member, Pointer, Struct
from sonde.objects.arguments import arrival
from sonde.objects.errors import ObjectError
from sonde.objects.frame import ON_STACK, frame
from sonde.objects.kernel_variables import kernel_variables
from sonde.objects.lines import PathStep, read_lines, wanted
from sonde.objects.reading import read_object

INNER = Struct("struct", "inner", 8, lambda: (Member("depth", INT, 0, 0), Member("bits", INT, 32, 3)))
HOW = Struct(
    "struct", "how", 40,
    lambda: (Member("flags", LONG, 0, 0), Member("inner", INNER, 64, 0), Member("sizes", Array(INT, 4), 128, 0),
             Member("next", Pointer(INNER), 256, 0)),
)  # fmt: skip
OPEN = Function(LONG, (INT, Pointer(CHAR), Pointer(HOW), CHAR, LONG, LONG, LONG, INT), False), (
    "dfd", "filename", "how", "c", "e", "f", "g", "h"
)  # fmt: skip


def line(text):
    (found,) = read_lines(text).values()
    return found


def variables(text):
    return kernel_variables(line(text), lambda name, module: OPEN if name == "do_open" else None)


def refused(call, *arguments):
    with pytest.raises(ObjectError) as error:
        call(*arguments)
    return f"{error.value.text}\n{error.value.hint}"


def test_lines_name_places_and_variables():
    found = read_lines("exec=/bin/x;\n one=work a b->c ; two=main.c@12\nmodule=m\nthree=run%return $retval\nf=g+0x10\n")
    assert list(found) == ["one", "two", "three", "f"]
    assert (found["one"].path, found["one"].function) == ("/bin/x", "work")
    assert [each.text for each in found["one"].variables] == ["a", "b->c"]
    assert (found["two"].file, found["two"].line, found["two"].function) == ("main.c", 12, "")
    assert found["three"].is_return
    assert found["three"].module == "m"
    assert found["f"].offset == 16
    assert line('"func=f a b"').variables[1].name == "b"


@pytest.mark.parametrize(
    ("text", "function", "offset"),
    [
        ("ns::f(int) a b", "ns::f(int)", 0), ("ns::f(std::map<int, long> const&, char *) const a b", "", 0),
        ("S::c(int) const+0x10 a b", "S::c(int) const", 16), ("largest<int, 3> a b", "largest<int, 3>", 0),
        ("S::operator<<(int) a b", "", 0), ("S::operator+(S const&)%return a b", "S::operator+(S const&)", 0),
        ("S::operator+(int)+4 a b", "S::operator+(int)", 4), ("S::operator== a b", "", 0),
        ("S::~S a b", "S::~S", 0), ("f(int)%return a b", "f(int)", 0),
    ],
)  # fmt: skip
def test_functions_of_cxx_in_lines(text, function, offset):
    found = line(f"func={text}")
    assert found.function == (function or text.removesuffix(" a b"))
    assert (found.offset, found.is_return) == (offset, "%" in text)
    assert [each.text for each in found.variables] == ["a", "b"]


def test_the_way_into_a_variable():
    assert wanted("a->b.c[3]").parts == (PathStep("->", "b"), PathStep(".", "c"), PathStep("[", "", 3))


@pytest.mark.parametrize("text", ["func=", "no line", "=f a", "func=f a-b", "func=f 1a", "func=a/b", "func=f a[x]"])
def test_what_is_no_line(text):
    refused(read_lines, text)


def steps(text):
    (found,) = variables(f"func=do_open {text}")
    (fetch,) = found.fetches
    return fetch.kind, fetch.size, [(each.operation, each.operand) for each in fetch.steps]


def test_parameters_and_their_members():
    assert steps("filename") == ("value", 8, [("register", registers.SI)])
    assert steps("dfd") == ("value", 4, [("register", registers.DI), ("extend", 4)])
    assert steps("how->flags") == ("value", 8, [("register", registers.DX), ("dereference", 8)])
    assert steps("how->inner.depth") == (
        "value", 4, [("register", registers.DX), ("offset", 8), ("dereference", 4), ("extend", 4)]
    )  # fmt: skip
    assert steps("how->next->depth")[2][:4] == [
        ("register", registers.DX), ("offset", 32), ("dereference", 8), ("dereference", 4)
    ]  # fmt: skip
    assert steps("how->sizes[2]")[2][1] == ("offset", 24)
    assert steps("how[1].flags")[2][1] == ("offset", 40)
    assert steps("how->sizes") == ("memory", 16, [("register", registers.DX), ("offset", 16)])
    assert steps("h") == (
        "value", 4, [("register", registers.SP), ("offset", 16), ("dereference", 4), ("extend", 4)]
    )  # fmt: skip


def test_the_result_of_a_function():
    (found,) = variables("func=do_open%return $retval")
    assert found.fetches[0].steps == (FetchStep("register", registers.AX),)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("do_open nothing", "it has dfd, filename, how"), ("do_open how.flags", "write ->flags"),
        ("do_open how->no", "it has flags"), ("do_open dfd->x", "is no pointer"),
        ("do_open how->inner.bits", "bit-field"),
        ("do_open $retval", "write do_open%return"), ("do_open%return dfd", "may be gone"),
        ("do_open+4 dfd", "may be gone"),
        ("other x", "no function other"), ("do_open dfd[1]", "no array and no pointer"),
    ],
)  # fmt: skip
def test_what_cannot_be_fetched(text, what):
    assert what in refused(variables, f"func={text}")


SOURCE = """
struct right { char *filename; long how_flags; int dfd; };
struct larger { char *filename; long how_flags; int dfd; long mine[4]; };
struct wrong { char *filename; int how_flags; int dfd; };
SEC("raw_tp/a") int right(void *context, struct right *v) { return v->dfd; }
SEC("raw_tp/b") int larger(void *context, struct larger *v, long error) { return v->dfd + v->mine[1]; }
SEC("raw_tp/c") int wrong(void *context, struct wrong *v) { return v->dfd; }
SEC("raw_tp/d") int plain(void *context, long error, char *filename, long flags) { return flags; }
"""
THREE = "func=do_open filename how->flags dfd"


@pytest.mark.parametrize("compiler", BOTH)
def test_a_structure_has_to_have_the_space(compiler):
    with open(compiled(SOURCE, compiler), "rb") as file:
        types = read_object(file.read()).types
    found = variables(THREE)
    right = arrival("right", found, types, False)
    assert (right.layout.size, right.layout.alignment, right.is_structure) == (24, 8, True)
    assert [each.offset for each in right.layout.fetches] == [0, 8, 16]
    assert arrival("larger", found, types, False).layout.size == 56
    text = refused(arrival, "wrong", found, types, False)
    assert "does not have how_flags at byte 8" in text
    assert "struct wrong {\n    char *filename;\n    long how_flags;\n    int dfd;\n};" in text


def test_up_to_three_are_arguments():
    found = arrival("plain", variables(THREE), None, False)
    assert (found.layout.size, found.is_structure) == (24, False)
    assert [(each.offset, each.size) for each in found.layout.fetches] == [(0, 8), (8, 8), (16, 8)]
    text = refused(arrival, "plain", variables(THREE + " e"), None, False)
    assert "at most three" in text
    assert "struct plain_variables *variables" in text
    assert "is no number" in refused(arrival, "plain", variables("func=do_open how->sizes"), None, False)


def test_a_declaration_that_was_asked_for_fits():
    """What the message shows is what is accepted."""
    found = variables("func=do_open filename how->flags how->inner how->sizes c dfd how->next->depth")
    text = refused(arrival, "program", found, None, False)
    shown = text[text.index("struct program_variables {") : text.index("int program(")]
    for compiler in [each.values[0] for each in BOTH if not each.marks[0].args[0]]:
        source = f'{shown}\nSEC("raw_tp/a") int program(void *context, struct program_variables *v) {{ return v->c; }}'
        with open(compiled(source, compiler), "rb") as file:
            assert arrival("program", found, read_object(file.read()).types, False).is_structure


def test_small_frames_are_on_the_stack_and_large_ones_are_not():
    assert not frame(ON_STACK, True).map_references
    assert frame(ON_STACK + 1, True).map_references


@given(st.text(alphabet='funcexmodule= ;\n@+%->.[]0123$"\0', max_size=60))
def test_any_text_is_lines_or_a_message(text):
    with suppress(ObjectError):
        assert all(each.function or each.file for each in read_lines(text).values())
