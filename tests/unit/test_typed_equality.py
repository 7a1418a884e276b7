"""Values of different classes are never equal, whatever their fields, nor to a plain tuple, of all the classes."""

import importlib
import pkgutil
from collections import defaultdict

import pytest

import sonde
from sonde import typed

for module in pkgutil.walk_packages(sonde.__path__, "sonde."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)


def classes(base=tuple):
    for each in base.__subclasses__():
        if each.__module__.startswith("sonde.") and hasattr(each, "_fields"):
            yield each
        yield from classes(each)


ALIKE = defaultdict(list)
for found in classes():
    ALIKE[len(found._fields)].append(found)


@pytest.mark.parametrize("count", sorted(ALIKE))
def test_values_of_different_classes_are_different_keys(count):
    fields = tuple(range(count))
    values = [each._make(fields) for each in ALIKE[count]]
    assert len({*values, fields}) == len(values) + 1
    known = {value: type(value) for value in values}
    for value in values:
        twin = type(value)._make(fields)
        assert twin == value
        assert known[twin] is type(value)
        assert [other for other in (*values, fields) if other == value] == [value]
        assert [other for other in (twin, *values, fields) if other != value] == [
            other for other in (*values, fields) if other is not value
        ]
        assert all((other, 0) != (value, 0) for other in (*values, fields) if other is not value)


def test_all_classes_are_looked_at():
    """Those of the syntax tree, the checked program, the intermediate form and places of variables among them."""
    found = {each.__module__ for several in ALIKE.values() for each in several}
    assert {
        "sonde.frontends.d.syntax",
        "sonde.model.program",
        "sonde.codegen.intermediate.ir",
        "sonde.model.location",
        "sonde.model.probe",
    } <= found
    assert sum(map(len, ALIKE.values())) >= 500


def test_hashing_costs_no_call():
    """Equal values have equal fields, so a tuple's own hash does."""
    assert all(each.__hash__ is tuple.__hash__ for several in ALIKE.values() for each in several)
    assert typed.NamedTuple is typed.Node
