"""Malformed programs: each is one clear error with its place, never a traceback."""

import random

import pytest
from support.command.running import run

PROGRAMS = (
    'BEGIN { printf("%d %s\\n", pid, execname); exit(0); }',
    "syscall:::entry /pid == 1/ { @[probefunc, ustack(2)] = lquantize(arg0, 0, 100, 10); }",
    'tick-1s { self->x = timestamp; this->y = self->x >> 2; trace(strjoin(execname, "a")); }',
    "struct s { int a; char b[4]; }; struct s v; BEGIN { v.a = sizeof (struct s); trace(v.b[1] ? 1 : -'c'); }",
    'inline int two = 1 + 1; BEGIN { a[two, "k"] += two; printa("%@d", @z); @z = sum(a[2, "k"]); }',
    "#pragma D option quiet\nBEGIN { trunc(@a, 3); @a[stack()] = quantize(vtimestamp); normalize(@a, 10); }",
)
PIECES = [
    *"{}()[]/;,\"'$@#%&|*-+=!<>:.?`\\\n",
    "0x9", "this", "self->", "@a[", "/*", "*/", "printf(", "exit(", "$1", "::::", "int", "struct", "1e5",
]  # fmt: skip


def malformed(seed):
    """A program with a few of its characters cut out, doubled or replaced."""
    chance = random.Random(seed)
    text = chance.choice(PROGRAMS)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        if chance.random() < 0.4:
            text = text[:at] + text[at + chance.randint(1, 5) :]
        else:
            text = text[:at] + chance.choice(PIECES) + text[at:]
    return text


def problem(done, prefix):
    """What is wrong with how the command ended, "" if nothing."""
    if "Traceback" in done.stderr or done.returncode not in (0, 1):
        return done.stderr
    if done.returncode == 1 and not done.stderr.startswith(prefix):
        return done.stderr
    return ""


@pytest.mark.share(0, 1)
@pytest.mark.parametrize("group", range(8))
def test_malformed_programs_give_one_error_each(group, tmp_path):
    script = tmp_path / "a.d"
    failures = 0
    for seed in range(25 * group, 25 * group + 12):
        script.write_text(malformed(seed))
        done = run("-e", "-s", str(script))
        assert not problem(done, f"sonde: failed to compile script {script}: "), (seed, done.stderr)
        failures += done.returncode
    assert failures > 5


def test_bytes_that_are_no_text(tmp_path):
    script = tmp_path / "a.d"
    chance = random.Random(5)
    for _ in range(10):
        script.write_bytes(chance.randbytes(200))
        done = run("-e", "-s", str(script))
        assert not problem(done, f"sonde: failed to compile script {script}: ")


def test_deep_nesting():
    done = run("-e", "-n", "BEGIN { trace(" + "(" * 5000 + "1" + ")" * 5000 + ") }")
    assert not problem(done, "sonde: invalid probe specifier: nested too deeply")


def test_a_directory_is_no_script(tmp_path):
    assert run("-e", "-s", str(tmp_path)).stderr == f"sonde: failed to open {tmp_path}: it is a directory\n"
