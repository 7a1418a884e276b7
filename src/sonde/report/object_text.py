"""What the programs of a BPF object wrote, as text: their prints, the records of their rings, their maps at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sonde.bpf import maps
from sonde.consume.options import Options
from sonde.model.probe import Probe
from sonde.model.records import TypeSpec
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words
from sonde.report import samples
from sonde.report.headed_packets import HeadedPacket, HeadedPackets
from sonde.report.hexdump import hexdump
from sonde.report.object_sink import ObjectSink, PacketSink
from sonde.report.object_stacks import Stacks
from sonde.report.output import Output
from sonde.report.refused_probes import refused_probes
from sonde.report.stack import Addresses
from sonde.report.symbolizer import NoNames, Symbolizer
from sonde.report.value import value_text
from sonde.typed import TYPE_CHECKING, NamedTuple
from sonde.visible import single_line_bytes, visible, visible_bytes, visible_lines_bytes

if TYPE_CHECKING:
    pass

_TABLES = (maps.HASH, maps.ARRAY, maps.PERCPU_HASH, maps.PERCPU_ARRAY, maps.LRU_HASH, maps.LRU_PERCPU_HASH)
_SHOWN = frozenset((*_TABLES, maps.LPM_TRIE, maps.STACK_TRACE))
_WORD = frozenset((1, 2, 4, 8))


class MapTypes(NamedTuple):
    """Indexes of types, None where they are not known: of keys; of values, or of what is written to a ring; for global
    data `variables` has the name, type, offset and size of each."""

    key: int | None = None
    value: int | None = None
    variables: tuple[tuple[str, int, int, int], ...] = ()


class ObjectReport(ObjectSink):
    """Writes to a file descriptor; `say` is told what concerns the run itself."""

    def __init__(
        self,
        descriptor: int,
        types: Sequence[TypeSpec],
        by_map: Mapping[str, MapTypes],
        say: Callable[[str], None],
        names: Symbolizer | None = None,
        process: int = 0,
        take: Callable[[bytes], None] | None = None,
    ) -> None:
        """`names` are those of addresses, `process` the process whose stacks are that are nobody's otherwise. `take`
        gets what is written in place of the descriptor."""
        self._output = Output(descriptor, take)
        self._addresses = Addresses(names or NoNames(), Options())
        self._addresses.suit(self._output.is_terminal)
        self._process = process
        self._types = types
        self._by_map = by_map
        self._say = say
        self._headed: dict[str, HeadedPackets] = {}
        self._packets: PacketSink | None = None

    def printed(self, text: bytes) -> None:
        """One bpf_printk()."""
        shown = visible_lines_bytes(text) if self._output.is_terminal else text
        self._output.write(shown if shown.endswith(b"\n") else shown + b"\n")

    def written(self, chunks: Iterable[bytes]) -> None:
        """The text of an iterator."""
        for each in chunks:
            self._output.write(visible_lines_bytes(each) if self._output.is_terminal else each)

    def for_packets(self, arrays: Iterable[str], packets: PacketSink | None) -> None:
        """Take the records of these arrays of perf events for a structure and a packet behind it, which goes to
        `packets` if that is there."""
        for name in arrays:
            known = self._by_map.get(name, MapTypes()).value
            if known is not None:
                self._headed[name] = HeadedPackets(self._types, known)
        self._packets = packets

    def record(self, name: str, data: bytes, moment: int = 0) -> None:
        """A record of a ring buffer or of an array of perf events, whose records are padded; `moment` in ns since
        1970 is known of the latter."""
        known = self._by_map.get(name, MapTypes()).value
        parted = self._headed[name].parted(data) if name in self._headed else None
        if parted is not None and known is not None:
            self._packet(name, parted, value_text(self._types, known, bytes(parted.head)), moment)
            return
        if known is not None:
            data = whole_record(self._types, known, data)
        if known is not None and self._types[known].size <= len(data) < self._types[known].size + 8:
            self._output.write(b"%b: %b\n" % (visible(name).encode(), value_text(self._types, known, data)))
        else:
            self._output.write(b"%b: %d bytes%b" % (visible(name).encode(), len(data), hexdump(data)))

    def _packet(self, name: str, parted: HeadedPacket, text: bytes, moment: int) -> None:
        data = bytes(parted.data)
        if self._packets is not None:
            self._packets.write(name, parted.device, moment, parted.length, data, text)
            return
        sizes = (len(data), parted.length)
        self._output.write(b"%b: %b, %d of %d bytes%b" % (visible(name).encode(), text, *sizes, hexdump(data)))

    def lost(self, name: str, count: int) -> None:
        if count:
            self._say(f"{count} record{'' if count == 1 else 's'} of {name} lost: there was no room")

    def left_out(self, refused: Sequence[Probe]) -> None:
        """Probes that the kernel does not take."""
        self._say(refused_probes(refused))

    def lost_firings(self, reason: str, count: int) -> None:
        """Of programs that something would have fired."""
        if count:
            self._say(f"{count} firing{'' if count == 1 else 's'} lost: {reason}")

    def lost_samples(self, count: int) -> None:
        """Of perf events, whose rings were full."""
        if count:
            self._say(
                f"{count} sample{'' if count == 1 else 's'} lost: there was no room; "
                "-xsamplesize=SIZE makes their rings larger"
            )

    def sample_lines(self) -> samples.SampleLines:
        """Shows samples among the rest of the text."""
        return samples.SampleLines(self._addresses, self._output.write, self._shown_name)

    def _shown_name(self, name: bytes) -> bytes:
        return visible_bytes(name) if self._output.is_terminal else single_line_bytes(name)

    def was_full(self, name: str, times: int, size: int) -> None:
        """Of a ring buffer, which does not count what it has no room for."""
        self._say(
            f"ring buffer {name} was full {times} time{'' if times == 1 else 's'}: records may be lost, which Linux "
            f"does not count; --map {name}={2 * size} makes it larger"
        )

    def can_show(self, spec: MapSpec) -> bool:
        """Whether its elements are values at all."""
        return is_shown(spec)

    def maps(self, found: Sequence[tuple[MapSpec, Sequence[tuple[bytes, bytes]]]]) -> None:
        """All elements of all maps."""
        stacks = Stacks(self._types, self._addresses, self._process)
        for spec, elements in found:
            known = self._by_map.get(spec.name, MapTypes())
            for key, value in elements:
                stacks.learn(known.key, key)
                for each in each_cpu(spec, value):
                    stacks.learn(known.value, each)
        for spec, elements in found:
            if spec.kind == maps.STACK_TRACE and not spec.flags & maps.F_STACK_BUILD_ID:
                for number, value in sorted((int.from_bytes(key, "little"), value) for key, value in elements):
                    text = stacks.text(number, value)
                    self._output.write(b"%b[%d] =%b" % (visible(spec.name).encode(), number, text))
            else:
                self.map(spec, elements)

    def map(self, spec: MapSpec, elements: Sequence[tuple[bytes, bytes]]) -> None:
        """All elements; of global data each variable by its name."""
        known = self._by_map.get(spec.name, MapTypes())
        if known.variables:
            for name, kind, offset, size in known.variables:
                text = value_text(self._types, kind, elements[0][1][offset : offset + size])
                self._output.write(b"%b = %b\n" % (visible(name).encode(), text))
            return
        for key, value in sorted(elements, key=lambda each: each[0][::-1]):
            texts = [self._value(known.value, each) for each in each_cpu(spec, value)]
            shown = texts[0] if len(texts) == 1 else b"[" + b", ".join(texts) + b"]"
            self._output.write(b"%b[%b] = %b\n" % (visible(spec.name).encode(), self._value(known.key, key), shown))

    def _value(self, kind: int | None, data: bytes) -> bytes:
        if kind is not None:
            return value_text(self._types, kind, data)
        if len(data) in _WORD:
            return b"%d" % int.from_bytes(data, "little")
        return data.hex(" ").encode()

    def share_terminal(self, make_room: Callable[[bool], None]) -> None:
        self._output.make_room = make_room

    def flush(self) -> None:
        self._output.flush()


def is_shown(spec: MapSpec) -> bool:
    """Whether a map's elements are values at all."""
    return spec.kind in _SHOWN and not spec.inner


def whole_record(types: Sequence[TypeSpec], number: int, data: bytes) -> bytes:
    """A record of that type: where only a part of the array was written that is the structure's last member, zeros
    stand for the rest."""
    kind = types[number]
    last = kind.members[-1] if kind.members else None
    is_open = last is not None and types[last.type].kind == "array" and last.offset // 8 <= len(data)
    return data.ljust(kind.size, b"\0") if is_open else data


def each_cpu(spec: MapSpec, value: bytes) -> list[bytes]:
    """The values of an element: one, or one for each CPU."""
    if spec.kind not in maps.PER_CPU:
        return [value]
    step = whole_words(spec.value_size)
    return [value[at : at + spec.value_size] for at in range(0, len(value), step)]
