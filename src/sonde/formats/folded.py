"""Folded stacks: a line for each stack, its frames from the outermost with `;` between them, a blank, its number.

The text that flamegraph.pl and most viewers of profiles take. A frame is written as D shows it without the offset,
module`function, with `_[k]` behind functions of the kernel and `_[i]` behind inlined ones, as flamegraph.pl has it,
and `_[p]` behind those of Python, whose module is their file.
No name can be taken for any of that: its `;` is written as `:`; what ends a line or steers a terminal, a module's "`",
the `#` that begins a comment, and the bracket of a mark are escapes of C. A stack without frames, as that of the kernel
is where a process was interrupted, is `[no stack]`.
"""

from __future__ import annotations

import re

from sonde.formats.profile import INLINED, KERNEL, KEY, PYTHON, USER, Profile, ProfileError, ProfileFrame, ProfileFrames
from sonde.visible import single_line

_MARKS = {KERNEL: "_[k]", INLINED: "_[i]", PYTHON: "_[p]"}
_KINDS = {mark: kind for kind, mark in _MARKS.items()}
_NO_STACK = "[no stack]"
_MARK = re.compile(r"_\[([kip]\])\Z")
_TICK = "\\x60"
_NUMBER = re.compile(r"(-?[0-9]{1,30})(\.[0-9]*)?")


def write(profile: Profile) -> str:
    """The lines, those of the greatest numbers first."""
    texts = [_text(frame) for frame in profile.frames]
    # Frames that are different may be written alike.
    lines: dict[str, int] = {}
    for stack, number in profile.stacks.items():
        line = ";".join([texts[frame] for frame in stack]) or _NO_STACK
        lines[line] = lines.get(line, 0) + number
    ordered = sorted(lines.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{line} {number}\n" for line, number in ordered)


def _text(frame: ProfileFrame) -> str:
    name = _MARK.sub(r"_\\x5b\1", single_line(frame.name).replace(";", ":"))
    if frame.module:
        name = f"{single_line(frame.module).replace(';', ':').replace('`', _TICK)}`{name}"
    elif frame.kind != KEY:
        name = name.replace("`", _TICK)
    if name.startswith("#"):
        name = "\\x23" + name[1:]
    return name + _MARKS.get(frame.kind, "") or "[empty]"


def read(text: str, title: str = "") -> Profile:
    """Raises ProfileError with the line that is none."""
    table = ProfileFrames()
    stacks: dict[tuple[int, ...], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        stack_text, value = _parts(line, number)
        frames = [] if stack_text in ("", _NO_STACK) else stack_text.split(";")
        stack = tuple([table.number(_frame(each)) for each in frames])
        stacks[stack] = stacks.get(stack, 0) + value
    return Profile(title, "count", "", table.frames(), stacks)


def _parts(line: str, place: int) -> tuple[str, int]:
    """A line's stack and number; other tools write fractions, too."""
    *before, last = line.rsplit(None, 1)
    found = _NUMBER.fullmatch(last)
    if found is None:
        raise ProfileError(f"line {place} has no number behind its stack")
    return "".join(before), int(found[1])


def _frame(text: str) -> ProfileFrame:
    kind = _KINDS.get(text[-4:], "")
    module, tick, name = (text[:-4] if kind else text).partition("`")
    if not tick:
        return ProfileFrame(module, "", kind or USER)
    return ProfileFrame(name, module, kind or USER)
