"""Flame graphs and heat maps of the library's own values, for notebooks and files."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Mapping
from html import escape

from sonde.formats import folded
from sonde.formats.profile import KERNEL, KEY, USER, Profile, ProfileFrame, ProfileFrames
from sonde.library.frames import Frame, Stack
from sonde.library.rich_text import shown
from sonde.model.aggregating import function_of
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.pictures import flame, heatmap
from sonde.pictures.heat import Columns
from sonde.typed import Any, Protocol
from sonde.written_files import create

_HEIGHT = 480
"""Pixels of a picture in a notebook."""


class Looked(Protocol):
    """An aggregation of a run (`library.aggregations`)."""

    @property
    def spec(self) -> AggregationSpec | ArraySpec: ...
    def snapshot(self) -> Mapping[Any, Any]: ...


class Picture:
    """A picture that notebooks show. `html` is a page of its own, with a script to look closer; `svg` an image."""

    def __init__(self, title: str, html: str, svg: str) -> None:
        self.title = title
        self.html = html
        self.svg = svg

    def save(self, path: str) -> None:
        """Write it to a file, as SVG if its name ends so, else as HTML. What is made is for its owner alone."""
        with open(create(path, os.O_TRUNC), "w", encoding="utf-8", errors="replace") as file:
            file.write(self.svg if path.lower().endswith(".svg") else self.html)

    def framed(self) -> str:
        """HTML of the page in a frame, out of reach of the page around it."""
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.title)}" srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )

    def image(self) -> str:
        """HTML of the image, in which no script runs."""
        data = base64.b64encode(self.svg.encode(errors="replace")).decode()
        return f'<img alt="{escape(self.title)}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": f"<{self.title}>", "text/html": self.framed()}


def has_stack(rows: Mapping[Any, Any]) -> bool:
    """Whether there is a stack in the keys."""
    return any(isinstance(part, Stack) for key in rows for part in key)


def profile_of(spec: AggregationSpec, rows: Mapping[Any, Any]) -> Profile:
    """The stacks of keys, outermost frame first: other parts of the key, the process's, then the kernel's frames."""
    table = ProfileFrames()
    drawn = function_of(spec).drawn
    stacks: dict[tuple[int, ...], int] = {}
    left_out = 0
    for key, value in rows.items():
        number = drawn.number(value.words)
        if number <= 0:
            left_out += 1
            continue
        stack = tuple(map(table.number, _frames(key)))
        stacks[stack] = stacks.get(stack, 0) + number
    notes = (f"{left_out:,} left out, whose value is not above 0",) if left_out else ()
    title = f"@{'' if spec.name == '_' else spec.name}"
    return Profile(title, drawn.heading, drawn.unit, table.frames(), stacks, notes=notes)


def _frames(key: tuple[Any, ...]) -> list[ProfileFrame]:
    found = [ProfileFrame(shown(part), "", KEY) for part in key if not isinstance(part, Stack)]
    stacks = [part for part in key if isinstance(part, Stack)]
    for stack in sorted(stacks, key=lambda stack: stack.pid is None):
        kind = KERNEL if stack.pid is None else USER
        found += [_frame(each, kind) for each in reversed(stack)]
    return found


def _frame(frame: Frame, kind: str) -> ProfileFrame:
    module = shown(frame.module.rpartition("/")[2])
    return ProfileFrame(shown(frame.function) or "[unknown]", module, kind)


class FlameGraph(Picture):
    """The flame graph of an aggregation that has stacks in its keys."""

    def __init__(self, spec: AggregationSpec, rows: Mapping[Any, Any]) -> None:
        """Raises ValueError where there is no stack."""
        if rows and not has_stack(rows):
            raise ValueError("a flame graph is made of stacks: stack() or ustack() in the key")
        self._profile = profile_of(spec, rows)
        super().__init__(
            f"Flame graph of {self._profile.title}", flame.flame_html(self._profile), flame.flame_svg(self._profile)
        )

    @property
    def folded(self) -> str:
        """The stacks as lines of text, which flamegraph.pl and viewers of profiles take."""
        return folded.write(self._profile)


class HeatMap:
    """How a histogram changes in time: a column between each two looks. It is a picture for notebooks.

    heat = sonde.HeatMap(run.aggregations["bytes"])
    heat.look()   # now and then
    """

    def __init__(self, aggregation: Looked, is_whole: bool = False) -> None:
        """`is_whole`: the first column has what was counted before this, too. Raises TypeError for what is
        no aggregation, and ValueError for one that is no histogram."""
        self._aggregation = aggregation
        if not hasattr(aggregation, "spec"):
            raise TypeError(f"a heat map is made of an aggregation of a run, not {aggregation!r}")
        self._spec = aggregation.spec
        if not isinstance(self._spec, AggregationSpec) or function_of(self._spec).buckets is None:
            raise ValueError("a heat map is made of a histogram: quantize(), lquantize() or llquantize()")
        self._columns = Columns()
        self._began = time.time_ns()
        self._looks = 0
        self._names: dict[Any, str] = {}
        self.take({} if is_whole else aggregation.snapshot())

    def look(self) -> None:
        """Count up to now."""
        self.take(self._aggregation.snapshot())

    def take(self, rows: Mapping[Any, Any]) -> None:
        """The same with what was read of the aggregation."""
        self._names |= {key: ", ".join(map(shown, key)) for key in rows}
        self._columns.look(time.time_ns() - self._began, {key: value.words for key, value in rows.items()})
        self._looks += 1

    @property
    def columns(self) -> int:
        """How many stretches of time it has."""
        return self._looks - 1

    def picture(self) -> Picture:
        """As it is now. Raises ValueError before the second look."""
        if self._looks < 2:
            raise ValueError("there is nothing to draw yet: look() once more")
        assert isinstance(self._spec, AggregationSpec)
        heat = self._columns.finished()
        drawn = heatmap.HeatMap(self._spec, heat, [self._names[key] for key in heat.keys], self._began)
        name = "" if self._spec.name == "_" else self._spec.name
        return Picture(f"Heat map of @{name}", heatmap.heatmap_html(drawn), heatmap.heatmap_svg(drawn))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        if self._looks < 2:
            self.look()
        return self.picture()._repr_mimebundle_()
