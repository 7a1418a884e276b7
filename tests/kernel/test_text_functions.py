"""toupper, tolower, strtoll, lltostr in a base, and json, against Python, in the kernel at several sizes of strings."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.d_run import Run
from support.d.string_runs import characters, fire, often, strings
from support.machine.access import needs, require

pytestmark = needs("CAP_BPF", "CAP_PERFMON")
SIZES = (7, 64, 255, 4096)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module", params=SIZES)
def letters(request):
    require("bpf_loop")
    program = 'string a; long n; BEGIN { printf("%d%s%s%s", strtoll(a, n), toupper(a), tolower(a), lltostr(n)); }'
    with Run(program, strsize=request.param) as loaded:
        loaded.strsize = request.param
        yield loaded


def strtoll(whole, base):
    """The number that the text begins with, in 64 bits."""
    found = re.match(rb"[ \t-\r]*([+-]?)(.*)", whole, re.DOTALL)
    sign, rest = found[1], found[2].lower()
    if base == 16 and rest.startswith(b"0x"):
        rest = rest[2:]
    value = 0
    for character in rest.decode("latin-1"):
        if character not in DIGITS[:base]:
            break
        value = value * base + DIGITS.index(character)
    value = (-value if sign == b"-" else value) % (1 << 64)
    return value - (1 << 64) if value >> 63 else value


@pytest.mark.share(1)
@often
@given(st.data())
def test_letters_and_digits(letters, data):
    alphabet = data.draw(st.sampled_from((b"azAZ@[`{", b"01 9-+xXfg\t", bytes(range(1, 256)))))
    a, n = data.draw(strings(letters.strsize, alphabet)), data.draw(st.integers(2, 36))
    (got,) = fire(letters, a=a, n=n)
    assert got[0] == strtoll(a, n)
    ascii_upper = bytes(c - 32 if 97 <= c <= 122 else c for c in a)
    ascii_lower = bytes(c + 32 if 65 <= c <= 90 else c for c in a)
    assert [characters(each) for each in got[1:3]] == [ascii_upper, ascii_lower]


@pytest.fixture(scope="module")
def based():
    require("bpf_loop")
    with Run('long n; long b; BEGIN { printf("%s", lltostr(n, b)); } ERROR { printf("%d", arg4); }') as loaded:
        yield loaded


def lltostr(number, base):
    """Digits, with a sign in base 10, 0x in base 16 and 0 in base 8."""
    rest = abs(number) if base == 10 else number % (1 << 64)
    digits = ""
    while rest:
        rest, digit = divmod(rest, base)
        digits = DIGITS[digit] + digits
    prefix = {16: "0x", 8: "0" if number else "", 10: "-" if number < 0 else ""}.get(base, "")
    return (prefix + (digits or "0")).encode()


@often
@given(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-40, 40), st.sampled_from((2, 3, 8, 10, 16, 35, 36)))
def test_numbers_in_any_base(based, number, base):
    (got,) = fire(based, n=number, b=base)
    assert characters(got[0]) == lltostr(number, base)


@pytest.mark.parametrize("base", [1, 0, -1, 37])
def test_what_is_no_base_is_an_illegal_operation(based, base):
    assert fire(based, n=5, b=base) == [[3]]


# json()

NAMES = st.sampled_from(("a", "b", "ab", "key", "0", ""))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**9), st.sampled_from((1.5, -2e30)),
    st.text(st.sampled_from('ab"\\{}[],: \n'), max_size=6),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=9,
)
DOCUMENTS = st.one_of(st.lists(VALUES, min_size=1, max_size=4), st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
MISSING = object()


@pytest.fixture(scope="module")
def documents():
    require("bpf_loop")
    program = 'string a; string b; BEGIN { r = json(a, b); printf("%d%s", r == NULL, r == NULL ? "" : r); }'
    with Run(program, strsize=1023) as loaded:
        yield loaded


def found(value, parts):
    """The value that the path leads to; as D's json() does, only through objects by names and arrays by numbers."""
    for part in parts:
        is_name = isinstance(value, dict) and isinstance(part, str) and part in value
        is_number = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if not is_name and not is_number:
            return MISSING
        value = value[part]
    return value


def shown(value, dump):
    """A string without its quotes, else the text as it stands in the document."""
    return dump(value)[1:-1] if isinstance(value, str) else dump(value)


@st.composite
def paths(draw, value):
    """A path that leads somewhere, most of the time, and its parts."""
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        if isinstance(value, dict) and value and draw(st.integers(0, 4)):
            parts.append(draw(st.sampled_from(sorted(filter(None, value)) or ["a"])))
        elif isinstance(value, list) and draw(st.integers(0, 4)):
            parts.append(draw(st.integers(0, len(value))))
        else:
            break
        value = found(value, parts[-1:])
        if value is MISSING:
            break
    if not parts or (not parts[0] and parts[0] != 0):
        parts = ["key"]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")
    return path, parts


@often
@given(st.data())
def test_json_gives_what_a_path_leads_to(documents, data):
    document = data.draw(DOCUMENTS)
    separators = data.draw(st.sampled_from(((",", ":"), (", ", ": "), (" ,\n\t", " : "))))
    path, parts = data.draw(paths(document))

    def dump(value):
        return json.dumps(value, separators=separators)

    whole = dump(document)
    if len(whole) > 1000:
        return
    (got,) = fire(documents, a=whole.encode(), b=path.encode())
    value = found(document, parts)
    if value is MISSING:
        assert got[0] == 1, (whole, path, got)
    else:
        assert (got[0], characters(got[1])) == (0, shown(value, dump).encode()), (whole, path)


@pytest.mark.parametrize(
    ("whole", "path"),
    [
        ("", "a"), ("5", "a"), ('"a"', "a"), ("{", "a"), ('{"a"', "a"), ('{"a":', "a"), ('{"a":}', "a"),
        ('{"a":"b', "a"), ('{"a":1', "a"), ("[1,2]", "a"), ("[1,2]", "[9]"), ("[1,2]", "1x"), ('{"a":[]}', "a[0]"),
        ("{}", "a"), ("}{", "a"), ('{"a":1}', "a.b"), ('{"a":{"b":1}}', "a.b.c"), ('{"ab":1}', "a"), ('{"a":1}', "ab"),
        ("[[[[", "[0][0]"),
    ],
)  # fmt: skip
def test_json_finds_nothing_in_broken_texts_and_by_wrong_paths(documents, whole, path):
    (got,) = fire(documents, a=whole.encode(), b=path.encode())
    assert got[0] == 1, got
