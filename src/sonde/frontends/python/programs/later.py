"""Variables that functions set behind the places where they use them: `print(thread.last)`, `thread.last = 5`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sonde.frontends.d import syntax
from sonde.frontends.d.check.checker import Checker
from sonde.model.errors import SourceError


def set_later(written: Iterable[tuple[str, syntax.ProbeClause]], checker: Checker) -> None:
    """Have the checker see each statement alone, so that one which lacks a variable keeps none behind it from setting
    some."""
    for _, clause in written:
        for statement in _single(clause.statements or ()):
            try:
                checker.add_source([clause._replace(predicate=None, statements=(statement,))])
            except SourceError:
                # What is wrong is told where the function is checked as a whole.
                continue


def _single(statements: Iterable[syntax.Statement]) -> Iterator[syntax.Statement]:
    """Those that are executed one after the other, without the conditions and loops around them."""
    for each in statements:
        if isinstance(each, syntax.If):
            yield from _single((*each.then, *each.otherwise))
        elif isinstance(each, syntax.Loop):
            if each.initial is not None:
                yield syntax.ExpressionStatement(each.position, each.initial)
            yield from _single(each.body)
        elif isinstance(each, syntax.Inlined):
            yield from _single(each.body)
        elif isinstance(each, syntax.ExpressionStatement):
            yield each
