"""speedscope's file format: JSON, https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources.

A profile is `sampled`: each of its samples is one stack, and its weight what the stack has come to. The module is kept
as a frame's file; a frame of the kernel is one whose file is a module of it, `vmlinux` or a name in brackets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sonde.formats.profile import INLINED, KERNEL, PYTHON, USER, Profile, ProfileError, ProfileFrame, ProfileFrames
from sonde.typed import Any

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = ("bytes", "microseconds", "milliseconds", "nanoseconds", "seconds")
_INLINED = " [inlined]"
_PYTHON = "python:"
"""What stands before the file of a function of Python's."""


def write(profiles: Sequence[Profile], name: str, exporter: str) -> str:
    """One file with all the profiles, which may share frames."""
    table = ProfileFrames()
    shown = [_profile(profile, table) for profile in profiles]
    content = {
        "$schema": _SCHEMA,
        "shared": {"frames": [_frame(frame) for frame in table.frames()]},
        "profiles": shown,
        "name": name,
        "activeProfileIndex": 0,
        "exporter": exporter,
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def _frame(frame: ProfileFrame) -> dict[str, str]:
    name = frame.name + (_INLINED if frame.kind == INLINED else "")
    module = f"[{frame.module}]" if frame.kind == KERNEL and frame.module != "vmlinux" else frame.module
    if frame.kind == PYTHON:
        module = _PYTHON + module
    return {"name": name, "file": module} if module else {"name": name}


def _profile(profile: Profile, table: ProfileFrames) -> dict[str, Any]:
    numbers = [table.number(frame) for frame in profile.frames]
    ordered = sorted(profile.stacks.items(), key=lambda item: (-item[1], item[0]))
    return {
        "type": "sampled",
        "name": profile.title,
        "unit": profile.unit if profile.unit in _UNITS else "none",
        "startValue": 0,
        "endValue": profile.total,
        "samples": [[numbers[frame] for frame in stack] for stack, _ in ordered],
        "weights": [number for _, number in ordered],
    }


def read(text: str, title: str = "") -> Profile:
    """The sampled profiles of a file added up. Raises ProfileError."""
    try:
        content = json.loads(text)
        frames = [_read_frame(each) for each in content["shared"]["frames"]]
        sampled = [each for each in content["profiles"] if each["type"] == "sampled"]
        if not sampled:
            raise ProfileError("it has no profile of the type `sampled`")
        return _added(sampled, frames, title)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ProfileError(f"it is no profile of speedscope, or a damaged one ({type(error).__name__})") from error


def _added(sampled: list[dict[str, Any]], frames: list[ProfileFrame], title: str) -> Profile:
    table = ProfileFrames()
    stacks: dict[tuple[int, ...], int] = {}
    for each in sampled:
        for sample, weight in zip(each["samples"], each["weights"], strict=True):
            stack = tuple([table.number(frames[number]) for number in sample])
            stacks[stack] = stacks.get(stack, 0) + int(weight)
    unit = sampled[0].get("unit")
    return Profile(title or str(sampled[0].get("name", "")), "count", unit if unit in _UNITS else "",
                   table.frames(), stacks)  # fmt: skip


def _read_frame(frame: dict[str, Any]) -> ProfileFrame:
    name, module = str(frame["name"]), str(frame.get("file", ""))
    if name.endswith(_INLINED):
        return ProfileFrame(name.removesuffix(_INLINED), module, INLINED)
    if module.startswith(_PYTHON):
        return ProfileFrame(name, module.removeprefix(_PYTHON), PYTHON)
    if module == "vmlinux":
        return ProfileFrame(name, module, KERNEL)
    if module.startswith("[") and module.endswith("]"):
        return ProfileFrame(name, module[1:-1], KERNEL)
    return ProfileFrame(name, module, USER)
