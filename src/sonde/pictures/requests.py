"""What the command line asks for, and which aggregations of a program it is of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from sonde.model.aggregating import HISTOGRAMS
from sonde.model.options import STANDARD_OUTPUT
from sonde.model.records import AggregationSpec
from sonde.pictures.profiles import has_stack
from sonde.typed import NamedTuple

FLAME, FOLDED, SPEEDSCOPE, PPROF, HEATMAP = "flame", "folded", "speedscope", "pprof", "heatmap"

NAMES = {
    FLAME: "flame graph", FOLDED: "folded stacks", SPEEDSCOPE: "speedscope profile", PPROF: "pprof profile",
    HEATMAP: "heat map",
}  # fmt: skip
"""What is made, in words."""

_PICTURES = (".html", ".htm", ".svg")
_SUFFIXES = (".pb.gz", ".speedscope.json", *_PICTURES)


class RequestError(Exception):
    """What is asked for cannot be had: says why, and what would help (`hint`)."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint


class PictureRequest(NamedTuple):
    """An option and its value: a file and, if it is of one aggregation only, that one's name."""

    kind: str
    path: str
    aggregation: str | None = None


class PictureTask(NamedTuple):
    """A file to be written, and the numbers of the aggregations that it shows."""

    kind: str
    path: str
    aggregations: tuple[int, ...]


def request(kind: str, text: str) -> PictureRequest:
    """Read `FILE` or `@NAME:FILE`. Raises RequestError."""
    if kind not in NAMES:
        raise RequestError(f"there is no picture of kind {kind!r}", f"there are {', '.join(NAMES)}")
    name: str | None = None
    path = text
    if text.startswith("@") and ":" in text:
        name, _, path = text[1:].partition(":")
    if not path:
        raise RequestError(f"--{kind} needs the name of a file")
    if kind in (FLAME, HEATMAP) and path != STANDARD_OUTPUT and not path.lower().endswith(_PICTURES):
        raise RequestError(f"--{kind} {path}: the file's name has to end in .html or .svg")
    return PictureRequest(kind, path, name)


def name_of(spec: AggregationSpec) -> str:
    """The name that a program gave it; "" for the one without."""
    return "" if spec.name == "_" else spec.name


def tasks(
    requests: Iterable[PictureRequest], specs: Sequence[AggregationSpec], not_drawn: int | None = None
) -> list[PictureTask]:
    """The files to write. `not_drawn` is only drawn where it is named: others are compared with it.

    Raises RequestError where a program has no aggregation of the kind.
    """
    found: list[PictureTask] = []
    for each in requests:
        fitting = [number for number in suitable(each.kind, specs) if number != not_drawn]
        if each.aggregation is not None:
            fitting = [named(each.kind, each.aggregation, specs)]
        if not fitting:
            raise _none(each.kind)
        found += _files(each, fitting, specs)
    twice = {task.path for place, task in enumerate(found) for other in found[:place] if other.path == task.path}
    if twice:
        where = "the standard output" if STANDARD_OUTPUT in twice else min(twice)
        raise RequestError(f"two outputs would be written to {where}")
    return found


def suitable(kind: str, specs: Sequence[AggregationSpec]) -> list[int]:
    """The aggregations that can be shown so."""
    if kind == HEATMAP:
        return [number for number, spec in enumerate(specs) if spec.function in HISTOGRAMS]
    return [number for number, spec in enumerate(specs) if has_stack(spec)]


def named(kind: str, name: str, specs: Sequence[AggregationSpec]) -> int:
    """The aggregation of that name, if it can be shown so. Raises RequestError."""
    matching = [number for number, spec in enumerate(specs) if name_of(spec) == name.removeprefix("_")]
    if not matching:
        known = ", ".join(f"@{name_of(spec)}" for spec in specs)
        raise RequestError(f"--{kind}: there is no aggregation @{name}", f"there are: {known}" if known else "")
    if matching[0] not in suitable(kind, specs):
        raise RequestError(f"--{kind}: @{name} is {_lacks(kind)}", _hint(kind))
    return matching[0]


def _lacks(kind: str) -> str:
    return f"no {_any_histogram()}" if kind == HEATMAP else "not keyed by stack() or ustack()"


def _any_histogram() -> str:
    return f"{', '.join(HISTOGRAMS[:-1])} or {HISTOGRAMS[-1]}"


def _hint(kind: str) -> str:
    if kind == HEATMAP:
        return "such as: syscall::read:return { @ = quantize(arg0) }"
    return "such as: profile-997 { @[ustack()] = count() }"


def _none(kind: str) -> RequestError:
    what = f"is a {_any_histogram()}" if kind == HEATMAP else "is keyed by stack() or ustack()"
    return RequestError(f"--{kind}: no aggregation of the program {what}", _hint(kind))


def _files(asked: PictureRequest, fitting: list[int], specs: Sequence[AggregationSpec]) -> Iterator[PictureTask]:
    """One file each where there are several, but for speedscope, which shows several profiles of a file."""
    if len(fitting) == 1 or asked.kind == SPEEDSCOPE:
        yield PictureTask(asked.kind, asked.path, tuple(fitting))
        return
    if asked.path == STANDARD_OUTPUT:
        names = ", ".join(f"@{name_of(specs[number])}" for number in fitting)
        raise RequestError(
            f"--{asked.kind} -: there are several aggregations for it: {names}", f"--{asked.kind} @NAME:-"
        )
    for number in fitting:
        yield PictureTask(asked.kind, _inserted(asked.path, name_of(specs[number]) or "_"), (number,))


def _inserted(path: str, name: str) -> str:
    """`out.html` for aggregation `a`: `out.a.html`."""
    suffix = next((each for each in _SUFFIXES if path.lower().endswith(each)), os.path.splitext(path)[1])
    bare = path[: len(path) - len(suffix)] if suffix else path
    return f"{bare}.{name}{path[len(bare) :]}"
