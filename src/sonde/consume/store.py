"""One aggregation as the consumer keeps it: what the map holds, less what was cleared, plus what was taken out.

The programs' values only grow. A `clear` remembers them as a baseline to subtract. Where that is impossible (min, max)
or not enough (`trunc` has to free keys), the map is replaced as a whole by an empty one and its final contents are
kept here. Either way every increment is in exactly one place: nothing is lost and nothing counted twice, even while
the programs run on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from sonde.consume.decode import key_reader
from sonde.consume.events import Value
from sonde.consume.stack_values import swapped
from sonde.consume.stacks import process_of
from sonde.model.aggregating import element_size, has_mark, merging_of, without_extent, zero_words
from sonde.model.aggregation_words import Words, instances, merger
from sonde.model.records import AggregationSpec, Field
from sonde.model.spec import OF_PROCESSES
from sonde.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sonde.engines.base import DataSource

Key = tuple[Value, ...]

_AT_ONCE = 4096
"""Keys that are decoded in one go."""


KeptAs = Callable[[Key], "Key | None"]

Canonical = Callable[[bytes], bytes]
"""The one of all stacks of a process that are shown alike (`consume/stacks.py`)."""


def _reader(
    spec: AggregationSpec, strings: Sequence[bytes], canonical: Canonical | None
) -> Callable[[Sequence[bytes]], list[Key]]:
    """From the bytes of keys to their values."""
    read = key_reader(spec.keys, strings, spec.key_size)
    if canonical is None:
        return read
    found = [(place, _canonical_of(field, canonical)) for place, field in enumerate(spec.keys)]
    changes = [(place, change) for place, change in found if change is not None]
    if not changes:
        return read

    def made(key: Key) -> Key:
        values = list(key)
        for place, change in changes:
            values[place] = change(key[place])
        return tuple(values)

    return lambda keys: list(map(made, read(keys)))


def _canonical_of(field: Field, canonical: Canonical) -> Callable[[Any], Value] | None:
    """What makes values of such a field those that are shown alike; None where they have no stack."""
    if field.kind == "ustack":
        return canonical
    if field.kind == "user_symbol":

        def of_pair(pair: tuple[int, int]) -> tuple[int, int]:
            return process_of(canonical(struct.pack(">2Q", *pair))), pair[1]

        return of_pair
    if field.kind == "bytes" and field.detail.partition(" ")[0].startswith(OF_PROCESSES):
        return lambda value: swapped(canonical(swapped(value)))
    return None


class Snapshot(NamedTuple):
    """The visible keys at one moment: `values` since the last clear, `totals` since the beginning.

    `is_final`: the map was replaced, so the programs can no longer change these values. `cpus` has the same for each
    CPU alone, if that was asked for.
    """

    values: dict[Key, Words]
    totals: dict[Key, Words]
    is_final: bool
    cpus: tuple[Snapshot, ...] = ()


class AggregationStore:
    """The state of one aggregation, over all CPUs or of one `cpu` alone.

    With `per_cpu` it keeps a store for each CPU beside its own state, for option aggpercpu. With `kept_as` it
    adds up what a clear or trunc takes away for good, by the keys that this gives: `everything` needs that.
    """

    def __init__(
        self,
        spec: AggregationSpec,
        strings: Sequence[bytes],
        tracing: DataSource,
        per_cpu: bool = False,
        cpu: int | None = None,
        kept_as: KeptAs | None = None,
        canonical: Canonical | None = None,
    ) -> None:
        self.spec = spec
        self._strings, self._canonical = strings, canonical
        self._tracing = tracing
        self._per_cpu = per_cpu
        self._cpu = cpu
        self._each: list[AggregationStore] = []
        self._decode = _reader(spec, strings, canonical)
        merging = merging_of(spec)
        self._width = element_size(spec.function, spec.parameters, len(spec.keys), spec.has_extent)
        self._has_mark = has_mark(spec.function, len(spec.keys))
        self._add = merging.add
        self._merged = merger(merging, self._width)
        self._subtract = merging.subtract
        self._zero = zero_words(spec)
        self._retained: dict[Key, Words] = {}
        self._baseline: dict[Key, Words] = {}
        self._hidden: set[Key] = set()
        self._is_used = False
        self._shown: set[Key] = set()
        self._contents: Sequence[tuple[bytes, bytes]] = ()
        self._looked: dict[bytes, tuple[bytes, Key, Words]] = {}
        self._removed: dict[Key, Words] = {}
        self._kept_as = kept_as

    def read(self, final: bool) -> Snapshot:
        """Take a snapshot, replacing the map if `final` and if that is possible."""
        is_final = final and self.spec.replaceable
        contents = self._tracing.replace_map(self.spec.map) if is_final else self._tracing.read_map(self.spec.map)
        if self._per_cpu and contents and not self._each:
            cpus = len(contents[0][1]) // (8 * self._width)
            self._each = [self._of_cpu(cpu) for cpu in range(cpus)]
        each = tuple([store.absorb(contents, is_final) for store in self._each])
        return self.absorb(contents, is_final)._replace(cpus=each)

    def _of_cpu(self, cpu: int) -> AggregationStore:
        return AggregationStore(self.spec, self._strings, self._tracing, False, cpu, canonical=self._canonical)

    def held(self) -> Iterable[Key]:
        """The keys that are kept here, in the map or not."""
        return chain(self._retained, self._baseline, self._removed)

    def absorb(self, contents: Sequence[tuple[bytes, bytes]], is_final: bool) -> Snapshot:
        """The snapshot that the contents of the map amount to."""
        totals = dict(self._retained)
        self._fold(contents, totals)
        if is_final:
            self._retained = dict(totals)
        return Snapshot(self._visible(totals), totals, is_final)

    def everything(self, contents: Iterable[tuple[bytes, bytes]]) -> dict[Key, Words]:
        """All that was ever counted, `contents` being what the map holds at present: no clear or trunc shows in it."""
        totals = dict(self._removed)
        for key, words in self._retained.items():
            totals[key] = self._sum(totals.get(key), words)
        looked = {}
        for raw, value in contents:
            looked[raw] = self._looked_at(raw, value)
            _, key, words = looked[raw]
            totals[key] = self._sum(totals.get(key), words)
        self._looked = looked
        return {key: words for key, words in totals.items() if any(without_extent(self.spec, words))}

    def _looked_at(self, raw: bytes, value: bytes) -> tuple[bytes, Key, Words]:
        """A value, its key and its words; between two looks most of them have not changed."""
        earlier = self._looked.get(raw)
        if earlier is not None and earlier[0] == value:
            return earlier
        key = earlier[1] if earlier is not None else self._decode([raw])[0]
        return value, key, self._words(value)

    def _sum(self, earlier: Words | None, words: Words) -> Words:
        return words if earlier is None else self._add(earlier, words)

    def _keep_removed(self, words: dict[Key, Words]) -> None:
        if self._kept_as is not None:
            for key, value in words.items():
                kept = self._kept_as(key)
                if kept is not None:
                    self._removed[kept] = self._sum(self._removed.get(kept), value)

    def _fold(self, contents: Sequence[tuple[bytes, bytes]], totals: dict[Key, Words]) -> None:
        """Add a map's contents, where different bytes may decode to the same key (what is behind a string's NUL)."""
        if self._subtract is None:
            self._contents = contents
        for start in range(0, len(contents), _AT_ONCE):
            raw, values = zip(*contents[start : start + _AT_ONCE], strict=True)
            for key, words in zip(self._decode(raw), map(self._words, values), strict=True):
                # Keys with stacks are long, and each look at the dictionary takes a hash of all of it.
                earlier = totals.setdefault(key, words)
                if earlier is not words:
                    totals[key] = self._add(earlier, words)

    def _words(self, value: bytes) -> Words:
        words = self._merged(value) if self._cpu is None else instances(value, self._width)[self._cpu]
        if not self._has_mark:
            return words
        at = self.spec.words
        self._is_used = self._is_used or words[at] != 0
        return words[:at] + words[at + 1 :]

    def _visible(self, totals: dict[Key, Words]) -> dict[Key, Words]:
        values, subtract = {}, self._subtract
        for key, total in totals.items():
            base = self._baseline.get(key)
            if key in self._hidden:
                if total == base:
                    continue
                self._hidden.discard(key)
            values[key] = total if base is None or subtract is None else subtract(total, base)
        if not self.spec.keys:
            # The only element of an array exists from the start: it counts once it has been used.
            known = self._is_used
            values = {key: words for key, words in values.items() if known or key in self._shown or words != self._zero}
            self._shown.update(values)
        return values

    def clear(self, snapshot: Snapshot) -> Snapshot:
        """Make the values of the snapshot zero; the keys stay. Returns the snapshot as it is then."""
        for store, part in zip(self._each, snapshot.cpus, strict=False):
            store.clear(part)
        zeros = dict.fromkeys(snapshot.values, self._zero)
        if self._subtract is not None and not snapshot.is_final:
            for key in zeros:
                self._baseline[key] = snapshot.totals[key]
            return snapshot._replace(values=zeros, cpus=())
        self._keep_removed({key: snapshot.totals[key] for key in zeros})
        if snapshot.is_final:
            # Not as a baseline, which would leave their extents to what is counted from here on.
            self._retained.update(zeros)
        else:
            self._overwrite(zeros)
        return snapshot._replace(values=zeros, totals=snapshot.totals | zeros, cpus=())

    def remove(self, snapshot: Snapshot, keys: Iterable[Key]) -> Snapshot:
        """Forget the keys, which come back when the programs use them again. Returns the snapshot as it is then."""
        gone = set(keys)
        for store, part in zip(self._each, snapshot.cpus, strict=False):
            store.remove(part, gone.intersection(part.totals))
        self._shown -= gone
        self._is_used = self._is_used and not gone
        if snapshot.is_final or self._subtract is None:
            self._keep_removed({key: snapshot.totals[key] for key in gone if key in snapshot.totals})
        if snapshot.is_final:
            for key in gone:
                self._retained.pop(key, None)
                self._baseline.pop(key, None)
        else:
            self._hide(gone, snapshot)
        return snapshot._replace(values={key: words for key, words in snapshot.values.items() if key not in gone})

    def _hide(self, keys: set[Key], snapshot: Snapshot) -> None:
        """Make keys invisible that cannot be removed from the map, until their values move."""
        if self._subtract is None:
            self._overwrite(keys)
            self._baseline.update(dict.fromkeys(keys, self._zero))
        else:
            self._baseline.update((key, snapshot.totals[key]) for key in keys)
        self._hidden |= keys

    def _overwrite(self, keys: Iterable[Key]) -> None:
        """Start minimum and maximum again in a map that cannot be replaced, at the risk of losing an update."""
        wanted = set(keys)
        for key in wanted:
            self._retained.pop(key, None)
        for raw, value in self._contents:
            if self._decode([raw])[0] in wanted:
                self._tracing.write_map(self.spec.map, raw, bytes(len(value)))
