"""Two who watch one session."""

from __future__ import annotations

from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.consume.store import Key
    from sonde.session.participants import Sight, Watcher


def both(one: Watcher | None, other: Watcher) -> Watcher:
    """Both as one, where there are two."""
    return other if one is None else Watchers(one, other)


class Watchers:
    """A `Watcher` that is several."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = watchers
        self.drawn = frozenset[int]().union(*(each.drawn for each in watchers))

    def begin(self, sight: Sight) -> None:
        for each in self._watchers:
            each.begin(sight)

    def started(self) -> None:
        for each in self._watchers:
            each.started()

    def poll(self) -> float:
        """When the first of them is to be called next."""
        return min([each.poll() for each in self._watchers])

    def kept_as(self, aggregation: int, key: Key) -> Key:
        """As it is: one may tell apart what others do not."""
        return key

    def finish(self) -> None:
        for each in self._watchers:
            each.finish()
