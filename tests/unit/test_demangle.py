"""C++ and Rust names as their sources have them, and what hostile ones do: nothing."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine import packages

from sonde.resources import text as resource
from sonde.symbols.source_names.demangle import Demangler
from sonde.symbols.source_names.rust_names import demangle

RUST = {
    "_RNvC6_123foo3bar": "123foo::bar",
    "_RNCNCNvCsgStHSCytQ6I_7mycrate4main0s_0B3_": "mycrate::main::{closure#0}::{closure#1}",
    "_RNCNvCs4fqI2P2rA04_1r4main0": "r::main::{closure#0}",
    "_RINvNtCs4fqI2P2rA04_1r4deep1gKj7_EB4_": "r::deep::g::<7>",
    "_RNvMCs4fqI2P2rA04_1rINtB2_2SqNtNtCsbi_5alloc6string6StringE3dup": "<r::Sq<alloc::string::String>>::dup",
    "_RNvXCs4fqI2P2rA04_1rINtB2_2SqdENtB2_5Shape4area": "<r::Sq<f64> as r::Shape>::area",
    "_RINvC1r1fFUKCPaQReATbcEj3_EuE": 'r::f::<unsafe extern "C" fn(*const i8, &mut &str, [(bool, char); 3])>',
    "_RINvC1r1fDG_FRL0_eEuNtB2_1TEL_E": None,
    "_RINvC1r1fFG_RL0_eEpE": "r::f::<for<'a> fn(&'a str) -> _>",
    "_RINvC1r1fKlnf_Kb1_Kc61_Ky123456789abcdef01_E": "r::f::<-15, true, 'a', 0x123456789abcdef01>",
    "_RNvC1ru9bcher_kva": "r::bücher",
    "_RNvC1ru4aaaa": None,
    "_RNvC1r1f.llvm.1234ABCD": "r::f",
    "_RNvC1r1f.cold": "r::f.cold",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
    "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE":
        "<alloc::string::String as core::fmt::Debug>::fmt",
    "_ZN3foo17h0123456789abcdefE.llvm.55": "foo",
    "_ZN3foo3barEv": None,
    "_R": None,
    "main": None,
}  # fmt: skip

CXX = {
    "_Z1fi": "f(int)",
    "_ZN2ns1TIiE3getEv": "ns::T<int>::get()",
    "_ZNSt6vectorIiSaIiEE9push_backERKi": "std::vector<int, std::allocator<int> >::push_back(int const&)",
    "_ZZ4mainENKUlvE_clEv": "main::{lambda()#1}::operator()() const",
    "_ZTV3Foo": "vtable for Foo",
    "_Z1fi@plt": "f(int)@plt",
    "main": "main",
    "_Zebra": "_Zebra",
    "_Z1f\nx": "_Z1f\nx",
}

EXPLODING = "_Z1f1AIccE" + "".join(f"S_IS{digit}_S{digit}_E" for digit in "0123456789ABCDEFGHIJKLMNOPQRST")
"""Each of its types is twice as long as the one before: 2^30 characters in all."""


@pytest.mark.parametrize("symbol", RUST)
def test_rust(symbol):
    assert demangle(symbol) == RUST[symbol]


@pytest.fixture(scope="module")
def demangler():
    made = Demangler()
    if made.name("_Z1fi") == "_Z1fi":
        pytest.skip("no C++ library here")
    yield made
    made.close()


@pytest.mark.parametrize("symbol", CXX)
def test_cxx(symbol, demangler):
    assert demangler.name(symbol) == CXX[symbol]


def test_a_name_that_explodes_stays_as_it_is_and_the_next_one_is_found(demangler):
    assert demangler.name(EXPLODING) == EXPLODING
    assert demangler.name("_Z1fl") == "f(long)"


def test_who_demangles_ends_with_the_demangler():
    made = Demangler()
    made.name("_Z1fi")
    made.close()
    made.close()
    assert made._worker is None


def test_what_is_missing_is_said(monkeypatch):
    """The process cannot be started, or finds no library; symbols stay as they are."""
    script = resource("symbols", "source_names", "cxx_worker.py").replace(
        '"libstdc++.so.6", "libc++abi.so.1"', '"libnone.so"'
    )
    assert "libnone" in script
    with monkeypatch.context() as changed:
        changed.setattr("sonde.symbols.source_names.demangle.resource", lambda *names: script)
        made = Demangler()
        assert [made.name(each) for each in ("_Z1fi", "_Z1fl")] == ["_Z1fi", "_Z1fl"]
        assert "libstdc++.so.6" in made.missing
        made.close()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python3")
    made = Demangler()
    assert made.name("_Z1fi") == "_Z1fi"
    assert made.missing == "cannot execute /nonexistent/python3: No such file or directory"
    made.close()


TAGS = "CMXYNIBRQPOFDASTEKLsupvGU_0123456789abcdefhijlmnotxyz"


@given(st.text(TAGS, max_size=300))
def test_any_rust_name_is_read_to_an_end(text):
    found = demangle("_R" + text)
    assert found is None or len(found) <= 5000


@given(st.sampled_from([name for name in RUST if name.startswith("_R")]), st.data())
def test_damaged_rust_names(name, data):
    at = data.draw(st.integers(2, len(name)))
    change = data.draw(st.text(TAGS, max_size=3))
    found = demangle(name[:at] + change + name[at + data.draw(st.integers(0, 3)) :])
    assert found is None or len(found) <= 5000


def test_deep_rust_names_are_left():
    assert demangle("_RINvC1r1f" + "R" * 4000 + "uE") is None
    doubling = "_RINvC1r1f" + "TuuE" + "".join("TBa_Ba_E" for _ in range(100)) + "E"
    assert demangle(doubling) is None or len(demangle(doubling)) <= 5000


@pytest.mark.parametrize("name", ["_RINvC1r1fDB_RRL0_eEuNtB2_1TEL_E", "_RINvC1r1fDB_FnL0_eEuNtB2_1TEL_E"])
def test_names_that_refer_to_what_they_stand_in_are_left(name):
    """Each level of them takes more of Python's stack than others do."""
    assert demangle(name) is None


@packages.needs("rustc")
def test_names_of_a_compiled_program(tmp_path):
    source = tmp_path / "program.rs"
    source.write_text(
        "mod inner { #[inline(never)] pub fn twice<T: Clone>(x: &T) -> (T, T) { (x.clone(), x.clone()) } }\n"
        "fn main() { let f = |x: u32| inner::twice(&x); std::process::exit(f(0).0 as i32); }\n"
    )
    program = str(tmp_path / "program")
    subprocess.run(["rustc", "-C", "symbol-mangling-version=v0", "-o", program, source], check=True)
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    shown = {demangle(line.split()[-1]) for line in listed.splitlines()}
    assert {"program::main", "program::inner::twice::<u32>"} <= shown
