"""Variables of the kernel at probes in its functions: `args->NAME`, `locals->NAME` and `globals->NAME`, by the debug
information of vmlinux or a module."""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.catalog import Located
from sonde.model.errors import UNKNOWN_VARIABLE, SourceError
from sonde.model.location import KernelAddress, Value
from sonde.model.probe import KernelFunction, Probe
from sonde.model.types import size_of
from sonde.providers.global_variables import nearest
from sonde.providers.kernel_places import KernelPlaces, KernelSite
from sonde.providers.placement import Surroundings, placed
from sonde.providers.source_lines import source_line
from sonde.providers.unavailable import unavailable, unlocated
from sonde.providers.user_variables import located_at, result_at
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.elf.file import ElfError
from sonde.symbols.functions import CodeObject
from sonde.symbols.kernel_addresses import by_symbol


class KernelVariables:
    """Debug information is read for the functions whose variables are asked for."""

    def __init__(self, places: KernelPlaces, resolve: Callable[[str, int], Value] = KernelAddress) -> None:
        """`resolve` makes a value of a symbol of the kernel and the distance from that."""
        self._resolve = resolve
        self._places = places
        self._points: dict[str, Points] = {}

    def find(self, probe: Probe, scope: str, name: str | int) -> Located:
        """A variable at a probe in a function of the kernel. Raises SourceError."""
        asked = f"{scope}->{name}" if isinstance(name, str) else f"{scope}[{name}]"
        try:
            site = self._places.site(probe)
            with damaged(site.object.path, OSError, ElfError, SourceError):
                return self._found(probe, site, scope, name)
        except (OSError, ElfError, DebugInfoError, UnsupportedError) as error:
            raise unlocated(f"{asked} at {probe}", error) from None

    def _found(self, probe: Probe, site: KernelSite, scope: str, name: str | int) -> Located:
        assert isinstance(probe.firing, KernelFunction)
        points = self.points(site.object)
        around = surroundings(site, self._resolve)
        point = self._point(probe, site, points)
        if scope == "globals":
            return _global(points, point, probe, around, str(name))
        if probe.firing.is_return:
            return result_at(points, point, probe, name, f"{scope}[{name}]")._replace(is_user=False)
        return located_at(points, point, probe, around, scope, name)._replace(is_user=False)

    def points(self, home: CodeObject) -> Points:
        """What debug information tells of the kernel or a module. Raises OSError, ElfError or DebugInfoError."""
        if home.name not in self._points:
            self._points[home.name] = Points(home.information, is_user=False)
        return self._points[home.name]

    def _point(self, probe: Probe, site: KernelSite, points: Points) -> CodePoint:
        where = source_line(probe.function)
        line = (where.file, where.line) if where is not None else None
        found = points.at_address(site.address, probe.name in ("entry", "return"), line)
        if found is None:
            raise DebugInfoError(f"that of {site.object.path} does not tell of this function: it may be assembler")
        return found


def surroundings(site: KernelSite, resolve: Callable[[str, int], Value]) -> Surroundings:
    """Those of a place in the kernel; `resolve` makes a value of a symbol and the distance from that."""
    file = site.object.loaded.file

    def moved(address: int) -> Value:
        return resolve(*by_symbol(site.object, address))

    return Surroundings(file, None, site.address, True, moved)


def _global(points: Points, point: CodePoint, probe: Probe, around: Surroundings, name: str) -> Located:
    asked = f"globals->{name} at {probe}"
    found = points.globals_at(name, [each.address for each in around.file.table.named(name)])
    if not found:
        text = f"there is no variable {name} for {asked}"
        hint = f"{points.path} defines no variable of that name outside of functions"
        raise SourceError(UNKNOWN_VARIABLE, text, hint=hint, about=(asked,))
    variable = nearest([each.variable for each in found], point, asked)
    pieces = points.pieces(variable, CodePoint(name, 0, variable.entry, ()))
    fetched = placed(pieces, around, size_of(variable.type))
    if fetched is None:
        raise unavailable(asked, "it is optimised out")
    return Located(variable.type, fetched, False)
