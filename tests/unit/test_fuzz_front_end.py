"""No text makes the front end or the code generator end in anything but one error, take long, or take much memory.

SONDE_EXAMPLES=N tries N programs of each kind instead of a few.
"""

import os
import struct
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.d.d_programs import correct, damaged, noise, programs, soup
from support.places import SUPPORT, TESTS
from support.suite.example_counts import count_of

pytestmark = pytest.mark.examples

EXAMPLES = count_of(150)
bounded = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


class Worker:
    """A process that compiles programs."""

    def __init__(self):
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        command = [sys.executable, str(SUPPORT / "d/front_end_worker.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def outcome(self, text):
        data = text.encode("utf-8", "surrogatepass")
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        header = self.process.stdout.read(4)
        if len(header) < 4:
            return f"the compiler died: {self.process.wait()}"
        return self.process.stdout.read(*struct.unpack("<I", header)).decode()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture(scope="module")
def workers():
    """The worker in use; one that died is replaced, so that hypothesis can look for a smaller program."""
    found = [Worker()]
    yield found
    found[0].close()


def compile_in(workers, text):
    if workers[0].process.poll() is not None:
        workers[0].close()
        workers[0] = Worker()
    problem = workers[0].outcome(text)
    if problem:
        pytest.fail(f"{text[:1000]!r}\n{problem[-2000:]}", pytrace=False)


@bounded
@given(text=programs)
def test_programs_of_the_grammar(workers, text):
    compile_in(workers, text)


@bounded
@given(text=correct)
def test_programs_that_are_mostly_right(workers, text):
    compile_in(workers, text)


@bounded
@given(text=damaged())
def test_damaged_programs(workers, text):
    compile_in(workers, text)


@bounded
@given(text=st.one_of(soup, noise, st.text(max_size=100)))
def test_anything(workers, text):
    compile_in(workers, text)


MILLION = 1_000_000
EXTREMES = {
    "string": f'BEGIN {{ trace("{"a" * MILLION}"); }}',
    "compared string": f'BEGIN /execname == "{"a" * MILLION}"/ {{}}',
    "format": f'BEGIN {{ printf("{"a" * MILLION}"); }}',
    "name": f"BEGIN {{ {'a' * MILLION} = 1; }}",
    "description": f"{'a' * MILLION}:::{{}}",
    "colons": ":" * MILLION,
    "comment": f"/*{'a' * MILLION}*/ BEGIN {{}}",
    "open comment": "/*" + "/ *" * 300_000,
    "slashes": "BEGIN /1" + "/ " * 20_000 + "{}",
    "comments in a predicate": "BEGIN /1 " + "/ /**/" * 20_000 + "x{}",
    "decimal": f"BEGIN {{ trace({'9' * MILLION}); }}",
    "hexadecimal": f"BEGIN {{ trace(0x{'f' * MILLION}); }}",
    "macro": f"BEGIN {{ trace(${'9' * 100_000}); }}",
    "directive": "#" + ' "' * 100_000 + "\n",
    "quotes in a pragma": "#pragma D option " + '"\\' * 100_000 + "\nBEGIN {}",
    "parentheses": f"BEGIN {{ trace({'(' * 100_000}1{')' * 100_000}); }}",
    "brackets": f"BEGIN {{ x{'[' * 100_000}; }}",
    "signs": f"BEGIN {{ trace({'- ' * 100_000}1); }}",
    "sum": f"BEGIN {{ trace(1{'+1' * 20_000}); }}",
    "conditions": f"BEGIN {{ trace({'1?' * 50_000}1{':1' * 50_000}); }}",
    "sizes": f"BEGIN {{ trace({'sizeof ' * 90}pid); }}",
    "branches": f"BEGIN {{ {'if (1) {' * 2000}{'}' * 2000} }}",
    "alternatives": f"BEGIN {{ {'if (pid) x = 1; else ' * 300}x = 2; }}",
    "nested structures": "struct {" * 10_000,
    "pointers": f"int {'*' * 10_000}x;",
    "arrays": f"int x{'[1]' * 10_000};",
    "large array": "int x[2147483647]; BEGIN { x[3] = 1; }",
    "large structure": "struct s { char a[1000000000]; } x, y; BEGIN { x = y; trace(x); }",
    "large local": "this int x[100000000]; BEGIN { this->x[3] = 1; }",
    "large key": "struct s { char a[100000]; } x; BEGIN { @[x] = count(); y[x] = 1; }",
    "large strings": "#pragma D option strsize=2g\nBEGIN { x = execname; trace(strjoin(x, x)); }",
    "large scratch": "#pragma D option scratchsize=2g\nBEGIN { trace(alloca(1000)); }",
    "large memory": "BEGIN { tracemem(curthread, 2000000000); }",
    "large stack": "BEGIN { stack(2000000000); @[ustack(1000000)] = count(); }",
    "large histogram": "BEGIN { @ = lquantize(pid, -2147483648, 2147483647, 65535); }",
    "many clauses": "BEGIN { x++; }\n" * 1000,
    "many statements": f"BEGIN {{ {'x++; ' * 1000}}}",
    "many descriptions": ",".join(["BEGIN"] * 1000) + "{ x++; }",
    "many keys": f"BEGIN {{ x[{','.join(['1'] * 3000)}] = 1; @[{','.join(['pid'] * 300)}] = count(); }}",
    "many enumerators": f"enum e {{ {','.join(f'e{n}' for n in range(10_000))} }}; BEGIN {{ trace(e3); }}",
    "many members": f"struct s {{ {''.join(f'int e{n};' for n in range(5000))} }}; BEGIN {{}}",
    "many stars": "*a" * 25 + "*b:::entry {}",
    "wide integer": "__int128 x; BEGIN { x = 1; trace(x); trace(x + 1); y = x; }",
    "floating point": "double x; float _Complex z; BEGIN { trace(x); y = x; trace(z); }",
    "long program": "BEGIN { x++; }\n" * 100_000,
    "empty clauses": "BEGIN{}" * 100_000,
    "long format": f'BEGIN {{ printf("{"%d" * 100_000}"{",1" * 100_000}); }}',
    "far line": '#line 999999999 "x"\nBEGIN { trace(y); }',
}


@pytest.mark.share(0, 24)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(workers, name):
    compile_in(workers, EXTREMES[name])
