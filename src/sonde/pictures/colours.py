"""Colours: told apart by their lightness too, so that no kind of colour blindness takes anything away.

Processes are amber and the kernel is blue, the two hues that all eyes keep apart. Differences go from blue over grey to
orange, counts of heat maps along one hue from near the paper to far from it. What is found by a search has a darker,
violet ground and the rest fades.
"""

from __future__ import annotations

from zlib import crc32

from sonde.formats.profile import INLINED, KERNEL, KEY, PYTHON, USER, ProfileFrame

_LIGHT = {
    "u0": "#ffd48f", "u1": "#fdc774", "u2": "#f8bd66", "u3": "#ffdca6", "u4": "#f6cd86",
    "k0": "#a4cdf0", "k1": "#8fc0ea", "k2": "#b5d8f5", "k3": "#9ac3e2", "k4": "#84b6e4",
    "p0": "#b9dfa6", "p1": "#a8d592", "p2": "#c7e6b6", "p3": "#9dcd88", "p4": "#b0d99b",
    "i0": "#fff0b3", "i1": "#f9e79a", "g0": "#d5d6dc", "g1": "#c9cbd3", "r": "#e4e2dd", "f": "#efedea",
    "d-4": "#4f9bd9", "d-3": "#7fb7e4", "d-2": "#abcfee", "d-1": "#d2e4f4", "d0": "#ececea",
    "d1": "#fbe3cb", "d2": "#fac795", "d3": "#f5a65b", "d4": "#ea8530",
    "h1": "#fbe8cd", "h2": "#f8d3a2", "h3": "#f2b974", "h4": "#e99b4e", "h5": "#da7a34", "h6": "#c05a25",
    "h7": "#9d3f1f", "h8": "#742a1c", "h9": "#4a1a17",
}  # fmt: skip

_DARK = {
    "u0": "#8a5a14", "u1": "#7b4e0e", "u2": "#966520", "u3": "#704708", "u4": "#845c22",
    "k0": "#1f5c91", "k1": "#2a699f", "k2": "#184f80", "k3": "#2b5f88", "k4": "#1b6098",
    "p0": "#376b2b", "p1": "#427a34", "p2": "#2f5f26", "p3": "#4a7f3c", "p4": "#3c7232",
    "i0": "#6b611c", "i1": "#5d5413", "g0": "#4b4e57", "g1": "#555862", "r": "#3c3c40", "f": "#2a2b2f",
    "d-4": "#2277bd", "d-3": "#215f92", "d-2": "#214b6e", "d-1": "#223a4f", "d0": "#38393d",
    "d1": "#4f3b24", "d2": "#704a1b", "d3": "#945a12", "d4": "#b96c0b",
    "h1": "#3d2a20", "h2": "#56331f", "h3": "#723f1e", "h4": "#95511f", "h5": "#b86824", "h6": "#d68438",
    "h7": "#eaa45a", "h8": "#f6c78b", "h9": "#fdebcf",
}  # fmt: skip

LEVELS = 9
"""How many steps of heat there are."""

_SHADES = {USER: ("u", 5), KERNEL: ("k", 5), INLINED: ("i", 2), PYTHON: ("p", 5), KEY: ("g", 2)}
_SINGLE = {"root": "r", "folded": "f"}


def class_of(frame: ProfileFrame) -> str:
    """A frame's colour: by its kind, in a shade that its name decides, so neighbours differ and runs agree."""
    if frame.kind in _SINGLE:
        return _SINGLE[frame.kind]
    letter, shades = _SHADES[frame.kind]
    return f"{letter}{crc32(frame.name.encode(errors='replace')) % shades}"


def fill(name: str) -> str:
    """The colour on light paper, for viewers that know no style sheets."""
    return _LIGHT[name]


def style(prefixes: str) -> str:
    """The rules for the classes that begin with one of these letters, for light and for dark paper."""
    light = _rules("", _LIGHT, prefixes)
    # Weak rules: what a search has found is to look so on any paper.
    system = _rules(':where(:root:not([data-theme="light"])) ', _DARK, prefixes)
    chosen = _rules(':where(:root[data-theme="dark"]) ', _DARK, prefixes)
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {system} }}\n{chosen}\n"


def _rules(before: str, colours: dict[str, str], prefixes: str) -> str:
    return " ".join(f"{before}.{name} {{ fill: {colour} }}" for name, colour in colours.items() if name[0] in prefixes)
