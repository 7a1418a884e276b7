"""Text in the kernel's pseudo C to instructions: what `disassembler` writes, and what people write by hand.

One instruction a line; `name:` on a line of its own is a label, which `goto`, `call` and `subprog[]` may name in the
place of `pc+N`; the number and opcode that listings show (`12: (bf)`) are skipped; `;` or `//` begins a comment.
Maps are named, `r1 = map[name]` and `r2 = map[name][0]+8`, and listed for whoever fills in their descriptors.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.bpf import instructions as i
from sonde.bpf.disassembler import ATOMICS, CONDITIONS, OPERATORS
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction
from sonde.typed import NamedTuple, TypeAlias
from sonde.untrusted import lines


class Assembly(NamedTuple):
    """A program and the (instruction index, map name) of each of its map references, as ProgramSpec takes them."""

    code: list[Instruction]
    map_references: tuple[tuple[int, str], ...]


class AssemblyError(ValueError):
    """A line that is no instruction, or a name nobody defines; `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line = line


class _Pending(NamedTuple):
    """A distance still to be computed: from behind the slot `slot` to `label`, into the offset or the immediate."""

    slot: int
    label: str
    in_imm: bool
    line: int


class _State(NamedTuple):
    """What is known while lines are read."""

    code: list[Instruction]
    pending: list[_Pending]
    references: list[tuple[int, str]]
    labels: dict[str, int]


_Match: TypeAlias = re.Match[str]
_Builder: TypeAlias = Callable[[_Match, _State, int], list[Instruction]]

_OPERATIONS = {text: operation for operation, text in OPERATORS.items()}
_JUMPS = {text: condition for condition, text in CONDITIONS.items()}
_ATOMIC = {name: operation for operation, name in ATOMICS.items()}

_PREFIX = re.compile(r"^\s*(?:\d+:\s*)?(?:\([0-9a-f]{2}\)\s*)?")
_LABEL = re.compile(r"^([A-Za-z_]\w*):$")
_NUMBER = r"([-+]?(?:0x[0-9a-fA-F]+|\d+))"
_PLACE = r"\(([us])(\d+) \*\)\(r(\d+) ?([-+]\s?\w+)\)"
_TARGET = r"(?:pc([-+]\d+)|([A-Za-z_]\w*))"


def assemble(text: str) -> Assembly:
    """The instructions of `text`. Raises AssemblyError."""
    state = _State([], [], [], {})
    for number, line in enumerate(lines(text), 1):
        _read_line(line, number, state)
    for slot, label, in_imm, number in state.pending:
        if label not in state.labels:
            raise AssemblyError(number, f"no label {label}")
        distance = state.labels[label] - slot - 1
        field = {"imm": distance} if in_imm else {"offset": distance}
        state.code[slot] = state.code[slot]._replace(**field)
    return Assembly(state.code, tuple(state.references))


def _read_line(line: str, number: int, state: _State) -> None:
    statement = line.split(";")[0].split("//")[0].strip()
    label = _LABEL.match(statement)
    if label:
        if label[1] in state.labels:
            raise AssemblyError(number, f"label {label[1]} is there already")
        state.labels[label[1]] = len(state.code)
        return
    statement = _PREFIX.sub("", statement)
    if not statement:
        return
    for pattern, build in _FORMS:
        match = pattern.fullmatch(statement)
        if match:
            try:
                state.code.extend(build(match, state, number))
            except (KeyError, ValueError) as error:
                raise AssemblyError(number, f"{error.args[0]}: {statement}") from None
            return
    raise AssemblyError(number, f"not an instruction: {statement}")


def _integer(text: str) -> int:
    return int(text.replace(" ", ""), 0)


def _distance(match: _Match, group: int, state: _State, line: int, in_imm: bool = False) -> int:
    """The number after `pc` in `group`, or 0 and a note about the label in the next group."""
    if match[group]:
        return int(match[group])
    state.pending.append(_Pending(len(state.code), match[group + 1], in_imm, line))
    return 0


def _raw(m: _Match, state: _State, line: int) -> list[Instruction]:
    opcode, dst, src, offset, imm = (_integer(part) for part in m[1].split())
    return [Instruction(opcode, dst, src, offset, imm)]


def _value(m: _Match, state: _State, line: int) -> list[Instruction]:
    return i.ld_imm64(int(m[1]), _integer(m[2]), int(m[3] or 0))


def _map(m: _Match, state: _State, line: int) -> list[Instruction]:
    descriptor = 0
    if m[2].startswith("fd:"):
        descriptor = int(m[2][3:])
    else:
        state.references.append((len(state.code), m[2]))
    if m[3]:
        return i.ld_map_value(int(m[1]), int(m[4] or 0), descriptor)
    return i.ld_map_fd(int(m[1]), descriptor)


def _function(m: _Match, state: _State, line: int) -> list[Instruction]:
    return i.ld_function(int(m[1]), _distance(m, 2, state, line, in_imm=True))


def _negation(m: _Match, state: _State, line: int) -> list[Instruction]:
    return [i.neg(int(m[2])) if m[1] == "r" else i.neg32(int(m[2]))]


def _byte_order(m: _Match, state: _State, line: int) -> list[Instruction]:
    build = {"le": i.to_little_endian, "be": i.to_big_endian, "bswap": i.byte_swap}[m[2]]
    return [build(int(m[1]), int(m[3]))]


def _sign_extension(m: _Match, state: _State, line: int) -> list[Instruction]:
    build = i.movsx if m[1] == "r" else i.movsx32
    return [build(int(m[2]), int(m[4]), int(m[3]))]


def _operation(text: str) -> tuple[int, int]:
    """The operation and the instruction's offset, which makes division signed."""
    if text in _OPERATIONS:
        return _OPERATIONS[text], 0
    return _OPERATIONS[text.removeprefix("s")], 1


def _operate_register(m: _Match, state: _State, line: int) -> list[Instruction]:
    operation, offset = _operation(m[3])
    build = i.alu64_reg if m[1] == "r" else i.alu32_reg
    return [build(operation, int(m[2]), int(m[4]), offset)]


def _operate_immediate(m: _Match, state: _State, line: int) -> list[Instruction]:
    operation, offset = _operation(m[3])
    build = i.alu64_imm if m[1] == "r" else i.alu32_imm
    return [build(operation, int(m[2]), _integer(m[4]), offset)]


def _place(m: _Match, group: int) -> tuple[str, int, int, int]:
    """Sign letter, size in bytes, register and offset of a place whose first group is `group`."""
    return m[group], int(m[group + 1]) // 8, int(m[group + 2]), _integer(m[group + 3])


def _load(m: _Match, state: _State, line: int) -> list[Instruction]:
    sign, size, base, offset = _place(m, 2)
    return [i.load(size, int(m[1]), base, offset, sign == "s")]


def _store(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 1)
    return [i.store_reg(size, base, offset, int(m[5]))]


def _store_immediate(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 1)
    return [i.store_imm(size, base, offset, _integer(m[5]))]


def _packet(m: _Match, state: _State, line: int) -> list[Instruction]:
    size = i.SIZE_OF_BYTES[int(m[1]) // 8]
    if m[2]:
        return [Instruction(i.LD | i.IND | size, 0, int(m[2]), 0, _integer(m[3]))]
    return [Instruction(i.LD | i.ABS | size, 0, 0, 0, _integer(m[4]))]


def _lock(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 1)
    return [i.atomic(size, _OPERATIONS[m[5]], base, offset, int(m[6]))]


def _fetch(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 2)
    operation = i.XCHG if m[1] == "xchg" else _ATOMIC[m[1].removeprefix("fetch_")] | i.FETCH
    return [i.atomic(size, operation, base, offset, int(m[6]))]


def _compare(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 1)
    return [i.atomic(size, i.CMPXCHG, base, offset, int(m[5]))]


def _acquire(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 2)
    return [i.atomic(size, i.LOAD_ACQUIRE, int(m[1]), offset, base)]


def _release(m: _Match, state: _State, line: int) -> list[Instruction]:
    _, size, base, offset = _place(m, 1)
    return [i.atomic(size, i.STORE_RELEASE, base, offset, int(m[5]))]


def _goto(m: _Match, state: _State, line: int) -> list[Instruction]:
    match m[1]:
        case "gotol":
            return [i.jump_long(_distance(m, 2, state, line, in_imm=True))]
        case "may_goto":
            return [Instruction(i.JMP | i.JCOND, 0, 0, _distance(m, 2, state, line))]
    return [i.jump(_distance(m, 2, state, line))]


def _if_register(m: _Match, state: _State, line: int) -> list[Instruction]:
    build = i.jump_reg if m[1] == "r" else i.jump32_reg
    return [build(_JUMPS[m[3]], int(m[2]), int(m[4]), _distance(m, 5, state, line))]


def _if_immediate(m: _Match, state: _State, line: int) -> list[Instruction]:
    build = i.jump_imm if m[1] == "r" else i.jump32_imm
    return [build(_JUMPS[m[3]], int(m[2]), _integer(m[4]), _distance(m, 5, state, line))]


def _call_helper(m: _Match, state: _State, line: int) -> list[Instruction]:
    return [i.call(int(m[1]) if m[1] else NUMBERS[m[2]])]


def _call_kfunc(m: _Match, state: _State, line: int) -> list[Instruction]:
    return [i.call_kfunc(int(m[1]), int(m[2] or 0))]


def _call_local(m: _Match, state: _State, line: int) -> list[Instruction]:
    return [i.call_local(_distance(m, 1, state, line, in_imm=True))]


def _exit(m: _Match, state: _State, line: int) -> list[Instruction]:
    return [i.exit_()]


_FORMS: tuple[tuple[re.Pattern[str], _Builder], ...] = tuple(
    (re.compile(pattern), build)
    for pattern, build in (
        (r"\.insn (.*)", _raw),
        (rf"r(\d+) = {_NUMBER} ll(?: pseudo (\d+))?", _value),
        (r"r(\d+) = map\[([^]]*)\](\[0\](?:\+(\d+))?)?", _map),
        (rf"r(\d+) = subprog\[{_TARGET}\]", _function),
        (r"([rw])(\d+) = -\1\2", _negation),
        (r"r(\d+) = (le|be|bswap)(\d+) r\1", _byte_order),
        (r"([rw])(\d+) = \(s(\d+)\)\1(\d+)", _sign_extension),
        (r"([rw])(\d+) (\S*=) \1(\d+)", _operate_register),
        (rf"([rw])(\d+) (\S*=) {_NUMBER}", _operate_immediate),
        (rf"r(\d+) = \*{_PLACE}", _load),
        (rf"\*{_PLACE} = r(\d+)", _store),
        (rf"\*{_PLACE} = {_NUMBER}", _store_immediate),
        (rf"r0 = \*\(u(\d+) \*\)skb\[(?:r(\d+) ([-+]\d+)|{_NUMBER})\]", _packet),
        (rf"lock \*{_PLACE} (\S+) r(\d+)", _lock),
        (rf"r\d+ = atomic(?:64)?_(xchg|fetch_\w+)\({_PLACE}, r(\d+)\)", _fetch),
        (rf"r0 = atomic(?:64)?_cmpxchg\({_PLACE}, r0, r(\d+)\)", _compare),
        (rf"r(\d+) = load_acquire\({_PLACE}\)", _acquire),
        (rf"store_release\({_PLACE}, r(\d+)\)", _release),
        (rf"(goto|gotol|may_goto) {_TARGET}", _goto),
        (rf"if ([rw])(\d+) (\S+) \1(\d+) goto {_TARGET}", _if_register),
        (rf"if ([rw])(\d+) (\S+) {_NUMBER} goto {_TARGET}", _if_immediate),
        (r"call (?:helper#(-?\d+)|bpf_(\w+)(?:#\d+)?)", _call_helper),
        (r"call kfunc#(-?\d+)(?:@(-?\d+))?", _call_kfunc),
        (rf"call {_TARGET}", _call_local),
        (r"exit", _exit),
    )
)
