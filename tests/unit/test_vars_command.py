"""`sonde vars`: its lists and its structures, and its messages."""

import re
import subprocess

import pytest
from support.symbols.compiled_objects import C_SOURCE, compiled, needs_gcc

from sonde.cli.main import main
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points
from sonde.symbols.dwarf.structure import structure

pytestmark = needs_gcc


def vars_of(capfd, *words):
    status = main(["sonde", "vars", *words])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


def line_of(text):
    return C_SOURCE[: C_SOURCE.index(text)].count("\n") + 1


def test_parameters_and_variables_are_listed(capfd):
    status, out, err = vars_of(capfd, compiled("-O0"), "eight")
    assert (status, err) == (0, "")
    rows = [re.split(r"\s{2,}", row.strip()) for row in out.splitlines()[1:]]
    types = ["int", "long", "char", "short", "unsigned int", "long", "int", "struct point", "int"]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("parameter", name, kind) for name, kind in zip("abcdefghi", types, strict=True)
    ]
    assert {row[3] for row in rows} == {"here; live in all of its scope"}


def test_a_variable_is_said_to_be_gone_and_where_it_lives(capfd):
    _, out, _ = vars_of(capfd, compiled("-O2"), f"program.c@{line_of('    sink += doubled')}")
    assert out.count("in twice in loop") == 2
    assert re.search(r"value +int +not fetched: it is optimised out here; optimised out everywhere", out)
    _, out, _ = vars_of(capfd, compiled("-O2"), "loop")
    assert re.search(r"variable +square +int +live at \+0x[0-9a-f]+ to \+0x", out)
    assert "doubled" not in out


@pytest.mark.share(3)
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",)])
@pytest.mark.parametrize("name", ["eight", "loop", "main", "chained"])
def test_the_structure_is_laid_out_as_the_compiler_does(tmp_path, flags, name):
    points = Points(open_information(compiled(*flags)))
    (point,) = points.at_function(name)
    layout = structure(points.named(point), "fetched")
    members = re.findall(r"^    [^/\n]*?(\w+)(?:\[\d+\])?(?: __attribute__\S+)?;", layout.text, re.M)
    starts = sorted(each.offset for each in layout.fetches)
    assert len(members) > 1
    checks = "".join(f"offsetof(struct fetched, {member}), " for member in members)
    text = f"#include <stddef.h>\n{layout.text}long offsets[] = {{ {checks} }};\n"
    text += f'_Static_assert(sizeof(struct fetched) == {layout.size}, "size");\n'
    text += "#include <stdio.h>\nint main(void)\n{\n    for (unsigned i = 0; i < sizeof offsets / 8; i++)\n"
    text += '        printf("%ld ", offsets[i]);\n}\n'
    (tmp_path / "check.c").write_text(text)
    subprocess.run(["gcc", "-Werror", "check.c", "-o", "check"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "check"], capture_output=True, text=True, check=True)
    offsets = [int(each) for each in done.stdout.split()]
    assert set(offsets) <= set(starts)
    assert offsets == sorted(offsets)


def test_what_cannot_be_fetched_is_a_comment(capfd):
    _, out, _ = vars_of(capfd, "--struct", compiled("-O2"), f"program.c@{line_of('    sink += doubled')}")
    assert "    /* value: it is optimised out here */\n" in out
    assert f"struct variables_of_program_c_{line_of('    sink += doubled')} {{" in out


def test_mistakes_are_one_message(capfd, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, compiled("-O0")], check=True)
    for words, said in (
        (
            (str(stripped), "main"),
            r"sonde: .*stripped has no debug information .*: it would add the names, types and places",
        ),
        ((compiled("-O0"), "nothing"), r"sonde: .*program has no function nothing that its debug information tells of"),
        ((compiled("-O0"), "program.c@9999"), r"sonde: .*program has no code for line 9999 of program\.c or behind it"),
        ((compiled("-O0"), "other.c@1"), r"sonde: .*program has no source file other\.c"),
        (("/no/such/file", "main"), r"sonde: /no/such/file: No such file or directory"),
        ((__file__, "main"), r"sonde: .*: not a little-endian ELF file"),
    ):
        status, out, err = vars_of(capfd, *words)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert re.match(said, err), err
    assert vars_of(capfd, "one")[0] == 2
    assert vars_of(capfd, compiled("-O0"), "program.c@x")[0] == 2


def test_the_structure_of_chosen_variables(capfd):
    path = compiled("-O0")
    status, out, err = vars_of(capfd, "--struct", path, "loop", "count", "request->at.y", "request->headers->name")
    assert (status, err) == (0, "")
    assert out == (
        "struct variables_of_loop {\n    int count;\n    int request_at_y;\n"
        "    char request_headers_name[16] __attribute__((packed)); /* char[16] */\n};\n"
    )
    status, _, err = vars_of(capfd, "--struct", path, "loop", "nothing")
    assert status == 1
    assert "loop has no variable nothing" in err
    assert vars_of(capfd, path, "loop", "count")[0] == 2
