"""Which names lead to D libraries: a program that uses only the language's own reads none."""

from sonde.frontends.d.check.builtins import NAMES
from sonde.frontends.d.check.libraries import Libraries, declared_names
from sonde.frontends.d.programs.libraries import libraries
from sonde.model.options import OptionTable


def test_sondes_libraries_declare_no_name_of_the_language():
    """So these need not be looked for there (Checker.use_libraries)."""
    found = {name for source in libraries(OptionTable()) for name in declared_names(source.text)}
    assert len(found) > 300
    assert not found & NAMES


def test_names_of_the_language_are_not_looked_for():
    asked = []

    def find():
        asked.append(1)
        return libraries(OptionTable())

    added = []
    index = Libraries(find, lambda source: added.append(source.file), NAMES)
    for name in NAMES:
        index.provide(name)
    assert not asked
    index.provide("AF_INET")
    assert asked
    assert len(added) == 1
