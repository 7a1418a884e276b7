"""The tree of a profile's stacks: what begins alike is one frame, as wide as all that stands on it."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.formats.profile import Profile, ProfileFrame
from sonde.typed import NamedTuple

FOLDED = ProfileFrame("…", "", "folded")
"""Stands for the frames that are too narrow to be kept."""

MOST_NODES = 100_000
"""So many frames are kept, the widest ones."""

ROOT = 0
_FOLDED = 1


class Node(NamedTuple):
    """A frame of the tree in preorder: its depth, its number in `frames`, its width and that of the earlier profile.

    `merged` is 0, or for a folded node how many frames it stands for.
    """

    depth: int
    frame: int
    value: int
    earlier: int = 0
    merged: int = 0


class Tree(NamedTuple):
    """Nodes in preorder, the root first; siblings by descending width. `frames` begins with the root's."""

    frames: tuple[ProfileFrame, ...]
    nodes: tuple[Node, ...]

    @property
    def depth(self) -> int:
        """How many rows it takes."""
        return max(node.depth for node in self.nodes) + 1

    @property
    def folded(self) -> int:
        """How many frames were too narrow to be kept."""
        return sum(node.merged for node in self.nodes)


class _Growing:
    """A tree to which stacks are added; nodes are numbers, the root is 0."""

    def __init__(self, frames: list[ProfileFrame]) -> None:
        self.frames = frames
        self._numbers = {frame: number for number, frame in enumerate(frames)}
        self.frame_of = [0]
        self.children: list[dict[int, int]] = [{}]
        self.values = [0]
        self.earlier = [0]

    def add(self, profile: Profile, is_earlier: bool) -> None:
        # Not every format keeps the kind of a frame: then it is the same one all the same.
        alike = {frame[:2]: frame for frame in reversed(self.frames)} if is_earlier else {}
        numbers = [
            self._number(frame if frame in self._numbers else alike.get(frame[:2], frame)) for frame in profile.frames
        ]
        totals, children = self.earlier if is_earlier else self.values, self.children
        for stack, value in profile.stacks.items():
            if value <= 0:
                continue
            node = ROOT
            totals[node] += value
            for frame in stack:
                number = numbers[frame]
                child = children[node].get(number)
                node = self._grown(node, number) if child is None else child
                totals[node] += value

    def _number(self, frame: ProfileFrame) -> int:
        if frame not in self._numbers:
            self._numbers[frame] = len(self.frames)
            self.frames.append(frame)
        return self._numbers[frame]

    def _grown(self, node: int, frame: int) -> int:
        child = self.children[node][frame] = len(self.frame_of)
        self.frame_of.append(frame)
        self.children.append({})
        self.values.append(0)
        self.earlier.append(0)
        return child

    def widths(self) -> list[float]:
        """How wide each node is in the picture where it is widest, as a part of the whole."""
        total, before = max(self.values[ROOT], 1), max(self.earlier[ROOT], 1)
        return [max(new / total, old / before) for new, old in zip(self.values, self.earlier, strict=True)]


def tree_of(profile: Profile, earlier: Profile | None = None, most: int = MOST_NODES) -> Tree:
    """The tree of a profile, or of two that are compared; of more than `most` frames the narrowest are folded."""
    growing = _Growing([ProfileFrame("all", "", "root"), FOLDED])
    growing.add(profile, False)
    if earlier is not None:
        growing.add(earlier, True)
    widths = growing.widths()
    # A parent is as wide as its children and was there before them: it is kept where one of them is.
    kept = set(sorted(range(len(widths)), key=lambda node: -widths[node])[: max(most, 1)])
    nodes = tuple(_preorder(growing, widths, kept))
    used = sorted({node.frame for node in nodes})
    renumbered = {frame: number for number, frame in enumerate(used)}
    frames = tuple([growing.frames[frame] for frame in used])
    return Tree(frames, tuple([node._replace(frame=renumbered[node.frame]) for node in nodes]))


def _preorder(tree: _Growing, widths: list[float], kept: set[int]) -> Iterator[Node]:
    waiting: list[Node | tuple[int, int]] = [(ROOT, 0)]
    while waiting:
        first = waiting.pop()
        if isinstance(first, Node):
            yield first
            continue
        at, depth = first
        yield Node(depth, tree.frame_of[at], tree.values[at], tree.earlier[at])
        children = tree.children[at].values()
        hidden = [child for child in children if child not in kept]
        if hidden:
            waiting.append(_joined(tree, hidden, depth + 1))
        shown = sorted([child for child in children if child in kept], key=lambda child: (widths[child], -child))
        waiting += [(child, depth + 1) for child in shown]


def _joined(tree: _Growing, nodes: list[int], depth: int) -> Node:
    value, earlier = sum(tree.values[node] for node in nodes), sum(tree.earlier[node] for node in nodes)
    return Node(depth, _FOLDED, value, earlier, _size(tree, nodes))


def _size(tree: _Growing, nodes: list[int]) -> int:
    """How many nodes these are, with all below them."""
    waiting, count = list(nodes), 0
    while waiting:
        waiting += tree.children[waiting.pop()].values()
        count += 1
    return count
