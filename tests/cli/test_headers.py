"""What -h and -G refuse."""

import subprocess
import sys
from pathlib import Path

import pytest

SONDE = str(Path(sys.executable).parent / "sonde")


def run(*words, text=""):
    return subprocess.run([SONDE, *words], capture_output=True, text=True, input=text)


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("BEGIN { exit(0); }", "the programs define no providers"),
        ("struct s { int a; }; provider p { probe a(struct s); };", "p:a: a parameter cannot be of type struct s"),
        (f"provider p {{ probe a({', '.join(['int'] * 31)}); }};", "has more than 30 parameters"),
        ("provider p { probe a(", "syntax error"),
    ],
)
@pytest.mark.parametrize("letter", ["-h", "-G"])
def test_refused(letter, text, says):
    done = run(letter, "-o", "-", "-s", "/dev/stdin", text=text)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stdout == ""


def test_without_a_script():
    assert "-G requires one or more scripts or enabling options" in run("-G").stderr
    assert "name the file to write with -o" in run("-h", "-n", "provider p { probe a(); };").stderr


def test_objects_that_are_not_there():
    done = run("-G", "-n", "provider p { probe a(); };", "-o", "-", "absent.o")
    assert "failed to open absent.o: No such file or directory" in done.stderr


def test_on_the_output(tmp_path):
    done = run("-h", "-o", "-", "-n", "provider p { probe a__b(string, int); };")
    assert done.stderr == ""
    assert "#define P_A_B(a0, a1)" in done.stdout
    assert '.asciz \\"8@%0 -4@%1\\"' in done.stdout
