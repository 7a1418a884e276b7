"""Scripts: programs compiled, to be looked at, saved and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.library import disassembly, spec_file, verdicts
from sonde.library.compiling import compiled_of, product
from sonde.library.engines import engine_for
from sonde.library.errors import CompileError, ScriptError
from sonde.library.events import ProbeName
from sonde.library.given import Command, command_of, duration_of, output_of, pids_of
from sonde.library.outputs import NO_FILES, Files, files_of
from sonde.library.request import Request
from sonde.library.run import Run, run_of
from sonde.library.settings import OptionValue, option_table
from sonde.library.sources import Programs, Source, given_source, lines_of, shown_source
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.library.verdicts import Verdict


class Script:
    """A compiled program. It can be pickled, compared, kept, and run as often as wanted, by any thread."""

    def __init__(
        self, source: Source, engine: str, spec: TracingSpec, kept: Mapping[str, Any], destructive: bool,
        permitted: bool = False,
    ) -> None:  # fmt: skip
        self.source = source
        self.engine = engine
        self.spec = spec
        self.destructive = destructive
        self.permitted = permitted
        self.kept = dict(kept)

    @property
    def probes(self) -> tuple[ProbeName, ...]:
        """The probes that clauses are for."""
        shown = {each.probe.id: each.probe for program in self.spec.programs for each in program.probes}
        return tuple(ProbeName(p.provider, p.module, p.function, p.name) for _, p in sorted(shown.items()))

    @property
    def target(self) -> str | None:
        """The BTF of the kernel that it is for, None: this one."""
        return self.source.target

    def options(self) -> OptionTable:
        """Those that it was compiled with, and those that it has set itself."""
        table = option_table(self.source.options)
        table.restore(self.kept)
        if self.permitted:
            table.set("destructive", None)
        return table

    def for_engine(self, engine: str) -> Script:
        """The same program for that engine. Raises CompileError, or ScriptError where there is no source."""
        if engine != self.engine and self.source.spec_path:
            raise ScriptError(f"{self.source.spec_path} is compiled for the {self.engine} engine")
        return self if engine == self.engine else made(self.source, engine)

    def disassemble(self) -> str:
        """The eBPF of each program, each piece below the line of source it came from."""
        return disassembly.machine_code(self.spec, lines_of(self.source))

    def verify(self, listing: bool = False) -> tuple[Verdict, ...]:
        """What sonde's own verifier says of each program; the kernel's is asked when it is run. With `listing` each
        verdict has the program's instructions and what is known before each."""
        return verdicts.verdicts(self.spec, self.engine, listing)

    def save(self, path: str) -> None:
        """Write a spec file, which `sonde.load` and `sonde --spec` take, here or on another machine. Raises
        ScriptError."""
        if self.source.spec_path:
            raise ScriptError(f"{self.source.spec_path} is a spec file already", "copy it")
        made = compiled_of(self.source, self.engine, is_portable=True)
        spec_file.save(path, made.spec, made.registry, made.matched(), made.options.kept(), made.checked.is_destructive)

    def run(
        self, command: Command | None = None, pids: Sequence[int] = (), *, engine: str = "auto",
        duration: float | None = None, output: Any = None, files: Files = NO_FILES,
    ) -> Run:  # fmt: skip
        """Trace with it: `command` is started, and ends the run with its end, as processes `pids` do. Without them it
        ends by exit(), after `duration` seconds, by `stop()`, or with its block.

        `output` is a descriptor or file for what the command would print, or "text" for `Text` events; without it what
        statements record comes as `Record` events. `files` are written besides.
        """
        if engine == "auto" and self.source.spec_path:
            engine = self.engine
        return run_of(
            Request(
                lambda chosen, *_: self.for_engine(chosen), self.options(), command_of(command), pids_of(pids), engine,
                duration_of(duration), output_of(output), files_of(files), self.source.spec_path,
            )
        )  # fmt: skip

    def __repr__(self) -> str:
        text = shown_source(self.source)
        text = text if len(text) < 60 else text[:57] + "..."
        return f"Script({text!r}, {len(self.spec.programs)} programs, for the {self.engine} engine)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Script) and (self.source, self.engine) == (other.source, other.engine)

    def __hash__(self) -> int:
        return hash((self.source, self.engine))


def made(
    source: Source, engine: str, process: int | None = None, prepare: Callable[[int], None] = lambda pid: None
) -> Script:
    """Compile for an engine; with the number of $target if that is known, and what `prepare` gets ready to be looked
    into. Raises CompileError."""
    return Script(source, engine, *product(source, engine, process, prepare))


def compile(
    text: Programs, language: str = "d", *, options: Mapping[str, OptionValue] | None = None,
    arguments: Sequence[object] = (), target: str | None = None, engine: str = "auto",
) -> Script:  # fmt: skip
    """Compile a program, or several that run as one, or probe functions. `options` are those of -x by name; `arguments`
    are $1, $2 ...; `target` is the BTF of another kernel that it is for. Raises CompileError, or Error for an option.
    """
    source = given_source(text, language, options, arguments, target)
    try:
        return made(source, engine_for(engine, option_table(source.options), only_compiles=True))
    except CompileError as error:
        # The place of the mistake is in the message, not in the compiler.
        raise error.with_traceback(None) from None
