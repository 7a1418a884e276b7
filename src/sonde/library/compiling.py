"""From sources to what an engine loads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sonde.codegen.basis.generation import RECORD_READS, RECORDS
from sonde.codegen.compiler import Compilation
from sonde.engines.embedded import offer
from sonde.frontends.languages import Checked, front_end
from sonde.library import recorder as library_recorder
from sonde.library import replays
from sonde.library.errors import CompileError, Error, as_errors
from sonde.library.settings import option_table
from sonde.model.errors import NO_PROBE, ProgramError, SourceError
from sonde.model.options import OptionTable, Value
from sonde.model.spec import TracingSpec
from sonde.session.compiling import compile_session
from sonde.session.engines import KERNEL, features, refused_functions
from sonde.session.kernels import registry_of
from sonde.session.registry import Registry
from sonde.session.replay_inputs import packets_of, recording_of
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.engines.fired import RecordedProbes
    from sonde.library.recorder import FiringRecorder
    from sonde.library.sources import Source

VMLINUX_BTF = "/sys/kernel/btf/vmlinux"


class For(NamedTuple):
    """What programs are compiled for: an engine; the BTF of another kernel (None: this one); whether for other kernels,
    too, so without what not all of them have; the process that is $target, None where that is known later. `prepare` is
    called with a process's number before anything looks into it."""

    engine: str
    btf: str | None = None
    is_portable: bool = False
    process: int | None = None
    prepare: Callable[[int], None] = lambda pid: None


class Compiled(NamedTuple):
    """Programs compiled together, and what they were compiled with."""

    spec: TracingSpec
    checked: Checked
    compilation: Compilation
    registry: Registry
    options: OptionTable
    recorder: FiringRecorder | None = None
    """What records the firings in the kernel, if that is wanted."""

    def matched(self) -> list[tuple[str, int]]:
        """How messages call each program, and how many probes it has matched."""
        # A probe that follows from several others has a clause for each.
        parts = self.checked.parts
        found = [{(c.position, probe) for c in part.clauses for probe in c.probes} for part in parts]
        counts = [sum(map(self.registry.count, {(at, p.id): p for at, p in each}.values())) for each in found]
        return [(part.title, count) for part, count in zip(parts, counts, strict=True)]


class Product(NamedTuple):
    """The compiled program, the options that go with it, whether it does more than look, and whether it, or the
    options it was compiled with, permit that."""

    spec: TracingSpec
    kept: dict[str, Value]
    destructive: bool
    permitted: bool


def product(
    source: Source, engine: str, process: int | None = None, prepare: Callable[[int], None] = lambda pid: None
) -> Product:
    """Compile for an engine; with the number of $target if that is known, and what `prepare` gets ready to be looked
    into. Raises CompileError."""
    made = compiled_of(source, engine, process, prepare=prepare)
    return Product(made.spec, made.options.kept(), made.checked.is_destructive, made.options.on("destructive"))


def compiled_of(
    source: Source, engine: str, process: int | None = None, is_portable: bool = False,
    prepare: Callable[[int], None] = lambda pid: None,
) -> Compiled:  # fmt: skip
    """What a script is made of. `is_portable`: for other kernels, too. Raises CompileError."""
    wanted = For(engine, source.target, is_portable, process, prepare)
    options = option_table(source.options)
    made = compiled(source.language, source.programs, options, source.arguments, wanted, for_values=True)
    if not made.spec.programs:
        raise CompileError("no probes matched")
    return made


