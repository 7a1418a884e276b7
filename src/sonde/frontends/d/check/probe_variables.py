"""`args->NAME`, `locals->NAME` and `globals->NAME`: variables of the program that a probe is in, by their names there,
and arguments of kernel code by the names of the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.d.check.alike import hint, likely
from sonde.frontends.d.check.arguments import typed_argument
from sonde.frontends.d.check.located import located, require_alike
from sonde.frontends.d.check.operands import Operand
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.probe import KernelFunction, Probe, Uprobe


def probe_variable(where: str, name: str, scope: Scope, position: Position) -> Operand:
    """The variable at the probes of the clause being checked. Raises Divided, or DError."""
    enabling = scope.enabling
    if enabling is None or not enabling.probes:
        text = f"{where}->{name} is of the program that a probe is in, and no probe is there"
        raise DError("D_IDENT_UNDEF", text, position)
    if where == "args":
        names = [scope.catalog.argument_names(probe) for probe in enabling.probes]
        if any(each is not None for each in names) and not _are_variables(enabling.probes, scope):
            return _named_argument(name, names, scope, position)
    return located(where, name, scope, position)


def _are_variables(probes: Sequence[Probe], scope: Scope) -> bool:
    """Whether the arguments of some of the probes are variables, and those of the others may be taken for such, too:
    entries of the kernel's functions among places within them."""
    return any(map(scope.catalog.has_variables, probes)) and all(
        isinstance(probe.firing, (KernelFunction, Uprobe)) for probe in probes
    )


def _named_argument(name: str, names: list[tuple[str, ...] | None], scope: Scope, position: Position) -> Operand:
    """An argument of kernel code: `args[n]` by the name of a parameter."""
    assert scope.enabling is not None
    numbers = []
    for probe, known in zip(scope.enabling.probes, names, strict=True):
        if not known or name not in known:
            text = f"{probe} has no argument {name}"
            at_entry = _of_entry(probe, name, scope)
            near = () if at_entry else likely(name, filter(None, known or ()))
            raise DError("D_IDENT_UNDEF", text, position, at_entry or _what_helps(name, known or ()), near)
        numbers.append(known.index(name))
    arguments = [scope.catalog.arguments(probe) or () for probe in scope.enabling.probes]
    shown = [each[number].shown for each, number in zip(arguments, numbers, strict=True)]
    require_alike(f"args->{name}", numbers, shown, scope)
    return typed_argument(numbers[0], scope, position)


def _of_entry(probe: Probe, name: str, scope: Scope) -> str:
    """What to do about the name of an argument at a return, "" if it is none there either."""
    if probe.name != "return":
        return ""
    entries = scope.catalog.match(probe.provider, probe.module, probe.function, "entry")
    if not any(name in (scope.catalog.argument_names(entry) or ()) for entry in entries):
        return ""
    return f"save it at the entry, self->{name} = args->{name}, and use self->{name} here"


def _what_helps(name: str, known: tuple[str, ...]) -> str:
    there = ", ".join(each for each in known if each)
    return hint(name, known) or (f"it has {there}" if there else "its arguments have no names")
