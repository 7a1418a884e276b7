"""Floating-point variables of a program, as trace() and printf() show them on both engines, live and replayed."""

import json

import pytest
from support.command.command import build, sonde

PROGRAM = """
struct reading { double wide; float narrow; int count; };
__attribute__((noinline)) void take(struct reading *it) { asm volatile("" :: "r"(it) : "memory"); }
int main() {
    struct reading it = {-0.5, 1.25, 7};
    for (int i = 0; i < 3; i++) { take(&it); it.wide *= 1e10; it.narrow += 1; }
}
"""
SCRIPT = """pid$target:a.out:take:entry {
    trace(args->it->wide); trace(" "); trace(args->it->narrow); trace(" "); trace(args->it->count);
    printf(" %.1f %e\\n", args->it->narrow, args->it->wide);
}"""
SHOWN = "-0.5 1.25 7 1.2 -5.000000e-01\n-5e+09 2.25 7 2.2 -5.000000e+09\n-5e+19 3.25 7 3.2 -5.000000e+19\n"


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_floating_point_number_is_shown_as_one(engine, tmp_path):
    program, path = build(tmp_path, "take", PROGRAM, "-g"), str(tmp_path / "it.rec")
    live = sonde("-q", "-xengine=" + engine, "--record", path, "-n", SCRIPT, "-c", program).stdout
    assert live.strip() == SHOWN.strip()
    assert sonde("-q", "--replay", path, "-n", SCRIPT).stdout == live
    lines = sonde("-q", "-xformat=json", "--replay", path, "-n", SCRIPT).stdout.splitlines()
    named = {name for each in map(json.loads, lines) for name in each.get("values", {})}
    assert {"args->it->wide", "args->it->narrow", "args->it->count"} <= named
