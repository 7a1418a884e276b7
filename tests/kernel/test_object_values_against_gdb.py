"""Variables that objects fetch, through both compilers of objects and the live kernel, against gdb's values at the same
points: instructions of C and C++ programs at all levels of optimisation.

At each point an object asks for every scalar that gdb has there and the line can name, the first time that the process
comes by; the structure is the one that `sonde vars --struct` declares.
"""

import subprocess
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command.command import sonde
from support.symbols import compiled_objects
from support.symbols.live_points import ENVIRONMENT, Subject, gdb_values, relative
from test_variables_against_gdb import CXX_FUNCTIONS, EVERY

from sonde.objects.arguments import asked_layout, member_name
from sonde.objects.errors import ObjectError
from sonde.objects.lines import line_of
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user_lines import user_line

pytestmark = [compiled_objects.needs_gcc, compiled_objects.needs_gdb]

C_FUNCTIONS = ("eight", "loop", "chained", "main")
PROGRAMS = {
    **{f"c {level}": ((level,), "c", C_FUNCTIONS) for level in ("-O0", "-O2", "-O3")},
    **{f"c++ {level}": ((level,), "c++", CXX_FUNCTIONS) for level in ("-O0", "-O1", "-O2")},
}
FEWEST = {"c -O0": 700, "c -O2": 300, "c -O3": 300, "c++ -O0": 400, "c++ -O1": 150, "c++ -O2": 130}
"""Values that a program must give."""
REASONS = (
    "it has to be computed", "it is optimised out here", "only its value at the function's entry", "vector register",
    "bit-field", "it is in several places", "it is a pointer that is not kept",
    "parts of it are optimised out", "has no size that can be fetched",
)  # fmt: skip
"""Why a line does not have what gdb has."""
TOGETHER = 30
"""Variables of a point: a structure on the stack has 512 bytes."""


def place(subject, address):
    """The point as FUNCTION+OFFSET."""
    name = subject.points[address]
    (function,) = subject.home.find(name)
    return f"{name}+{address - function.address}"


def wanted_of(subject, found, code):
    """The paths at a point that a line can have, and why not of the others."""
    here, wanted, refused = place(subject, found["address"]), [], {}
    names = set()
    for path, bits, value, _ in found["values"]:
        if value is None or member_name(path) in names:
            continue
        try:
            ((_, (variable,)),) = user_line(line_of(subject.path, here, (path,)), code)
            asked_layout("work", [variable], True)
        except ObjectError as error:
            refused[path] = error.text
            continue
        names.add(member_name(path))
        if bits <= 64:
            wanted.append(path)
    return wanted[:TOGETHER], refused


def program_text(subject, number, address, paths):
    """A program that prints the stack pointer and each variable once, with the number of the point."""
    declared = sonde("vars", "--struct", subject.path, place(subject, address), *paths).stdout
    name = declared.split()[1]
    prints = "".join(
        f'bpf_printk("=%d %d %lx", {number}, {index}, (u64)w.{member_name(path)});\n'
        for index, path in enumerate(paths)
    )
    line = f"p{number}={place(subject, address)} {' '.join(paths)}"
    text = f"""
    {declared.replace(name, f"values_{number}")}
    u32 seen_{number};
    SEC("p{number}") int program_{number}(u64 *context)
    {{
        struct values_{number} w;
        if (seen_{number}) return 0;
        seen_{number} = 1;
        bpf_fetch_variables(context, &w, sizeof w);
        bpf_printk("=%d -1 %lx", {number}, context[19]);
        {prints}
        return 0;
    }}
    """
    return line, text


def fetched(subject, wanted, compiler):
    """(stack pointer, values by path) of each address."""
    lines, texts = [], []
    for number, (address, paths) in enumerate(wanted.items()):
        line, text = program_text(subject, number, address, paths)
        lines.append(line)
        texts.append(text)
    config = "".join(f'"{each}\\n"\n' for each in (f"exec={subject.path}", *lines))
    object_ = compiled(f'char lines[] SEC("config") = {config};' + "".join(texts), compiler)
    command = ["setarch", "-R", "env", "-i", *ENVIRONMENT, sys.executable, "-m", "sonde", "--object", object_]
    done = subprocess.run([*command, "-c", subject.path], capture_output=True, text=True, check=False)
    told = [each for each in done.stderr.splitlines() if "exited with status" not in each]
    assert told == [], told
    found, addresses = {}, list(wanted)
    for each in done.stdout.splitlines():
        if each.startswith("="):
            number, index, value = each[1:].split()
            address = addresses[int(number)]
            found[address, wanted[address][int(index)] if int(index) >= 0 else ""] = int(value, 16)
    return found


@pytest.mark.share(0, 2)
@pytest.mark.parametrize("which", PROGRAMS)
def test_values_are_those_that_gdb_prints(which):
    flags, language, functions = PROGRAMS[which]
    subject = Subject(compiled_objects.compiled(*flags, language=language))
    subject.add_functions(functions, EVERY)
    by_gdb, code = gdb_values(subject), TraceableCode()
    wanted, refused = {}, {}
    for address, found in by_gdb.items():
        if subject.scope(address) == found["function"].partition("(")[0].rpartition("::")[2]:
            paths, reasons = wanted_of(subject, found, code)
            refused.update({(address, path): reason for path, reason in reasons.items()})
            if paths:
                wanted[address] = paths
    unknown = {each: reason for each, reason in refused.items() if not any(known in reason for known in REASONS)}
    assert unknown == {}
    compiler = "clang" if which.endswith(("1", "3")) and not BOTH[1].marks[0].args[0] else BOTH[0].values[0]
    by_sonde = fetched(subject, wanted, compiler)
    differing, compared = {}, 0
    for address, paths in wanted.items():
        known = {path: (bits, value) for path, bits, value, _ in by_gdb[address]["values"]}
        stack = by_sonde.get((address, ""))
        for path in paths:
            bits, value = known[path]
            shown = by_sonde.get((address, path))
            compared += 1
            if shown is None or shown & (1 << bits) - 1 != value:
                here = value if shown is None else relative(shown & (1 << bits) - 1, stack, bits)
                there = relative(value, by_gdb[address]["stack"], bits)
                if shown is None or here != there:
                    differing[place(subject, address), path] = there, here
    assert differing == {}
    assert compared >= FEWEST[which], (compared, len(refused))
    print(f"{which}: {compared} values at {len(wanted)} points, {len(refused)} refused")


def test_every_path_of_the_c_program_can_be_named_without_optimisation():
    """Only bit-fields are left out there."""
    subject = Subject(compiled_objects.compiled("-O0"))
    subject.add_functions(("loop",), EVERY)
    found = next(iter(gdb_values(subject).values()))
    _, refused = wanted_of(subject, found, TraceableCode())
    assert {each for each in refused.values() if "bit-field" not in each} == set()
