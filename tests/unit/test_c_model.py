"""The model of C's arithmetic against a C compiler, and constant folding against the model."""

import subprocess

import packages
from c_model import SIDES, expressions, variables
from catalog import expression
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.lang.program import Const
from sonde.lang.types import is_signed, size_of


def values_by_c(known, wanted, directory):
    """What a compiled program prints for the expressions."""
    start = " ".join(f"{v.text} = (({v.type.name}){v.value & (1 << 64) - 1:#x}UL);" for v in known.all)
    prints = "\n".join(f'printf("%lld\\n", (long long)({e.c}));' for e in wanted)
    source = directory / "expressions.c"
    source.write_text(
        f"#include <stdio.h>\n{known.declarations}\nint main(void) {{ {start} {known.setup}\n{prints}\nreturn 0; }}\n"
    )
    program = directory / "expressions"
    command = ["gcc", "-w", "-O0", "-fwrapv", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return [int(line) for line in printed.split()]


@packages.needs("gcc")
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_model_is_what_a_c_compiler_does(data, tmp_path_factory):
    known = data.draw(variables)
    wanted = [data.draw(expressions(known)) for _ in range(80)]
    got = values_by_c(known, wanted, tmp_path_factory.mktemp("c"))
    for e, value in zip(wanted, got, strict=True):
        signed = e.value - (1 << 64) if e.value >> 63 == 1 else e.value
        assert value == signed, e.c


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(e=expressions(None, 4))
def test_constants_are_folded_as_c_does(e):
    """To the value and to the type, by its size and sign."""
    folded = expression(e.text, SIDES)
    assert isinstance(folded, Const)
    assert (folded.value, size_of(folded.type), is_signed(folded.type)) == (e.value, e.type.size, e.type.signed)
