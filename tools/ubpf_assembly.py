"""The assembly of ubpf's and bpf_conformance's test files to instructions, such as `add32 %r1, 5`.

Operands are separated by commas; registers are written %r0 to %r10, places in memory [%r1+8]. A label ends with a
colon. A jump goes to a label or by a number of slots; `exit` as a target is the last instruction of that name.
"""

from __future__ import annotations

import re

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction

_ARITHMETIC = {
    "add": i.ADD, "sub": i.SUB, "mul": i.MUL, "div": i.DIV, "or": i.OR, "and": i.AND, "lsh": i.LSH, "rsh": i.RSH,
    "mod": i.MOD, "xor": i.XOR, "mov": i.MOV, "arsh": i.ARSH, "sdiv": i.DIV, "smod": i.MOD,
}  # fmt: skip
_CONDITIONS = {
    "jeq": i.JEQ, "jgt": i.JGT, "jge": i.JGE, "jset": i.JSET, "jne": i.JNE, "jsgt": i.JSGT, "jsge": i.JSGE,
    "jlt": i.JLT, "jle": i.JLE, "jslt": i.JSLT, "jsle": i.JSLE,
}  # fmt: skip
_SIZES = {"b": 1, "h": 2, "w": 4, "dw": 8}
_ATOMICS = {"add": i.ADD, "or": i.OR, "and": i.AND, "xor": i.XOR, "xchg": i.XCHG, "cmpxchg": i.CMPXCHG}


class AssemblyError(Exception):
    """A line that is none."""


def assemble(text: str) -> list[Instruction]:
    """All instructions of a text; everything behind `#`, `;` or `//` is a comment. Raises AssemblyError."""
    statements: list[tuple[int, str]] = []
    labels: dict[str, int] = {}
    slot = 0
    for line in text.splitlines():
        rest = re.sub(r"(#|;|//).*", "", line).strip()
        while label := re.match(r"(\w+)\s*:\s*", rest):
            labels[label[1]] = slot
            rest = rest[label.end() :]
        if rest:
            if rest == "exit":
                labels["exit"] = slot
            statements.append((slot, rest))
            slot += 2 if rest.startswith("lddw") else 1
    code: list[Instruction] = []
    for at, statement in statements:
        code += _Line(statement, at, labels).instructions()
    return code


class _Line:
    """One statement at its slot."""

    def __init__(self, text: str, at: int, labels: dict[str, int]) -> None:
        self._text = text
        self._at = at
        self._labels = labels
        self._name, _, operands = text.partition(" ")
        self._operands = [operand.strip() for operand in operands.split(",") if operand.strip()]

    def instructions(self) -> list[Instruction]:
        try:
            if self._name == "lddw":
                return i.ld_imm64(self._register(0), _number(self._operands[1]))
            return [self._instruction()]
        except (IndexError, KeyError, ValueError):
            raise AssemblyError(f"instruction {self._at}: {self._text}") from None

    def _instruction(self) -> Instruction:
        name = self._name
        if name == "exit":
            return i.exit_()
        if name == "lock":
            return self._atomic()
        if name in ("call", "callx"):
            return self._call()
        if name == "ja":
            return i.jump(self._target(0))
        if name == "ja32":
            return i.jump_long(self._target(0))
        if swap := re.fullmatch(r"(le|be|bswap|swap)(16|32|64)", name):
            swapping = {"le": i.to_little_endian, "be": i.to_big_endian}.get(swap[1], i.byte_swap)
            return swapping(self._register(0), int(swap[2]))
        if name.startswith(("ld", "st")):
            return self._access()
        if extension := re.fullmatch(r"movsx(8|16|32)(32|64)", name):
            make = i.movsx32 if extension[2] == "32" else i.movsx
            return make(self._register(0), self._register(1), int(extension[1]))
        if name.removesuffix("32") in _CONDITIONS:
            return self._jump()
        return self._arithmetic()

    def _register(self, place: int) -> int:
        return _register(self._operands[place])

    def _second(self) -> tuple[int, int, int]:
        """The bit of the opcode, the register and the number of the second operand."""
        operand = self._operands[1]
        return (i.X, _register(operand), 0) if operand.startswith("%") else (i.K, 0, i.signed32(_number(operand)))

    def _target(self, place: int) -> int:
        operand = self._operands[place]
        return self._labels[operand] - self._at - 1 if operand in self._labels else _number(operand)

    def _arithmetic(self) -> Instruction:
        name, bits = re.fullmatch(r"([a-z]+?)(32|64)?", self._name).groups()  # type: ignore[union-attr]
        kind = i.ALU if bits == "32" else i.ALU64
        if name == "neg":
            return Instruction(kind | i.NEG, self._register(0))
        source, register, number = self._second()
        return Instruction(
            kind | source | _ARITHMETIC[name], self._register(0), register, int(name in ("sdiv", "smod")), number
        )  # fmt: skip

    def _jump(self) -> Instruction:
        kind = i.JMP32 if self._name.endswith("32") else i.JMP
        source, register, number = self._second()
        condition = _CONDITIONS[self._name.removesuffix("32")]
        return Instruction(kind | source | condition, self._register(0), register, self._target(2), number)

    def _call(self) -> Instruction:
        operand = self._operands[0]
        if operand.startswith("%"):
            return Instruction(i.JMP | i.CALL | i.X, _register(operand))
        if operand.startswith("local"):
            self._operands[0] = operand.removeprefix("local").strip()
            return i.call_local(self._target(0))
        return i.call(_number(operand))

    def _access(self) -> Instruction:
        kind, size = re.fullmatch(r"(ldxs|ldx|stx|st)(b|h|w|dw)", self._name).groups()  # type: ignore[union-attr]
        if kind.startswith("ldx"):
            return i.load(_SIZES[size], self._register(0), *_place(self._operands[1]), signed=kind == "ldxs")
        if kind == "stx":
            return i.store_reg(_SIZES[size], *_place(self._operands[0]), self._register(1))
        return i.store_imm(_SIZES[size], *_place(self._operands[0]), _number(self._operands[1]))

    def _atomic(self) -> Instruction:
        words = re.fullmatch(r"lock\s+(fetch\s+)?([a-z]+)(32)?\s+(\[.*\])\s*,\s*(%r\d+)", self._text)
        if words is None:
            raise ValueError
        fetch, name, bits, place, register = words.groups()
        operation = _ATOMICS[name] | (i.FETCH if fetch else 0)
        return i.atomic(4 if bits else 8, operation, *_place(place), _register(register))


def _register(text: str) -> int:
    return int(re.fullmatch(r"%?r(\d+)", text)[1])  # type: ignore[index]


def _number(text: str) -> int:
    return int(text.removeprefix("+"), 0)


def _place(text: str) -> tuple[int, int]:
    """[register + offset]"""
    register, offset = re.fullmatch(r"\[\s*(%?r\d+)\s*([+-].*)?\]", text).groups()  # type: ignore[union-attr]
    return _register(register), _number(offset.replace(" ", "")) if offset else 0
