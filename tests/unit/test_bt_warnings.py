"""Warnings in programs of bpftrace's language are told where bpftrace tells them, and nothing else is warned of."""

import pytest
from support.bpftrace.bt_compiling import registry, told, warnings
from support.bpftrace.bt_warnings import QUIET, WARNED
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


@pytest.mark.parametrize(
    ("body", "feature", "setting"),
    [
        ("@ = tseries(1, 1s, 5); @b[1] = tseries(1, 1s, 5);", "tseries", "unstable_tseries"),
        ("print(dw_ustack()); print(dw_ustack(perf));", "dw_ustack (DWARF stack unwinding)", "unstable_dw_ustack"),
        ("print(typeinfo(1).base_type);", "typeinfo", "unstable_typeinfo"),
    ],
)
def test_a_feature_that_is_unstable_is_warned_of_once_and_without_a_place(machine, body, feature, setting):
    def of(state):
        return f"config = {{ {setting} = {state} }} begin {{ {body} }}"

    (found,) = warnings(of("warn"), machine)
    assert found.startswith(f"WARNING: Script is using an unstable feature: {feature}. ")
    assert found.endswith(f" {setting}=enable")
    assert not warnings(of("enable"), machine)
    assert f"ERROR: {feature} feature is not enabled by default" in told(of("error"), machine)
