"""D's string subroutines in the kernel against their model, at several sizes of strings."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d import string_model as model
from support.d.d_run import Run, text
from support.d.string_runs import SIZES, fire, often, strings
from support.machine.access import needs, require

pytestmark = needs("CAP_BPF", "CAP_PERFMON")
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


@pytest.mark.share(1)
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
    (got,) = fire(run, a=a, b=b, n=n)
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


@pytest.mark.long
@often
@given(st.lists(st.sampled_from((0, 0, 0, 0, 0xFFFF, 1, 0x7F00, 0x214)), min_size=8, max_size=8))
def test_addresses(groups):
    """inet_ntop() is the C library's."""
    address = b"".join(group.to_bytes(2, "big") for group in groups)
    program = 'char a[16]; BEGIN { printf("%s%s", inet_ntop(10, a), inet_ntop(2, a)); }'
    with Run(program) as loaded:
        ((six, four),) = fire(loaded, a=address)
    assert text(six).decode() == socket.inet_ntop(socket.AF_INET6, address)
    assert text(four).decode() == socket.inet_ntop(socket.AF_INET, address[:4])
