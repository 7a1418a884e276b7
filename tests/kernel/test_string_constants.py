"""String subroutines of constants, which the compiler may work out, and addresses of networks as text."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d import string_model as model
from support.d.d_run import Run
from support.d.string_runs import characters, fire, often, strings
from support.machine.access import needs, require

pytestmark = needs("CAP_BPF", "CAP_PERFMON")

NUMBERS = {
    "strlen({a})": lambda a, b, n, m: len(a),
    "index({a}, {b})": lambda a, b, n, m: model.index(a, b),
    "index({a}, {b}, {n})": lambda a, b, n, m: model.index(a, b, n),
    "rindex({a}, {b})": lambda a, b, n, m: model.rindex(a, b),
    "rindex({a}, {b}, {n})": lambda a, b, n, m: model.rindex(a, b, n),
    "{a} == {b}": lambda a, b, n, m: int(a == b),
    "{a} < {b}": lambda a, b, n, m: int(a < b),
    "{a} >= {b}": lambda a, b, n, m: int(a >= b),
}
TEXTS = {
    "strjoin({a}, {b})": lambda a, b, n, m: a + b,
    "substr({a}, {n})": lambda a, b, n, m: model.substr(a, n),
    "substr({a}, {n}, {m})": lambda a, b, n, m: model.substr(a, n, m),
    "basename({a})": lambda a, b, n, m: model.basename(a),
    "dirname({a})": lambda a, b, n, m: model.dirname(a),
    "cleanpath({a})": lambda a, b, n, m: model.cleanpath(a),
    "lltostr({n})": lambda a, b, n, m: b"%d" % n,
}
FOUND = {
    "strstr({a}, {b})": lambda a, b, n, m: model.strstr(a, b),
    "strchr({a}, '/')": lambda a, b, n, m: model.strchr(a, ord("/")),
    "strrchr({a}, '/')": lambda a, b, n, m: model.strrchr(a, ord("/")),
    "strtok({a}, {b})": lambda a, b, n, m: model.tokens(a, b)[0],
}


def literal(text):
    return '"' + "".join(f"\\{byte:03o}" for byte in text) + '"'


@pytest.mark.long
@often
@given(st.data())
def test_constants(data):
    """The same as with variables of that content: both are in one program, each call with both."""
    require("bpf_loop")
    size = data.draw(st.sampled_from((1, 8, 13, 300)))
    alphabet = data.draw(st.sampled_from((b"/.a", bytes(range(1, 256)))))
    a, b = data.draw(strings(size, alphabet)), data.draw(strings(min(size, 3), alphabet))
    n, m = data.draw(st.integers(-size - 2, size + 2)), data.draw(st.integers(-size - 2, size + 2))
    constants = {"a": literal(a), "b": literal(b), "n": n, "m": m}
    variables = {"a": "x", "b": "y", "n": n, "m": m}
    calls = [call.format(**some) for call in (*NUMBERS, *TEXTS) for some in (constants, variables)]
    tested = [f'({call.format(**some)}) == NULL ? "" : strjoin({call.format(**some)}, "")' for call in FOUND
              for some in (constants, variables)]  # fmt: skip
    form = "%d" * 2 * len(NUMBERS) + "%s" * 2 * (len(TEXTS) + len(FOUND))
    program = f'string x; string y; BEGIN {{ printf("{form}", {", ".join([*calls, *tested])}); }}'
    with Run(program, strsize=size) as run:
        (got,) = fire(run, x=a, y=b)
    numbers, texts = got[: 2 * len(NUMBERS)], [characters(value) for value in got[2 * len(NUMBERS) :]]
    assert numbers == [wanted(a, b, n, m) for wanted in NUMBERS.values() for _ in "cv"]
    wanted = [each(a, b, n, m) or b"" for each in (*TEXTS.values(), *FOUND.values()) for _ in "cv"]
    assert texts == [each[:size] for each in wanted]


ZEROS_AND_ENDS = st.sampled_from((0, 0, 0, 0, 0xFFFF, 1, 0x7F00, 0x214))
ADDRESSES = st.lists(st.one_of(ZEROS_AND_ENDS, st.integers(0, 0xFFFF)), min_size=10, max_size=10)
BEFORE = st.sampled_from((b"", bytes(12), bytes(10) + b"\xff\xff"))


@pytest.fixture(scope="module", params=[256, 10])
def shown(request):
    """All that show addresses, with strings that have room for all of any and with strings that have not."""
    require("bpf_loop")
    calls = [
        "inet_ntop(10, (char *)a)", "inet_ntop(2, (char *)a)", "inet_ntoa((uint32_t *)(char *)a)",
        "inet_ntoa6((struct in6_addr *)(char *)a)", "inet_ntoa6((struct in6_addr *)(char *)a, 0)",
        "inet_ntoa6((struct in6_addr *)(char *)a, 1)", "link_ntop(1, (char *)a)", "link_ntop(32, (char *)a)",
    ]  # fmt: skip
    program = f'char a[20]; BEGIN {{ printf("{"%s" * len(calls)}", {", ".join(calls)}); }}'
    with Run(program.replace("(char *)a", "(void *)&a[0]"), strsize=request.param) as run:
        run.strsize = request.param
        yield run


@pytest.mark.share(1)
@often
@given(groups=ADDRESSES, before=BEFORE)
def test_addresses_of_networks(shown, groups, before):
    """The C library's texts, and "::ffff:192.0.2.1" without what is before its dots where that is asked for."""
    address = (before + b"".join(group.to_bytes(2, "big") for group in groups))[:20]
    (got,) = fire(shown, a=address)
    six, four = socket.inet_ntop(socket.AF_INET6, address[:16]), socket.inet_ntop(socket.AF_INET, address[:4])
    loose, strict = (model.inet_ntoa6(address[:16], is_strict) for is_strict in (False, True))
    wanted = [six, four, four, loose, loose, strict, model.link_ntop(address[:6]), model.link_ntop(address)]
    assert [characters(value).decode() for value in got] == [text[: shown.strsize] for text in wanted]
