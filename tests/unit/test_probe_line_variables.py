"""Variables of probe lines in programs: what a line can have, and why not, by name and place, in one message each."""

import os
import random
import time

import pytest
from support.machine import compilers
from support.suite.example_counts import count_of
from support.symbols import compiled_objects

from sonde.model.spec import FetchStep
from sonde.objects.arguments import asked_layout, member_name
from sonde.objects.errors import ObjectError
from sonde.objects.kernel_lines import KernelLines
from sonde.objects.lines import line_of, read_lines, wanted
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user_lines import user_line

pytestmark = [pytest.mark.examples, compiled_objects.needs_gcc]
COUNT = count_of(250)

SOURCE = """
struct pair { int low, high; } pairs[2]; struct both { long left, right; };
static int same; int total; __thread int mine; volatile long sink;
__attribute__((noinline)) struct both work(struct pair p, struct both b, int n, double real)
{
    long sum = p.low * b.left + n;
    struct both made = { n + 1, b.right };
    __asm__ volatile("nop" :: "r"(made.left), "r"(made.right));
    __asm__ volatile("nop");
    sink = real;
    { long block = n * 3; sink = block; }
    return made;
}
int main(int argc, char **argv)
{
    struct pair p = { argc, 2 }; struct both b = { 3, argc };
    same++; total++; mine++;
    return work(p, b, argc, 1.5).left == 0;
}
"""
OTHER = "static int same = 3; int *seen(void) { return &same; }\n"
THIRD = "static int same = 4; int *looked(void) { return &same; }\nint *nothing_of_it(int n) { return looked() + n; }\n"


@pytest.fixture(scope="module")
def program():
    files = {"prog.c": SOURCE, "other.c": OTHER, "third.c": THIRD}
    words = ["gcc", "-g", "-O2", "-fcf-protection=none", "-o", "program", *files]
    return str(compilers.kept(words, files, "program"))


def fetched(path, place, *names):
    """The layout of the variables at each place of a line."""
    return [asked_layout("f", found, True) for _, found in user_line(line_of(path, place, names), TraceableCode())]


LINE = next(number for number, text in enumerate(SOURCE.splitlines(), 1) if 'volatile("nop");' in text)

REFUSED = [
    ("work", ("sum",), ("sum of work cannot be fetched: it is optimised out here", "it is available")),
    (f"prog.c@{LINE}", ("sum",), ("sum of ", f"prog.c:{LINE} cannot be fetched: it is optimised out here")),
    ("work", ("real",), ("real of work cannot be fetched: it is passed in a vector register",)),
    ("work", ("mine",), ("mine of work cannot be fetched: it is thread-local",)),
    ("work", ("nothing",), ("nothing: work has no variable nothing", "it has b, made, n, p, real, sum")),
    ("work", ("totl",), ("totl: work has no variable totl",)),
    ("work", ("n.low",), ("n.low: int has no members",)),
    ("work", ("p->low",), ("p->low: struct pair is no pointer", "a member of a structure has a dot")),
    ("work", ("p.middle",), ("p.middle: struct pair has no member middle", "it has low, high")),
    ("seen", ("third.c@nothing",), ("third.c@nothing: third.c of ", "has no variable nothing")),
    ("main", ("missing.c@same",), ("missing.c@same: missing.c of ", "has no variable same")),
    ("work", ("$retval",), ("$retval is there when a function returns", "write work%return")),
    ("work", ("$arg0",), ("$arg0: arguments have the numbers 1 to 127", "the first one is $arg1")),
    ("work", ("$arg1->low",), ("$arg1->low: an argument by its number is a number",)),
    ("work%return", ("$arg1",), ("$arg1: the calling convention tells of arguments at the entry",)),
    ("work%return", ("n",), ("n: when work returns its variables are gone", "there is $retval alone, and globals")),
    (f"prog.c@{LINE}", ("$arg1",), ("$arg1: the calling convention tells of arguments at the entry",)),
    ("work%return", ("total",), ("total of work cannot be fetched: where its object is loaded is not known",)),
    ("nothing", ("$arg1",), ("has no function nothing",)),
]  # fmt: skip


