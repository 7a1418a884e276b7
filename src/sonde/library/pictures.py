"""Flame graphs, heat maps and profiles for other viewers: checked before tracing begins, written when it is over."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sonde import __version__
from sonde.consume.options import Options, display_options
from sonde.directory_walk import Place, place_of
from sonde.formats.profile import Profile, ProfileError
from sonde.library.errors import Error
from sonde.library.outputs import Files
from sonde.model.options import STANDARD_OUTPUT, OptionTable
from sonde.model.spec import TracingSpec
from sonde.pictures.album import HEAT_RATE, Album
from sonde.pictures.requests import FLAME, NAMES, PictureTask, RequestError, named, request, tasks
from sonde.pictures.saved import LARGEST, read_profile
from sonde.report.symbolizer import Symbolizer
from sonde.typed import NamedTuple
from sonde.untrusted import read_named
from sonde.written_files import empty, exists_at, open_at, remove_at


class Pictures:
    """The pictures of one run. Raises Error for what cannot be drawn, read, or written to."""

    def __init__(
        self, files: Files, spec: TracingSpec, symbolizer: Symbolizer, options: OptionTable, tell: Callable[[str], None]
    ) -> None:
        try:
            requests = [request(kind, text) for kind, text in files.pictures]
            earlier = _earlier(files, spec)
            not_drawn = earlier if isinstance(earlier, int) else None
            self._tasks = tasks(requests, spec.aggregations, not_drawn)
        except RequestError as error:
            raise Error(error.text, error.hint) from None
        self._files = OutputFiles(self._tasks)
        self._tell = tell
        self._is_quiet = options.on("quiet")
        shown = display_options(options, Options())
        rate = options.number("heatrate") or HEAT_RATE
        self.album = Album(self._tasks, spec.aggregations, symbolizer, shown, f"sonde {__version__}", earlier, rate)

    def write(self) -> None:
        """Write the files of a session that is over, all that can be written. Raises Error for the others."""
        failed: list[Error] = []
        for file in self.album.files():
            try:
                self._files.write(file.task.path, file.data)
            except Error as error:
                failed.append(error)
                continue
            if not self._is_quiet:
                self._tell(f"{NAMES[file.task.kind]}: {file.task.path} ({file.summary})")
        for each in failed[:-1]:
            self._tell(each.text)
        if failed:
            raise failed[-1]

    def close(self) -> None:
        """Files that nothing was written to are as they were."""
        self._files.close()


def _earlier(files: Files, spec: TracingSpec) -> Profile | int | None:
    """What --flame-diff names: a file's profile or an aggregation's number. Raises RequestError."""
    text = files.compared
    if text is None:
        return None
    if not any(kind == FLAME for kind, _ in files.pictures):
        raise RequestError("--flame-diff says what a flame graph is compared with: --flame FILE is wanted, too")
    if text.startswith("@"):
        return named("flame-diff", text[1:], spec.aggregations)
    return profile_of_file(text)


def profile_of_file(path: str) -> Profile:
    """A saved profile. Raises Error."""
    try:
        return read_profile(read_named(path, LARGEST), os.path.basename(path))
    except OSError as error:
        raise Error(f"failed to open {path}: {error.strerror}") from None
    except ProfileError as error:
        text = f"{path} cannot be used: {error}"
        raise Error(text, "folded stacks, speedscope's JSON and pprof's profiles can be read") from None


class OutputFiles:
    """Opened before there is anything to write: who cannot write them is told before the trace, not after it."""

    def __init__(self, wanted: Sequence[PictureTask]) -> None:
        self._open: dict[str, _OpenFile] = {}
        for task in wanted:
            try:
                self._open[task.path] = _opened(task.path)
            except OSError as error:
                self.close()
                raise Error(f"failed to open {NAMES[task.kind]} '{task.path}': {error.strerror}") from None

    def write(self, path: str, data: bytes) -> None:
        """Replace the file's contents. Raises Error."""
        file = self._open.pop(path)
        try:
            if file.place is not None:
                empty(file.descriptor)
            view = memoryview(data)
            while view:
                view = view[os.write(file.descriptor, view) :]
        except OSError as error:
            raise Error(f"failed to write '{path}': {error.strerror}") from None
        finally:
            file.close()

    def close(self) -> None:
        for file in self._open.values():
            if file.place is not None and file.is_new:
                remove_at(file.place, file.descriptor)
            file.close()
        self._open.clear()


class _OpenFile(NamedTuple):
    """`place` is None for the standard output."""

    descriptor: int
    place: Place | None = None
    is_new: bool = False

    def close(self) -> None:
        os.close(self.descriptor)
        if self.place is not None:
            self.place.close()


def _opened(path: str) -> _OpenFile:
    """Raises OSError."""
    if path == STANDARD_OUTPUT:
        return _OpenFile(os.dup(1))
    place = place_of(path)
    try:
        is_new = not exists_at(place)
        return _OpenFile(open_at(place), place, is_new)
    except BaseException:
        place.close()
        raise
