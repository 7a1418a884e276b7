"""BPF objects of other compilers as scripts: looked into, and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.library import disassembly
from sonde.library.bpf_object import LoadedObject, Words, load_words, object_verdicts, recorded, run_here
from sonde.library.engines import engine_for
from sonde.library.errors import Error
from sonde.library.events import Message, Text
from sonde.library.foreground import Ended
from sonde.library.given import ARROW, TEXT, Command, command_of, duration_of, output_of, path_of, pids_of
from sonde.library.holding import KERNEL, Held, holding
from sonde.library.outputs import complete
from sonde.library.request import Publish, Put
from sonde.library.run import Run
from sonde.library.settings import OptionValue, option_table, option_texts
from sonde.library.stop import Stop
from sonde.model.options import OptionTable
from sonde.session.replay_inputs import packets_of
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.library.verdicts import Verdict


class ObjectScript:
    """The programs of an object, with what has been chosen of it. It can be run as often as wanted, by any thread."""

    def __init__(self, path: str, words: Words, options: Sequence[tuple[str, str | None]]) -> None:
        """Raises ScriptError, or Error for an option."""
        self.path = path
        self._words = words
        self._options = options
        # $target is a process of a run.
        table = option_table(options)
        # Who asks for the kernel may look into an object that he may not run there.
        engine = engine_for("auto", table, only_compiles=table.text("engine") == KERNEL)
        self._loaded = load_words(path, words, 0, engine, packets=packets_of(table))

    @property
    def programs(self) -> Mapping[str, str]:
        """The section of each program that is loaded, which says where it is attached."""
        return {name: section for name, (section, _) in self._loaded.sections.items()}

    @property
    def idle(self) -> tuple[str, ...]:
        """Programs that nothing fires and no other program calls: their sections do not say where."""
        return tuple(self._loaded.idle)

    @property
    def destructive(self) -> bool:
        """Whether it does more to the system than look at it."""
        return bool(self._loaded.reason)

    def disassemble(self) -> str:
        """The eBPF of each program."""
        return disassembly.machine_code(self._loaded.spec, {})

    def verify(self, engine: str = KERNEL, listing: bool = False) -> tuple[Verdict, ...]:
        """What sonde's own verifier says of each program, by the rules of that engine; with `listing` each verdict has
        the program's instructions and what is known before each."""
        most = option_table(self._options).number("maxsteps")
        return tuple(object_verdicts(self.path, self._words, engine, engine, listing, 0, most=most))

    def run(
        self, command: Command | None = None, pids: Sequence[int] = (), *, duration: float | None = None,
        output: Any = "text", maps: bool = True, recording: Any = None,
    ) -> Run:  # fmt: skip
        """Trace with it: `command` is started, and ends the run with its end, as processes `pids` do. What programs
        print, and their records, go to the file or descriptor `output`, or come as `Text` events; without an output
        they are `RingRecord` events. With `maps` what is in their maps at the end, too. The samples that programs let
        through are lines of the text, or go to the perf.data file `recording`."""
        words, into, numbers = command_of(command), output_of(output), pids_of(pids)
        path = None if recording is None else path_of(recording)
        if into is not None and into.descriptor == ARROW:
            raise TypeError("an object makes no tables: output is a file, a descriptor, 'text', or None for events")

        def trace(stop: Stop, put: Put, _publish: Publish) -> Ended:
            options = option_table(self._options)

            def tell(text: str) -> None:
                put([Message(text)])

            engine = engine_for("auto", options, tell=tell)
            commands = () if words is None else (words,)
            with holding(engine, commands, numbers, options, tell) as held:
                packets = packets_of(options)
                loaded = load_words(self.path, self._words, held.process or None, engine, packets=packets)
                return _run(loaded, held, options, into.descriptor if into is not None else None, put, stop, maps, path)

        def trace_and_close(stop: Stop, put: Put, publish: Publish) -> Ended:
            try:
                return trace(stop, put, publish)
            finally:
                if into is not None:
                    into.close()

        return Run(duration_of(duration), trace_and_close)

    def __repr__(self) -> str:
        return f"ObjectScript({self.path!r}, {len(self.programs)} programs)"


def _run(
    loaded: LoadedObject, held: Held, options: OptionTable, output: int | None, put: Put, stop: Stop, maps: bool,
    path: str | None,
) -> Ended:  # fmt: skip
    take = (lambda data: put([Text(data)])) if output == TEXT else None

    def tell(text: str) -> None:
        put([Message(text)])

    if len(loaded.idle) == len(loaded.sections):
        raise Error(f"none of its programs says where it is attached: {', '.join(loaded.idle)}", "give `attach`")
    with recorded(path, loaded, held.engine) as recording:
        ended = run_here(
            loaded, held, options, TEXT if output is None else output, tell, shows_maps=maps, asked=stop, take=take,
            recording=recording, put=put if output is None else None,
        )  # fmt: skip
        if recording is not None:
            complete(recording, tell)
    return ended


def load_object(
    path: str, *, options: Mapping[str, OptionValue] | None = None, variables: Mapping[str, object] | None = None,
    maps: Mapping[str, int] | None = None, programs: Mapping[str, bool] | None = None,
    attach: Mapping[str, str | Sequence[str]] | None = None, records: Mapping[str, str] | None = None,
    devices: Sequence[str] = (),
) -> ObjectScript:  # fmt: skip
    """A BPF object that clang or gcc has made. `variables` are values of its constants, `maps` numbers of elements,
    `programs` whether those whose names fit a pattern are loaded, `attach` where a program is attached in place of what
    its section says, `records` the structures that rings have, `devices` those whose packets programs get. Raises
    ScriptError."""
    places = ((name, [place] if isinstance(place, str) else place) for name, place in (attach or {}).items())
    words = Words(
        _pairs(variables or {}),
        _pairs(maps or {}),
        [f"{name}={'on' if wanted else 'off'}" for name, wanted in (programs or {}).items()],
        [f"{name}={each}" for name, several in places for each in several],
        _pairs(records or {}),
        [devices] if isinstance(devices, str) else tuple(devices),
        option_table(option_texts(options)).text("xdp"),
    )
    return ObjectScript(path_of(path), words, option_texts(options))


def _pairs(values: Mapping[str, object]) -> list[str]:
    return [f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in values.items()]
