"""D's string subroutines in the kernel against their model, at several sizes of strings."""

import socket

import pytest
import string_model as model
from access import needs, require
from d_run import Run, text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = needs("CAP_BPF", "CAP_PERFMON")
SIZES = (1, 7, 8, 9, 64, 255, 4096)
often = settings(
    max_examples=30, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip

NUMBERS = ["index(a, b)", "rindex(a, b)", "index(a, b, n)", "rindex(a, b, n)", "strlen(a)"]
TEXTS = ["basename(a)", "dirname(a)", "cleanpath(a)", "lltostr(n)"]
FOUND = ["strchr(a, n)", "strrchr(a, n)", "strstr(a, b)", "strtok(a, b)", "strtok(NULL, b)", "strtok(NULL, a)"]


def program():
    """All subroutines of two strings and a number; what can be NULL is shown with whether it is."""
    statements = [f"r{i} = {call}; this->n{i} = r{i} == NULL;" for i, call in enumerate(FOUND)]
    shown = [f'(this->n{i} ? "" : r{i})' for i in range(len(FOUND))]
    values = [*NUMBERS, *(f"this->n{i}" for i in range(len(FOUND))), *TEXTS, *shown]
    form = "%d" * (len(NUMBERS) + len(FOUND)) + "%s" * (len(TEXTS) + len(FOUND))
    return f'string a; string b; long n; BEGIN {{ {" ".join(statements)} printf("{form}", {", ".join(values)}); }}'


@pytest.fixture(scope="module", params=SIZES)
def run(request):
    require("bpf_loop")
    with Run(program(), strsize=request.param) as loaded:
        loaded.strsize = request.param
        yield loaded


def fire(run, a, b, n):
    """The values of one firing with these variables."""
    ((key, data),) = run.tracing.read_map("globals")
    content = bytearray(len(data))
    places = {v.name: where for v, (_, where) in run.compilation.shared.variables.items()}
    for name, value in (("a", a), ("b", b), ("n", n.to_bytes(8, "little", signed=True))):
        content[places[name] : places[name] + len(value)] = value
    run.tracing.write_map("globals", key, bytes(content))
    run.begin()
    (values,) = run.values()
    return values


def strings(size, alphabet):
    """Short ones, and ones about as long as strings can be."""
    characters = st.sampled_from(alphabet)
    lengths = st.one_of(st.integers(0, min(size, 20)), st.integers(max(size - 9, 0), size))
    return lengths.flatmap(lambda n: st.lists(characters, min_size=min(n, 40), max_size=min(n, 40)).map(
        lambda part: (bytes(part) * (n // max(len(part), 1) + 1))[:n]
    ))  # fmt: skip


@often
@given(st.data())
def test_they_give_what_the_model_gives(run, data):
    """Strings of few different characters, where much is found, of path components, and of any bytes."""
    size = run.strsize
    alphabet = data.draw(st.sampled_from((b"ab", b"/.a", bytes(range(1, 256)))))
    a, b = (
        data.draw(strings(size, alphabet)),
        data.draw(strings(min(size, data.draw(st.sampled_from((3, 12, size)))), alphabet)),
    )
    n = data.draw(
        st.one_of(st.integers(-3, size + 3), st.sampled_from((ord("a"), ord("/"), -(1 << 63), (1 << 63) - 1)))
    )
    got = fire(run, a, b, n)
    start = (n + (1 << 31)) % (1 << 32) - (1 << 31)
    assert got[: len(NUMBERS)] == [
        model.index(a, b), model.rindex(a, b), model.index(a, b, start), model.rindex(a, b, start), len(a)
    ]  # fmt: skip
    found = [
        model.strchr(a, n & 255), model.strrchr(a, n & 255), model.strstr(a, b), *model.tokens(a, b, b, a)
    ]  # fmt: skip
    got = got[len(NUMBERS) :]
    assert got[: len(FOUND)] == [int(each is None) for each in found]
    got = got[len(FOUND) :]
    wanted = [model.basename(a), model.dirname(a), model.cleanpath(a), b"%d" % n, *(each or b"" for each in found)]
    assert [each.partition(b"\0")[0] for each in got] == [each[:size] for each in wanted]


@often
@given(st.lists(st.sampled_from((0, 0, 0, 0, 0xFFFF, 1, 0x7F00, 0x214)), min_size=8, max_size=8))
def test_addresses(groups):
    """inet_ntop() is the C library's."""
    address = b"".join(group.to_bytes(2, "big") for group in groups)
    program = 'string a; BEGIN { printf("%s%s", inet_ntop(10, (char *)a), inet_ntop(2, (char *)a)); }'
    with Run(program) as loaded:
        six, four = fire_address(loaded, address)
    assert six.decode() == socket.inet_ntop(socket.AF_INET6, address)
    assert four.decode() == socket.inet_ntop(socket.AF_INET, address[:4])


def fire_address(run, address):
    ((key, data),) = run.tracing.read_map("globals")
    run.tracing.write_map("globals", key, address.ljust(len(data), b"\0"))
    run.begin()
    (values,) = run.values()
    return [text(value) for value in values]
