"""Every way through a program, one after the other, as do_check() of kernel/bpf/verifier.c goes.

A path is followed instruction by instruction: what the instruction demands is checked, then it is carried out on the
state. Where it branches, the other way is kept for later. Where paths meet, the state is compared with those that were
there before; one that such a state covers need not be followed. So every loop has to come to its end in the states, or
to be one that something else bounds: the body of a helper's loop, or may_goto. Of these the states are widened until
they are covered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.bpf.signatures import SIGNATURES
from sonde.runtime.verifier import obligations
from sonde.runtime.verifier.branches import Ways, branch
from sonde.runtime.verifier.calls import call
from sonde.runtime.verifier.checks import Check, Problem, check_of
from sonde.runtime.verifier.frames import (
    callback_of,
    end_elsewhere,
    enter_callback,
    enter_function,
    never_calls_back,
    resume,
    return_,
)
from sonde.runtime.verifier.liveness import ProgramLiveness
from sonde.runtime.verifier.meeting import EndlessError, Meeting
from sonde.runtime.verifier.obligations import Obligation, Returns
from sonde.runtime.verifier.relevance import Effect, PathSegment, into_call, into_callback, out_of_call, out_of_callback
from sonde.runtime.verifier.state import Activation, State
from sonde.runtime.verifier.steps import Step, step
from sonde.runtime.verifier.structure import ProgramStructure
from sonde.runtime.verifier.subject import Subject
from sonde.runtime.verifier.values import CONTEXT, PointerValue

MOST_INSTRUCTIONS = 1_000_000
"""That one verification goes through (BPF_COMPLEXITY_LIMIT_INSNS)."""

MOST_FRAMES = 8
"""Functions active at a time (MAX_CALL_FRAMES)."""

MOST_OPEN = 8192
"""Ways that wait to be followed (BPF_COMPLEXITY_LIMIT_JMP_SEQ)."""

Duty = tuple[Check, Obligation]
Observer = Callable[[int, State], None]


class RefusedError(Exception):
    """The instruction, the state before it, and what is wrong."""

    def __init__(self, at: int, state: State | None, problem: Problem) -> None:
        super().__init__(problem.text)
        self.at = at
        self.state = state
        self.problem = problem


class Exploration:
    """One verification of `subject`; `observe` is told of every instruction and the state before it,
    also where that state is covered and the path ends."""

    def __init__(self, subject: Subject, structure: ProgramStructure, observe: Observer | None = None) -> None:
        self.steps = 0
        self._subject = subject
        self._structure = structure
        self._observe = observe
        self._prepared: dict[int, tuple[list[Duty], Step | None]] = {}
        self._branches: dict[int, Callable[[State], Ways]] = {}
        liveness = ProgramLiveness(subject.code, structure)
        self._known = {
            at: Meeting(at in structure.turns, subject.code[at].opcode == i.JMP | i.CALL, partial(liveness.of, at))
            for at in structure.meetings
        }
        self._open: list[tuple[int, State, PathSegment]] = []
        program = subject.program
        at_exit = obligations.at_exit(program.kind, program.attach_type)
        self._at_exit = _duties(at_exit)
        self._result_matters = any(isinstance(each, Returns) for each in at_exit)
        self._at_callback_exit = _duties(obligations.at_callback_exit())
        self._at_return = _duties(obligations.at_return())

    def run(self) -> None:
        """Follow every path from the program's first instruction. Raises RefusedError."""
        frame = Activation(0, -1, 0)
        frame.registers[1] = PointerValue(CONTEXT)
        self._open.append((0, State(frame), PathSegment()))
        while self._open:
            self._follow(*self._open.pop())

    def _follow(self, at: int, state: State, segment: PathSegment) -> None:
        """Follow one path until it ends."""
        subject, known, prepared = self._subject, self._known, self._prepared
        code, following = subject.code, self._structure.following
        while True:
            if self._observe is not None:
                self._observe(at, state)
            if at in known:
                try:
                    met = known[at].meet(state, segment)
                except EndlessError as error:
                    raise RefusedError(at, state, Problem(str(error))) from None
                if met is None:
                    return
                segment = met
            self.steps += 1
            if self.steps > MOST_INSTRUCTIONS:
                raise RefusedError(
                    at, state, Problem(f"the program is too complex: more than {MOST_INSTRUCTIONS} instructions")
                )
            duties, run = prepared.get(at) or self._prepare(at)
            for check, obligation in duties:
                problem = check(subject, state, obligation)
                if problem is not None:
                    raise RefusedError(at, state, problem)
            if run is not None:
                segment.effects.append(run(state))
                at = following[at]
                continue
            next_ = self._flow(at, code[at], state, segment)
            if next_ is None:
                return
            at, segment = next_

    def _prepare(self, at: int) -> tuple[list[Duty], Step | None]:
        """What an instruction demands, and what it does; None for one that `_flow` carries out."""
        x = self._subject.code[at]
        run = None
        if not _is_flow(x):
            run = (call if x.opcode & 7 == i.JMP else step)(self._subject, at)
        made = self._prepared[at] = _duties(obligations.of(x)), run
        return made

    def _flow(self, at: int, x: Instruction, state: State, segment: PathSegment) -> tuple[int, PathSegment] | None:
        """Carry out an instruction that jumps, calls or exits; None if the path ends."""
        operation = x.opcode & 0xF0
        if operation == i.JA:
            return self._structure.targets[at], segment
        if operation == i.EXIT:
            return self._exit(at, state, segment)
        if operation == i.CALL:
            return self._call(at, x, state, segment)
        if operation == i.JCOND:
            return self._fork(at, state.copy(), state, segment)
        return self._branch(at, state, segment)

    def _branch(self, at: int, state: State, segment: PathSegment) -> tuple[int, PathSegment] | None:
        run = self._branches.get(at)
        if run is None:
            run = self._branches[at] = branch(self._subject, at)
        jumped, straight, effect = run(state)
        segment.effects.append(effect)
        if straight is None:
            return self._structure.targets[at], segment
        if jumped is None:
            return at + 1, segment
        return self._fork(at, jumped, state, segment)

    def _fork(self, at: int, jumped: State, state: State, segment: PathSegment) -> tuple[int, PathSegment]:
        """Keep the jump for later and go straight on."""
        if len(self._open) >= MOST_OPEN:
            raise RefusedError(
                at, state, Problem(f"the program is too complex: {MOST_OPEN} ways are still to be followed")
            )
        segment.pending = 2
        self._open.append((self._structure.targets[at], jumped, PathSegment(segment)))
        return at + 1, PathSegment(segment)

    def _call(self, at: int, x: Instruction, state: State, segment: PathSegment) -> tuple[int, PathSegment]:
        if len(state.frames) == MOST_FRAMES:
            raise RefusedError(at, state, Problem(f"more than {MOST_FRAMES} functions are active in one another"))
        if x.src == i.CALL_LOCAL:
            target = self._structure.targets[at]
            enter_function(state, target, at)
            return target, PathSegment(segment, into_call)
        signature = SIGNATURES[x.imm]
        if signature.name == "tail_call":
            return self._tail_call(at, state, segment)
        # A helper that calls back: it does so once more, or it is done.
        inner, outer = callback_of(signature.name)
        if never_calls_back(state, signature):
            segment.effects.append(call(self._subject, at)(state))
            return at + 1, segment
        again = state.copy()
        function = enter_callback(again, signature, at)
        segment.pending = 2
        self._open.append((function, again, PathSegment(segment, into_callback(inner, outer))))
        after = PathSegment(segment)
        after.effects.append(call(self._subject, at)(state))
        return at + 1, after

    def _tail_call(self, at: int, state: State, segment: PathSegment) -> tuple[int, PathSegment]:
        """The program goes on where it fails. Where it succeeds in a function, the other program's end is that of the
        function, with any result."""
        segment.effects.append(call(self._subject, at)(state))
        if len(state.frames) == 1:
            return at + 1, segment
        other = state.copy()
        end_elsewhere(other)
        segment.pending = 2
        following = self._exit(at, other, PathSegment(segment))
        assert following is not None
        back, after = following
        self._open.append((back, other, after))
        return at + 1, PathSegment(segment)

    def _exit(self, at: int, state: State, segment: PathSegment) -> tuple[int, PathSegment] | None:
        frame = state.frame
        is_last = len(state.frames) == 1
        duties = self._at_exit if is_last else self._at_callback_exit if frame.callback else self._at_return
        for check, obligation in duties:
            problem = check(self._subject, state, obligation)
            if problem is not None:
                raise RefusedError(at, state, problem)
        if is_last:
            segment.end(1, self._result_matters)
            return None
        if frame.callback:
            segment.effects.append(Effect(uses=1, demands=1))
            resume(state)
            back = PathSegment(segment, out_of_callback)
            back.is_from_callback = True
            return frame.site, back
        return_(state)
        return frame.site + 1, PathSegment(segment, out_of_call)


def _duties(found: list[Obligation]) -> list[Duty]:
    return [(check_of(obligation), obligation) for obligation in found]


def _is_flow(x: Instruction) -> bool:
    """Whether the instruction may go elsewhere than straight on."""
    if x.opcode & 7 not in (i.JMP, i.JMP32):
        return False
    if x.opcode & 0xF0 != i.CALL:
        return True
    if x.src != i.CALL_HELPER:
        return x.src == i.CALL_LOCAL
    signature = SIGNATURES.get(x.imm)
    return signature is not None and ("callback" in signature.arguments or signature.name == "tail_call")
