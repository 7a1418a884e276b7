"""A flame graph without a script: what an SVG shows as an image."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.pictures.colours import fill
from sonde.pictures.labels import fitted
from sonde.pictures.page import Static, text_element
from sonde.pictures.tree import Tree
from sonde.typed import Any, NamedTuple

_WIDTH = 1200
_MARGIN = 12
_HEAD = 74
_ROW = 18
_CHARACTER = 7.23
_LEAST_WIDTH = 0.7
_MOST_ROWS = 400


class _Box(NamedTuple):
    depth: int
    x: float
    width: float
    node: int


def flame_view(tree: Tree, data: dict[str, Any]) -> Static:
    """The whole tree, the root below; frames narrower than a pixel's most are left out."""
    boxes = list(_boxes(tree))
    rows = max(box.depth for box in boxes) + 1
    height = _HEAD + rows * _ROW + _MARGIN
    content = text_element(_MARGIN, 24, data["title"], ' font-weight="bold" style="font-size: 15px"')
    content += text_element(_MARGIN, 43, data["subtitle"])
    content += _legend(data["legend"])
    content += _rectangles(tree, boxes, data, height)
    content += "".join(_labels(tree, boxes, height))
    return Static(_WIDTH, height, content)


def _boxes(tree: Tree) -> Iterator[_Box]:
    scale = (_WIDTH - 2 * _MARGIN) / max(tree.nodes[0].value, 1)
    following = [0]
    for number, node in enumerate(tree.nodes):
        del following[node.depth + 1 :]
        left = following[node.depth]
        following[node.depth] += node.value
        following.append(left)
        width = node.value * scale
        if (width >= _LEAST_WIDTH or number == 0) and node.depth < _MOST_ROWS:
            yield _Box(node.depth, _MARGIN + left * scale, width if node.value else _WIDTH - 2 * _MARGIN, number)


def _legend(entries: list[list[str]]) -> str:
    x, parts = float(_MARGIN), []
    for key, text in entries:
        parts.append(f'<rect x="{x:g}" y="54" width="12" height="12" rx="2" class="{key}" fill="{fill(key)}"/>\n')
        parts.append(text_element(x + 17, 64, text))
        x += 17 + _CHARACTER * len(text) + 18
    return "".join(parts)


def _top(depth: int, height: int) -> float:
    return height - _MARGIN - (depth + 1) * _ROW + 0.5


def _rectangles(tree: Tree, boxes: list[_Box], data: dict[str, Any], height: int) -> str:
    """All boxes of a colour are one path."""
    paths: dict[str, list[str]] = {}
    steps = data["nodes"][4] if data["earlier"] else None
    for box in boxes:
        name = f"d{steps[box.node]}" if steps else data["frames"][tree.nodes[box.node].frame][2]
        width = max(box.width - 0.6, 0.4)
        outline = f"M{box.x:.1f} {_top(box.depth, height):g}h{width:.1f}v{_ROW - 1}h-{width:.1f}z"
        paths.setdefault(name, []).append(outline)
    return "".join(
        f'<path class="{name}" fill="{fill(name)}" d="{"".join(parts)}"/>\n' for name, parts in paths.items()
    )


def _labels(tree: Tree, boxes: list[_Box], height: int) -> Iterator[str]:
    for box in boxes:
        frame = tree.frames[tree.nodes[box.node].frame]
        label = fitted(frame.name, int((box.width - 7) / _CHARACTER))
        if label:
            yield text_element(round(box.x + 3.5, 1), _top(box.depth, height) + 12.5, label)
