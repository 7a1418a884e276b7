"""Each option has one record, of which the rest follows: what reads it, its default everywhere, the reference."""

import ast
import functools
from pathlib import Path

import pytest
from support.d.option_page import section
from support.source.parsed import nodes

import sonde
from sonde.codegen.basis.settings import Settings
from sonde.consume.description import describe, described
from sonde.consume.options import Options
from sonde.formats.raw_file import RawFileError
from sonde.frontends.d.check.options import CheckOptions
from sonde.model.known_options import (
    COMPILING,
    OF_ANONYMOUS,
    OF_ARRAYS,
    OF_BUFFERS,
    OF_COMPILER,
    OF_JAVA,
    OF_MEMORY,
    OF_NAMES,
    OF_PLACES,
    OPTIONS,
    STARTING,
    TRACING,
)
from sonde.model.options import OptionError, OptionTable, parse
from sonde.model.spec import TracingSpec

SOURCES = Path(sonde.__file__).parent
REFERENCE = (SOURCES.parent.parent / "docs" / "reference.md").read_text()
READING = ("number", "on", "text", "texts", "is_set", "value")
REASONS = {OF_ANONYMOUS, OF_ARRAYS, OF_BUFFERS, OF_COMPILER, OF_JAVA, OF_MEMORY, OF_NAMES, OF_PLACES}
PARTS = {
    "language": {"frontends", "model", "library", "cli"}, "code": {"session"}, "engine": {"session", "library", "cli"},
    "processes": {"session"}, "consumer": {"session"}, "report": {"consume", "session", "library", "cli"},
    "command": {"cli", "library"},
}  # fmt: skip
"""Where each part reads its options."""


@functools.cache
def readings():
    """(package, option, the default given besides, if one is) of each place that reads an option by its name."""
    found = []
    for path in SOURCES.rglob("*.py"):
        package = path.relative_to(SOURCES).parts[0]
        for node in nodes(path):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING):
                continue
            if not (node.args and isinstance(node.args[0], ast.Constant) and "ptions" in ast.unparse(node.func.value)):
                continue
            found.append((package, node.args[0].value, *map(ast.unparse, node.args[1:])))
    return found


SHOWN = set(Options.__slots__) - {"testing"}


def test_whatever_is_read_is_an_option():
    assert {name for _, name, *_ in readings()} | SHOWN <= OPTIONS.keys()


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_option_is_read_by_its_part_or_by_nothing(name):
    option = OPTIONS[name]
    packages = {package for package, read, *_ in readings() if read == name} | ({"consume"} if name in SHOWN else set())
    if option.reader is None:
        assert not packages
        assert option.meaning in REASONS
        assert option.default is None
    else:
        assert packages & PARTS[option.reader], f"{packages} read it"


def test_nobody_gives_a_default_of_his_own():
    """But for the rings of packets and of recordings, which are as large as this machine makes them."""
    given = [(name, given) for _, name, *given in readings() if given]
    assert given == [("bufsize", ["_packet_ring()"]), ("bufsize", ["_recording_ring()"])]


@pytest.mark.parametrize("kind", [Settings, CheckOptions, Options])
def test_whoever_keeps_options_has_their_defaults(kind):
    made = kind(parse_option=None) if kind is CheckOptions else kind()
    names = (SHOWN if kind is Options else kind._fields) & OPTIONS.keys()
    assert names
    for name in names:
        own = OPTIONS[name].default
        kept = getattr(made, name)
        assert kept == ((own + 7) & ~7 if name == "pcapsize" else own or type(kept)()), name


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_recording_has_an_option_within_its_own_bounds(name):
    """Whatever can be set can be recorded and shown, and nothing else is believed."""
    option = OPTIONS[name]

    def shown(value):
        options = Options()
        setattr(options, name, value)
        return getattr(described(describe(TracingSpec((), (), (), (), (), ()), 1, options))[2], name)

    for value in (False, True) if option.kind == "switch" else (option.least, option.most):
        assert shown(value) == value
    for value in () if option.kind == "switch" else (option.least - 1, option.most + 1):
        with pytest.raises(RawFileError, match=name):
            shown(value)


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_a_default_is_a_value_that_can_be_set(name):
    option = OPTIONS[name]
    assert option.name == name
    assert option.settled in (COMPILING, STARTING, TRACING)
    if option.default is None:
        return
    if option.kind == "switch":
        assert isinstance(option.default, bool)
        return
    assert parse(name, str(option.default)) == option.default
    table = OptionTable()
    assert (table.text if option.kind == "text" else table.number)(name) == option.default


@pytest.mark.share(1)
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_bounds_and_choices_are_kept_and_told(name):
    option = OPTIONS[name]
    for choice in option.choices:
        assert parse(name, choice) == choice
        assert option.reader is None or choice == option.default or choice in option.meaning or name == "stdc"
    if option.is_bounded:
        for value in (option.least - 1, option.most + 1):
            with pytest.raises(OptionError):
                parse(name, str(value))


@pytest.mark.long
def test_the_reference_is_made_of_the_records():
    written = REFERENCE.partition("\n## Options\n\n")[2].partition("\n## ")[0]
    assert written == section(), "run tools/options.py"
