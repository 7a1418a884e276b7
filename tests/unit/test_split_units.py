"""Units of which the content is in other files: .dwo files, and packages of both versions, of gcc and clang."""

import shutil
import subprocess

import pytest
from support.machine import packages
from support.symbols.compiled_objects import needs_gcc

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points

pytestmark = needs_gcc

ONE = """
struct common { int a; long b; };
long two(struct common *c, int by);
static int hidden = 4;
volatile long sink;
__attribute__((noinline)) long one(int start, long more)
{
    long sum = start + more;
    sink = sum;
    sum += hidden++;
    for (int i = 0; i < start; i++) {
        long square = i * sum;
        sink = square;
        sum += square;
    }
    return sum;
}
int main(int argc, char **argv)
{
    struct common c = { argc, 2 };
    return one(argc, 3) + two(&c, 4) == 1;
}
"""
TWO = """
struct common { int a; long b; };
extern volatile long sink;
__attribute__((noinline)) long two(struct common *c, int by)
{
    long result = c->a * by;
    sink = result;
    c->b += result;
    return result;
}
"""
COMPILERS = [pytest.param(each, marks=packages.needs(each)) for each in ("gcc", "clang")]


def build(directory, compiler, version, *flags):
    for name, text in (("one", ONE), ("two", TWO)):
        (directory / f"{name}.c").write_text(text)
    command = [compiler, "-g", "-O2", f"-gdwarf-{version}", "-gsplit-dwarf", *flags]
    subprocess.run([*command, "-c", "one.c", "two.c"], cwd=directory, check=True)
    subprocess.run([compiler, "one.o", "two.o", "-o", "program"], cwd=directory, check=True)
    return str(directory / "program")


def described(path):
    """What is found of everything in the program, without addresses."""
    points = Points(open_information(path))
    functions = {
        name: [
            [(each.variable.name, each.variable.type, each.fetches, each.reason) for each in points.named(point)]
            for point in points.at_function(name)
        ]
        for name in ("one", "two", "main")
    }
    lines = [[scope.name for scope in point.scopes] for point in points.at_line("one.c", 13)]
    variables = {name: [each.fetches for each in points.globals_named(name)] for name in ("hidden", "sink")}
    members = [each.name for each in functions["two"][0][0][1].to.members]
    types = {name: [[str(each[1])[:40] for each in one] for one in found] for name, found in functions.items()}
    return types, lines, variables, members


@pytest.mark.share(1)
@pytest.mark.parametrize("flags", [(), ("-fdebug-types-section",)], ids=["plain", "types"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_package_has_what_its_parts_have(tmp_path, compiler, version, flags):
    path = build(tmp_path, compiler, version, *flags)
    expected = described(path)
    assert [len(each) for each in expected[0].values()] == [1, 1, 1]
    assert [len(each) for each in expected[2].values()] == [1, 1]
    assert expected[3] == ["a", "b"]
    packages.require("llvm-dwp")
    packed = subprocess.run(["llvm-dwp", "-e", path, "-o", f"{path}.dwp"], capture_output=True)
    if packed.returncode or not (tmp_path / "program.dwp").exists():
        pytest.skip("llvm-dwp makes no package of this version")
    for each in tmp_path.glob("*.dwo"):
        each.unlink()
    assert described(path) == expected


def test_parts_are_found_beside_the_program_that_was_moved(tmp_path):
    (tmp_path / "built").mkdir()
    path = build(tmp_path / "built", "gcc", 5)
    expected = described(path)
    (tmp_path / "built").rename(tmp_path / "moved")
    assert described(str(tmp_path / "moved" / "program")) == expected


def test_what_is_there_is_found_where_a_part_is_missing(tmp_path):
    path = build(tmp_path, "gcc", 5)
    (tmp_path / "two.dwo").unlink()
    points = Points(open_information(path))
    assert len(points.at_function("one")) == 1
    with pytest.raises(DebugInfoError, match=r"is in two\.dwo, which is not at .*two\.dwo"):
        points.at_function("two")


def test_a_part_of_another_build_is_refused(tmp_path):
    path = build(tmp_path, "gcc", 5)
    shutil.copy(tmp_path / "two.dwo", tmp_path / "one.dwo")
    with pytest.raises(DebugInfoError, match=r"one\.dwo is not of the same build as .*program"):
        Points(open_information(path)).at_function("one")
