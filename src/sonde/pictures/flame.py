"""Flame graphs of a profile or of two that are compared, as an HTML page or an SVG."""

from __future__ import annotations

from sonde.formats.profile import Profile
from sonde.pictures.colours import class_of, style
from sonde.pictures.flame_view import flame_view
from sonde.pictures.page import html_page, svg_file, when
from sonde.pictures.tree import Node, Tree, tree_of
from sonde.typed import Any

_KINDS = (("u", "u0", "process"), ("k", "k0", "kernel"), ("i", "i0", "inlined"), ("p", "p0", "Python"),
          ("g", "g0", "key"), ("f", "f", "folded: too narrow"))  # fmt: skip
_CHANGES = (("d-4", "less than before"), ("d0", "the same share"), ("d4", "more than before"))


def flame_html(profile: Profile, earlier: Profile | None = None) -> str:
    """A page with the picture of a profile, or of what has changed since an earlier one."""
    data = flame_data(profile, tree_of(profile, earlier), earlier)
    return html_page(data["title"], data, "flame.js", style("ukigprfd"))


def flame_svg(profile: Profile, earlier: Profile | None = None) -> str:
    """The same as an SVG that stands alone."""
    tree = tree_of(profile, earlier)
    data = flame_data(profile, tree, earlier)
    view = flame_view(tree, data)
    return svg_file(data["title"], data, "flame.js", style("ukigprfd"), view)


def flame_data(profile: Profile, tree: Tree, earlier: Profile | None) -> dict[str, Any]:
    """What the page's script draws: the tree as columns in preorder, and the words around it."""
    frames = [[frame.name, frame.module, class_of(frame)] for frame in tree.frames]
    nodes = tree.nodes
    columns: list[list[int]] = [[node.depth for node in nodes], [node.frame for node in nodes],
                                [node.value for node in nodes]]  # fmt: skip
    if earlier is not None:
        columns += [[node.earlier for node in nodes], levels(tree)]
    used = {frame[2][0] for frame in frames}
    kinds = [[shade, text] for letter, shade, text in _KINDS if letter in used]
    return {
        "title": f"Flame graph of {profile.title}" + (f" compared with {earlier.title}" if earlier else ""),
        "subtitle": _subtitle(profile, tree, earlier),
        "unit": "" if profile.unit == "count" else profile.unit,
        "earlier": earlier is not None,
        "legend": [list(each) for each in _CHANGES] if earlier is not None else kinds,
        "frames": frames,
        "nodes": columns,
        "merged": {number: node.merged for number, node in enumerate(nodes) if node.merged},
    }


def _subtitle(profile: Profile, tree: Tree, earlier: Profile | None) -> str:
    stacks = f"{len(profile.stacks):,} stack{'' if len(profile.stacks) == 1 else 's'}"
    text = f"{stacks} · {profile.value}: {profile.total:,}"
    if profile.unit not in ("", "count"):
        text += f" {profile.unit}"
    if earlier is not None:
        text += f" (before: {earlier.total:,}) · colours tell the change of a frame's share of the whole"
    if profile.time:
        text += f" · {when(profile.time, profile.duration)}"
    text += "".join(f" · {note}" for note in (*profile.notes, *(earlier.notes if earlier else ())))
    if tree.folded:
        text += f" · {tree.folded:,} frames too narrow to be kept"
    if not profile.stacks:
        text += " · nothing was counted"
    return text


def levels(tree: Tree) -> list[int]:
    """The change of each frame's share of the whole in nine steps, -4 to 4, the greatest change being 4 if it is no
    mere noise."""
    after, before = max(tree.nodes[0].value, 1), max(tree.nodes[0].earlier, 1)
    changes = [node.value / after - node.earlier / before for node in tree.nodes]
    greatest = max(_FULL_CHANGE, *map(abs, changes))
    return [_level(change / greatest, change, node) for change, node in zip(changes, tree.nodes, strict=True)]


_LEAST_CHANGE = 0.0005
"""Smaller changes of a share are none."""

_FULL_CHANGE = 0.05
"""Smaller changes have no full colour, even where none is greater: two runs of the same differ by that."""


def _level(part: float, change: float, node: Node) -> int:
    if abs(change) < _LEAST_CHANGE:
        return 0
    step = min(4, 1 + int(abs(part) ** 0.5 * 4 - 0.001))
    return step if change > 0 else -step
