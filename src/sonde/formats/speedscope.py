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


_DAMAGED = "it is no profile of speedscope, or a damaged one"
_MOST = 1 << 63
"""That a stack may have come to."""


def read(text: str, title: str = "") -> Profile:
    """The sampled profiles of a file added up. Raises ProfileError."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ProfileError(f"{_DAMAGED}: it is not JSON") from None
    frames = [_read_frame(each) for each in _listed(_member(content, "shared"), "frames")]
    sampled = [each for each in _listed(content, "profiles") if _member(each, "type") == "sampled"]
    if not sampled:
        raise ProfileError("it has no profile of the type `sampled`")
    return _added(sampled, frames, title)


def _member(of: Any, name: str) -> Any:
    """A member of an object. Raises ProfileError."""
    if not isinstance(of, dict) or name not in of:
        raise ProfileError(f"{_DAMAGED}: it has no {name}")
    return of[name]


def _listed(of: Any, name: str) -> list[Any]:
    """A member that is a list. Raises ProfileError."""
    found = _member(of, name)
    if not isinstance(found, list):
        raise ProfileError(f"{_DAMAGED}: its {name} are no list")
    return found


def _added(sampled: list[Any], frames: list[ProfileFrame], title: str) -> Profile:
    table = ProfileFrames()
    stacks: dict[tuple[int, ...], int] = {}
    for each in sampled:
        samples, weights = _listed(each, "samples"), _listed(each, "weights")
        if len(samples) != len(weights):
            raise ProfileError(f"{_DAMAGED}: it has other weights than samples")
        for sample, weight in zip(samples, weights, strict=True):
            stack = tuple([table.number(frame) for frame in _frames_of(sample, frames)])
            stacks[stack] = stacks.get(stack, 0) + _weight(weight)
    unit = sampled[0].get("unit")
    return Profile(title or str(sampled[0].get("name", "")), "count", unit if unit in _UNITS else "",
                   table.frames(), stacks)  # fmt: skip


def _frames_of(sample: Any, frames: list[ProfileFrame]) -> list[ProfileFrame]:
    known = isinstance(sample, list) and all(type(each) is int and 0 <= each < len(frames) for each in sample)
    if not known:
        raise ProfileError(f"{_DAMAGED}: a sample is of frames that are not there")
    return [frames[number] for number in sample]


def _weight(weight: Any) -> int:
    # Neither an infinite number nor none is less than any.
    if type(weight) not in (int, float) or not -_MOST < weight < _MOST:
        raise ProfileError(f"{_DAMAGED}: a weight is no number")
    return int(weight)


def _read_frame(frame: Any) -> ProfileFrame:
    name, module = str(_member(frame, "name")), str(frame.get("file", ""))
    if name.endswith(_INLINED):
        return ProfileFrame(name.removesuffix(_INLINED), module, INLINED)
    if module.startswith(_PYTHON):
        return ProfileFrame(name, module.removeprefix(_PYTHON), PYTHON)
    if module == "vmlinux":
        return ProfileFrame(name, module, KERNEL)
    if module.startswith("[") and module.endswith("]"):
        return ProfileFrame(name, module[1:-1], KERNEL)
    return ProfileFrame(name, module, USER)
