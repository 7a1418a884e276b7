"""Instructions to text, in the pseudo C of the kernel's verifier log (kernel/bpf/disasm.c).

Where the kernel's text is ambiguous this one is not: a 64-bit immediate ends in `ll` as LLVM writes it, and what is no
valid instruction is shown by its fields, so that `assembler.assemble` gives back exactly what was disassembled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NAMES, name_of
from sonde.bpf.instructions import Instruction

OPERATORS = {
    i.ADD: "+=", i.SUB: "-=", i.MUL: "*=", i.DIV: "/=", i.OR: "|=", i.AND: "&=", i.LSH: "<<=", i.RSH: ">>=",
    i.MOD: "%=", i.XOR: "^=", i.MOV: "=", i.ARSH: "s>>=",
}  # fmt: skip
CONDITIONS = {
    i.JEQ: "==", i.JGT: ">", i.JGE: ">=", i.JSET: "&", i.JNE: "!=", i.JSGT: "s>", i.JSGE: "s>=", i.JLT: "<",
    i.JLE: "<=", i.JSLT: "s<", i.JSLE: "s<=",
}  # fmt: skip
ATOMICS = {i.ADD: "add", i.AND: "and", i.OR: "or", i.XOR: "xor"}

_NOTHING: dict[int, str] = {}


def disassemble(code: Sequence[Instruction], maps: Mapping[int, str] = _NOTHING) -> list[str]:
    """One text for each slot; "" for the second slot of a 64-bit immediate.

    `maps` gives the names of the maps that LD_IMM64 instructions refer to, by instruction index.
    """
    texts: list[str] = []
    second = False
    for index, instruction in enumerate(code):
        if second:
            texts.append("")
            second = False
        elif instruction.opcode == i.LD_IMM64:
            text = _immediate(instruction, code[index + 1] if index + 1 < len(code) else None, maps.get(index))
            second = bool(text)
            texts.append(text or _raw(instruction))
        else:
            texts.append(_FORMATS[instruction.opcode & 7](instruction) or _raw(instruction))
    return texts


def listing(
    code: Sequence[Instruction], maps: Mapping[int, str] = _NOTHING, lines: Mapping[int, str] = _NOTHING
) -> str:
    """All of a program as text, numbered; the source position or text in `lines` stands above its instruction."""
    out: list[str] = []
    for index, text in enumerate(disassemble(code, maps)):
        if index in lines:
            out.append(f"; {lines[index]}")
        if text:
            out.append(f"{index:4}: ({code[index].opcode:02x}) {text}")
    return "\n".join(out) + "\n"


def _raw(x: Instruction) -> str:
    return f".insn {x.opcode:#x} {x.dst} {x.src} {x.offset} {x.imm}"


def _immediate(first: Instruction, second: Instruction | None, name: str | None) -> str:
    """LD_IMM64, or "" if its two slots do not make one."""
    if second is None or first.offset or second[:4] != (0, 0, 0, 0):
        return ""
    low, high, target = first.imm & 0xFFFFFFFF, second.imm & 0xFFFFFFFF, f"r{first.dst} ="
    place = name if name is not None else f"fd:{low}"
    match first.src:
        case i.PSEUDO_VALUE:
            return f"{target} {low | high << 32:#x} ll"
        case i.PSEUDO_MAP_FD if not high:
            return f"{target} map[{place}]"
        case i.PSEUDO_MAP_VALUE:
            return f"{target} map[{place}][0]+{high}"
        case i.PSEUDO_FUNC if not high:
            return f"{target} subprog[pc{first.imm:+}]"
    return f"{target} {low | high << 32:#x} ll pseudo {first.src}"


def _arithmetic(x: Instruction) -> str:
    operation, letter = x.opcode & 0xF0, "r" if x.opcode & 7 == i.ALU64 else "w"
    if operation == i.NEG:
        return f"{letter}{x.dst} = -{letter}{x.dst}" if not (x.opcode & i.X or x.src or x.offset or x.imm) else ""
    if operation == i.END:
        return _byte_order(x)
    if operation not in OPERATORS:
        return ""
    return _register_operation(x, operation, letter) if x.opcode & i.X else _immediate_operation(x, operation, letter)


def _byte_order(x: Instruction) -> str:
    names = {i.ALU | i.K: "le", i.ALU | i.X: "be", i.ALU64 | i.K: "bswap"}
    name = names.get(x.opcode & 15, "")
    if not name or x.src or x.offset or x.imm not in (16, 32, 64):
        return ""
    return f"r{x.dst} = {name}{x.imm} r{x.dst}"


def _operator(x: Instruction, operation: int) -> str:
    """The assignment operator, "" if the offset has no meaning with it."""
    if x.offset == 0:
        return OPERATORS[operation]
    return "s" + OPERATORS[operation] if x.offset == 1 and operation in (i.DIV, i.MOD) else ""


def _register_operation(x: Instruction, operation: int, letter: str) -> str:
    if x.imm:
        return ""
    if operation == i.MOV and (x.offset in (8, 16) or (x.offset == 32 and letter == "r")):
        return f"{letter}{x.dst} = (s{x.offset}){letter}{x.src}"
    operator = _operator(x, operation)
    return f"{letter}{x.dst} {operator} {letter}{x.src}" if operator else ""


def _immediate_operation(x: Instruction, operation: int, letter: str) -> str:
    operator = _operator(x, operation)
    return f"{letter}{x.dst} {operator} {x.imm}" if operator and not x.src else ""


def _place(x: Instruction, register: int, sign: str = "u") -> str:
    return f"({sign}{8 * i.BYTES_OF_SIZE[x.opcode & 0x18]} *)(r{register} {x.offset:+})"


def _packet(x: Instruction) -> str:
    mode, kind = x.opcode & 0xE0, f"u{8 * i.BYTES_OF_SIZE[x.opcode & 0x18]}"
    if mode not in (i.ABS, i.IND) or x.dst or x.offset or x.opcode & 0x18 == i.DW:
        return ""
    if mode == i.IND:
        return f"r0 = *({kind} *)skb[r{x.src} {x.imm:+}]"
    return f"r0 = *({kind} *)skb[{x.imm}]" if not x.src else ""


def _load(x: Instruction) -> str:
    mode = x.opcode & 0xE0
    if x.imm or mode not in (i.MEM, i.MEMSX) or (mode == i.MEMSX and x.opcode & 0x18 == i.DW):
        return ""
    return f"r{x.dst} = *{_place(x, x.src, 'u' if mode == i.MEM else 's')}"


def _store_immediate(x: Instruction) -> str:
    return f"*{_place(x, x.dst)} = {x.imm}" if x.opcode & 0xE0 == i.MEM and not x.src else ""


def _store(x: Instruction) -> str:
    mode = x.opcode & 0xE0
    if mode == i.MEM:
        return f"*{_place(x, x.dst)} = r{x.src}" if not x.imm else ""
    return _atomic(x) if mode == i.ATOMIC else ""


def _atomic(x: Instruction) -> str:
    if x.imm == i.LOAD_ACQUIRE:
        return f"r{x.dst} = load_acquire({_place(x, x.src)})"
    place, wide = _place(x, x.dst), "64" if x.opcode & 0x18 == i.DW else ""
    if x.imm == i.STORE_RELEASE:
        return f"store_release({place}, r{x.src})"
    if x.opcode & 0x18 not in (i.W, i.DW):
        return ""
    if x.imm in ATOMICS:
        return f"lock *{place} {OPERATORS[x.imm]} r{x.src}"
    if x.imm == i.XCHG:
        return f"r{x.src} = atomic{wide}_xchg({place}, r{x.src})"
    if x.imm == i.CMPXCHG:
        return f"r0 = atomic{wide}_cmpxchg({place}, r0, r{x.src})"
    if x.imm & i.FETCH and x.imm & ~i.FETCH in ATOMICS:
        return f"r{x.src} = atomic{wide}_fetch_{ATOMICS[x.imm & ~i.FETCH]}({place}, r{x.src})"
    return ""


def _branch(x: Instruction) -> str:
    condition, wide = x.opcode & 0xF0, x.opcode & 7 == i.JMP
    if condition in CONDITIONS:
        letter = "r" if wide else "w"
        if x.opcode & i.X:
            return (
                f"if {letter}{x.dst} {CONDITIONS[condition]} {letter}{x.src} goto pc{x.offset:+}" if not x.imm else ""
            )
        return (
            f"if {letter}{x.dst} {CONDITIONS[condition]} {_hexadecimal(x.imm)} goto pc{x.offset:+}" if not x.src else ""
        )
    if x.opcode & i.X or x.dst:
        return ""
    if condition == i.JA:
        return _goto(x, wide)
    if not wide:
        return ""
    if condition == i.CALL:
        return _call(x)
    if condition == i.EXIT:
        return "exit" if not (x.src or x.offset or x.imm) else ""
    return f"may_goto pc{x.offset:+}" if condition == i.JCOND and not (x.src or x.imm) else ""


def _hexadecimal(value: int) -> str:
    """As the kernel prints a comparison's immediate: the 32 bits."""
    return f"{value & 0xFFFFFFFF:#x}"


def _goto(x: Instruction, near: bool) -> str:
    if x.src:
        return ""
    if near:
        return f"goto pc{x.offset:+}" if not x.imm else ""
    return f"gotol pc{x.imm:+}" if not x.offset else ""


def _call(x: Instruction) -> str:
    if x.src == i.CALL_KFUNC:
        return f"call kfunc#{x.imm}" + (f"@{x.offset}" if x.offset else "")
    if x.offset:
        return ""
    if x.src == i.CALL_LOCAL:
        return f"call pc{x.imm:+}"
    if x.src != i.CALL_HELPER:
        return ""
    return f"call {name_of(x.imm)}" + (f"#{x.imm}" if 0 < x.imm < len(NAMES) else "")


_FORMATS = (_packet, _load, _store_immediate, _store, _arithmetic, _branch, _branch, _arithmetic)
