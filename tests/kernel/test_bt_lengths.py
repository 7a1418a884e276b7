"""Literals are shown whole, whatever the longest string is; what is copied is cut there, with a mark or a warning."""

import json

import pytest
from support.command.command import sonde

LENGTHS = (0, 1, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 1023, 1024, 1025, 3001, 20011)
ENGINES = ("kernel", "embedded")


def text(length):
    """Characters that tell where they stand."""
    return "".join(f"{at:x}"[-1] for at in range(length))


@pytest.fixture
def run(tmp_path):
    def run(program, engine, *words):
        (tmp_path / "lengths.bt").write_text(program)
        return sonde("bt", "-q", "--engine", engine, *words, str(tmp_path / "lengths.bt"), "-c", "true")

    return run


@pytest.mark.share(1)
@pytest.mark.parametrize("longest", [16, 64, 1024])
@pytest.mark.parametrize("engine", ENGINES)
def test_literals_are_shown_whole(run, engine, longest):
    lines = []
    clauses = [f"config = {{ max_strlen = {longest} }}"]
    for length in LENGTHS:
        one, other = text(length), f"{text(length)[::-1]}!"
        clauses.append(
            f'begin {{ $yes = cpid > 0; printf("%s|%.3s|%7s|\\n", "{one}", "{one}", "{one}"); print("{one}"); '
            f'printf("%s %d\\n", $yes ? "{one}" : "{other}", {length}); print($yes ? "{other}" : "{one}"); }}'
        )
        lines += [f"{one}|{one[:3]}|{one:>7}|", one, f"{one} {length}", other]
    done = run("\n".join(clauses), engine)
    assert done.stdout.split("\n")[: len(lines)] == lines
    assert done.stderr == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_objects_have_them_whole(run, engine):
    one = text(3001)
    done = run(
        f'config = {{ max_strlen = 16 }} begin {{ print("{one}"); printf("<%s>", "{one}"); }}', engine, "-f", "json"
    )
    found = [json.loads(line)["data"] for line in done.stdout.splitlines()]
    assert found[-2:] == [one, f"<{one}>"]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_copied_is_cut_and_told(run, engine):
    """A variable holds as much as max_strlen says: the literal has a warning, what is shown of it a mark."""
    for length in (15, 16, 17, 101):
        done = run(f'config = {{ max_strlen = 16 }} begin {{ $a = "{text(length)}"; print($a); }}', engine)
        # One that takes all there is room for may have been cut.
        cut = f"{text(16)}.." if length >= 16 else text(length)
        assert done.stdout.splitlines()[0] == cut
        assert ("is cut to 16" in done.stderr) == (length > 16)
