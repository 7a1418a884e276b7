"""Warnings in programs of bpftrace's language are told where bpftrace tells them, and nothing else is warned of."""

import pytest
from bt_compiling import registry, warnings
from bt_warnings import QUIET, WARNED
from test_bt_mistakes import wanted


@pytest.fixture(scope="module")
def machine():
    return registry()


@pytest.mark.parametrize("line", WARNED.strip().splitlines())
def test_a_warning_has_its_place_and_kind(line, machine):
    program, columns, kind = wanted(line)
    found = warnings(program, machine)
    assert any(each.startswith(f"stdin:{columns}: WARNING: ") and kind in each for each in found), found


@pytest.mark.parametrize("line", QUIET.strip().splitlines())
def test_what_is_meant_is_not_warned_of(line, machine):
    program, _, kind = line.partition(" ;; ")
    assert not [each for each in warnings(program, machine) if kind in each]


def test_a_place_that_goes_on_is_told_by_its_lines(machine):
    (found,) = warnings("begin {\n\tfor ($i : 0..3) {\n    return;\n    if (1) {\n\tprint(2);\n } } }", machine)
    assert found == "stdin:4-6: WARNING: Unreachable statement.\n    if (1) {\n    print(2);\n }" + " } }"
