"""D programs of texts, parsed and checked."""

from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.check.options import CheckOptions
from sonde.frontends.d.parser import NO_MACROS

DEFAULTS = CheckOptions(lambda name, value: int(value) if value and value.isdigit() else value)
"""With options of pragmas as they are written."""


def compile_sources(sources, catalog, options=DEFAULTS, macros=NO_MACROS, libraries=()):
    """The Program of ProgramSources; libraries are parsed only as far as these use them."""
    checker = Checker(catalog, options)
    checker.use_libraries(lambda: libraries)
    for source in sources:
        checker.add_text(source, macros)
    return checker.program()
