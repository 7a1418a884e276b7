"""The same program gives the same TracingSpec: again, in another process, and after pickling."""

import hashlib
import os
import pickle
import subprocess
import sys

import pytest
from support.d.compiled import spec

PROGRAMS = {
    "everything": """
        string s; int a[string, int]; self long t; self string f;
        BEGIN { s = "begin"; a[s, 1] = 2; this->x = 5; }
        syscall:::entry /execname == "x" || pid > 5/ { self->t = timestamp; self->f = probefunc; }
        syscall:::entry { @c[probefunc, execname] = count(); }
        syscall:::return /self->t/ { @q[probefunc] = quantize(timestamp - self->t); @d = stddev(arg0); self->t = 0; }
        syscall::read:entry { printf("%s %d %x", copyinstr(arg1), arg0, a[probefunc, 1] / arg2); @m[stack()] = min(1); }
        tick-1 { trunc(@c, 5); printa(@q); clear(@m); a["z", 2] += strlen(s); exit(0); }
        ERROR { trace(arg4); } END { trace(strjoin(s, substr("abc", 1))); }
    """,
    "several clauses of several probes": """
        syscall::read:*, syscall::write:entry { trace(probefunc); } syscall::write:entry { trace(probename); }
        syscall::read:return { @[probefunc, probename] = llquantize(arg0, 10, 0, 3, 10); }
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiling_twice_gives_equal_specs(name):
    """Equal as values and as bytes."""
    first, second = spec(PROGRAMS[name]), spec(PROGRAMS[name])
    assert first == second
    assert pickle.dumps(first) == pickle.dumps(second)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pickling_gives_the_spec_back(name):
    """Through every protocol."""
    made = spec(PROGRAMS[name])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made, protocol)) == made


@pytest.mark.long
def test_hash_seeds_change_nothing():
    """Processes that order their sets differently compile the same."""
    script = (
        "import hashlib; from support.d.compiled import spec; from test_codegen_determinism import PROGRAMS;"
        "print(hashlib.sha256(repr([spec(text) for text in PROGRAMS.values()]).encode()).hexdigest())"
    )
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    found = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed, "PYTHONPATH": path}, check=True,
            capture_output=True, text=True,
        ).stdout.strip()
        for seed in ("1", "2", "77")
    }  # fmt: skip
    here = hashlib.sha256(repr([spec(text) for text in PROGRAMS.values()]).encode()).hexdigest()
    assert found == {here}
