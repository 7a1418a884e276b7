"""From an object to the TracingSpec that engines take, as the compiler of D makes one."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from sonde.bpf import instructions as i
from sonde.bpf import maps
from sonde.bpf.btf_writer import pack_func_info
from sonde.bpf.helpers import POISON
from sonde.model.probe import Probe
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, TracingSpec, VariablesSpec
from sonde.model.units import whole_words
from sonde.objects import kernel_lines
from sonde.objects.arguments import takes_variables
from sonde.objects.attach_types import is_mixed, unlinked
from sonde.objects.choices import NO_CHOICES, OFF, Choices, SectionPlace, loaded_programs, require_maps
from sonde.objects.core import Kernel, Relocator
from sonde.objects.data import refuse_addresses, set_variables
from sonde.objects.elf import SHF_EXECINSTR, ObjectFile, is_gnu
from sonde.objects.errors import ObjectError
from sonde.objects.externals import externals, running_configuration
from sonde.objects.fetching import NAME as FETCHING
from sonde.objects.fetching import VariableLayout, fetching_code
from sonde.objects.frame import VALUES, frame
from sonde.objects.functions import ObjectFunction
from sonde.objects.kernel_btf import for_kernel, hidden_types, wrapper_id
from sonde.objects.line_requests import Attached, of_line
from sonde.objects.lines import ProbeLine, is_line, is_system_call, read_lines
from sonde.objects.linking import LinkedFunctions, Linker, VariableCode, function_info, line_info
from sonde.objects.maps import DeclaredMaps, MapDefinition, declared, require_sizes
from sonde.objects.packet_sections import packet_section
from sonde.objects.reading import BpfObject, damaged
from sonde.objects.sampling import lets_through, sample_fields, with_callees
from sonde.objects.sections import GENERAL, Having, SectionRequest, is_fired, request, require_kind
from sonde.objects.static_arguments import MAP, StaticArguments
from sonde.objects.tail_calls import require_callable
from sonde.objects.traceable_code import TraceableCode
from sonde.providers import kernel_types
from sonde.symbols.elf.errors import CostError
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sonde.objects.kernel_lines import KernelLines


class Host(Kernel, Having, Protocol):
    """The kernel, or the engine that is in its place, which an object is to run in."""

    links_uprobes: bool
    """Whether uprobes are attached by links, which their programs have to be loaded for."""
    has_fetching: bool
    """Whether there is a helper `bpf_fetch_variables()`."""
    looks_at_calls: bool
    """Whether it leaves return addresses as they are, and looks at that of each call whose return is probed."""


class Refused(NamedTuple):
    """Why the verifier refuses a program that may come to a call that there is not, and what helps."""

    text: str
    remedy: str = ""


class Loadable(NamedTuple):
    """What can be loaded: the spec; the maps as they were declared; the request of each program by its name; why a
    program is refused that may call the helper whose number is so far behind `helpers.POISON`; the maps of
    frames (`frame.BUSY`); the names of programs that nothing fires and no other program calls."""

    spec: TracingSpec
    definitions: Mapping[str, MapDefinition]
    requests: Mapping[str, SectionRequest]
    reasons: Sequence[Refused] = ()
    frames: Sequence[str] = ()
    idle: Sequence[str] = ()


def loadable(object_: BpfObject, host: Host, choices: Choices = NO_CHOICES) -> Loadable:
    """What an object is in this host, with what has been chosen. Raises ObjectError."""
    with damaged():
        return _Builder(object_, host, choices).build()


class _Builder:
    """Keeps what the programs of one object share."""

    def __init__(self, object_: BpfObject, host: Host, choices: Choices) -> None:
        self._object = object_
        self._file = object_.file
        self._choices = choices
        self._host = host
        data = set_variables(object_.file, choices.values)
        self._declared: DeclaredMaps = declared(object_.file, object_.types, data, choices.sizes)
        require_maps(choices, (name for name in self._declared.definitions if not name.startswith(".")))
        sections = {each.name: object_.file.sections[each.section].name for each in object_.entries}
        loaded = loaded_programs(choices, sections)
        self._entries = tuple(each for each in object_.entries if each.name in loaded)
        self._hidden = hidden_types(object_)
        self._traceable = TraceableCode(host.looks_at_calls)
        self._kernel_lines: KernelLines | None = None
        self._code = {
            number: i.decode(self._file.contents(number))
            for number, each in enumerate(self._file.sections)
            if each.flags & SHF_EXECINSTR and each.size and not each.size % 8
        }
        self._reasons = [Refused(f"it needs {each}, which {host.called} has not") for each in self._relocate(host)]
        found = externals(object_.file, object_.types, lambda: host.main, running_configuration)
        self._externals, self._configuration = found
        self._arguments = StaticArguments(object_.types, self._declared.definitions)
        self._config = read_lines((self._file.named("config") or b"").decode(errors="replace"))
        self._programs: list[ProgramSpec] = []
        self._probes: list[Probe] = []
        self._frames: list[MapSpec] = []
        self._used: dict[str, set[int]] = {}

    def _relocate(self, kernel: Kernel) -> list[str]:
        """Make the code right for the kernel; what it lacks."""
        types = self._object.types
        if types is None:
            return []
        relocator = Relocator(types, kernel, is_gnu(self._file))
        left_out = [each for each in self._object.entries if each not in self._entries]
        for number, code in self._code.items():
            wanted = [
                each
                for each in self._object.extension.relocations.get(self._file.sections[number].name, ())
                if not any(f.start <= each.offset < f.start + f.size for f in left_out if f.section == number)
            ]
            relocator.relocate(code, wanted, {each.offset // 8 for each in self._file.relocations(number)})
        return relocator.missing

    def build(self) -> Loadable:
        linker = Linker(self._file, self._object.functions, self._code, self._declared.places, self._externals)
        _refuse_cut_names(self._file)
        if not self._object.entries:
            raise ObjectError("it has no programs", 'a program is a global function in a section: SEC("raw_tp/NAME")')
        self._require_packets()
        requests: dict[str, SectionRequest] = {}
        for entry, wanted in self._attached(linker):
            for number, each in enumerate(wanted):
                name = entry.name if not number else f"{entry.name}.{number}"
                requests[name] = each.request
                self._add(linker, entry, name, each)
        made = self._maps()
        require_sizes(made)
        require_callable(made, self._programs, self._host)
        self._require_iterated(requests)
        used = {name for each in self._programs for _, name in each.map_references}
        used |= {name for each in made for _, name in each.elements or ()}
        refuse_addresses(self._file, self._used)
        spec = TracingSpec(made, with_callees(self._programs), (), (), (), tuple(self._probes), self._rings(used))
        called = {name for each in made for _, name in each.elements or ()}
        idle = [name for name, each in requests.items() if not is_fired(each) and name not in called]
        frames = [each.name for each in self._frames]
        return Loadable(spec, self._declared.definitions, requests, self._reasons, frames, idle)

    def _attached(self, linker: Linker) -> list[tuple[ObjectFunction, list[Attached]]]:
        """The copies of each program."""
        found = [(each, self._wanted(each, self._file.sections[each.section].name, linker)) for each in self._entries]
        requests = [each.request for _, wanted in found for each in wanted]
        arrays = any(each.spec.kind == maps.PROG_ARRAY for each in self._declared.definitions.values())
        if self._host.links_uprobes and not (arrays and is_mixed(requests)):
            return found
        return [(entry, [each._replace(request=unlinked(each.request)) for each in wanted]) for entry, wanted in found]

    def _require_packets(self) -> None:
        """Raises ObjectError where a device is named and nothing is for packets."""
        names = [self._file.sections[each.section].name for each in self._entries]
        if self._choices.devices and not any(packet_section(each.removeprefix(OFF)) for each in names):
            given = self._choices.devices[0].text
            raise ObjectError(
                f"--device {given}: none of its programs is for packets", f"there are: {', '.join(names)}"
            )

    def _require_iterated(self, requests: Mapping[str, SectionRequest]) -> None:
        for name, each in requests.items():
            if each.iterated and each.iterated not in self._declared.definitions:
                raise ObjectError(f"iterator {name} goes through map {each.iterated}, which the object has not")

    def _wanted(self, entry: ObjectFunction, section: str, linker: Linker) -> list[Attached]:
        places = self._choices.places.get(entry.name, ())
        if not places and packet_section(section.removeprefix(OFF)) is not None:
            places = self._choices.devices or tuple(map(SectionPlace, self._host.devices))
        line = self._line(section)
        if line is not None and places:
            raise ObjectError(
                f"program {entry.name} has a probe line, which says with its variables where it is attached",
                f"leave --attach {entry.name} away",
            )
        try:
            if line is None:
                return [Attached(request(section, self._traceable, self._host, places, self._choices.xdp))]
            prefix = GENERAL if is_system_call(line) else "uprobe" if line.path else "kprobe"
            require_kind(prefix, line.text, self._host)
            takes = takes_variables(entry.name, self._object.types)
            if takes is None:
                takes = not linker.link(entry, VariableCode(has_line=True)).fetches
            kernel = self._lines_of_kernel() if not line.path and not is_system_call(line) else None
            return of_line(line, entry.name, self._object.types, self._traceable, takes, kernel)
        except CostError as error:
            raise ObjectError(f"program {entry.name}: the file that it is attached to: {error}") from None

    def _lines_of_kernel(self) -> kernel_lines.KernelLines:
        """What lines about the kernel name; debug information is read once for all of them."""
        if self._kernel_lines is None:
            # The kernel's types, and debug information, which most objects do without.

            self._kernel_lines = kernel_lines.KernelLines(kernel_types.KernelTypes().function, self._choices.vmlinux)
        return self._kernel_lines

    def _line(self, section: str) -> ProbeLine | None:
        """The probe line of a section, which it is itself or has in the section config."""
        if is_line(section):
            found = read_lines(section)
            if len(found) != 1:
                raise ObjectError(f"section {section} has {len(found)} probe lines")
            return next(iter(found.values()))
        return self._config.get(section)

    def _add(self, linker: Linker, entry: ObjectFunction, name: str, attached: Attached) -> None:
        map_name = f"{name}.variables"
        variables = self._variables(entry, attached, map_name)
        frame_code = variables.frame
        if attached.arrival is not None and frame_code is not None and frame_code.map_references:
            room = VALUES + whole_words(attached.arrival.layout.size)
            self._frames.append(MapSpec(map_name, maps.PERCPU_ARRAY, 4, room, 1))
        linked = linker.link(entry, variables)
        for at, used in linked.map_references:
            if linked.code[at].src == i.PSEUDO_MAP_VALUE:
                self._used.setdefault(used, set()).add(linked.code[at + 1].imm)
        self._programs.append(self._program(entry, name, attached, linked))

    def _variables(self, entry: ObjectFunction, attached: Attached, map_name: str) -> VariableCode:
        arrival, asked = attached.arrival, attached.asked
        found = VariableCode(has_line=asked is not None)
        if arrival is not None:
            code = fetching_code(arrival.layout, self._too_small(entry, arrival.layout))
            found = found._replace(
                frame=frame(arrival.layout.size, arrival.is_structure), frame_map=map_name, arriving=code
            )
        if asked is not None and not self._host.has_fetching:
            found = found._replace(asked=fetching_code(asked, self._too_small(entry, asked)))
        return found

    def _too_small(self, entry: ObjectFunction, layout: VariableLayout) -> int:
        """The helper, which there is not, of a way on which there is too little room for variables."""
        reason = Refused(
            f"the variables of {entry.name} take {layout.size} bytes, and {FETCHING}() gets room for fewer",
            f"make it {layout.size} bytes: sonde vars --struct OBJECT PLACE VARIABLE ... declares the structure",
        )
        if reason not in self._reasons:
            self._reasons.append(reason)
        return POISON + self._reasons.index(reason)

    def _program(self, entry: ObjectFunction, name: str, attached: Attached, linked: LinkedFunctions) -> ProgramSpec:
        wanted, section, fired = attached.request, self._file.sections[entry.section].name, []
        for number, firing in enumerate(wanted.firings):
            probe_name = wanted.names[number] if wanted.names else section
            probe = Probe(len(self._probes) + 1, "object", "", entry.name, probe_name, firing)
            self._probes.append(probe)
            cookie = self._arguments.cookie(wanted.sites[number], section) if wanted.sites else 0
            fired.append(ProbeSpec(probe, cookie))
        blob, functions, lines = self._described(entry, linked)
        return ProgramSpec(
            name,
            wanted.kind,
            wanted.attach_type,
            i.encode(linked.code),
            tuple(linked.map_references),
            tuple(fired),
            tuple(linked.stamps),
            wanted.attach_to,
            blob,
            pack_func_info(functions),
            _packed_lines(lines),
            self._places(lines, linked),
            variables=self._fetched(attached, linked, fired),
            license=self._object.license,
            flags=wanted.flags,
            samples=lets_through(linked.code, wanted.kind, wanted.firings, [each.at for each in linked.stamps]),
            sample_fields=sample_fields(name, linked, wanted.kind, wanted.firings, self._object, self._host),
        )

    def _fetched(
        self, attached: Attached, linked: LinkedFunctions, fired: Sequence[ProbeSpec]
    ) -> tuple[VariablesSpec, ...]:
        """What the helper fetches, where it is called."""
        if attached.asked is None or not linked.fetches or not self._host.has_fetching:
            return ()
        return tuple(VariablesSpec(cookie, attached.asked.fetches) for cookie in {each.cookie for each in fired} or {0})

    def _described(
        self, entry: ObjectFunction, linked: LinkedFunctions
    ) -> tuple[bytes, list[tuple[int, int]], list[tuple[int, int, int, int]]]:
        """The BTF that the kernel takes, and the FUNC and the line at indexes of instructions."""
        types = self._object.types
        functions = function_info(linked, self._object.extension, self._file)
        if not functions or types is None:
            return b"", functions, []
        lines = line_info(linked, self._object.extension, self._file)
        # What gets variables, or the context to ask for them, is checked with what its callers give it.
        fetching = linked.fetching()
        static = [type_ for (_, type_), (_, each) in zip(functions, linked.functions, strict=True)
                  if each in fetching or (linked.generated and each == entry)]  # fmt: skip
        names = [f"{entry.name}_{what}" for _, what in linked.generated]
        blob = for_kernel(self._object.btf, types, [*self._hidden, *static], names)
        for number, (index, _) in enumerate(linked.generated):
            functions.append((index, wrapper_id(types, number)))
            if lines:
                lines.append((index, *lines[0][1:]))
        return blob, sorted(functions), sorted(lines)

    def _places(
        self, lines: Sequence[tuple[int, int, int, int]], linked: LinkedFunctions
    ) -> tuple[tuple[int, str], ...]:
        """Instruction and "file:line" of each line, "" of what no line is the source of."""
        types = self._object.types
        if types is None:
            return ()
        generated = {index for index, _ in linked.generated}
        return tuple(
            (index, "" if index in generated else f"{types.string(file)}:{place >> 10}")
            for index, file, _, place in lines
        )

    def _maps(self) -> tuple[MapSpec, ...]:
        definitions = self._declared.definitions
        known = {*definitions, *(each.name for each in self._entries)}
        off = {each.name for each in self._object.entries} - known
        found = []
        for each in definitions.values():
            for _, symbol in each.elements:
                if symbol.name in off:
                    raise ObjectError(
                        f"map {each.spec.name} is to hold program {symbol.name}, which is not loaded",
                        f"load it by --program {symbol.name}=on",
                    )
                if symbol.name not in known:
                    raise ObjectError(f"map {each.spec.name} is to hold {symbol.name}, which is no map and no program")
            holds = each.spec.inner is not None or each.elements
            elements = tuple((key, symbol.name) for key, symbol in each.elements) if holds else None
            contents = self._arguments.contents if each.spec.name == MAP else each.spec.contents
            found.append(each.spec._replace(elements=elements, contents=contents))
        return (*found, *self._frames, *filter(None, (self._configuration,)))

    def _rings(self, used: set[str]) -> tuple[str, ...]:
        definitions = self._declared.definitions
        return tuple(name for name, each in definitions.items() if each.spec.kind == maps.RINGBUF and name in used)


def _refuse_cut_names(file: ObjectFile) -> None:
    """GNU as takes the name of a section up to the first blank or semicolon, and then its flags for something else."""
    for each in file.sections:
        if is_line(each.name) and not each.flags & SHF_EXECINSTR and not each.name.startswith(".rel"):
            raise ObjectError(
                f"the assembler has cut the name of a section off, of which {each.name!r} is left",
                'gcc needs it in quotes, SEC("\\"func=FUNCTION VARIABLE\\""), or the line in the section config',
            )


def _packed_lines(lines: Sequence[tuple[int, int, int, int]]) -> bytes:
    return b"".join(struct.pack("<4I", *each) for each in lines)
