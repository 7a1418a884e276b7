"""Variables of which parts are optimised out where a probe is: the other parts may be used, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model import location
from sonde.model import program as tree
from sonde.model.errors import UNAVAILABLE, SourceError
from sonde.model.probe import KernelFunction, Uprobe
from sonde.model.program import Clause
from sonde.model.types import Array, Struct, Type, resolve, size_of
from sonde.model.walk import nodes
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.model.location import Piece


_LARGEST = 4096
"""In a larger array of structures what is between their members is taken for a part, too."""


def require_parts(clauses: Sequence[Clause]) -> None:
    """Raises SourceError for the use of a part of a variable that is nowhere."""
    for clause in clauses:
        if any(isinstance(probe.firing, (Uprobe, KernelFunction)) for probe in clause.probes):
            checked: set[int] = set()
            for node in nodes(clause):
                if isinstance(node, (tree.ProbeVariable, tree.MemberOf, tree.Index)) and id(node) not in checked:
                    _require(node, checked)


def _require(node: Any, checked: set[int]) -> None:
    """The outermost part of an object that is used; the objects that it is in are not used as such."""
    used, low, whole = node, 0, node
    while isinstance(node, (tree.MemberOf, tree.Index)):
        if isinstance(node, tree.MemberOf):
            low += node.member.offset
        elif isinstance(node.subscript, tree.Const):
            low += 8 * size_of(node.type) * node.subscript.value
        else:
            # Which element is known when the program runs: it may be any.
            low, whole = 0, node.object
        node = node.object
        checked.add(id(node))
    if not isinstance(node, tree.ProbeVariable):
        return
    is_bits = isinstance(whole, tree.MemberOf) and whole.member.bits
    if is_gone(node.pieces, low, is_bits) if is_bits else lacks_part(node.pieces, whole.type, low):
        what = node.name if whole is node else f"this part of {node.name}"
        text = f"{what} is optimised out, or in a vector register, at the probe"
        raise SourceError(UNAVAILABLE, text, used.position, "other parts are there: name the members that are wanted")


def lacks_part(pieces: tuple[Piece, ...], kind: Type, low: int = 0) -> bool:
    """Whether something of an object that is `low` bits into a variable is nowhere; what is between members is not
    missed."""
    base = resolve(kind)
    if not any(isinstance(each.place, location.Nowhere) for each in pieces):
        return False
    if isinstance(base, Struct) and base.keyword == "struct":
        return any(
            is_gone(pieces, low + each.offset, each.bits)
            if each.bits
            else lacks_part(pieces, each.type, low + each.offset)
            for each in base.members
        )
    if isinstance(base, Array) and isinstance(resolve(base.of), Struct) and 0 < size_of(base) <= _LARGEST:
        step = 8 * size_of(base.of)
        return any(lacks_part(pieces, base.of, low + step * at) for at in range(base.length or 0))
    return is_gone(pieces, low, 8 * size_of(base))


def is_gone(pieces: tuple[Piece, ...], low: int, width: int) -> bool:
    """Whether one of the bits of a variable from `low` on is nowhere."""
    start = 0
    for piece in pieces:
        end = start + piece.bits if piece.bits else max(start, low + width)
        if isinstance(piece.place, location.Nowhere) and start < low + width and low < end:
            return True
        start = end
    return False
