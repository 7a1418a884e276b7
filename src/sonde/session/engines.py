"""Which engine a command uses: the kernel, or, where that is not permitted, the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from mmap import PAGESIZE

from sonde.codegen.basis import outputs
from sonde.codegen.firings import attachment
from sonde.engines.embedded import engine as embedded_engine
from sonde.engines.embedded import followed, offer
from sonde.engines.kernel import engine as engine_module
from sonde.engines.kernel import features as kernel_features
from sonde.engines.kernel import stamps
from sonde.formats import perf_events
from sonde.model import probe as model_probe
from sonde.model import samples
from sonde.model import target as model_target
from sonde.model.options import OptionTable
from sonde.session import harm
from sonde.session.errors import NotPermittedError, SessionError
from sonde.session.permission import refusal
from sonde.session.replay_inputs import packets_of, recording_of
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import FiringKeeper, ObjectEngine
    from sonde.engines.fired import FiringSource
    from sonde.model.program import Program
    from sonde.model.samples import Take
    from sonde.model.target import Target
    from sonde.session.traced import Traced

KERNEL, EMBEDDED = "kernel", "embedded"
_MOST_TURNS = 1 << 22
"""Of the loops of a firing where the embedded engine runs a program that was not compiled here: a few seconds."""

_PERF_RESERVE = "perf-reserve"

# Of the two engines only the one that is chosen is imported, and nothing of the compiler, which comes after the choice.


def choose(options: OptionTable, tell: Callable[[str], None], only_compiles: bool = False) -> str:
    """KERNEL or EMBEDDED, as the option `engine` says; `auto` is the kernel if it permits. Raises NotPermittedError.

    What is only compiled needs no permission. `tell` is told why it is not the kernel.
    """
    wanted = options.text("engine")
    if recording_of(options):
        if wanted == KERNEL:
            raise SessionError("--replay is for the embedded engine: what was recorded does not happen in the kernel")
        return EMBEDDED
    packets = packets_of(options)
    if wanted == KERNEL and packets:
        raise SessionError("--packets is for the embedded engine: the kernel has packets of its own devices alone")
    if wanted == EMBEDDED or packets:
        return EMBEDDED
    if only_compiles:
        return KERNEL
    why = refusal()
    if not why:
        return KERNEL
    if wanted == KERNEL:
        help_ = "run as root, give sonde these capabilities, or use --engine embedded; `sonde doctor` tells more"
        raise NotPermittedError(f"tracing is not permitted: {why}", help_)
    tell(f"using the embedded engine: {why}")
    return EMBEDDED


def choose_listed(options: OptionTable, tell: Callable[[str], None]) -> str:
    """The engine whose probes are listed: the one that would trace, but the kernel's can be listed by everybody."""
    if options.text("engine") != "auto" or options.text("packets") or options.text("replay"):
        return choose(options, tell, only_compiles=True)
    why = refusal()
    if not why:
        return KERNEL
    tell(f"listing the probes of the embedded engine: {why}; `--engine kernel -l` lists the kernel's")
    return EMBEDDED


def has_filter(options: OptionTable) -> bool:
    """Whether a command of -c gets a seccomp filter where the embedded engine runs."""
    return options.on("seccomp")


def features(engine: str, program: Program, target: Target) -> frozenset[str]:
    """What the engine offers to programs; not looked into where nothing but BEGIN and END is to run."""
    if engine == EMBEDDED:
        return offer.FEATURES

    if all(isinstance(probe.firing, model_probe.Internal) for clause in program.clauses for probe in clause.probes):
        return frozenset()

    kinds = {type(probe.firing) for clause in program.clauses for probe in clause.probes}
    wanted = (
        *kernel_features.FOR_PROGRAMS,
        *(kernel_features.FOR_RECORDS if model_target.is_older(target, outputs.RING_BUFFERS_SINCE) else ()),
        *(
            kernel_features.FOR_UPROBES
            if kinds & {model_probe.StaticPattern, model_probe.StaticProbe, model_probe.Uprobe}
            else ()
        ),
        *(kernel_features.FOR_FUNCTIONS if model_probe.KernelFunction in kinds else ()),
        *(kernel_features.FOR_PACKETS if model_probe.Packet in kinds else ()),
    )
    return kernel_features.detect(wanted)


