"""What the verifier says of programs."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.bpf.programs import name_of
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec as TracingSpec
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier import listing as verifier_listing
from sonde.runtime.verifier import merging
from sonde.runtime.verifier.verify import Refusal, verify
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.permission import refusal
from sonde.session.work import refused, works
from sonde.typed import NamedTuple
from sonde.untrusted import open_file

_ELF = b"\x7fELF"


class Verdict(NamedTuple):
    """Of one program: whether it is accepted, how many instructions were gone through, and why it is refused.

    `kind` is its BPF program type by name, `instructions` how many it has, of 8 bytes each. `listing`, if it was asked
    for, has each instruction and above it what is known before it, as far as the verifier has come. `firing_steps` are
    the most that a firing takes (docs/verifier.md), of a program of D without the turns of its loops.
    """

    program: str
    accepted: bool
    steps: int
    reason: str
    kind: str
    instructions: int
    listing: str = ""
    firing_steps: int = 0

    def __bool__(self) -> bool:
        return self.accepted


def engine_of_rules(options: OptionTable) -> str:
    """The engine by whose rules programs are verified: that of the option, or the one that would run them."""
    wanted = options.text("engine")
    return wanted if wanted in (KERNEL, EMBEDDED) else EMBEDDED if refusal() else KERNEL


def is_object(path: str) -> bool:
    """Whether a file is an object of another compiler, by how it begins."""
    try:
        with open_file(path) as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def verdicts(spec: TracingSpec, engine: str, with_listing: bool = False) -> tuple[Verdict, ...]:
    """What sonde's own verifier says of each program, by the rules of that engine."""
    return tuple(verdict_by_verdict(spec, engine, with_listing))


def verdict_by_verdict(
    spec: TracingSpec, engine: str, with_listing: bool = False, most: int | None = None
) -> Iterator[Verdict]:
    """The same, each when it has been come to. `most` are the steps that a firing of a program of another compiler may
    take, 0: any number; None: the programs are compiled here, and bound their loops themselves."""
    work = {each.program: each for each in works(spec, engine, most is None)}
    prove = verify_here if engine == EMBEDDED else verify
    maps = {each.name: each for each in spec.maps}
    for program in spec.programs:
        merged = None
        if with_listing:
            merged = merging.Merged()
        accepted, steps, reason = True, 0, ""
        try:
            steps = prove(program, maps, observe=merged.observe if merged is not None else None).steps
        except (Refusal, EngineError) as error:
            accepted, reason = False, str(error)
        taken = work[program.name]
        if accepted and most and taken.steps > most:
            accepted, reason = False, "; ".join(refused(f"program {program.name}", taken, most))
        listing = ""
        if merged is not None:
            listing = verifier_listing.listing(program, merged)
        yield Verdict(
            program.name, accepted, steps, reason, name_of(program.kind), len(program.code) // 8, listing, taken.steps
        )  # fmt: skip