@pytest.mark.share(18)
@pytest.mark.parametrize(("place", "names", "said"), REFUSED, ids=[f"{each[0]} {each[1][0]}" for each in REFUSED])
def test_a_message_names_the_variable_and_the_reason(program, place, names, said):
    with pytest.raises(ObjectError) as error:
        fetched(program, place, *names)
    text = f"{error.value.text}\n{error.value.hint}"
    assert all(each in text for each in said), text


def test_a_static_that_several_other_files_have_is_to_be_named_with_its_file():
    files = {
        "main.c": "int *one(void), *two(void); int main(void) { return *one() + *two(); }\n",
        "one.c": "static int same = 1; int *one(void) { return &same; }\n",
        "two.c": "static int same = 2; int *two(void) { return &same; }\n",
    }
    path = str(compilers.kept(["gcc", "-g", "-o", "program", *files], files, "program"))
    with pytest.raises(ObjectError) as error:
        fetched(path, "main", "same")
    assert error.value.text == "same: 2 files have a static variable of that name"
    assert error.value.hint == "write one.c@same or two.c@same"
    (one,), (two,) = fetched(path, "main", "one.c@same"), fetched(path, "main", "two.c@same")
    assert one != two
    assert fetched(path, "one", "same")[0].fetches[0].size == 4


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("place", "name", "size"),
    [
        ("ns::f(int)", "a", 4),
        ("f(long)", "b", 8),
        ("f(long)+0", "b", 8),
        ("f(char const*)", "c", 8),
        ("f(short)", "", 0),
    ],
)
def test_overloads_of_cxx(place, name, size):
    parameters = ("int a", "long b", "const char *c")
    bodies = [f'({each}) {{ __asm__ volatile(""); return {each[-1]} != 0; }}' for each in parameters]
    source = "".join(f"namespace ns {{ __attribute__((noinline)) int f{each} }}\n" for each in bodies)
    source += "int main(int n, char **v) { return ns::f(n) + ns::f((long)n) + ns::f(v[0]); }\n"
    path = compilers.built("overloads.cc", source, "g++", "-g", "-O1")
    if not size:
        with pytest.raises(ObjectError, match=r"has no function f\(short\)"):
            fetched(str(path), place, "a")
        return
    (layout,) = fetched(str(path), place, name)
    assert layout.fetches[0].size == size
    (numbered,) = fetched(str(path), place, "$arg1")
    assert numbered.fetches[0].size == 8


def test_a_few_of_many_files_are_named_and_none_where_a_block_has_the_name():
    """Statics of many files, and a block's variable that is out of scope."""
    files = {f"part{number}.c": f"static int same = {number}; int *get{number}(void) {{ return &same; }}\n"
             for number in range(7)}  # fmt: skip
    files["main.c"] = (
        "int *get0(void); volatile int sink;\n"
        "__attribute__((noinline)) int scoped(int n) { { int same = n * 3; sink = same; } sink = n; return n; }\n"
        "int main(int n, char **v) { return scoped(n) + *get0(); }\n"
    )
    path = str(compilers.kept(["gcc", "-g", "-O0", "-o", "program", *files], files, "program"))
    with pytest.raises(ObjectError) as error:
        fetched(path, "main", "same")
    assert error.value.hint.startswith("write part0.c@same or part1.c@same or ")
    assert error.value.hint.endswith("part3.c@same, or one of 3 more")
    with pytest.raises(ObjectError) as error:
        fetched(path, "scoped", "same")
    assert error.value.text == "same: scoped has no variable same"
    assert error.value.hint.startswith("it is in another block of the function")


def test_statics_are_found_from_the_program_counter(program):
    (layout,) = fetched(program, "main", "total")
    (fetch,) = layout.fetches
    assert [each.operation for each in fetch.steps[:2]] == ["register", "offset"]


def test_parts_of_what_is_in_registers(program):
    """A structure of 8 bytes is in one register, of which a member may be the upper half; one of 16 is in two."""
    (layout,) = fetched(program, "work", "p.low", "p.high", "b.left", "b.right", "b", "p")
    low, high, left, right, *whole = layout.fetches
    assert FetchStep("shift", 32) in high.steps
    assert FetchStep("shift", 32) not in low.steps
    assert left.steps[0] != right.steps[0]
    assert len(whole) == 3


