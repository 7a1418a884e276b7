"""The names of functions and variables in docs/bpftrace.md are those of the checker's tables."""

import re
from pathlib import Path

from sonde.frontends.bpftrace.check import aggregating, builtins, calls, function_table

PAGE = (Path(__file__).parents[2] / "docs" / "bpftrace.md").read_text()


def section(title):
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_page_names_what_there_is():
    there = {*function_table.VALUES, *function_table.ACTIONS, *calls._VALUES, *calls._ACTIONS, *aggregating.NAMES}
    there |= {*builtins._PLAIN, *builtins._MADE, "args", "arg0", "offsetof", "typeof"}
    listed = section("Functions and variables")
    assert set(re.findall(r"`([a-z_0-9]+)`", listed)) == there - {"ctx"}


def test_each_function_is_checked_by_the_file_that_the_table_names():
    tables = (function_table.VALUES, function_table.value_call), (function_table.ACTIONS, function_table.action_call)
    for homes, found in tables:
        for home in set(homes.values()):
            assert set(home()) == {name for name, each in homes.items() if each is home}
        assert all(found(name) is home()[name] for name, home in homes.items())
        assert found("nonsense") is None
