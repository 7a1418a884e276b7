"""printf's conversions, against the C library's."""

import ctypes
import os
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.records import conversions, integer, record

from sonde.consume.options import Options
from sonde.frontends.d.report.record import Style, compile_actions
from sonde.model.conversions import MOST_COLUMNS, Conversion
from sonde.model.records import Field, PrintfAction
from sonde.report.escaping import escaping_for
from sonde.report.piece import environment
from sonde.report.stack import Addresses

LIBC = ctypes.CDLL(None)
C_TYPES = {(1, True): ctypes.c_int8, (2, True): ctypes.c_int16, (4, True): ctypes.c_int32, (8, True): ctypes.c_int64}
C_TYPES |= {(1, False): ctypes.c_uint8, (2, False): ctypes.c_uint16}
C_TYPES |= {(4, False): ctypes.c_uint32, (8, False): ctypes.c_uint64}
MODIFIERS = {1: "hh", 2: "h", 4: "", 8: "ll"}


class Names:
    changes = 0

    def kernel(self, address):
        return ("vmlinux", "max_pfn", address - 0x1000) if 0x1000 <= address < 0x2000 else None

    def interrupts(self, pid, address):
        return False

    def user(self, pid, address):
        if address >= 0x9000:
            return None
        return "/usr/lib/libc.so.6", "read" if address < 0x5000 else None, address & 0xFF


def show(conversions, fields, payload, strings=()):
    data = memoryview(record(1, payload))
    action = PrintfAction(tuple(conversions), tuple(fields))
    functions = environment(Addresses(Names(), Options()))
    return compile_actions((action,), len(data), strings, Style(True, 0, escaping_for(False, False, False)), functions)(
        data
    )[0]


def c_printf(form, *arguments):
    buffer = ctypes.create_string_buffer(4096)
    length = LIBC.snprintf(buffer, 4096, form.encode(), *arguments)
    return buffer.raw[:length]


sizes = st.sampled_from([1, 2, 4, 8])
flags = st.sets(st.sampled_from("#0-+ ")).map("".join)
widths = st.one_of(st.none(), st.integers(1, 24))


@given(sizes, st.booleans(), st.integers(-(1 << 63), (1 << 64) - 1), flags, widths, widths, st.sampled_from("dioxXu"))
def test_integers_as_in_c(size, signed, number, flags, width, precision, letter):
    if letter in "di":
        shown_signed, flags = signed, flags.replace("#", "")
    else:
        shown_signed = False
    if not shown_signed:
        flags = flags.replace("+", "").replace(" ", "")
    value = C_TYPES[size, signed](number).value
    c_letter = letter if shown_signed or letter not in "di" else "u"
    form = f"%{flags}{width or ''}{'' if precision is None else f'.{precision}'}{MODIFIERS[size]}{c_letter}"
    expected = c_printf(form, C_TYPES[size, shown_signed](value))
    payload = value.to_bytes(size, "little", signed=signed)
    for letters in (letter, "h" + letter, "ll" + letter):
        one = Conversion("", flags, width, precision, letters)
        assert show([one], [Field(16, size, "int", signed)], payload) == expected


@given(st.integers(-20, 20), st.integers(-5, 20), st.integers(-(1 << 31), (1 << 31) - 1), flags)
def test_dynamic_width_and_precision(width, precision, number, flags):
    flags = flags.replace("#", "")
    form = f"%{flags}*{'.*' if precision > 0 else ''}d"
    extra = [ctypes.c_int(precision)] if precision > 0 else []
    expected = c_printf(form, ctypes.c_int(width), *extra, ctypes.c_int(number))
    payload = struct.pack("<iii", width, precision, number)
    fields = [integer(16, 4), integer(20, 4), integer(24, 4)]
    assert show([Conversion("", flags, "*", "*", "d")], fields, payload) == expected


texts = st.binary(max_size=20).map(lambda data: data.replace(b"\0", b"."))


@given(texts, widths, widths, st.booleans())
def test_strings_as_in_c(text, width, precision, left):
    flags = "-" if left else ""
    form = f"%{flags}{width or ''}{'' if precision is None else f'.{precision}'}s"
    expected = c_printf(form, text)
    one = Conversion("", flags, width, precision, "s")
    assert show([one], [Field(16, 24, "string")], text.ljust(24, b"\0")) == expected
    assert show([one], [Field(16, 24, "bytes")], text.ljust(24, b"\0")) == expected


@given(texts, st.integers(-25, 25), st.integers(-3, 25))
def test_strings_with_dynamic_sizes(text, width, precision):
    extra = [ctypes.c_int(precision)] if precision > 0 else []
    expected = c_printf(f"%*{'.*' if precision > 0 else ''}s", ctypes.c_int(width), *extra, text)
    payload = struct.pack("<ii24s", width, precision, text)
    fields = [integer(16, 4), integer(20, 4), Field(24, 24, "string")]
    assert show([Conversion("", "", "*", "*", "s")], fields, payload) == expected


