"""Structured Python from a control flow graph: if, while, break and continue.

Nesting follows the dominator tree (N. Ramsey, "Beyond Relooper", 2022): a block stands inside the one that dominates
it, either where the only jump to it is, or, if several ways meet in it, behind all that its dominator leads to. A loop
is a `while True` around its header, what it leads to stands behind it. A jump to what stands next needs no statement. A
jump beyond it puts the block's number into `to`, and what lies between is run only if that is not there. What was left
in `to` by an earlier jump does no harm: the block it names has been run, and only a loop, which clears it, leads back.
"""

from __future__ import annotations

from sonde.runtime.machine.translation.graph import Graph
from sonde.typed import NamedTuple

_DEEPEST = 60
"""How deeply statements may be nested; Python itself ends at 100."""

_MOST_LOOPS = 15
"""How deeply loops may be nested; Python ends at 20 nested blocks."""


class StraightBlock(NamedTuple):
    """A block's statements, and the condition of the jump taken with its negation."""

    lines: tuple[str, ...]
    condition: tuple[str, str] | None = None


class TooDeepError(Exception):
    """The function cannot be written as nested statements."""


class _Loop:
    """A loop being written: its header, and the blocks it is left for."""

    def __init__(self, header: int) -> None:
        self.header = header
        self.exits: set[int] = set()


class _Follower:
    """A block that stands behind what is being written, and the blocks that are jumped to beyond it."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.beyond: set[int] = set()

    def guard(self) -> str:
        """The condition under which it is not passed over."""
        beyond = sorted(self.beyond)
        return f"to != {beyond[0]}" if len(beyond) == 1 else f"to not in {tuple(beyond)}"


class Structuring:
    """One function being written. `at_header` are statements for the top of every loop."""

    def __init__(self, graph: Graph, blocks: tuple[StraightBlock, ...], at_header: tuple[str, ...] = ()) -> None:
        self._graph = graph
        self._blocks = blocks
        self._at_header = at_header
        self._scope: list[_Loop | _Follower] = []
        self._depth = 0
        self._uses_to = False
        self._inline, self._behind, self._behind_loop = _places(graph)

    def lines(self) -> list[str]:
        """All of it. Raises TooDeepError."""
        lines, _ = self._region(0)
        if self._uses_to:
            return ["to = 0", *lines]
        return [line for line in lines if not line.lstrip().startswith("to = ")]

    def _region(self, block: int) -> tuple[list[str], bool]:
        """A block and all that stands behind it; and whether its end can be reached."""
        if self._depth > _DEEPEST:
            raise TooDeepError
        self._depth += 1
        base = len(self._scope)
        lines, falls = self._block(block)
        while len(self._scope) > base:
            lines, falls = self._next(lines)
        self._depth -= 1
        return lines, falls

    def _block(self, block: int) -> tuple[list[str], bool]:
        """A block, what stands in it and, if it is a loop's header, the loop; followers are left on the scope."""
        if block not in self._graph.loops:
            return self._plain(block)
        if sum(isinstance(entry, _Loop) for entry in self._scope) >= _MOST_LOOPS:
            raise TooDeepError
        for behind in reversed(self._behind_loop.get(block, [])):
            self._scope.append(_Follower(behind))
        loop = _Loop(block)
        self._scope.append(loop)
        self._depth += 1
        base = len(self._scope)
        lines, falls = self._plain(block)
        while len(self._scope) > base:
            lines, falls = self._next(lines)
        self._depth -= 1
        assert not falls
        self._scope.pop()
        top = ["to = 0", *self._at_header]
        after, falls = self._after(loop)
        return ["while True:", *_indented([*top, *lines]), *after], falls

    def _next(self, lines: list[str]) -> tuple[list[str], bool]:
        """`lines` and the next follower behind them."""
        follower = self._scope.pop()
        assert isinstance(follower, _Follower)
        if not follower.beyond:
            inner, falls = self._block(follower.block)
            return lines + inner, falls
        self._uses_to = True
        inner, _ = self._region(follower.block)
        return [*lines, f"if {follower.guard()}:", *_indented(inner)], True

    def _after(self, loop: _Loop) -> tuple[list[str], bool]:
        """What is to be done behind a loop for each block that it was left for, and whether anything falls through."""
        ways = {exit_: self._jump(exit_, is_set=True) for exit_ in sorted(loop.exits)}
        falls = any(way_falls for _, way_falls in ways.values())
        if len(ways) == 1:
            return next(iter(ways.values()))
        lines: list[str] = []
        for exit_, (way, _) in ways.items():
            if way:
                self._uses_to = True
                lines += [f"if to == {exit_}:", *_indented(way)]
        return lines, falls

    def _plain(self, block: int) -> tuple[list[str], bool]:
        """A block's own statements and what stands in it, one after the other as long as they need no nesting."""
        lines: list[str] = []
        while True:
            for behind in reversed(self._behind.get(block, [])):
                self._scope.append(_Follower(behind))
            lines += self._blocks[block].lines
            successors = self._graph.blocks[block].successors
            if not successors:
                return lines, False
            if len(successors) == 1:
                following: int | None = successors[0]
            else:
                made, falls, following = self._branch(block)
                lines += made
                if following is None:
                    return lines, falls
            assert following is not None
            if not self._is_inline(block, following) or following in self._graph.loops:
                inner, falls = self._arm(block, following)
                return lines + inner, falls
            block = following

    def _branch(self, block: int) -> tuple[list[str], bool, int | None]:
        """The jump at the end of a block: statements, whether their end is reached, and the block that goes on in the
        same nesting instead if there is one."""
        condition = self._blocks[block].condition
        assert condition is not None
        arms = list(zip(condition, self._graph.blocks[block].successors, strict=True))
        # The one that is left first should be the shorter one; a jump is shorter than any block.
        arms.sort(key=lambda arm: self._is_inline(block, arm[1]) and self._size(arm[1]))
        (first, one), (second, other) = arms
        lines, falls = self._arm(block, one)
        if not falls:
            return [f"if {first}:", *_indented(lines)], False, other
        rest, rest_falls = self._arm(block, other)
        if not rest_falls:
            return [f"if {second}:", *_indented(rest), *lines], True, None
        if not lines and not rest:
            return ([f"if {first}: pass"] if "(" in first else []), True, None
        if not lines:
            return [f"if {second}:", *_indented(rest)], True, None
        if not rest:
            return [f"if {first}:", *_indented(lines)], True, None
        return [f"if {first}:", *_indented(lines), "else:", *_indented(rest)], True, None

    def _arm(self, block: int, target: int) -> tuple[list[str], bool]:
        return self._region(target) if self._is_inline(block, target) else self._jump(target)

    def _is_inline(self, block: int, target: int) -> bool:
        return target in self._inline and self._graph.dominators[target] == block

    def _size(self, block: int) -> int:
        """Something like the number of statements up to the next branch."""
        return 1 + len(self._blocks[block].lines) + 1000 * bool(self._graph.blocks[block].successors)

    def _jump(self, target: int, is_set: bool = False) -> tuple[list[str], bool]:
        """A jump to what stands further behind, or to the header of a loop around; `is_set` if `to` says so."""
        passed: list[_Follower] = []
        set_to = [] if is_set else [f"to = {target}"]
        for entry in reversed(self._scope):
            if isinstance(entry, _Loop):
                if entry.header == target:
                    return ["continue"], False
                entry.exits.add(target)
                return [*set_to, "break"], False
            if entry.block == target:
                for follower in passed:
                    follower.beyond.add(target)
                return (set_to if passed else []), True
            passed.append(entry)
        raise AssertionError(f"nothing leads to block {target}")


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines] or ["    pass"]


