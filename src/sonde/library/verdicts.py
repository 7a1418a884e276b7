"""What the verifier says of programs."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.bpf.programs import name_of
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec as TracingSpec
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier.verify import Refusal, verify
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.permission import refusal
from sonde.typed import NamedTuple
from sonde.untrusted import open_file

_ELF = b"\x7fELF"


class Verdict(NamedTuple):
    """Of one program: whether it is accepted, how many instructions were gone through, and why it is refused.

    `kind` is its BPF program type by name, `instructions` how many it has, of 8 bytes each. `listing`, if it was asked
    for, has each instruction and above it what is known before it, as far as the verifier has come.
    """

    program: str
    accepted: bool
    steps: int
    reason: str
    kind: str
    instructions: int
    listing: str = ""

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


def verdict_by_verdict(spec: TracingSpec, engine: str, with_listing: bool = False) -> Iterator[Verdict]:
    """The same, each when it has been come to."""
    prove = verify_here if engine == EMBEDDED else verify
    maps = {each.name: each for each in spec.maps}
    for program in spec.programs:
        merged = None
        if with_listing:
            from sonde.runtime.verifier.merging import Merged  # states are not kept unless they are shown

            merged = Merged()
        accepted, steps, reason = True, 0, ""
        try:
            steps = prove(program, maps, observe=merged.observe if merged is not None else None).steps
        except (Refusal, EngineError) as error:
            accepted, reason = False, str(error)
        listing = ""
        if merged is not None:
            from sonde.runtime.verifier.listing import listing as list_program

            listing = list_program(program, merged)
        yield Verdict(
            program.name, accepted, steps, reason, name_of(program.kind), len(program.code) // 8, listing
        )  # fmt: skip
