"""Functions of C++ by names with parameters and arguments of templates, however types are spelled in them."""

import subprocess

import pytest
from support.machine import compilers, packages
from support.places import PROGRAMS

from sonde.symbols.elf.file import ElfFile
from sonde.symbols.source_names.full_names import full_name
from sonde.symbols.source_names.functions import alike, candidates, chosen, meanings
from sonde.symbols.source_names.type_names import LONGEST

FUNCTIONS = 2, 10
STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
SYMBOLS = {
    "int": "_ZN6shapes5Shape4areaEi", "const": "_ZNK6shapes5Shape4areaEi", "rvalue": "_ZNO6shapes5Shape4areaEj",
    "lvalue": "_ZNR6shapes5Shape4areaEl", "global": "_ZL5locali", "other": "_ZN5other5localEi",
    "pointer": "_ZL5localPKN6shapes5ShapeE", "C": "plain", "C++": "_Z5plainl",
    "largest_int": "_ZN6shapes7largestIiEET_S1_S1_", "largest_string": f"_ZN6shapes7largestI{STRING}EET_S7_S7_",
    "tagged": "_Z4madeB5cxx11i", "filled": "_ZN6shapes6filledIiLm3EEEiRKSt5arrayIT_XT0_EE",
    "box": "_ZN6shapes3BoxIiEC1ERKS1_", "in": "_ZN6shapes3BoxIiE2In2goEPS1_",
    "less": "_ZN6shapesltIiEEbRKNS_3BoxIT_EEi",
    "hidden": "_ZN6shapes12_GLOBAL__N_16hiddenEi", "lambda": "_ZZ4mainENKUliE_clEi",
    "clone": "_ZN6shapes4coldEi.constprop.0", "cold": "_ZN6shapes4coldEi.cold",
    "string": "_ZNK6shapes5Shapecv" + STRING + "Ev", "new": "_ZN6shapes5ShapenwEm",
    "multiply": "_ZN6shapes5ShapemlERKS0_",
    "vector": "_Z2vfRKSt6vectorIiSaIiEEj", "words": "_Z5wordsRK" + STRING + "mxhPKc",
    "map": "_Z3mapRKSt3mapI" + STRING + "iSt4lessIS5_ESaISt4pairIKS5_iEEE", "call": "_Z2cbPFviEDn",
    "returned": "_Z4pickIiEPFicET_", "array": "_Z3arrRA6_KcPA3_i",
}  # fmt: skip

