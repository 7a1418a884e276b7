"""Functions of C++ by names with parameters, arguments of templates and results, as people write them.

What is written has to agree: `ns::f(int)` is one of the overloads, `ns::f` is each. What is left out may be anything,
but of the functions that agree those are meant that do so most closely: scopes on the left are left out only where no
function has just these, qualifiers (`const`) likewise.
"""

from __future__ import annotations

from itertools import repeat

from sonde.symbols.source_names.type_names import (
    ANONYMOUS,
    Group,
    NamePart,
    ScopedName,
    of_library,
    parameters_of,
    read,
)
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.source_names.type_names import Element, Node

_CLONE = "[clone"
_CONVERSION = "operator "
PARTIAL = 2
"""What a closeness begins with, or more, where scopes on the left are left out."""


class FullName(NamedTuple):
    """`result` and `parameters` are None where they are not told; `qualifiers` stand behind the parameters."""

    name: ScopedName
    result: Element | None
    parameters: tuple[Element, ...] | None
    qualifiers: Element
    is_clone: bool

    @property
    def is_bare(self) -> bool:
        """Whether it is a name with scopes and nothing else."""
        if self.parameters is not None or self.result is not None:
            return False
        last = self.name.parts[-1].word
        return all(each == NamePart(each.word) for each in self.name.parts) and not last.startswith(_CONVERSION)


def full_name(text: str) -> FullName | None:
    """What a name says, None if it is none of C++."""
    nodes = read(text)
    if not nodes or not isinstance(nodes[0], ScopedName):
        return None
    return _returned(nodes) or _full_name(nodes)


def _returned(nodes: Element) -> FullName | None:
    """That of a function which returns a pointer to another: `int (*choose(int))(char)`."""
    for at, node in enumerate(nodes[:-1]):
        inner = node.elements[0] if isinstance(node, Group) and len(node.elements) == 1 else ()
        names = [each for each, part in enumerate(inner) if isinstance(part, ScopedName)]
        if inner[:1] == ("*",) and names and _parameters(inner, names[-1]) is not None:
            found = _full_name(inner[names[-1] :])
            return found._replace(result=(*nodes[:at], "*", *nodes[at + 1 :]))
    return None


def _full_name(nodes: Element) -> FullName:
    names = [at for at, node in enumerate(nodes) if isinstance(node, ScopedName)]
    called = [at for at in names if _parameters(nodes, at) is not None]
    at = called[-1] if called else names[-1]
    name, parameters = nodes[at], _parameters(nodes, at)
    assert isinstance(name, ScopedName)
    rest = nodes[at + 1 + (parameters is not None) :]
    behind = tuple(each for each in rest if not (isinstance(each, str) and each.startswith(_CLONE)))
    return FullName(name, nodes[:at] or None, parameters, behind, len(behind) < len(rest))


def _parameters(nodes: Element, at: int) -> tuple[Element, ...] | None:
    """Those of a function whose name is at a place."""
    group = nodes[at + 1] if at + 1 < len(nodes) else None
    return parameters_of(group.elements) if isinstance(group, Group) and group.bracket == "(" else None


def closeness(wanted: FullName, meant: FullName) -> tuple[int, ...] | None:
    """How closely a function agrees with what is written, the less the closer; None if it does not."""
    tries = ((is_end, is_loose) for is_end in (False, True) for is_loose in (False, True))
    name = next((at for at, each in enumerate(tries) if _fits_name(wanted.name, meant.name, *each, True)), None)
    if name is None:
        return None
    if wanted.parameters is None:
        return (name,) if wanted.result is None or _fits(wanted.result, meant.result or (), True) else None
    types = next((at for at, is_loose in enumerate((False, True)) if _fit_types(wanted, meant, is_loose)), None)
    return None if types is None else (name, types, wanted.qualifiers != meant.qualifiers, meant.is_clone)


def _fit_types(wanted: FullName, meant: FullName, is_loose: bool) -> bool:
    if meant.parameters is None or wanted.parameters is None:
        return False
    if wanted.result is not None and (meant.result is None or not _fits(wanted.result, meant.result, is_loose)):
        return False
    return _all_fit(wanted.parameters, meant.parameters, is_loose)


def _all_fit(wanted: tuple[Element, ...], meant: tuple[Element, ...], is_loose: bool) -> bool:
    return len(wanted) == len(meant) and all(map(_fits, wanted, meant, repeat(is_loose)))


def _fits(wanted: Element, meant: Element, is_loose: bool) -> bool:
    return len(wanted) == len(meant) and all(map(_fits_node, wanted, meant, repeat(is_loose)))


def _fits_node(wanted: Node, meant: Node, is_loose: bool) -> bool:
    if isinstance(wanted, ScopedName) and isinstance(meant, ScopedName):
        return _fits_name(wanted, meant, is_loose, is_loose, is_loose) or (
            is_loose and _fits_name(of_library(wanted), meant, False, False, False)
        )
    if isinstance(wanted, Group) and isinstance(meant, Group):
        return wanted.bracket == meant.bracket and _all_fit(wanted.elements, meant.elements, is_loose)
    return wanted == meant


def _fits_name(wanted: ScopedName, meant: ScopedName, is_end: bool, is_loose: bool, is_open: bool) -> bool:
    """Whether names are the same, but for scopes that nobody writes; with `is_end` the wanted one may be the end of the
    other one, with `is_loose` those in its arguments may, with `is_open` it may lack these, and parameters."""
    at = len(meant.parts)
    for each in reversed(wanted.parts):
        at -= 1
        while at >= 0 and not _fits_part(each, meant.parts[at], is_loose, is_open) and at < len(meant.parts) - 1:
            if not is_implied(meant.parts[at].word):
                return False
            at -= 1
        if at < 0 or not _fits_part(each, meant.parts[at], is_loose, is_open):
            return False
    return is_end or all(is_implied(each.word) for each in meant.parts[:at])


def _fits_part(wanted: NamePart, meant: NamePart, is_loose: bool, is_open: bool) -> bool:
    if wanted.word != meant.word or (wanted.tags and wanted.tags != meant.tags):
        return False
    if wanted.arguments is None:
        arguments = is_open or meant.arguments is None
    else:
        arguments = meant.arguments is not None and _all_fit(wanted.arguments, meant.arguments, is_loose)
    parameters = wanted.parameters is None or (
        meant.parameters is not None and _all_fit(wanted.parameters, meant.parameters, is_loose)
    )
    return arguments and parameters


def is_implied(scope: str) -> bool:
    """Whether a scope is one that nobody has to write."""
    return scope == ANONYMOUS or scope.startswith("__")