def test_numbers_behind_the_sixth_are_on_the_stack(program):
    (layout,) = fetched(program, "work", "$arg1", "$arg7", "$arg9")
    first, seventh, ninth = layout.fetches
    assert (first.kind, len(first.steps)) == ("value", 1)
    assert [each.operation for each in seventh.steps] == ["register", "offset", "dereference"]
    assert ninth.steps[1].operand - seventh.steps[1].operand == 16


def of_kernel(place, *names):
    nothing = TraceableCode()
    nothing.traceable = lambda name: []
    (found,) = KernelLines(lambda name, module: None, "/nowhere", os.devnull).places(line_of("", place, names), nothing)
    return found.variables


def test_the_kernels_functions_have_arguments_by_number_without_btf():
    first, seventh = of_kernel("no_btf_has_it", "$arg1", "$arg7")
    assert [each.operation for each in first.fetches[0].steps] == ["register"]
    assert [each.operation for each in seventh.fetches[0].steps] == ["register", "offset", "dereference"]


@pytest.mark.parametrize(("place", "name", "said"), [
    ("f%return", "$arg1", "at the entry of a function alone"), ("f+4", "$arg1", "no function f in the kernel"),
    ("f", "fs.c@count", "a file before a variable is for programs and libraries"),
])  # fmt: skip
def test_what_lines_about_the_kernel_have_not(place, name, said):
    with pytest.raises(ObjectError) as error:
        of_kernel(place, name)
    assert said in f"{error.value.text}\n{error.value.hint}"


@pytest.mark.parametrize(("text", "member"), [
    ("how->flags", "how_flags"), ("sizes[2]", "sizes_2"), ("a.c@count", "a_c_count"), ("shop::stock", "shop_stock"),
    ("$arg3", "arg3"), ("src/a-b.c@n.m[1]", "src_a_b_c_n_m_1"),
])  # fmt: skip
def test_members_are_identifiers(text, member):
    assert member_name(text) == member
    assert wanted(text).text == text


LINES = [
    "exec={path};a=work n p.low b.right", "a=work+4 n", "a=work%return $retval", "exec={path};a=prog.c@9 n b.left",
    "exec={path};a=work $arg1 $arg7 total other.c@same", "exec={path};a=main argc argv[1] total pairs[1].high",
    "exec={path};a=third.c@2 n", "exec={path};module=m;a=seen same", "exec={path};a=%demo:step arg0 total",
    "exec=libc.so.6;a=getppid", "a=vfs_read $arg1 buf count", "exec={path};a=looked %return", "a=fs/read_write.c@560 n",
]  # fmt: skip
PIECES = ("->", ".", "[", "]", "%", "@", "+", "$", "$arg", "::", ";", "=", " ", "\n", "\0", '"', "exec=", "work", "n",
          "99999999999", "0x", "-1", "%return", "\udc80", "é", "/", "//", "{path}", "..", "a=" * 3)  # fmt: skip


def mutated(draw, text):
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            text = text[:at] + draw.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + draw.randint(1, 6) :]
        elif kind == 2:
            text = text[:at] + chr(draw.choice([*range(32, 127), 0, 10, 200])) + text[at + 1 :]
        else:
            text = text[:at] + text[: draw.randint(0, 60)]
    return text


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(4))
def test_mutated_lines_end_in_variables_or_one_message(program, seed):
    """Of whatever text somebody has written; SONDE_EXAMPLES makes it more for each seed."""
    draw, code = random.Random(seed), TraceableCode()
    fetches, messages, began = 0, [], time.process_time()
    for _ in range(COUNT):
        text = mutated(draw, draw.choice(LINES)).replace("{path}", program)
        try:
            for line in read_lines(text).values():
                if line.path and not os.path.isdir(line.path):
                    for _, found in user_line(line, code):
                        asked_layout("program", found, True)
            fetches += 1
        except ObjectError as error:
            messages.append((text, error.text))
    assert min(fetches, len(messages)) > COUNT // 50
    unclear = [each for each in messages if not each[1].strip() or "Error(" in each[1] or "damaged" in each[1]]
    assert unclear == []
    assert time.process_time() - began < 0.1 * COUNT


def test_lines_of_many_words_are_bounded(program):
    with pytest.raises(ObjectError) as error:
        fetched(program, "work", *["n"] * 600)
    assert error.value.text == "two variables would be the member n"
