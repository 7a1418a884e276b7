"""The export of one run: what is watched, what is served, and where."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from sonde.library.errors import Error
from sonde.library.export.exposition import CONTENT_TYPE, OWN_METRICS, Exposition
from sonde.library.export.families import families
from sonde.library.export.key_texts import ValueTexts, folded
from sonde.library.export.scrapes import Scrapes
from sonde.library.export.server import MetricServer
from sonde.library.export.snapshots import MetricSnapshot, SnapshotMaker
from sonde.library.export.wanted import GAUGE_OPTION, ExportRequest
from sonde.library.values import Values
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.model.spec import TracingSpec
from sonde.session.names import Names
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.library.bpftrace.programs import BtMaps
    from sonde.library.foreground import Watch


def watch(request: ExportRequest) -> Watch:
    """What exports the run of a program in D."""
    return lambda spec, names, tell: _exporting(request, spec, names, tell)


def watch_maps(request: ExportRequest) -> Callable[[BtMaps], Watch]:
    """The same of bpftrace's language."""

    def made(maps: BtMaps) -> Watch:
        shown = maps.texts
        texts = None if shown is None else lambda spec, key: [folded(each) for each in shown(spec, key)]
        return watch(request._replace(texts=texts, functions=maps.functions, left_out=maps.series))

    return made


@contextmanager
def _exporting(
    request: ExportRequest, spec: TracingSpec, names: Names, tell: Callable[[str], None]
) -> Iterator[Scrapes]:
    """What a session is to call while it goes on (`session.Watcher`); scrapes are answered as soon as its probes are
    attached. Raises Error."""
    made, unexported = families(spec, OWN_METRICS, request)
    for each in unexported:
        tell(f"{each.name} is not exported: {each.reason}")
    if not made:
        raise Error("there is nothing to export", "aggregations are exported: @calls[execname] = count()")
    _require_known(request.gauges, [each.spec for each in made])
    texts = request.texts or ValueTexts(Values(names, spec.types))
    maker = SnapshotMaker(made, request.label_sets, texts, GAUGE_OPTION, tell)
    pages = _Pages()
    server = MetricServer(request.address, lambda: (pages.text(scrapes.latest()), CONTENT_TYPE))

    def ready() -> None:
        server.start()
        if request.announce is not None:
            request.announce(f"metrics are at {server.url}")

    scrapes = Scrapes(maker, ready)
    try:
        yield scrapes
    finally:
        server.close()


class _Pages:
    """The text of the last snapshot, made once, whoever asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exposition = Exposition()
        self._of: MetricSnapshot | None = None
        self._text = b""

    def text(self, snapshot: MetricSnapshot) -> bytes:
        with self._lock:
            if snapshot is not self._of:
                self._text = self._exposition.text(snapshot)
                self._of = snapshot
            return self._text


def _require_known(gauges: Collection[str], specs: Collection[AggregationSpec | ArraySpec]) -> None:
    known = {each.name.removeprefix("@") for each in specs}
    for name in gauges:
        if name not in known:
            raise Error(f"{GAUGE_OPTION} {name}: the program has no aggregation of that name", "leave out the @")
