"""Profiles in files: written in the format asked for, read in whichever they are."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.formats import folded, pprof, speedscope
from sonde.formats.profile import Profile, ProfileError
from sonde.pictures import flame
from sonde.pictures.requests import FLAME, FOLDED, PPROF

LARGEST = 32 << 20
"""Bytes of a profile that are read."""


def read_profile(data: bytes, title: str) -> Profile:
    """Folded stacks, a profile of speedscope or one of pprof, told apart by how they begin. Raises ProfileError."""
    found = pprof.read(data, title) if _is_binary(data) else _read_text(data.decode(errors="replace"), title)
    if not found.stacks:
        raise ProfileError("there are no stacks in it")
    without = sum(1 for value in found.stacks.values() if value <= 0)
    notes = (f"{without:,} of {title} left out, whose value is not above 0",) if without else ()
    return found._replace(title=title, notes=notes)


def _is_binary(data: bytes) -> bool:
    """Whether it is compressed, or a message, which has a NUL: its first string is empty, so its length is 0."""
    return data[:2] == b"\x1f\x8b" or b"\0" in data


def _read_text(text: str, title: str) -> Profile:
    return speedscope.read(text, title) if text.lstrip()[:1] == "{" else folded.read(text, title)


def written(kind: str, path: str, profiles: Sequence[Profile], exporter: str, earlier: Profile | None) -> bytes:
    """The bytes of a file of this kind; only of speedscope's there can be several profiles."""
    (first, *_) = profiles
    if kind == FLAME:
        draw = flame.flame_svg if path.lower().endswith(".svg") else flame.flame_html
        return draw(first, earlier).encode(errors="replace")
    if kind == FOLDED:
        return folded.write(first).encode(errors="replace")
    if kind == PPROF:
        return pprof.write(first)
    return speedscope.write(profiles, exporter, exporter).encode(errors="replace")
