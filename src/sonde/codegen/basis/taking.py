"""Whether the calls of strtok() in a clause can be repeated where it goes on after it was broken off (`repeating.py`).

A call with a text replaces the text of the one before. So statements can be repeated if none of their calls has a text,
or if the first has one and is certain to be executed.
"""

from __future__ import annotations

from sonde.model import program as tree
from sonde.model.program import Clause
from sonde.model.walk import below, is_zero
from sonde.typed import Any

_PERHAPS = (tree.Conditional, tree.Loop, tree.Each)
_SHORT = frozenset({"&&", "||"})


def takes_tokens(node: Any) -> bool:
    """Whether there is a call of strtok() in it."""
    return any(map(_is_strtok, below(node)))


class Tokens:
    """What is known of a clause's calls up to a statement, since it could last begin again from a later one."""

    def __init__(self, clause: Clause) -> None:
        self._certain = (clause.predicate, *clause.statements)
        self.are_taken = False
        self._begins_with_text = False

    def commit(self) -> None:
        """From here on the clause begins again behind what was done until now."""
        self.are_taken = self._begins_with_text = False

    def is_repeatable(self, step: Any) -> bool:
        """Whether the predicate or step, and all before it since the last commit, can be repeated."""
        node = step.test if isinstance(step, tree.If) else step
        calls = list(filter(_is_strtok, below(node)))
        if not calls:
            return True
        with_text = [not is_zero(call.arguments[0]) for call in calls]
        if not self.are_taken:
            self.are_taken = True
            self._begins_with_text = with_text[0] and self._is_certain(step, node)
        return self._begins_with_text or not any(with_text)

    def _is_certain(self, step: Any, node: Any) -> bool:
        """Whether all of it is evaluated, whenever the clause is."""
        if not any(step is each for each in self._certain):
            return False
        return not any(isinstance(each, _PERHAPS) or getattr(each, "op", None) in _SHORT for each in below(node))


def _is_strtok(node: Any) -> bool:
    return isinstance(node, tree.Call) and node.name == "strtok"
