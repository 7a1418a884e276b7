"""From an object to the TracingSpec that engines take, as the compiler of D makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.bpf import instructions as i
from sonde.bpf import maps
from sonde.bpf.btf_writer import pack_func_info
from sonde.model.probe import Probe
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec, TracingSpec
from sonde.model.units import whole_words
from sonde.objects.choices import NO_CHOICES, Choices, loaded_programs, require_maps
from sonde.objects.core import Kernel, Relocator
from sonde.objects.data import refuse_addresses, set_variables
from sonde.objects.elf import SHF_EXECINSTR, ObjectFile, is_gnu
from sonde.objects.errors import ObjectError
from sonde.objects.externals import externals, running_configuration
from sonde.objects.frame import VALUES, frame
from sonde.objects.functions import ObjectFunction
from sonde.objects.kernel_btf import for_kernel, hidden_types, wrapper_id
from sonde.objects.line_requests import Attached, of_line
from sonde.objects.lines import ProbeLine, is_line, read_lines
from sonde.objects.linking import LinkedFunctions, Linker, function_info, line_info
from sonde.objects.maps import DeclaredMaps, MapDefinition, declared, require_sizes
from sonde.objects.reading import BpfObject, damaged
from sonde.objects.sections import SectionRequest, is_fired, request
from sonde.objects.static_arguments import MAP, StaticArguments
from sonde.objects.traceable_code import TraceableCode
from sonde.symbols.elf.errors import CostError
from sonde.typed import NamedTuple


class Loadable(NamedTuple):
    """What can be loaded: the spec; the maps as they were declared; the request of each program by its name; what
    of the kernel's types is not in this kernel, by the number behind `helpers.POISON`; the maps of
    frames (`frame.BUSY`); the names of programs that nothing fires and no other program calls."""

    spec: TracingSpec
    definitions: Mapping[str, MapDefinition]
    requests: Mapping[str, SectionRequest]
    missing: Sequence[str] = ()
    frames: Sequence[str] = ()
    idle: Sequence[str] = ()


def loadable(object_: BpfObject, kernel: Kernel, choices: Choices = NO_CHOICES) -> Loadable:
    """What an object is in this kernel, with what has been chosen. Raises ObjectError."""
    with damaged():
        return _Builder(object_, kernel, choices).build()


class _Builder:
    """Keeps what the programs of one object share."""

    def __init__(self, object_: BpfObject, kernel: Kernel, choices: Choices) -> None:
        self._object = object_
        self._file = object_.file
        self._choices = choices
        data = set_variables(object_.file, choices.values)
        self._declared: DeclaredMaps = declared(object_.file, object_.types, data, choices.sizes)
        require_maps(choices, (name for name in self._declared.definitions if not name.startswith(".")))
        sections = {each.name: object_.file.sections[each.section].name for each in object_.entries}
        loaded = loaded_programs(choices, sections)
        self._entries = tuple(each for each in object_.entries if each.name in loaded)
        self._hidden = hidden_types(object_)
        self._traceable = TraceableCode()
        self._code = {
            number: i.decode(self._file.contents(number))
            for number, each in enumerate(self._file.sections)
            if each.flags & SHF_EXECINSTR and each.size and not each.size % 8
        }
        self._missing = self._relocate(kernel)
        found = externals(object_.file, object_.types, lambda: kernel.main, running_configuration)
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
        requests: dict[str, SectionRequest] = {}
        for entry in self._entries:
            section = self._file.sections[entry.section].name
            wanted = self._wanted(entry, section)
            for number, each in enumerate(wanted):
                name = entry.name if not number else f"{entry.name}.{number}"
                requests[name] = each.request
                self._add(linker, entry, name, section, each)
        made = self._maps()
        require_sizes(made)
        self._require_iterated(requests)
        used = {name for each in self._programs for _, name in each.map_references}
        used |= {name for each in made for _, name in each.elements or ()}
        refuse_addresses(self._file, self._used)
        spec = TracingSpec(made, tuple(self._programs), (), (), (), tuple(self._probes), self._rings(used))
        called = {name for each in made for _, name in each.elements or ()}
        idle = [name for name, each in requests.items() if not is_fired(each) and name not in called]
        frames = [each.name for each in self._frames]
        return Loadable(spec, self._declared.definitions, requests, self._missing, frames, idle)

    def _require_iterated(self, requests: Mapping[str, SectionRequest]) -> None:
        for name, each in requests.items():
            if each.iterated and each.iterated not in self._declared.definitions:
                raise ObjectError(f"iterator {name} goes through map {each.iterated}, which the object has not")

    def _wanted(self, entry: ObjectFunction, section: str) -> list[Attached]:
        places = self._choices.places.get(entry.name, ())
        line = self._line(section)
        if line is not None and places:
            raise ObjectError(
                f"program {entry.name} has a probe line, which says with its variables where it is attached",
                f"leave --attach {entry.name} away",
            )
        try:
            if line is None:
                return [Attached(request(section, self._traceable, places))]
            return of_line(line, entry.name, self._object.types, self._traceable)
        except CostError as error:
            raise ObjectError(f"program {entry.name}: the file that it is attached to: {error}") from None

    def _line(self, section: str) -> ProbeLine | None:
        """The probe line of a section, which it is itself or has in the section config."""
        if is_line(section):
            found = read_lines(section)
            if len(found) != 1:
                raise ObjectError(f"section {section} has {len(found)} probe lines")
            return next(iter(found.values()))
        return self._config.get(section)

    def _add(self, linker: Linker, entry: ObjectFunction, name: str, section: str, attached: Attached) -> None:
        arrival = attached.arrival
        made, map_name = None, f"{name}.variables"
        if arrival is not None:
            made = frame(arrival.fetches, arrival.size, arrival.is_structure, attached.is_user)
        if arrival is not None and made is not None and made.map_references:
            room = VALUES + whole_words(arrival.size)
            self._frames.append(MapSpec(map_name, maps.PERCPU_ARRAY, 4, room, 1))
        linked = linker.link(entry, made, map_name)
        for at, used in linked.map_references:
            if linked.code[at].src == i.PSEUDO_MAP_VALUE:
                self._used.setdefault(used, set()).add(linked.code[at + 1].imm)
        self._programs.append(self._program(entry, name, section, attached.request, linked, made is not None))

    def _program(
        self,
        entry: ObjectFunction,
        name: str,
        section: str,
        wanted: SectionRequest,
        linked: LinkedFunctions,
        has_frame: bool,
    ) -> ProgramSpec:
        fired = []
        for number, firing in enumerate(wanted.firings):
            probe = Probe(len(self._probes) + 1, "object", "", entry.name, section, firing)
            self._probes.append(probe)
            cookie = self._arguments.cookie(wanted.sites[number], section) if wanted.sites else 0
            fired.append(ProbeSpec(probe, cookie))
        types = self._object.types
        functions = function_info(linked, self._object.extension, self._file)
        lines = line_info(linked, self._object.extension, self._file) if functions else []
        blob = b""
        if functions and types is not None:
            static = [*self._hidden, functions[0][1]] if has_frame else self._hidden
            blob = for_kernel(self._object.btf, types, static, [f"{entry.name}_frame"] if has_frame else [])
            if has_frame:
                functions.insert(0, (0, wrapper_id(types, 0)))
                lines = [(0, *lines[0][1:]), *lines] if lines else []
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
            self._places(lines),
            license=self._object.license,
            flags=wanted.flags,
        )

    def _places(self, lines: Sequence[tuple[int, int, int, int]]) -> tuple[tuple[int, str], ...]:
        """Instruction and "file:line" of each line."""
        types = self._object.types
        if types is None:
            return ()
        return tuple((index, f"{types.string(file)}:{place >> 10}") for index, file, _, place in lines)

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
    import struct

    return b"".join(struct.pack("<4I", *each) for each in lines)
