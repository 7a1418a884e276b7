"""The options of -x, pragmas, setopt() and the environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.model.known_options import BAD_VALUE, BAD_VERSION, NO_VERSION, OPTIONS
from sonde.model.options import (
    BAD_CONTEXT,
    OptionError,
    OptionTable,
    from_environment,
    parse,
    similar,
)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("bufsize", "4k", 4096),
        ("bufsize", "2M", 2 << 20),
        ("bufsize", "1g", 1 << 30),
        ("bufsize", "1T", 1 << 40),
        ("bufsize", "0x10", 16),
        ("bufsize", "010k", 8192),
        ("stackindent", "0", 0),
        ("printsize", "9", 16),
        ("lockmem", "unlimited", "unlimited"),
        ("lockmem", "64m", "64m"),
        ("debugassert", "mutexes", "mutexes"),
        ("aggrate", "50ms", 50_000_000),
        ("aggrate", "10hz", 100_000_000),
        ("aggrate", "2min", 120_000_000_000),
        ("quiet", None, True),
        ("quiet", "", False),
        ("quiet", "Enabled", True),
        ("quiet", "OFF", False),
        ("quiet", "0", False),
        ("iregs", "8", 8),
        ("stdc", "a", "a"),
        ("version", "1.6.3", "1.6.3"),
        ("version", "2.0", "2.0"),
    ],
)
def test_values(name, text, value):
    assert parse(name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nonsense", "1", "Invalid option name"),
        ("bufsize", None, "Invalid value for specified option"),
        ("bufsize", "-1", "Invalid value for specified option"),
        ("bufsize", "4q", "Invalid value for specified option"),
        ("bufsize", "1_0", "Invalid value for specified option"),
        ("bufsize", "09", "Invalid value for specified option"),
        ("stackindent", "-4", "Invalid value for specified option"),
        ("stackindent", "--4", "Invalid value for specified option"),
        ("lockmem", "some", "Invalid value for specified option"),
        ("debugassert", "all", "Invalid value for specified option"),
        ("useruid", "root", "Invalid value for specified option"),
        ("printsize", "0", "Invalid value for specified option"),
        ("printsize", "65537", "Invalid value for specified option"),
        ("strsize", "1g", "Invalid value for specified option"),
        ("aggrate", "5parsecs", "Invalid value for specified option"),
        ("quiet", "perhaps", "Invalid value for specified option"),
        ("iregs", "9", "Invalid value for specified option"),
        ("iregs", "7", "Insufficient registers to generate code"),
        ("bufpolicy", "round", "Invalid value for specified option"),
        ("stdc", "z", "Invalid value for specified option"),
        ("version", "two", "Version is not properly formatted or is too large"),
        ("version", "99.1", "Requested version is not supported by compiler"),
    ],
)
def test_what_is_refused(name, text, message):
    with pytest.raises(OptionError) as caught:
        parse(name, text)
    assert str(caught.value) == message


NUMERIC = [each.name for each in OPTIONS.values() if each.kind in ("size", "count", "rate")]
OUT_OF_RANGE = [
    "99999999999999999999", "-99999999999999999999", "9" * 5000, "-1", "0x", "1e9", "1.5", " 1", "1 ", "٣", "²",
    "1_000", "0b2", "99999999999999999999d", "99999999t", "nan", "inf", "--1", "-", "+", "\n", "\0", "hz", "k",
]  # fmt: skip


@pytest.mark.share(98)
@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("text", OUT_OF_RANGE, ids=lambda text: repr(text)[:24])
def test_no_number_is_without_bounds(name, text):
    with pytest.raises(OptionError, match=BAD_VALUE):
        parse(name, text)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", NUMERIC)
@given(st.integers(0, 1 << 70), st.sampled_from(["", "k", "m", "g", "t", "s", "h", "d", "hz"]))
def test_what_is_a_number_is_one_that_a_clock_and_a_kernel_can_take(name, number, unit):
    try:
        value = parse(name, f"{number}{unit}")
    except OptionError:
        return
    assert 0 <= value <= 1 << 62


def test_the_last_setting_counts():
    table = OptionTable()
    table.set("bufsize", "1k")
    table.set("bufsize", "2k")
    assert table.number("bufsize", 0) == 2048


def test_every_setting_counts_of_what_may_be_repeated():
    table = OptionTable()
    table.set("define", "A")
    table.set("define", "B=2")
    assert table.texts("define") == ("A", "B=2")
    assert table.texts("undef") == ()


def test_a_pragma_comes_too_late_for_the_preprocessor():
    with pytest.raises(OptionError, match="Option cannot be used from within a D program"):
        OptionTable().set_in_program("cppargs", "-H")


def test_while_tracing_only_dynamic_options_can_be_set():
    table = OptionTable()
    table.set_while_tracing("quiet", "no")
    assert not table.on("quiet")
    with pytest.raises(OptionError, match="Operation illegal when tracing is active"):
        table.set_while_tracing("bufsize", "1k")


def test_the_environment_sets_options_by_their_names_in_capitals():
    assert from_environment({"DTRACE_OPT_BUFSIZE": "1k", "HOME": "/", "DTRACE_OPT_QUIET": ""}) == {
        "bufsize": "1k", "quiet": None,
    }  # fmt: skip


def test_a_mistyped_name_has_a_likely_one():
    assert "strsize" in similar("strsiz")
    assert similar("strsize") == ()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("cpp", "5", BAD_VALUE),
        ("define", None, BAD_VALUE),
        ("stdc", "a", BAD_CONTEXT),
        *((f"{name}path", "/somewhere", BAD_CONTEXT) for name in ("cpp", "ctf", "ld", "mod", "procfs")),
        ("incdir", "/somewhere", BAD_CONTEXT),
        *(("lockmem", text, BAD_CONTEXT) for text in (None, "abc", "5")),
        ("version", "5", BAD_VERSION),
        ("version", "a", NO_VERSION),
    ],
)  # fmt: skip
def test_programs_are_refused_what_dtrace_refuses_them(name, text, reason):
    """The value is looked at before the place, but for lockmem."""
    with pytest.raises(OptionError, match=f"^{reason}$"):
        OptionTable().set_in_program(name, text)


@pytest.mark.share(15)
@pytest.mark.parametrize("name", sorted(each.name for each in OPTIONS.values() if each.is_bare))
@pytest.mark.parametrize("text", ["", "yes", "no", "1"])
def test_switches_of_the_compiler_take_no_value(name, text):
    assert parse(name, None) is True
    with pytest.raises(OptionError, match=f"^{BAD_VALUE}$"):
        parse(name, text)
