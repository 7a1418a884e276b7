"""Where variables of a kernel are, compared with gdb's `info scope` at every instruction of its functions, by the
comparison that tools/kernel_variables.py makes with Linux's."""

import pytest
from support.machine import packages
from support.symbols.gdb_scopes import compared
from support.symbols.kernel_like import needs_compiler, offsets, symbols, vmlinux

from sonde.symbols.dwarf.places import Places
from sonde.symbols.dwarf.points import Points
from sonde.symbols.kernel_objects import KernelObjects

pytestmark = [needs_compiler, packages.needs("gdb")]

LEAST = {"work": 60, "other": 3, "warned": 3, "listed": 2}


@pytest.mark.share(1)
@pytest.mark.parametrize("function", LEAST)
def test_variables_are_where_gdb_says(function):
    home = KernelObjects(vmlinux(), True).of("vmlinux")
    start = next(address for address, name in symbols(vmlinux()) if name == function)
    addresses = [start + offset for offset in offsets(vmlinux(), function)]
    points, places = Points(home.information, is_user=False), Places(home.information)
    pairs = compared(vmlinux(), points, places, addresses)
    assert [each for each in pairs if not each.is_equal and not each.is_beyond] == []
    known = [each for each in pairs if each.is_equal and each[3] is not None]
    assert len(known) >= LEAST[function]
    assert len(known) + sum(each[3] is None for each in pairs) > 0.9 * len(pairs)
