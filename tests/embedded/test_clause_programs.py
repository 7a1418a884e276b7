"""Whole D programs are proved harmless in a bounded number of steps: by the verifier's count, whatever the machine."""

import random

import pytest
from support.d import whole_programs
from support.d.clause_programs import DECLARED, program
from support.d.d_checking import DEFAULTS, compile_sources

from sonde.bpf import instructions as i
from sonde.bpf.instructions import decode
from sonde.codegen.basis.settings import Settings
from sonde.codegen.compiler import Compilation
from sonde.engines.embedded.offer import FEATURES, EmbeddedOffer
from sonde.frontends.d.source import ProgramSource
from sonde.machine.system import current_target
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier.scalar import ScalarValue
from sonde.runtime.verifier.values import PointerValue
from sonde.session.registry import Registry

MOST_STEPS = 100_000
"""A tenth of what the verifier, like the kernel's, goes through before it gives up."""


def verified(text):
    """What the verifier says of each program of a D program. Raises Refusal."""
    target = current_target(FEATURES)._replace(initial_namespace=True)
    found = Registry(target, tracefs="/nowhere", offer=EmbeddedOffer())
    checked = compile_sources([ProgramSource(text)], found, DEFAULTS)
    made = Compilation(
        checked, Settings(), target, found.tagged_type, found.fields, {None: text.splitlines()}, found.signature
    ).spec()
    maps = {each.name: each for each in made.maps}
    return [verify_here(each, maps, Additions(decode(each.code))) for each in made.programs]


class Additions:
    """Checks on the way that in routines and loops' bodies no stack address is added to a number: the kernel's verifier
    takes the sum for an address in the outermost function's frame (codegen/stack_addresses.py)."""

    def __init__(self, code):
        self.code = code

    def __call__(self, at, state):
        x = self.code[at]
        if x.opcode != i.ALU64 | i.ADD | i.X or len(state.frames) == 1:
            return
        first, second = state.frame.registers[x.dst], state.frame.registers[x.src]
        is_address = isinstance(second, PointerValue) and second.kind == "stack"
        assert not (isinstance(first, ScalarValue) and is_address), f"instruction {at} adds an address to a number"


def steps(text):
    """How many instructions the verifier goes through for each program of a D program. Raises Refusal."""
    return [each.steps for each in verified(text)]


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(16))
def test_random_programs_are_accepted(seed):
    assert max(steps(program(random.Random(seed)))) < MOST_STEPS


@pytest.mark.long
@pytest.mark.parametrize("seed", [195, 297, 482, 584])
def test_loops_among_conditions_are_not_followed_once_a_path(seed):
    """Programs that loop and compare strings, with many numbers on the stack that nothing reads any more."""
    text = whole_programs.program(random.Random(seed)).text.replace("$target", "4321")
    assert max(steps(text)) < MOST_STEPS


STRINGS = ("lltostr(this->i)", 'strstr("key=value", gt)', "gt", '"k"', "cleanpath(probefunc)", 'substr("abcdef", 2)')


@pytest.mark.share(1)
@pytest.mark.parametrize("first", STRINGS)
def test_strings_joined_in_loops_add_to_addresses(first):
    joined = " ".join(f'strjoin({first}, "-"), strjoin({second}, strjoin("+", {first})),' for second in STRINGS[:3])
    body = f'printf("{6 * "%s "}", {joined.rstrip(",")});'
    assert verified(f"string gt; syscall:::entry {{ for (this->i = 0; this->i < 3; this->i++) {{ {body} }} }}")


def test_buckets_of_strings():
    """Three aggregations by bucket of a number that all of them use, among subroutines that have many ways."""
    buckets = " ".join(f"@{n}[basename(copyinstr(arg1))] = llquantize(arg2, 10, 0, 6, 20);" for n in "abc")
    rest = 'trace(strtok(copyinstr(arg0), "/")); trace(strchr(copyinstr(arg0), 65));'
    assert max(steps(f"syscall:::entry {{ {buckets} {rest} }}")) < 20_000


FORMS = {
    "bucket of one number": "@a{n} = llquantize(arg0, 10, 0, 6, 20);",
    "bucket of many numbers": "@a{n} = llquantize(a[{n}], 10, 0, 6, 20); @b{n} = quantize(a[{n}]);",
    "linear buckets": "@a{n} = lquantize(arg{m}, {n}, 100, 3);",
    "substrings": "@a{n}[basename(copyinstr(arg{m}))] = max(arg{m});",
    "tokens": 'this->s = strtok(copyinstr(arg{m}), "/"); @a{n}[this->s] = quantize(arg{m});',
    "conditions": "this->n = arg{m} > {n} ? arg{m} : {n}; @a{n} = quantize(this->n);",
}


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_steps_grow_with_the_statements(form):
    """Twice the statements are not four times the work."""

    def of(count):
        body = " ".join(FORMS[form].format(n=n, m=n % 6) for n in range(count))
        return sum(steps(f"{DECLARED.replace('a[string]', 'a[long]')} syscall:::entry {{ {body} }}"))

    few, some, many = of(6), of(12), of(24)
    assert many - some < 3 * (some - few) + 500