def _places(graph: Graph) -> tuple[frozenset[int], dict[int, list[int]], dict[int, list[int]]]:
    """The blocks that stand where the only jump to them is; those that stand behind their dominator, by it; those that
    stand behind a loop, by its header. Lists are in the blocks' order."""
    inline: set[int] = set()
    behind: dict[int, list[int]] = {}
    behind_loop: dict[int, list[int]] = {}
    outermost_first = sorted(graph.loops, key=lambda header: -len(graph.loops[header]))
    for block in range(1, len(graph.blocks)):
        dominator = graph.dominators[block]
        left = next((h for h in outermost_first if dominator in graph.loops[h] and block not in graph.loops[h]), None)
        forward = sum(before < block for before in graph.predecessors[block])
        if left is not None:
            behind_loop.setdefault(left, []).append(block)
        elif forward == 1:
            inline.add(block)
        else:
            behind.setdefault(dominator, []).append(block)
    return frozenset(inline), behind, behind_loop


def dispatched(graph: Graph, blocks: tuple[StraightBlock, ...], at_header: tuple[str, ...] = ()) -> list[str]:
    """Any graph as a loop around a choice of the block to run: what structured statements cannot say."""
    lines = ["block = 0", "while True:", *_indented(list(at_header))] if at_header else ["block = 0", "while True:"]
    return lines + _indented(_choice(graph, blocks, 0, len(blocks)))


def _choice(graph: Graph, blocks: tuple[StraightBlock, ...], begin: int, end: int) -> list[str]:
    if end - begin > 1:
        middle = (begin + end) // 2
        return [
            f"if block < {middle}:", *_indented(_choice(graph, blocks, begin, middle)),
            "else:", *_indented(_choice(graph, blocks, middle, end)),
        ]  # fmt: skip
    lines, successors = list(blocks[begin].lines), graph.blocks[begin].successors
    condition = blocks[begin].condition
    if condition is None:
        return [*lines, *(f"block = {successor}" for successor in successors)] or ["pass"]
    return [*lines, f"block = {successors[0]} if {condition[0]} else {successors[1]}"]
