"""Probe lines about the kernel and `sonde vars kernel`: places within functions, lines, and variables of debug
information. The kernel is a file that the tests compile."""

import pytest
from support.symbols.kernel_like import line_of, needs_compiler, offsets, symbols, vmlinux

from sonde.arch.x86_64 import registers
from sonde.cli.main import main
from sonde.model.probe import KernelFunction
from sonde.model.spec import Fetch, FetchStep
from sonde.model.types import LONG, ULONG, Function, Pointer, name_of
from sonde.objects import kernel_lines
from sonde.objects.errors import ObjectError
from sonde.objects.lines import line_of as read_line
from sonde.objects.traceable_code import TraceableCode
from sonde.symbols.kernel_objects import KernelObjects

pytestmark = needs_compiler

LOOP = line_of("total += square")
MOVED = 0x12000000
"""How far the kernel is from where it was linked."""


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Those of a kernel that has been moved, whose BTF describes `work` alone."""
    shown = "".join(f"{address + MOVED:016x} T {name}\n" for address, name in symbols(vmlinux()))
    (tmp_path / "kallsyms").write_text(shown)
    monkeypatch.setattr(kernel_lines, "KernelObjects", lambda given: KernelObjects(given, True))
    kind = Function(LONG, (Pointer(LONG), Pointer(LONG), ULONG), False), ("file", "name", "count")
    return kernel_lines.KernelLines(
        lambda name, module: kind if name == "work" else None, vmlinux(), str(tmp_path / "kallsyms")
    )


def places(lines, place, *variables):
    return lines.places(read_line("", place, variables), TraceableCode())


def address(name):
    return next(at for at, each in symbols(vmlinux()) if each == name) + MOVED


def test_a_line_is_its_places_with_variables_there(lines):
    (found,) = places(lines, f"first.c@{LOOP}", "square", "file->place.line", "copy.position", "hidden")
    assert found.firing == KernelFunction("vmlinux", "work", False, True, True, found.firing.offset)
    assert found.firing.offset in offsets(vmlinux(), "work")
    assert [name_of(each.type) for each in found.variables] == ["long", "int", "long", "long"]
    ways = [each.fetches[0].steps for each in found.variables]
    assert ways[0][0].operation == ways[1][0].operation == ways[2][0].operation == "register"
    assert ways[1][-3:] == (FetchStep("offset", 16), FetchStep("dereference", 4), FetchStep("extend", 4))
    assert found.variables[3].fetches == (
        Fetch(0, 8, "value", (FetchStep("constant", address("hidden")), FetchStep("dereference", 8))),
    )


def test_an_offset_is_one_in_decimal_as_of_kprobes(lines):
    for offset in offsets(vmlinux(), "work")[:3]:
        (found,) = places(lines, f"work+{offset}" if offset else "work", "count")
        assert found.firing.offset == offset
    begins = offsets(vmlinux(), "work")
    wrong = next(each for each in range(begins[-1]) if each not in begins)
    with pytest.raises(ObjectError, match="is not aligned on an instruction"):
        places(lines, f"work+0x{wrong:x}", "count")


def test_parameters_are_those_of_btf_and_all_else_is_of_debug_information(lines):
    (found,) = places(lines, "work", "count", "counter", "name")
    assert [name_of(each.type) for each in found.variables] == ["unsigned long", "int", "long *"]
    (found,) = places(lines, "other", "first")
    assert found.variables[0].fetches[0].steps == (
        FetchStep("register", registers.ARGUMENTS[0]),
        FetchStep("extend", 4),
    )
    (found,) = places(lines, "other%return", "$retval")
    assert name_of(found.variables[0].type) == "int"


@pytest.mark.parametrize(
    ("place", "variables", "why"),
    [
        (f"first.c@{LOOP}", ("nothing",), "there is no variable nothing"),
        (f"first.c@{LOOP}", ("second.c@hidden",), "a file before a variable is for programs"),
        (f"first.c@{LOOP}", ("$arg1",), "at the entry of a function alone"),
        (f"first.c@{LOOP}", ("per_cpu_count",), "per-CPU"),
        ("first.c@2", ("count",), "has no code of its own"),
        ("third.c@2", (), "has no source file third.c"),
        ("listed+1", ("first",), "not aligned"),
        ("work", ("total",), "optimised out there"),
        ("work%return", ("count",), "its parameters may be gone"),
        ("quiet+0x7", ("first",), "noinstr"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(lines, place, variables, why):
    with pytest.raises(ObjectError) as error:
        places(lines, place, *variables)
    assert why in f"{error.value.text}\n{error.value.hint}"


def vars_of(capfd, *words):
    status = main(["sonde", "vars", *words])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


def test_variables_of_the_kernel_are_listed(capfd):
    status, out, err = vars_of(capfd, "-k", vmlinux(), "kernel", f"first.c@{LOOP}")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].endswith(" in work")
    assert "  variable   square       long                  here; live at" in out
    status, out, _ = vars_of(capfd, "kernel", "work", "-k", vmlinux())
    assert out.splitlines()[0] == f"work, at {address('work') - MOVED:#x}"
    assert "variable   total        long                  not fetched: it is optimised out here" in out
    status, out, _ = vars_of(capfd, "kernel", "work+8", "-k", vmlinux())
    assert out.splitlines()[0] == f"work, at {address('work') - MOVED + 8:#x}"
    status, out, _ = vars_of(capfd, "kernel", "inlined", "-k", vmlinux())
    assert out.startswith("inlined inlined, at ")


@pytest.mark.long
def test_each_address_of_a_function_is_in_it_and_none_behind(capfd):
    """Whatever function stands behind it."""
    within = []
    for offset in range(600):
        status, out, _ = vars_of(capfd, "kernel", f"work+{offset}", "-k", vmlinux())
        within.append(status == 0)
        assert not out or out.splitlines()[0].startswith("work, at ") or out.splitlines()[0].endswith(" in work")
    assert within == sorted(within, reverse=True)
    assert max(offsets(vmlinux(), "work")) < within.count(True) < 600


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-k", "VMLINUX", "kernel", "missing"), "no function missing"),
        (("-k", "VMLINUX", "kernel", "work+99999"), "work+0x1869f is behind the end of work, which has 0x"),
        (("-k", "VMLINUX", "kernel", "missing+8"), "no function missing"),
        (("-k", "VMLINUX", "kernel", "third.c@5"), "no source file third.c"),
        (("-k", "/nowhere", "kernel", "work"), "/nowhere"),
        (("-k", "VMLINUX", "/bin/true", "main"), "of the kernel, -k VMLINUX"),
        (("kernel", "work", "-k"), "of the kernel, -k VMLINUX"),
    ],
)
def test_what_is_not_in_the_kernel_is_told_in_one_message(capfd, words, why):
    status, out, err = vars_of(capfd, *(vmlinux() if each == "VMLINUX" else each for each in words))
    assert status in (1, 2)
    assert not out
    assert why in " ".join(err.split())