def test_a_record_asks_for_no_more_than_a_megabyte_of_padding():
    fields = [integer(16, 4), integer(20, 4), integer(24, 4)]
    for width, precision in ((1 << 30, 0), (-(1 << 30), 0), (0, 1 << 30)):
        payload = struct.pack("<iii", width, precision, 5)
        assert len(show([Conversion("", "", "*", "*", "d")], fields, payload)) == MOST_COLUMNS


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, flags, widths, widths, st.sampled_from("eEfgG"))
def test_floats_as_in_c(number, flags, width, precision, letter):
    form = f"%{flags}{width or ''}{'' if precision is None else f'.{precision}'}{letter}"
    expected = c_printf(form, ctypes.c_double(number))
    one = Conversion("", flags, width, precision, letter)
    assert show([one], [Field(16, 8, "int")], struct.pack("<d", number)) == expected
    assert show([one], [Field(16, 8, "bytes")], struct.pack("<d", number)) == expected


def test_float_of_four_bytes():
    assert show([Conversion("", letters="f")], [Field(16, 4, "int")], struct.pack("<f", 0.5)) == b"0.500000"


@pytest.mark.parametrize("letter", "dsf")
def test_precision_zero_counts_as_none(letter):
    field = {"d": integer(16), "s": Field(16, 8, "string"), "f": Field(16, 8, "bytes")}[letter]
    expected = {"d": b"0", "s": b"", "f": b"0.000000"}[letter]
    assert show([Conversion("", "", None, 0, letter)], [field], bytes(8)) == expected


def test_precision_zero_shows_the_whole_string():
    assert show([Conversion("", "", None, 0, "s")], [Field(16, 8, "string")], b"hello\0\0\0") == b"hello"


def one(letters, field, payload, flags="", width=None):
    return show([Conversion("", flags, width, None, letters)], [field], payload)


def test_characters():
    assert one("c", integer(16, 4), struct.pack("<i", 0x141)) == b"A"
    assert one("c", integer(16, 4), struct.pack("<i", 0x41), "-", 3) == b"A  "
    assert one("lc", integer(16, 4), struct.pack("<i", 0x20AC)) == "€".encode()
    assert one("wc", integer(16, 4), struct.pack("<i", -1)) == b"?"
    assert one("C", integer(16, 1), b"\n", "", 4) == b"  \\n"
    assert one("S", Field(16, 8, "string"), b'a"\t\x01\xff\\\0\0') == b'a\\"\\t\\001\\377\\\\'


def test_pointers():
    assert one("p", integer(16, 8, False), struct.pack("<Q", 0xFFFF888000001000)) == b"ffff888000001000"
    assert one("p", integer(16), struct.pack("<q", -1)) == b"f" * 16
    assert one("p", integer(16), struct.pack("<q", 10), "?") == b"a".rjust(16)
    assert one("d", integer(16), struct.pack("<q", 10), "?") == b"10".rjust(16)


def test_addresses():
    assert one("a", integer(16), struct.pack("<q", 0x1000)) == b"vmlinux`max_pfn"
    assert one("a", integer(16), struct.pack("<q", 0x1004)) == b"vmlinux`max_pfn+0x4"
    assert one("a", integer(16), struct.pack("<q", 0x10)) == b"0x10"
    assert one("A", Field(16, 16, "user_symbol"), struct.pack("<QQ", 1, 0x4002)) == b"libc.so.6`read+0x2"
    assert one("A", integer(16), struct.pack("<q", 0x9000)) == b"0x9000"
    assert one("s", Field(16, 8, "symbol", False, "mod"), struct.pack("<Q", 0x1004)) == b"vmlinux"


def test_stack_is_indented_by_the_width():
    field, payload = Field(16, 16, "stack"), struct.pack("<QQ", 0x1001, 0)
    assert one("k", field, payload) == b"\n" + b" " * 14 + b"vmlinux`max_pfn+0x1\n"
    assert one("k", field, payload, "", 2) == b"\n  vmlinux`max_pfn+0x1\n"


@pytest.fixture
def pacific():
    earlier = os.environ.get("TZ")
    os.environ["TZ"] = "US/Pacific"
    time.tzset()
    yield
    if earlier is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = earlier
    time.tzset()


@pytest.mark.skipif(not os.path.exists("/usr/share/zoneinfo/US/Pacific"), reason="no time zone data")
@pytest.mark.parametrize(
    ("seconds", "y", "t"),
    [
        (0, b"1969 Dec 31 16:00:00", b"Wed, 31 Dec 1970 16:00:00 PST"),
        (1062609821, b"2003 Sep  3 10:23:41", b"Wed, 03 Sep 2003 10:23:41 PDT"),
        (0x7FFFFFFF, b"2038 Jan 18 19:14:07", b"Mon, 18 Jan 2038 19:14:07 PST"),
    ],
)
def test_dates(pacific, seconds, y, t):
    payload = struct.pack("<Q", seconds * 10**9)
    assert one("Y", integer(16), payload) == y
    assert one("T", integer(16), payload) == t


def test_literal_percent_and_utf8():
    parts = [Conversion("100", letters="%"), Conversion(" ünd 5% "), Conversion("%", letters="d")]
    assert show(parts, [integer(16, 1)], b"\x07") == "100% ünd 5% %7".encode()


def test_no_conversion_at_all():
    assert show(conversions(("hello world", "")), [], b"") == b"hello world"


def test_grouping_follows_the_locale():
    assert one("d", integer(16), struct.pack("<q", -1234567), "'", 12) in (b"    -1234567", b"  -1,234,567")


def test_enormous_sizes():
    text = show([Conversion("", "", 10_000_000, 10_000_000, "d")], [integer(16, 4)], struct.pack("<i", 1))
    assert len(text) == 10_000_000
    assert text.endswith(b"001")
