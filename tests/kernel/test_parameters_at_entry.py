"""Parameters at a function's first instruction, where code that is not optimised has not stored them yet: random lists
of types, each value known, and those that a probe cannot reach refused."""

import random

import pytest
from support.command.command import build, sonde
from support.machine import compilers, packages

TYPES = {
    "char": ("signed char %s", "{0}", {"": 8}),
    "short": ("unsigned short %s", "{0}", {"": 16}),
    "int": ("int %s", "{0}", {"": 32}),
    "long": ("long %s", "{0}l", {"": 64}),
    "pointer": ("void *%s", "(void *){0}l", {"": 64}),
    "enum": ("enum kind %s", "(enum kind){0}", {"": 32}),
    "small": ("struct small %s", "(struct small){{{0}, {1}}}", {".a": 32, ".b": 8}),
    "pair": ("struct pair %s", "(struct pair){{{0}, {1}}}", {".a": 64, ".b": 16}),
    "triple": ("struct triple %s", "(struct triple){{{0}, {1}, {2}}}", {".a": 64, ".b": 64, ".c": 64}),
    "odd": ("struct odd %s", "(struct odd){{{{{0}, {1}, {2}}}}}", {".a[0]": 8, ".a[1]": 8, ".a[2]": 8}),
    "bits": ("struct bits %s", "(struct bits){{{0}, {1}, {2}}}", {".a": 3, ".b": 30, ".c": 33}),
    "mixed": ("struct mixed %s", "(struct mixed){{1.5f, {0}}}", {".b": 32}),
    "packed": ("struct packed %s", "(struct packed){{{0}, {1}}}", {".a": 8, ".b": 64}),
    "union": ("union either %s", "(union either){{.a = {0}}}", {".a": 64}),
    "double": ("double %s", "2.5", None),
    "vector": ("struct vector %s", "(struct vector){{1, {0}}}", None),
    "wide": ("long double %s", "2.5l", {}),
}
DECLARATIONS = """
enum kind { NONE, MANY = 1000000000 };
struct small { int a; char b; };
struct pair { long a; short b; };
struct triple { long a, b, c; };
struct odd { unsigned char a[3]; };
struct bits { unsigned a : 3; int b : 30; long c : 33; };
struct mixed { float x; int b; };
struct packed { char a; long b; } __attribute__((packed));
union either { long a; int b[2]; };
struct vector { double x; long b; };
"""
RESULTS = ("void", "int", "struct pair", "struct triple")
FUNCTIONS = 24


def signature(random_):
    """A function's result and parameters: (kind, values)."""
    kinds = [random_.choice(list(TYPES)) for _ in range(random_.randint(1, 14))]
    return random_.choice(RESULTS), [(kind, [random_.randint(1, 3) for _ in range(3)]) for kind in kinds]


def values_of(kind, values):
    """What a probe must find: (path, number); None for what it cannot reach."""
    parts = TYPES[kind][2]
    return None if parts is None else list(zip(parts, values, strict=False))


def source(functions):
    lines = [DECLARATIONS]
    for number, (result, parameters) in enumerate(functions):
        declared = ", ".join(TYPES[kind][0] % f"p{at}" for at, (kind, _) in enumerate(parameters))
        body = "" if result == "void" else f"{result} r = {{0}}; return r;"
        lines.append(f"__attribute__((noipa)) {result} f{number}({declared}) {{ {body} }}")
    calls = [
        f"f{number}({', '.join(TYPES[kind][1].format(*values) for kind, values in parameters)});"
        for number, (_, parameters) in enumerate(functions)
    ]
    return "\n".join([*lines, "int main(void) {", *calls, "return 0; }"]) + "\n"


@pytest.mark.long
def test_every_parameter_has_the_value_that_was_given(tmp_path):
    random_ = random.Random(20)
    functions = [signature(random_) for _ in range(FUNCTIONS)]
    program = build(tmp_path, "signatures", source(functions), "-g", "-O0")
    clauses, expected = [], []
    for number, (_, parameters) in enumerate(functions):
        paths = []
        for at, (kind, values) in enumerate(parameters):
            found = values_of(kind, values)
            paths += [(f"args->p{at}{path}", value) for path, value in found or ()]
        if paths:
            values = ", ".join(f"(long){path}" for path, _ in paths)
            clauses.append(
                f'pid$target:a.out:f{number}:entry {{ printf("f{number}{" %d" * len(paths)}\\n", {values}); }}'
            )
            expected.append(" ".join([f"f{number}", *(str(value) for _, value in paths)]))
    result = sonde("-q", "-c", program, "-n", "\n".join(clauses))
    assert sorted(line for line in result.stdout.splitlines() if line) == sorted(expected)
    assert not result.stderr


