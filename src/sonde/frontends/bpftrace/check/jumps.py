"""Where `break`, `continue` and `return` may stand: in loops, and not where a macro would leave its caller."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import Any

_OUTSIDE: dict[type, tuple[str, tuple[str, ...]]] = {
    nodes.ProbeItem: ("probe", ("break", "continue")),
    nodes.SubprogramItem: ("function", ("break", "continue")),
    nodes.Macro: ("macro", ("break", "continue", "return")),
}
"""What messages call each, and what may not stand in it outside of loops."""
_LOOPS = (nodes.While, nodes.ForRange, nodes.ForMap)


def refuse_jumps(items: Sequence[nodes.Item], file: str | None) -> bool:
    """Whether something may leave a block before its end. Raises BtError for the first that leaves what it may
    not leave."""
    found = False
    for item in items:
        if isinstance(item, (nodes.ProbeItem, nodes.SubprogramItem, nodes.Macro)):
            within, words = _OUTSIDE[type(item)]
            leaves = _look(item, within, words, file)
            found |= leaves and not (len(item.body) == 1 and isinstance(item.body[0], nodes.Evaluate))
    return found


def _look(node: Any, within: str, words: tuple[str, ...], file: str | None) -> bool:
    if isinstance(node, nodes.Jump) and node.word in words:
        raise BtError(f"'{node.word}' statement is not allowed in a {within}", node.at, "", file)
    if isinstance(node, _LOOPS):
        within, words = "loop", ()
    found = isinstance(node, nodes.Jump) or (isinstance(node, nodes.Call) and node.name == "exit")
    if isinstance(node, tuple):
        for each in node:
            found |= _look(each, within, words, file)
    return found
