"""Variables that the catalog locates at probes. Where one is, and what type it has, may differ between the probes of a
clause: then the clause is checked, and compiled, once for each set of probes that have it alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from sonde.frontends.d.check.access import referred
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import in_d
from sonde.model.errors import Position, SourceError
from sonde.model.kinds import compatible, spell
from sonde.model.probe import Probe
from sonde.model.program import Expr, ProbeVariable
from sonde.model.types import Type
from sonde.typed import NamedTuple


class AlikeProbes(NamedTuple):
    """Probes that have a variable alike; `type` is its type at them."""

    probes: tuple[Probe, ...]
    type: Type


class Divided(Exception):  # noqa: N818 - it is no error: the clause is checked again
    """The clause being checked must be checked for each of these groups of its probes on its own."""

    def __init__(self, name: str, groups: tuple[AlikeProbes, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.groups = groups

    @property
    def differences(self) -> str:
        """How the types differ, for people; "" if only places do."""
        first = self.groups[0]
        other = next((each for each in self.groups if not compatible(each.type, first.type)), None)
        if other is None:
            return ""
        return (
            f"{self.name} is {spell(first.type)} at {first.probes[0]} and {spell(other.type)} at {other.probes[0]}; "
            "what the clause does with it must do for each"
        )


def located(where: str, name: str | int, scope: Scope, position: Position) -> Expr:
    """The variable at the probes of the clause being checked. Raises Divided, or DError."""
    assert scope.enabling is not None
    asked = f"{where}->{name}" if isinstance(name, str) else f"{where}[{name}]"
    try:
        found = [scope.catalog.variable(probe, where, name) for probe in scope.enabling.probes]
    except SourceError as error:
        raise in_d(error, position) from None
    require_alike(asked, found, [each.type for each in found], scope)
    return referred(ProbeVariable(found[0].type, position, asked, found[0].pieces, found[0].is_user))


def require_alike(name: str, found: Sequence[Hashable], kinds: Sequence[Type], scope: Scope) -> None:
    """Raises Divided where what was found is not the same for all probes."""
    assert scope.enabling is not None
    groups: dict[Hashable, AlikeProbes] = {}
    for probe, each, kind in zip(scope.enabling.probes, found, kinds, strict=True):
        known = groups.get(each, AlikeProbes((), kind))
        groups[each] = known._replace(probes=(*known.probes, probe))
    if len(groups) > 1:
        raise Divided(name, tuple(groups.values()))
