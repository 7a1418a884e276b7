"""An option that is given twice counts twice, or is a mistake: for every option of every command."""

from contextlib import suppress

import pytest

from sonde.cli import arguments, bt_arguments, export, record, vars, verify
from sonde.cli.manual.commands import OTHERS, TRACING
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.cli.settings import option_table
from sonde.cli.test import _wanted
from sonde.library.settings import OptionRefusedError, set_option
from sonde.model.known_options import OPTIONS
from sonde.model.options import OptionTable
from sonde.objects.choices import Words, given_choices
from sonde.objects.errors import ObjectError

VALUES = {
    "-b": ("1m", "2m"), "-i": ("1", "2"), "-p": ("11", "12"), "-X": ("a", "s"), "-f": ("json", "text"),
    "--engine": ("kernel", "embedded"), "--map": ("a=1", "b=2"), "--program": ("a=on", "b=off"),
    "--attach": ("a=b", "c=d"), "--record": ("a=b", "c=d"), "-x": ("bufsize=1m", "bufsize=2m"),
    "--listen": ("127.0.0.1:1", "127.0.0.1:2"), "--label-sets": ("1", "2"), "--anonymise": ("names", "all"),
    "--record-stacks": ("1k", "2k"),
    "-B": ("line", "none"), "--mode": ("test", "bench"),
}  # fmt: skip
"""Two values of an option, where any words will not do."""

BOTH_COUNT = {
    "-n", "-P", "-m", "-i", "-s", "-c", "-p", "-D", "-I", "-L", "-U", "--attach", "--device", "--flame", "--folded",
    "--heatmap", "--pprof", "--speedscope", "--map", "--program", "--record", "--gauge",
}  # fmt: skip
"""Programs, processes, pictures, and what is chosen of the parts of an object."""

OF_COMMANDS = {"bt": {"-d", "--debug", "-I", "--include", "--debuginfo"}, "test": {"-k"}}
"""The same of commands with options of their own; `-k` of tests chooses by several texts."""

PARSE = {
    "bt": bt_arguments.parse,
    "export": lambda words: option_table(export.arguments_of(export.split([*words, "-n", "BEGIN"])[1], None)),
    "record": lambda words: option_table(record.arguments_of([*words, "-n", "BEGIN"])),
    "test": _wanted,
    "vars": vars.show_variables,
    "verify": lambda words: option_table(arguments.parse(words)),
}


def parsed(words):
    found = arguments.parse(words)
    option_table(found)
    given_choices(Words(records=found.chosen("record"), sizes=found.chosen("map")), None)


def cases():
    for command in (TRACING, *OTHERS):
        for section in command.sections:
            for option in section.options:
                if option.value and not option.value.startswith("["):
                    yield from ((command.name, name) for name in option.names if name.startswith("-") and name != "--")


@pytest.mark.parametrize(("command", "option"), [*cases()])
def test_an_option_counts_each_time_or_is_a_mistake(command, option, monkeypatch):
    monkeypatch.setattr(export, "require_prometheus", lambda: None)
    one, other = VALUES.get(option, ("one", "other"))
    parse = PARSE.get(command, parsed)
    words = [option, one, option, other]
    if option in OF_COMMANDS.get(command, BOTH_COUNT):
        parse(words)
        return
    with pytest.raises(FatalError) as told:
        parse(words)
    assert isinstance(told.value, UsageError) or "given twice" in told.value.text
    assert told.value.status == 2
    if command not in ("vars", "bt"):
        parse([option, one, option, one])


CANDIDATES = ("yes", "no", None, "1", "2", "8", "9", "1m", "2m", "1k", "2k", "1s", "2s", "2.0", "1.9", "unlimited",
              "a", "b", "Stable/Stable/Common", "Evolving/Evolving/Common")  # fmt: skip


def values_of(name):
    """Two values that the option takes, or all, by what they mean."""
    found = {}
    for text in (*OPTIONS[name].choices, *CANDIDATES):
        table = OptionTable()
        with suppress(OptionRefusedError):
            set_option(table, name, text)
            found.setdefault(repr(table.value(name)), text)
    return [*found.values()][:2]


def word_of(name, value):
    return f"-x{name}" if value is None else f"-x{name}={value}"


@pytest.mark.parametrize("name", OPTIONS)
def test_a_setting_counts_each_time_or_is_a_mistake(name):
    values = values_of(name)
    assert values
    option_table(arguments.parse([word_of(name, values[0])] * 2))
    if len(values) < 2:
        # A switch that is only ever given alone.
        return
    found = arguments.parse([word_of(name, each) for each in values])
    if OPTIONS[name].is_repeated:
        assert option_table(found).texts(name) == tuple(values)
        return
    with pytest.raises(FatalError, match=f"{name} is given twice, as -x {name}"):
        option_table(found)


def test_the_last_value_counts_as_in_dtrace():
    """For the command of that name."""
    words = ["-b", "1k", "-x", "bufsize=2m", "-o", "one", "-b", "2k", "-o", "other"]
    found = arguments.parse(words, last_counts=True)
    assert (found.output, option_table(found).number("bufsize")) == ("other", 2048)


def test_short_and_long_forms_are_one_option():
    with pytest.raises(FatalError, match="-b is given twice, as -x bufsize=1m and -b 2m"):
        option_table(arguments.parse(["-x", "bufsize=1m", "-b", "2m"]))
    assert option_table(arguments.parse(["-x", "bufsize=1m", "-b1024k"])).number("bufsize") == 1 << 20
    with pytest.raises(FatalError, match="--btf is given twice, as one and other"):
        arguments.parse(["-k", "one", "--btf", "other"])
    with pytest.raises(FatalError, match="the data model is given twice"):
        arguments.parse(["-32", "-64"])


def test_the_environment_is_weaker_and_no_second_value(monkeypatch):
    monkeypatch.setenv("DTRACE_OPT_BUFSIZE", "4m")
    assert option_table(arguments.parse(["-b", "2m"])).number("bufsize") == 2 << 20


@pytest.mark.parametrize(
    "words",
    [Words(variables=("a=1", "a=2")), Words(sizes=("m=1", "m=2")), Words(records=("m=a", "m=b"))],
    ids=["-D", "--map", "--record"],
)
def test_one_thing_of_an_object_has_one_value(words):
    with pytest.raises(ObjectError, match="is given twice"):
        given_choices(words, None)


def test_nothing_is_told_by_messages_here():
    """What `verify` and others parse is what tracing parses."""
    with pytest.raises(FatalError, match="--object is given twice"):
        verify.verify_file(["--object", "a", "--object", "b"], Messages("sonde"))
