"""Strings that are joined, cut, read from the process, compared and used as keys, against their model."""

import ctypes
from operator import eq, ge, gt, le, lt, ne

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d import string_model as model
from support.d.d_run import Run
from support.d.string_runs import SIZES, characters, fire, often, strings
from support.machine.access import needs, require

pytestmark = needs("CAP_BPF", "CAP_PERFMON")

JOINED = ["strjoin(a, b)", 'strjoin(a, "/k")', 'strjoin("k/", b)', "strjoin(strjoin(a, b), a)"]
CUT = ["substr(a, n)", "substr(a, n, m)", "substr(strjoin(a, b), m, n)"]
RELATIONS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}
INT = st.sampled_from((-(1 << 31), (1 << 31) - 1))


@pytest.fixture(scope="module", params=SIZES)
def size(request):
    require("bpf_loop")
    return request.param


def shown(values, declared="string a; string b; int n; int m;", before=""):
    numbers = [value for value in values if value in NUMBERS]
    assert values[: len(numbers)] == numbers
    form = "%d" * len(numbers) + "%s" * (len(values) - len(numbers))
    return f'{declared} BEGIN {{ {before} printf("{form}", {", ".join(values)}); }}'


NUMBERS = [f"a {op} b" for op in RELATIONS] + [f"strjoin(a, b) {op} strjoin(b, a)" for op in RELATIONS]
NUMBERS += ["strlen(strjoin(a, b))", "strlen(b)"]


@pytest.fixture(scope="module")
def joined(size):
    with Run(shown([*NUMBERS, *JOINED, *CUT]), strsize=size) as run:
        yield run


def int32(number):
    return number & 0xFFFFFFFF


@pytest.mark.share(1)
@often
@given(st.data())
def test_joined_cut_and_compared(joined, size, data):
    """All signs of index and length, near both ends of the string and far away."""
    alphabet = data.draw(st.sampled_from((b"ab", bytes(range(1, 256)))))
    a, b = data.draw(strings(size, alphabet)), data.draw(strings(size, alphabet))
    if data.draw(st.booleans()):
        b = a[: data.draw(st.integers(0, size))] + b[: max(size - len(a), 0)]
    numbers = st.one_of(st.integers(-size - 3, size + 3), INT)
    n, m = data.draw(numbers), data.draw(numbers)
    ((*got,),) = fire(joined, a=a, b=b, n=int32(n).to_bytes(4, "little"), m=int32(m).to_bytes(4, "little"))
    both, other = (a + b)[:size], (b + a)[:size]
    compared = [int(relation(*pair)) for pair in ((a, b), (both, other)) for relation in RELATIONS.values()]
    assert got[: len(NUMBERS)] == [*compared, len(both), len(b)]
    assert [characters(value) for value in got[len(NUMBERS) :]] == [
        both, (a + b"/k"[:size])[:size], (b"k/"[:size] + b)[:size], (both + a)[:size],
        model.substr(a, n), model.substr(a, n, m), model.substr(both, m, n),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def copied(size):
    calls = ["copyinstr(p)", "copyinstr(p, n)", "copyinstr(p, 5)", "copyinstr(p, 0)", "copyinstr(p, 5000)"]
    with Run(shown(calls, "uintptr_t p; long n;"), strsize=size) as run:
        yield run


@pytest.mark.share(1)
@often
@given(st.data())
def test_copied_in(copied, size, data):
    """A size counts the NUL, and none asks for more than strsize."""
    content = data.draw(strings(size + 20, bytes(range(1, 256))))
    n = data.draw(st.one_of(st.integers(-3, size + 3), st.sampled_from((-(1 << 63), (1 << 63) - 1))))
    memory = ctypes.create_string_buffer(content)
    (got,) = fire(copied, p=ctypes.addressof(memory), n=n)
    sizes = 1 << 62, n, 5, 0, 5000
    assert [characters(value) for value in got] == [model.copyinstr(content, each)[:size] for each in sizes]


@pytest.fixture(scope="module")
def used_as_keys(size):
    program = """string a; string b; int e[string]; int f[int, string]; string g[string]; self string h[string, string];
        BEGIN { e[a] = 1; e[b] += 2; f[1, a] = 4; f[2, b] = 8; g[a] = b; self->h[a, b] = a; @[a, b] = count();
            printf("%d%d%d%d%s%s", e[a], e[b], f[1, b], f[2, a], g[a], self->h[a, b]); }
        BEGIN { e[a] = 0; e[b] = 0; f[1, a] = 0; f[2, b] = 0; g[a] = 0; self->h[a, b] = 0; }"""
    with Run(program, strsize=size) as run:
        yield run


@pytest.mark.share(1)
@often
@given(st.data())
def test_keys(used_as_keys, size, data):
    """Two strings are the same key if they are equal, whatever their variables held before."""
    a, b = (data.draw(strings(size, data.draw(st.sampled_from((b"ab", bytes(range(1, 256))))))) for _ in "ab")
    b = data.draw(st.sampled_from((a, b)))
    before = sum(word for (word, *_) in used_as_keys.aggregation().values())
    ((*numbers, g, h),) = fire(used_as_keys, a=bytes(a), b=bytes(b))
    same = a == b
    assert numbers == [3 if same else 1, 3 if same else 2, 4 if same else 0, 8 if same else 0]
    assert (characters(g), characters(h)) == (b, a)
    assert sum(word for (word, *_) in used_as_keys.aggregation().values()) == before + 1