def test_what_is_in_a_vector_register_is_refused(tmp_path):
    text = "__attribute__((noipa)) int f(double x, int n) { return n; }\nint main(void) { return f(1.5, 2) == 0; }\n"
    program = build(tmp_path, "vector", text, "-g", "-O0")
    message = sonde("-q", "-c", program, "-n", "pid$target:a.out:f:entry { trace(args->x); }", status=1).stderr
    assert "passed in a vector register, which a probe cannot read" in message
    assert sonde("-q", "-c", program, "-n", "pid$target:a.out:f:entry { trace(args->n); }").stdout == "2\n"


CXX = """
#include <string>
struct Base { int id = 4; virtual ~Base() {} };
struct Side { int side = 9; };
struct Item : Base, Side {
    int price;
    __attribute__((noipa)) int cost(int factor, const Item &other) { return price * factor + other.price; }
};
struct Named { std::string name; int number; };
static int in_namespace_none = 1;
namespace shop { static int total = 77; }
__attribute__((noipa)) int take(Named named, int last, int &count, Item &&item) {
    return named.number + last + count + item.price + shop::total++ + in_namespace_none;
}
int main() {
    Item first, second;
    int count = 12;
    first.price = 5;
    second.price = 6;
    Named named{"a name that takes more than its own room", 3};
    return first.cost(2, second) + take(named, 8, count, std::move(second)) == 0;
}
"""


@pytest.mark.long
@packages.needs("g++")
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O0", "-gdwarf-4"), ("-O2", "-gdwarf-4")])
def test_methods_references_and_objects_that_are_not_copied(flags):
    """A reference is named as what it refers to, and members of base classes as the class's own."""
    program = compilers.built("program.cc", CXX, "g++", "-g", *flags)
    text = """pid$target:a.out:*4cost*:entry { printf("%d %d %d %d %d %d\\n", args->this->price, args->this->id,
            args->this->side, args->factor, args->other.price, args->other.id); }
        pid$target:a.out:*take*:entry { printf("%d %d %d %d %d\\n", args->named.number, args->last, args->count,
            args->item.price, globals->total); }"""
    result = sonde("-q", "-c", program, "-n", text)
    assert [line for line in result.stdout.splitlines() if line] == ["5 4 9 2 6 4", "3 8 12 6 77"]


RUST = """
struct Point { x: i32, y: i64 }
struct Large { a: [i64; 5] }
#[inline(never)]
fn work(first: u32, items: &[i64], pair: (u8, f64), point: &Point, large: Large, other: Point, name: &str, last: u64,
        few: [u8; 3]) -> i64 {
    let mut total = first as i64 + few[1] as i64 + pair.0 as i64 + pair.1 as i64;
    for item in items { total += item * 2; }
    total + point.y + large.a[1] + other.x as i64 + other.y + name.len() as i64 + last as i64 + point.x as i64
}
fn main() {
    let items = vec![1i64, 2, 3];
    let point = Point { x: 3, y: 6 + std::env::args().count() as i64 };
    let large = Large { a: [1, 2, 3, 4, 5] };
    let other = Point { x: 8, y: 9 };
    std::process::exit((work(4, &items, (1, 2.0), &point, large, other, "hello", 77, [1, 2, 3]) == 0) as i32);
}
"""


@pytest.mark.share(1)
@packages.needs("rustc")
@pytest.mark.parametrize("level", [0, 2])
def test_parameters_of_rust(level):
    program = compilers.built("program.rs", RUST, "rustc", "-g", "-C", f"opt-level={level}")
    paths = ["first", "items.length", "pair.__0", "point->y", "large.a[1]", "other.x", "other.y", "name.length", "last"]
    expected = ["4", "3", "1", "7", "2", "8", "9", "5", "77"]
    if level:
        # The compiler passes what it points to, and says that it is the pointer.
        del paths[3], expected[3]
    values = ", ".join(f"args->{path}" for path in paths)
    text = f'pid$target:a.out:*4work*:entry {{ printf("{"%d " * len(paths)}\\n", {values}); }}'
    result = sonde("-q", "-c", program, "-n", text)
    assert result.stdout.split() == expected, result.stderr
    if not level:
        text = "pid$target:a.out:*4work*:entry { trace(args->few[1]); }"
        assert "Rust does not tell how it is passed" in sonde("-q", "-c", program, "-n", text, status=1).stderr
