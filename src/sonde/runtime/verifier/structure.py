"""The shape of a program: which instructions there are, where they go on, and that this makes sense at all.

What is wrong here is wrong whatever the registers hold: unknown opcodes, fields that have to be 0, jumps out of the
program or of a function, code that nothing reaches (check_subprogs(), check_cfg() and resolve_pseudo_ldimm64() of
kernel/bpf/verifier.c).
"""

from __future__ import annotations

from collections.abc import Mapping

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction
from sonde.bpf.signatures import SIGNATURES
from sonde.model.spec import MapSpec
from sonde.runtime.verifier.wellformed import always_wrong
from sonde.typed import NamedTuple

_TAIL_CALL = NUMBERS["tail_call"]


class MalformedError(Exception):
    """The instruction and what is wrong with it."""

    def __init__(self, at: int, text: str) -> None:
        super().__init__(text)
        self.at = at
        self.text = text


class ProgramStructure(NamedTuple):
    """`targets`: where each jump or local call goes; `following`: the instruction behind each; `meetings`: where paths
    meet; `turns`: those where a loop goes round that its states do not bound; `functions`: first instructions, in
    order; `calls`: the function that calls, the one that is called, and the call; `tail_callers`: functions with a tail
    call."""

    targets: dict[int, int]
    following: list[int]
    meetings: frozenset[int]
    turns: frozenset[int]
    functions: tuple[int, ...]
    calls: tuple[tuple[int, int, int], ...]
    tail_callers: frozenset[int]


def structure(code: list[Instruction], maps: Mapping[int, MapSpec]) -> ProgramStructure:
    """The structure of a program, of which `maps` are those that instructions refer to. Raises MalformedError."""
    if not code:
        raise MalformedError(0, "the program has no instructions")
    seconds = _seconds(code)
    for at, x in enumerate(code):
        if at not in seconds:
            text = always_wrong(x, code[at + 1] if at + 1 < len(code) else None, maps.get(at))
            if text:
                raise MalformedError(at, text)
    targets, functions, calls = _targets(code, seconds)
    following = [at + 2 if code[at].opcode == i.LD_IMM64 else at + 1 for at in range(len(code))]
    owners = _owners(functions, len(code))
    _check_ends(code, seconds, targets, following, owners)
    _check_reached(code, seconds, targets, following, functions)
    turns = frozenset(at for at, x in enumerate(code) if at not in seconds and _is_turn(x))
    called = tuple((owners[at], function, at) for at, function in calls)
    meetings = _meetings(code, seconds, targets, following, functions) | turns
    tail_callers = frozenset(
        owners[at] for at, x in enumerate(code)
        if x.opcode == i.JMP | i.CALL and x.src == i.CALL_HELPER and x.imm == _TAIL_CALL and at not in seconds
    )  # fmt: skip
    return ProgramStructure(targets, following, meetings, turns, functions, called, tail_callers)


def _seconds(code: list[Instruction]) -> set[int]:
    """The second slots of 64-bit immediates."""
    found: set[int] = set()
    for at, x in enumerate(code):
        if x.opcode == i.LD_IMM64 and at not in found:
            if at + 1 >= len(code):
                raise MalformedError(at, "the second half of the 64-bit immediate is missing")
            found.add(at + 1)
    return found


def _is_jump(x: Instruction) -> bool:
    return x.opcode & 7 in (i.JMP, i.JMP32) and x.opcode & 0xF0 not in (i.CALL, i.EXIT)


def _is_turn(x: Instruction) -> bool:
    """Whether this is may_goto, or the call of a helper that calls back."""
    if x.opcode == i.JMP | i.JCOND:
        return True
    if x.opcode != i.JMP | i.CALL or x.src != i.CALL_HELPER:
        return False
    signature = SIGNATURES.get(x.imm)
    return signature is not None and "callback" in signature.arguments


def _targets(
    code: list[Instruction], seconds: set[int]
) -> tuple[dict[int, int], tuple[int, ...], list[tuple[int, int]]]:
    targets: dict[int, int] = {}
    functions = {0}
    calls = []
    for at, x in enumerate(code):
        if at in seconds:
            continue
        if _is_jump(x):
            target = at + 1 + (x.imm if x.opcode == i.JMP32 | i.JA else x.offset)
        elif _names_function(x):
            target = at + 1 + x.imm
            functions.add(target)
            calls.append((at, target))
        else:
            continue
        if not 0 <= target < len(code):
            raise MalformedError(at, f"it leads to instruction {target}, outside of the program")
        if target in seconds:
            raise MalformedError(at, f"it leads to instruction {target}, the second half of a 64-bit immediate")
        if x.opcode != i.LD_IMM64:
            targets[at] = target
    return targets, tuple(sorted(functions)), calls


def _names_function(x: Instruction) -> bool:
    if x.opcode == i.LD_IMM64:
        return x.src == i.PSEUDO_FUNC
    return x.opcode == i.JMP | i.CALL and x.src == i.CALL_LOCAL


def _owners(functions: tuple[int, ...], length: int) -> list[int]:
    """The function that each instruction belongs to."""
    owners = []
    for start, end in zip(functions, (*functions[1:], length), strict=True):
        owners += [start] * (end - start)
    return owners


def _check_ends(
    code: list[Instruction], seconds: set[int], targets: dict[int, int], following: list[int], owners: list[int]
) -> None:
    for at, x in enumerate(code):
        if at in seconds:
            continue
        if _is_jump(x) and owners[targets[at]] != owners[at]:
            raise MalformedError(at, f"it jumps to instruction {targets[at]}, which belongs to another function")
        next_ = following[at]
        if not _goes_on(x):
            continue
        if next_ >= len(code) or owners[next_] != owners[at]:
            raise MalformedError(at, "the function ends here without exit or jump")


def _goes_on(x: Instruction) -> bool:
    return x.opcode not in (i.JMP | i.JA, i.JMP32 | i.JA, i.JMP | i.EXIT)


def _check_reached(
    code: list[Instruction], seconds: set[int], targets: dict[int, int], following: list[int],
    functions: tuple[int, ...],
) -> None:  # fmt: skip
    reached = set()
    waiting = list(functions)
    while waiting:
        at = waiting.pop()
        if at in reached:
            continue
        reached.add(at)
        x = code[at]
        if _goes_on(x):
            waiting.append(following[at])
        if _is_jump(x):
            waiting.append(targets[at])
    for at in range(len(code)):
        if at not in reached and at not in seconds:
            raise MalformedError(at, "nothing leads to this instruction")


def _meetings(
    code: list[Instruction], seconds: set[int], targets: dict[int, int], following: list[int],
    functions: tuple[int, ...],
) -> frozenset[int]:  # fmt: skip
    """Instructions with more than one before them."""
    entries = dict.fromkeys(functions, 1)
    for at, x in enumerate(code):
        if at in seconds:
            continue
        if _is_jump(x):
            entries[targets[at]] = entries.get(targets[at], 0) + 1
        if _goes_on(x):
            entries[following[at]] = entries.get(following[at], 0) + 1
    return frozenset(at for at, count in entries.items() if count > 1)
