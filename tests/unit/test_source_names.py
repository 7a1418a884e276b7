"""Names of the source in symbols of C++ and Rust: what is a scope, what a parameter, and what a name means."""

import pytest
from support.machine import compilers

from sonde.symbols.elf.file import ElfFile
from sonde.symbols.source_names.demangle import Demangler
from sonde.symbols.source_names.functions import candidates, components, matching, named
from sonde.symbols.source_names.nested_names import scopes

FUNCTIONS = 2, 10

SOURCE = """
#include <vector>
namespace store {
struct Point { int x, y; };
template <class T> struct Box { T data; __attribute__((noinline)) T total(int n) const { return data + n; } };
template <class T> __attribute__((noinline)) T twice(T v) { return v + v; }
namespace { __attribute__((noinline)) int hidden(int v) { asm volatile(""); return v; } }
inline namespace v2 { int current(Point p) { return p.x; } }
struct Shape {
  int sides; Shape(int n); ~Shape(); int operator()(int v) const; operator bool() const;
  int area(int w); int area(long w) const;
  __attribute__((noinline)) int operator<<(int v) const { asm volatile(""); return v; }
};
Shape::Shape(int n) : sides(n) {} Shape::~Shape() {} int Shape::operator()(int v) const { return v; }
Shape::operator bool() const { return sides; } int Shape::area(int w) { return w; }
int Shape::area(long w) const { return (int)w + hidden(1); }
}
static __attribute__((noinline)) int local(const std::vector<int>& v) { asm volatile(""); return (int)v.size(); }
extern "C" int plain(int v) { return v; }
int main() {
  store::Shape s(3); auto add = [&](int v) __attribute__((noinline)) { asm volatile(""); return v + s.sides; };
  return (int)store::Box<long>{1}.total(2) + store::Box<int>{1}.total(2) + store::twice(1) + (int)store::twice(1.5)
      + add(1) + local({1, 2}) + (s << 1) + plain(1);
}
"""


@pytest.fixture(scope="module")
def symbols():
    program = compilers.built("program.cc", SOURCE, "g++", "-O1")
    return sorted({name for name, _ in ElfFile.open(program).table.names(FUNCTIONS)})


def meant(symbols, name):
    demangler = Demangler()
    found = {demangler.name(each) for each in named(candidates(symbols, name), name)}
    demangler.close()
    return found


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("store::Shape::area", {"store::Shape::area(int)", "store::Shape::area(long) const"}),
        ("Shape::area", {"store::Shape::area(int)", "store::Shape::area(long) const"}),
        ("area", {"store::Shape::area(int)", "store::Shape::area(long) const"}),
        ("Box::total", {"store::Box<long>::total(int) const", "store::Box<int>::total(int) const"}),
        ("store::twice", {"int store::twice<int>(int)", "double store::twice<double>(double)"}),
        ("store::twice<int>", {"int store::twice<int>(int)"}),
        ("twice<double>", {"double store::twice<double>(double)"}),
        ("twice<char>", set()),
        ("twice<Number>", {"int store::twice<int>(int)", "double store::twice<double>(double)"}),
        ("Box<int>::total", {"store::Box<int>::total(int) const"}),
        ("store::Box< long >::total", {"store::Box<long>::total(int) const"}),
        ("Box<char>::total", set()),
        ("store::hidden", {"store::(anonymous namespace)::hidden(int)"}),
        ("store::v2::current", {"store::v2::current(store::Point)"}),
        ("Shape::Shape", {"store::Shape::Shape(int)"}),
        ("Shape::~Shape", {"store::Shape::~Shape()"}),
        ("Shape::operator()", {"store::Shape::operator()(int) const"}),
        ("Shape::operator<<", {"store::Shape::operator<<(int) const"}),
        ("Shape::operator bool", {"store::Shape::operator bool() const"}),
        ("local", {"local(std::vector<int, std::allocator<int> > const&)"}),
        ("other::area", set()),
        ("store::area", set()),
        ("hape::area", set()),
        ("plain", set()),
    ],
)
def test_names_of_the_source(symbols, name, expected):
    assert meant(symbols, name) == expected


def test_patterns_are_compared_from_the_outermost_scope(symbols):
    def found(start, end):
        return set(matching(symbols, lambda name: name.startswith(start) and name.endswith(end)))

    assert found("store::Shape::", "area") == {"_ZN5store5Shape4areaEi", "_ZNK5store5Shape4areaEl"}
    assert not found("Shape::", "area")
    assert len(found("main::{lambda", "::operator()")) == 1


def test_what_is_read_without_a_demangler_is_the_same(symbols):
    demangler = Demangler()
    compared = [(scopes(each), components(demangler.name(each))) for each in symbols]
    demangler.close()
    read = [(quick, slow) for quick, slow in compared if quick is not None]
    assert len(read) > 5
    assert all(quick == slow for quick, slow in read)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)", "std::operator<<"),
        ("decltype(auto) a::b<int>(int)", "a::b"),
        ("a::f() const::{lambda()#1}::operator()() const", "a::f::{lambda()#1}::operator()"),
        ("X::f[abi:cxx11](int)", "X::f"),
        ("bool Y<(operator<)>::k()", "Y::k"),
        ("void f<&(g(int))>(int)", "f"),
        ("f(int) [clone .isra.0]", "f"),
        ("f(int) [clone .cold]", ""),
        ("non-virtual thunk to X::f()", ""),
        ("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place"),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
        ("demo::main::{closure#0}", "demo::main::{closure#0}"),
    ],
)
def test_parts_of_what_a_symbol_means(text, expected):
    assert "::".join(components(text)) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_ZN4demo4main17h0123456789abcdefE", ["demo", "main"]),
        ("_ZN3abc3defB5cxx11Ev", ["abc", "def"]),
        ("_ZNSt6thread4joinEv", ["std", "thread", "join"]),
        ("_ZN12_GLOBAL__N_11fEv", ["(anonymous namespace)", "f"]),
        ("_ZN1aIiE1fEv", None),
        ("_ZN4$LT$aE", None),
        ("_ZN9", None),
        ("_ZN9999abcE", None),
        ("_Z", None),
        ("main", None),
    ],
)
def test_nested_names(symbol, expected):
    assert scopes(symbol) == expected
