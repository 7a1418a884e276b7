"""What a recording keeps besides what its script asks for is read by many values that begin with the same pointers: a
pointer that one of them has had recorded is not recorded again."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Operand
from sonde.model import program as tree
from sonde.typed import Any


def load_once(g: Generation, e: tree.Expr, load: Callable[[], Operand]) -> Operand:
    """What `load` loads for the expression, recorded if it is the first of the clause that says the same."""
    assert g.kept is not None
    key = _without_places(e)
    g.is_kept_already = key in g.kept
    g.kept.add(key)
    try:
        return load()
    finally:
        g.is_kept_already = False


def _without_places(value: Any) -> Hashable:
    """An expression, but for where it stands in the source."""
    fields: tuple[str, ...] = getattr(value, "_fields", ())
    if "position" in fields:
        parts = zip(fields, value, strict=True)
        return type(value).__name__, *(_without_places(part) for name, part in parts if name != "position")
    if type(value) is tuple:
        return tuple(map(_without_places, value))
    found: Hashable = value
    return found