def compiled(
    language: str, programs: Sequence[tuple[str, str]], options: OptionTable, arguments: Sequence[str], wanted: For,
    name: str = "sonde", for_values: bool = False,
) -> Compiled:  # fmt: skip
    """Compile programs as one. `options` take what they set themselves, `arguments` are $1 ..., `name` is $0.
    `for_values`: their records have their times, and their values the names that the source gives them. Raises
    CompileError."""
    for_values = for_values or options.text("format") != "text"
    recorder: FiringRecorder | None = None
    source: RecordedProbes | None = None
    _require_recording(options)
    if options.text("record") and wanted.engine == KERNEL and not wanted.is_portable:
        recorder = _recorder(language, programs, options, arguments, wanted, name)
        source = recorder.described()
    elif recording_of(options):
        source = replays.opened_replay(recording_of(options))
    with as_errors():
        registry = registry_of(wanted.engine, wanted.btf, wanted.is_portable, packets_of(options), source)
        registry.trace(wanted.process or 0, wanted.prepare)
        if source is not None and source.process and not wanted.process:
            wanted = wanted._replace(process=source.process)
        try:
            checked = front_end(language).check(programs, options, registry, arguments, wanted.process, name)
            if options.text("record") and recorder is None:
                library_recorder.require_recordable(checked.program.clauses)
            compilation = _laid_out(checked, options, registry, wanted.engine, for_values)
            try:
                spec = compilation.spec()._replace(
                    language=checked.layouts, texts=checked.texts, functions=checked.functions
                )  # fmt: skip
                return Compiled(spec, checked, compilation, registry, options, recorder)
            except SourceError as error:
                raise checked.explain(error) from None
        except ProgramError as error:
            raise without_btf(error, wanted.btf) from None


def _require_recording(options: OptionTable) -> None:
    """Raises Error for what is wanted of a recording where there is none: nothing would come of it."""
    words = (("anonymise", "--anonymise"), ("recordreads", "--record-reads"), ("recordstacks", "--record-stacks"))
    for option, word in words:
        if options.is_set(option) and not options.text("record"):
            raise Error(f"{word} is about a recording, and nothing is recorded", "--record FILE writes one")
    if options.is_set("recordstacks") and options.text("anonymise"):
        text = "--record-stacks keeps bytes of stacks, in which nothing can have a pseudonym"
        raise Error(f"{text}: it does not go with --anonymise", "leave one of them out")


def _recorder(
    language: str, programs: Sequence[tuple[str, str]], options: OptionTable, arguments: Sequence[str], wanted: For,
    name: str,
) -> FiringRecorder:  # fmt: skip
    """The same programs so that they record their firings. Raises CompileError."""
    with as_errors():
        registry = registry_of(wanted.engine, wanted.btf)
        try:
            own = options.copy()
            checked = front_end(language).check(programs, own, registry, arguments, wanted.process, name)
            library_recorder.require_recordable(checked.program.clauses)
            # Names and paths in what is kept besides would get no pseudonyms.
            if own.on("recordreads") and not own.text("anonymise") and checked.keeping is not None:
                checked = checked._replace(program=checked.keeping())
            try:
                spec = _laid_out(checked, own, registry, wanted.engine, False, True).spec()
            except SourceError as error:
                raise checked.explain(error) from None
        except ProgramError as error:
            raise without_btf(error, wanted.btf) from None
    return library_recorder.firing_recorder(spec, wanted.process or 0)


def _laid_out(
    checked: Checked, options: OptionTable, registry: Registry, engine: str, for_values: bool, records: bool = False
) -> Compilation:
    """Raises ProgramError."""
    target = registry.target
    if not target.portable:
        found = features(engine, checked.program, target)
        refused = refused_functions(checked.program) if "fentry" in found else frozenset[str]()
        if records:
            # What is recorded of a function are its registers.
            found = found - {"fentry"} | {RECORDS, *((RECORD_READS,) if options.on("recordreads") else ())}
        target = target._replace(features=found, refused_functions=refused)
    try:
        return compile_session(checked.program, options, target, registry, checked.lines, for_values, records)
    except SourceError as error:
        raise checked.explain(error) from None


def without_btf(error: ProgramError, path: str | None) -> ProgramError:
    """The mistake may be that this kernel has no types: the message then says so. `path` is another kernel's BTF."""
    if path is None and not os.path.exists(VMLINUX_BTF):
        text = "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): its types, and arguments of its probes, are unknown"
        error.hint = "\n".join(filter(None, (error.hint, text)))
    return error


def refuse_without_processes(made: Compiled) -> None:
    """Where the embedded engine traces no process: refuse probes of processes. Raises CompileError."""
    for clause in made.checked.program.clauses:
        text, remedy = offer.needs_processes(clause.probes)
        if text:
            with as_errors():
                raise made.checked.explain(SourceError(NO_PROBE, text, clause.position, remedy))
