"""The variables of the kernel at a point of its source, by the debug information of vmlinux and of modules."""

from __future__ import annotations

import re

from sonde.library.errors import Error
from sonde.library.inspection.own_kernel import is_own_kernel
from sonde.library.inspection.variables import Point, errors_of, line_of, point_of
from sonde.model.location import KernelAddress
from sonde.providers.kernel_places import KernelSite
from sonde.providers.kernel_variables import surroundings
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.functions import CodeObject
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.kernel_files import VMLINUX
from sonde.symbols.kernel_objects import KernelObjects

_PLACE = re.compile(r"(.+?)\+(0x[0-9a-fA-F]+|\d+)")


def kernel_points(place: str, vmlinux: str = "") -> tuple[Point, ...]:
    """The places of a function's entry, of FUNCTION+OFFSET or of FILE@LINE in the kernel and its loaded modules, with
    the variables at each. `vmlinux` is the kernel's file, "" to look for that of the running one. Raises Error."""
    objects = KernelObjects(vmlinux, bool(vmlinux) and not is_own_kernel(vmlinux))
    line = line_of(place)
    with errors_of(vmlinux or "the kernel"):
        if line is not None:
            return _at_line(objects, *line)
        found = _PLACE.fullmatch(place)
        name, offset = (found[1], int(found[2], 0)) if found else (place, None)
        return _at_function(objects, name, offset)


def _at_line(objects: KernelObjects, file: str, line: int) -> tuple[Point, ...]:
    home = objects.of(VMLINUX)
    try:
        return _told(home, Points(home.information, is_user=False).at_line(file, line), False)
    except DebugInfoError:
        others = objects.with_source(file)
        if not others:
            raise
    found = ((each, Points(each.information, is_user=False)) for each in map(objects.of, others))
    return tuple(point for each, points in found for point in _told(each, points.at_line(file, line), False))


def _at_function(objects: KernelObjects, name: str, offset: int | None) -> tuple[Point, ...]:
    modules = dict.fromkeys(each.module for each in Kallsyms().all(name)) if not objects.is_other else {}
    found: list[Point] = []
    size = 0
    for home in map(objects.of, modules or (VMLINUX,)):
        points = Points(home.information, is_user=False)
        all_of_them = home.find(name)
        size = max([size, *(each.size for each in all_of_them)])
        functions = [each for each in all_of_them if offset is None or offset < each.size]
        there = [points.at_address(each.address + (offset or 0), offset is None) for each in functions]
        known = tuple(each._replace(what=name) if offset is None else each for each in there if each is not None)
        # What has no symbol is in others, if anywhere.
        found += _told(home, known or points.at_function(name) if offset is None else known, offset is None)
    if not found and offset is not None and 0 < size <= offset:
        raise Error(f"{name}+{offset:#x} is behind the end of {name}, which has {size:#x} bytes")
    if not found:
        raise Error(f"the kernel's debug information tells of no function {name}")
    return tuple(found)


def _told(home: CodeObject, found: tuple[CodePoint, ...], with_others: bool) -> tuple[Point, ...]:
    points = Points(home.information, is_user=False)
    return tuple(
        point_of(points, each, with_others, surroundings(KernelSite(home, each.address), KernelAddress))
        for each in found
    )