def refused_functions(program: Program) -> frozenset[str]:
    """Functions of the kernel, among those that would have a program each, for which the kernel takes none."""
    wanted = {
        (probe.firing.name, probe.firing.is_return)
        for clause in program.clauses
        for probe in attachment.by_entry(clause.probes, (clause,))
        if isinstance(probe.firing, model_probe.KernelFunction)
    }
    return frozenset(name for name, is_return in wanted if not kernel_features.takes_function(name, is_return))


def make(
    engine: str, options: OptionTable, traced: Sequence[Traced], take: Take | None = None,
    firings: FiringSource | None = None, keeper: tuple[FiringKeeper, int] | None = None, is_metered: bool = False,
) -> ObjectEngine:  # fmt: skip
    """The engine itself, for these processes; it may fail only when it loads programs. `take` gets the records of
    programs as they stand in perf rings, `firings` are those that programs are run for in the place of all else;
    `keeper` records those of the embedded engine, with the wall clock's distance from CLOCK_MONOTONIC, ns;
    `is_metered`: the turns of programs are counted, and end."""
    if firings is not None:
        return embedded_engine.EmbeddedEngine(
            None, _ring_bytes(options), "", firings, most_turns=_MOST_TURNS if is_metered else 0
        )
    if engine == EMBEDDED:
        if options.on("callchain"):
            raise SessionError(
                "option callchain: the embedded engine has no call chains in samples", hint="use ustack()"
            )
        group = next((each.group for each in traced if isinstance(each, followed.Followed)), None)
        if options.text("scope") == "system":
            raise SessionError("option scope=system: the embedded engine sees only the processes of -c and -p")
        if options.number("cpu"):
            raise SessionError(f"option cpu={options.text('cpu')}: to the embedded engine all happens on CPU 0")
        kept, offset = keeper or (None, None)
        most_turns = _MOST_TURNS if is_metered else 0
        return embedded_engine.EmbeddedEngine(
            group, _ring_bytes(options), packets_of(options), None, kept, offset, most_turns
        )
    return kernel_engine(options, traced, take, is_metered)


def kernel_engine(
    options: OptionTable, traced: Sequence[Traced], take: Take | None = None, is_metered: bool = False
) -> engine_module.KernelEngine:
    """The kernel as an engine; `is_metered` as for `make`. Raises SessionError."""
    if options.text("output") == _PERF_RESERVE:
        raise SessionError(
            f"option output={_PERF_RESERVE}: the kernel reserves nothing in perf rings",
            hint="use --engine embedded, or -xoutput=perf",
        )
    values = stamps.StampValues(traced[0].pid if traced else 0)
    cpu = options.number("cpu") if options.is_set("cpu") else None
    meter: Callable[[int], str] | None = None
    if is_metered:
        meter = harm.kernel_function
    return engine_module.KernelEngine(cpu, values, _request(options, traced, take), meter)


def _ring_bytes(options: OptionTable) -> int:
    """The size of a ring of samples: a power of 2 of pages."""
    wanted = options.number("samplesize")
    return 1 << max(wanted - 1, PAGESIZE - 1).bit_length()


def _request(options: OptionTable, traced: Sequence[Traced], take: Take | None) -> samples.SampleRequest:
    """How perf events are opened. Raises SessionError."""
    scope = options.text("scope")
    if scope == "processes" and not traced:
        raise SessionError("option scope=processes without processes", hint="name some with -c or -p")
    return samples.SampleRequest(
        perf_events.SAMPLE_CALLCHAIN if options.on("callchain") else 0,
        _ring_bytes(options),
        tuple(each.pid for each in traced) if scope != "system" else (),
        scope == "processes",
        take,
    )