SPELLINGS = [
    ("shapes::Shape::area", "int const rvalue lvalue"), ("area", "int const rvalue lvalue"),
    ("shapes::Shape::area(int)", "int"), ("Shape::area(int) const", "const"), ("Shape::area(long)", "lvalue"),
    ("Shape::area(unsigned)", "rvalue"), ("Shape::area( unsigned int )&&", "rvalue"), ("Shape::area(short)", ""),
    ("local(int)", "global"), ("other::local(int)", "other"), ("::local", "global pointer"), ("local(void)", ""),
    ("local(const Shape*)", "pointer"), ("local(shapes::Shape const *)", "pointer"), ("local(box::Shape const*)", ""),
    ("plain", "C++"), ("::plain", "C C++"), ("plain(long int)", "C++"), ("::area", ""), ("::area(int)", ""),
    ("largest<int>", "largest_int"), ("int largest<int>(int,int)", "largest_int"), ("largest(int, int)", "largest_int"),
    ("long shapes::largest<int>(int, int)", ""), ("largest<std::string>", "largest_string"),
    ("largest<string>", "largest_string"), ("shapes::largest<std::string>(std::string, std::string)", "largest_string"),
    ("made(int)", "tagged"), ("made[abi:cxx11](int)", "tagged"), ("made[abi:v2](int)", ""),
    ("filled<int,3>(const std::array<int, 3>&)", "filled"), ("filled<int, 4>(const std::array<int, 4>&)", ""),
    ("Box<int>::Box(const Box&)", "box"), ("shapes::Box<int>::Box(const shapes::Box<int> &)", "box"),
    ("Box<long>::Box(const Box&)", ""), ("Box<int>::In::go(Box<int>*)", "in"),
    ("operator<(const Box<int>&, int)", "less"), ("bool shapes::operator< <int>(Box<int> const&, int)", "less"),
    ("shapes::hidden(int)", "hidden"), ("(anonymous namespace)::hidden(int)", "hidden"),
    ("main::{lambda(int)#1}::operator()(int) const", "lambda"), ("main::{lambda(int)#2}::operator()(int)", ""),
    ("shapes::cold(int)", "clone"), ("shapes::cold", "clone"), ("shapes::cold(int) [clone .cold]", "cold"),
    ("Shape::operator std::string", "string"), ("Shape::operator std::string() const", "string"),
    ("Shape::operator new(size_t)", "new"), ("Shape::operator*(const Shape&)", "multiply"),
    ("vf(std::vector<int, std::allocator<int> > const&, unsigned int)", "vector"),
    ("vf(const std::vector<int>&,unsigned)", "vector"), ("vf(const vector<int> &, const unsigned)", "vector"),
    ("vf(const std::vector<long>&, unsigned)", ""), ("vf(std::vector<int>&, unsigned)", ""),
    ("words(const std::string&, size_t, long long, uint8_t, const char*)", "words"),
    ("words(std::string const &, unsigned long int, long long int, unsigned char, char const *)", "words"),
    ("words(std::__cxx11::basic_string<char> const&, std::size_t, long long, std::uint8_t, const char*)", "words"),
    ("map(const std::map<std::string, int>&)", "map"), ("map(const std::map<string, long>&)", ""),
    ("cb(void(*)(int), std::nullptr_t)", "call"), ("cb(void (*)(long), std::nullptr_t)", ""),
    ("pick<int>(int)", "returned"), ("arr(const char(&)[6], int(*)[3])", "array"),
    ("arr(const char(&)[5], int(*)[3])", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def meaning():
    return dict(meanings(SYMBOLS.values())).__getitem__


def select(name, meaning):
    return chosen(candidates(SYMBOLS.values(), name), name, meaning)


@pytest.mark.parametrize(("name", "expected"), SPELLINGS, ids=[each[0] for each in SPELLINGS])
def test_a_name_as_people_write_it(meaning, name, expected):
    found = select(name, meaning)
    assert [each for each in SYMBOLS if SYMBOLS[each] in found] == expected.split()


def test_each_full_name_selects_its_functions(meaning):
    for symbol in SYMBOLS.values():
        if "(" in meaning(symbol):
            assert select(meaning(symbol), meaning) == [symbol]


def test_the_overloads_there_are():
    symbols = [*SYMBOLS.values()]
    assert alike(symbols, "local(short)") == ["local(int)", "local(shapes::Shape const*)"]
    assert alike(symbols, "nothing(short)") == []


@pytest.mark.parametrize(
    "text",
    ["", "(", "f(", "f<", "<>", "operator", "f" * (LONGEST + 1), "a" + "<a" * 200 + ">" * 200, "f(" * 90, "::", "a::"],
)  # fmt: skip
def test_what_is_no_name_is_none_of_a_function(meaning, text):
    found = full_name(text)
    assert found is None or found.is_bare
    assert select(text, meaning) == []


@pytest.mark.long
@packages.needs("g++", "nm")
@pytest.mark.parametrize("compiler", ["g++", pytest.param("clang++", marks=packages.needs("clang++"))])
def test_names_of_nm_select_what_they_are_of(compiler, tmp_path):
    """Each name that `nm -C` has for functions selects those that have it, and no other one."""
    source = (PROGRAMS / "kinds_of_names.cpp").read_text()
    program = compilers.built("kinds.cc", source, compiler, "-std=c++17", "-O1", "-w")
    symbols = sorted({name for name, _ in ElfFile.open(program).table.names(FUNCTIONS)})
    listed = [subprocess.run(["nm", *flags, program], capture_output=True, text=True, check=True).stdout.splitlines()
              for flags in ((), ("-C",))]  # fmt: skip
    names: dict[str, set[str]] = {}
    for plain, full in zip(*listed, strict=True):
        symbol = plain.split(maxsplit=2)[-1]
        if symbol.startswith("_Z") and symbol in symbols:
            names.setdefault(full[len(plain) - len(symbol) :], set()).add(symbol)
    assert len(names) > 80
    meaning = dict(meanings(symbols)).__getitem__
    assert {name: set(chosen(candidates(symbols, name), name, meaning)) for name in names} == names
