"""Which engine a command uses: the kernel, or, where that is not permitted, the embedded one."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.messages import FatalError, Messages
from sonde.cli.permission import refusal
from sonde.options import OptionTable
from sonde.probe import Internal, Uprobe
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import Engine
    from sonde.lang.program import Program
    from sonde.session import Traced

KERNEL, EMBEDDED = "kernel", "embedded"

# Of the two engines only the one that is chosen is imported.


def choose(options: OptionTable, messages: Messages, only_compiles: bool = False) -> str:
    """KERNEL or EMBEDDED, as the option `engine` says; `auto` is the kernel if it permits. Raises FatalError.

    What is only listed or compiled needs no permission.
    """
    wanted = options.text("engine", "auto")
    if wanted == EMBEDDED:
        return EMBEDDED
    if only_compiles:
        return KERNEL
    why = refusal()
    if not why:
        return KERNEL
    if wanted == KERNEL:
        help_ = "run as root, give sonde these capabilities, or use --engine embedded; `sonde doctor` tells more"
        raise FatalError(f"tracing is not permitted: {why}", 2, help_)
    messages.error(f"using the embedded engine: {why}")
    return EMBEDDED


def has_filter(options: OptionTable) -> bool:
    """Whether a command of -c gets a seccomp filter where the embedded engine runs."""
    return options.on("seccomp") or not options.is_set("seccomp")


def features(engine: str, program: Program) -> frozenset[str]:
    """What the engine offers to programs; not looked into where nothing but BEGIN and END is to run."""
    if engine == EMBEDDED:
        from sonde.engines.embedded.offer import FEATURES

        return FEATURES
    if all(isinstance(probe.firing, Internal) for clause in program.clauses for probe in clause.probes):
        return frozenset()
    from sonde.engines.kernel.features import FOR_PROGRAMS, FOR_UPROBES, detect

    return detect((*FOR_PROGRAMS, *(FOR_UPROBES if _has_uprobes(program) else ())))


def _has_uprobes(program: Program) -> bool:
    return any(isinstance(probe.firing, Uprobe) for clause in program.clauses for probe in clause.probes)


def make(engine: str, options: OptionTable, traced: Sequence[Traced]) -> Engine:
    """The engine itself, for these processes; it may fail only when it loads programs."""
    if engine == EMBEDDED:
        from sonde.engines.embedded.engine import EmbeddedEngine
        from sonde.engines.embedded.followed import Followed

        group = next((each.group for each in traced if isinstance(each, Followed)), None)
        return EmbeddedEngine(group)
    from sonde.engines.kernel.engine import KernelEngine
    from sonde.engines.kernel.stamps import StampValues

    values = StampValues(traced[0].pid if traced else 0)
    return KernelEngine(options.number("cpu", 0) if options.is_set("cpu") else None, values)
