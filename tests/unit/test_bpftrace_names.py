"""The names of functions and variables in docs/bpftrace.md are those of the checker's tables, and the refused ones have
their reasons."""

import re
from pathlib import Path

from sonde.frontends.bpftrace.check import aggregations, builtins, calls, function_table, refusals

PAGE = (Path(__file__).parents[2] / "docs" / "bpftrace.md").read_text()


def section(title):
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_page_names_what_there_is_and_why_the_rest_is_not():
    there = {*function_table.VALUES, *function_table.ACTIONS, *calls._VALUES, *calls._ACTIONS, *aggregations.NAMES}
    there |= {*builtins._PLAIN, *builtins._MADE, "args", "arg0", "offsetof", "typeof"}
    listed, _, refused = section("Functions and variables").partition("|---|---|\n")
    assert set(re.findall(r"`([a-z_0-9]+)`", listed)) == there - {"ctx"}
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", refused, re.MULTILINE))
    assert rows == refusals.REASONS
