"""What the verifier says of a script's programs."""

from __future__ import annotations

from sonde.model.errors import EngineError
from sonde.model.spec import TracingSpec
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier.verify import Refusal, verify
from sonde.session.engines import EMBEDDED
from sonde.typed import NamedTuple


class Verdict(NamedTuple):
    """Of one program: whether it is accepted, how many instructions were gone through, and why it is refused."""

    program: str
    accepted: bool
    steps: int
    reason: str

    def __bool__(self) -> bool:
        return self.accepted


def verdicts(spec: TracingSpec, engine: str) -> tuple[Verdict, ...]:
    """Sonde's own verifier on each program, by the rules of that engine."""
    prove = verify_here if engine == EMBEDDED else verify
    maps = {each.name: each for each in spec.maps}
    found = []
    for program in spec.programs:
        try:
            found.append(Verdict(program.name, True, prove(program, maps).steps, ""))
        except (Refusal, EngineError) as error:
            found.append(Verdict(program.name, False, 0, str(error)))
    return tuple(found)
