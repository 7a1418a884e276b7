"""What is said of a program that is refused."""

from __future__ import annotations

from sonde.bpf.disassembler import disassemble
from sonde.runtime.verifier.checks import Problem
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import show


def about(subject: Subject, at: int, state: State | None, problem: Problem) -> tuple[str, str, int, str, str, str]:
    """What a `verify.Refusal` is made of, for a problem at an instruction, whose state was `state`."""
    register = ""
    if state is not None and problem.register >= 0:
        register = f"r{problem.register} = {show(state.frame.registers[problem.register])}"
    names = {index: of.name for index, of in subject.maps.items()}
    texts = disassemble(subject.code, names)
    return (
        subject.program.name,
        line_of(subject, at, state),
        at,
        texts[at] if at < len(texts) else "",
        register,
        problem.text,
    )


def line_of(subject: Subject, at: int, state: State | None = None) -> str:
    """The line of the source that an instruction comes from, as "file:line"; of a function that has none that of the
    call that it comes from in the state."""
    sites = [each.site for each in reversed(state.frames)] if state is not None else []
    found = _nearest(subject, at)
    for site in sites:
        found = found or _nearest(subject, site)
    return found


def _nearest(subject: Subject, at: int) -> str:
    found = ""
    for index, line in subject.program.lines:
        if index > at:
            break
        found = line
    return found
