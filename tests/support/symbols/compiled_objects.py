"""C and C++ programs that tests compile, each once in a run, and what binutils say of them."""

import functools
import subprocess
import tempfile
from pathlib import Path

from support.machine import compilers, packages
from support.places import PROGRAMS

needs_gcc = packages.needs("gcc", "g++", "readelf", "objcopy")
needs_rust = packages.needs("rustc")
needs_gdb = packages.needs("gdb")

C_SOURCE = """
#include <stdlib.h>
#include <string.h>
struct bits { unsigned a : 3; int b : 7; unsigned long c : 40; };
union either { int number; float real; char bytes[8]; };
struct point { int x, y; };
struct header { char name[16]; long value; };
struct request {
    struct point at, sizes[3];
    struct bits bits;
    union either either;
    struct header *headers;
    struct { short inner; union { int left; unsigned right; }; };
    enum color { RED, GREEN = 5, BLUE = -1 } color;
    int (*callback)(int, const char *);
    struct request *next;
};
int counter = 5;
static long hidden_counter = 7;
__thread int per_thread = 3;
volatile int sink;
static inline __attribute__((always_inline)) int twice(int value)
{
    int doubled = value * 2;
    sink += doubled;
    return doubled;
}
__attribute__((noinline)) int eight(int a, long b, char c, short d, unsigned e, long f, int g, struct point h, int i)
{
    sink = a;
    return a + b + c + d + e + f + g + h.x + h.y + i;
}
__attribute__((noinline)) int loop(struct request *request, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        int square = i * i;
        total += square + request->sizes[i % 3].x;
        sink = total;
    }
    {
        long total = counter;
        sink = total;
    }
    return twice(total) + twice(count);
}
__attribute__((noinline)) static int chained(struct request *request, int depth)
{
    int before = request->at.x;
    if (depth == 0)
        return before;
    int after = chained(request, depth - 1) + before;
    sink = after;
    return after;
}
int main(int argc, char **argv)
{
    struct request request;
    memset(&request, 0, sizeof request);
    request.at.x = argc + 1;
    request.sizes[1].x = 4;
    request.bits.b = -3;
    request.color = GREEN;
    struct point point = { 1, 2 };
    int result = eight(1, 2, 3, 4, 5, 6, 7, point, 9);
    result += loop(&request, 10) + chained(&request, 3);
    hidden_counter += result;
    per_thread += result;
    return hidden_counter == 0;
}
"""

CXX_SOURCE = """
#include <string>
#include <vector>
namespace shop {
struct Item { int price; std::string name; virtual ~Item() {} };
class Basket {
  public:
    void add(const Item &item) { items.push_back(item); count++; }
    __attribute__((noinline)) int total(int factor) const;
  private:
    std::vector<Item> items;
    int count = 0;
};
int Basket::total(int factor) const
{
    int sum = 0;
    for (const auto &item : items)
        sum += item.price * factor;
    return sum;
}
template <typename T> __attribute__((noinline)) T largest(T first, T second) { return first > second ? first : second; }
}
int main(int argc, char **argv)
{
    shop::Basket basket;
    shop::Item item;
    item.price = argc;
    item.name = argv[0];
    basket.add(item);
    return basket.total(3) + shop::largest(argc, 4) + (int)shop::largest(1.5, 2.5);
}
"""


RUST_SOURCE = """
struct Point { x: i32, y: i64 }
#[inline(never)]
fn add(first: u32, items: &[i64], pair: (u8, f64), point: &Point) -> i64 {
    let mut total = first as i64;
    for item in items {
        total += item * 2;
    }
    let doubled = total * 2;
    doubled + pair.0 as i64 + point.y + point.x as i64
}
fn main() {
    let items = vec![1i64, 2, 3];
    let point = Point { x: 3, y: std::env::args().count() as i64 };
    println!("{}", add(4, &items, (1, 2.0), &point));
}
"""


def _program(name):
    return (PROGRAMS / name).read_text()


SOURCES = {
    "c": ("program.c", C_SOURCE, ("gcc", "-g")), "c++": ("program.cc", CXX_SOURCE, ("g++", "-g")),
    "rust": ("program.rs", RUST_SOURCE, ("rustc", "-g")),
    "c variables": ("variables.c", _program("variables.c"), ("gcc", "-g")),
    "c++ variables": ("variables.cc", _program("variables.cc"), ("g++", "-g", "-std=c++20")),
    "clang variables": ("variables.c", _program("variables.c"), ("clang", "-g", "-Wno-unknown-attributes")),
    "clang++ variables": (
        "variables.cc", _program("variables.cc"),
        ("clang++", "-g", "-std=c++17", "-Wno-unknown-attributes", "-Wno-c++20-extensions"),
    ),
    "rust variables": ("variables.rs", _program("variables.rs"), ("rustc", "-g")),
}  # fmt: skip
"""For each language the file's name, the text, and how it is compiled."""


@functools.cache
def directory():
    """Where what is compiled is kept until the run ends."""
    made = tempfile.TemporaryDirectory(prefix="sonde-objects-")
    _KEPT.append(made)
    return Path(made.name)


_KEPT = []


def compiled(*flags, language="c"):
    """The path of the program compiled with the flags and -g."""
    return _compiled(flags, language)


@functools.cache
def _compiled(flags, language):
    name, text, compiler = SOURCES[language]
    return str(compilers.kept([*compiler, *flags, "-o", "program", name], {name: text}, "program"))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
