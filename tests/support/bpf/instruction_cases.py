"""What each instruction does to edge values, by a model that knows nothing of the machine.

A case's code works on r2 and r3 and may use r0, r4 and the frame; the model gives r2 and r3 afterwards.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from sonde.bpf import instructions as i

EDGES = (
    0, 1, 2, 7, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32,
    0x0123456789ABCDEF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFFE, (1 << 64) - 1,
)  # fmt: skip
IMMEDIATES = (0, 1, 5, 31, -1, -2, 0x7FFFFFFF, -0x80000000)
SHIFTS = (i.LSH, i.RSH, i.ARSH)


class Case(NamedTuple):
    """`in_kernel`: whether the kernel's verifier takes the instruction."""

    name: str
    code: tuple[i.Instruction, ...]
    model: Callable[[int, int], tuple[int, int]]
    in_kernel: bool = True


def unsigned(value, bits):
    return int.from_bytes((value % (1 << bits)).to_bytes(bits // 8, "big"), "big")


def signed(value, bits):
    return int.from_bytes((value % (1 << bits)).to_bytes(bits // 8, "big"), "big", signed=True)


def truncated(left, right):
    return int(Fraction(left, right)) if right else 0


def _signed_model(function):
    return lambda a, b, bits: function(signed(a, bits), signed(b, bits))


OPERATIONS = {
    "add": (i.ADD, 0, lambda a, b, bits: a + b),
    "sub": (i.SUB, 0, lambda a, b, bits: a - b),
    "mul": (i.MUL, 0, lambda a, b, bits: a * b),
    "div": (i.DIV, 0, lambda a, b, bits: truncated(a, b)),
    "mod": (i.MOD, 0, lambda a, b, bits: a - b * truncated(a, b)),
    "sdiv": (i.DIV, 1, _signed_model(truncated)),
    "smod": (i.MOD, 1, _signed_model(lambda a, b: a - b * truncated(a, b))),
    "or": (i.OR, 0, lambda a, b, bits: sum((a >> n | b >> n) % 2 << n for n in range(bits))),
    "and": (i.AND, 0, lambda a, b, bits: sum((a >> n) % 2 * ((b >> n) % 2) << n for n in range(bits))),
    "xor": (i.XOR, 0, lambda a, b, bits: sum(((a >> n) + (b >> n)) % 2 << n for n in range(bits))),
    "lsh": (i.LSH, 0, lambda a, b, bits: a * 2 ** (b % bits)),
    "rsh": (i.RSH, 0, lambda a, b, bits: a // 2 ** (b % bits)),
    "arsh": (i.ARSH, 0, lambda a, b, bits: signed(a, bits) // 2 ** (b % bits)),
    "mov": (i.MOV, 0, lambda a, b, bits: b),
}
CONDITIONS = {
    "eq": (i.JEQ, lambda a, b, bits: a == b),
    "ne": (i.JNE, lambda a, b, bits: a != b),
    "gt": (i.JGT, lambda a, b, bits: a > b),
    "ge": (i.JGE, lambda a, b, bits: a >= b),
    "lt": (i.JLT, lambda a, b, bits: a < b),
    "le": (i.JLE, lambda a, b, bits: a <= b),
    "set": (i.JSET, lambda a, b, bits: any((a >> n) % 2 and (b >> n) % 2 for n in range(bits))),
    "sgt": (i.JSGT, _signed_model(lambda a, b: a > b)),
    "sge": (i.JSGE, _signed_model(lambda a, b: a >= b)),
    "slt": (i.JSLT, _signed_model(lambda a, b: a < b)),
    "sle": (i.JSLE, _signed_model(lambda a, b: a <= b)),
}


def _binary(bits, model, right=None):
    """The model of r2 = r2 operation r3, or an immediate."""

    def result(a, b):
        chosen = b if right is None else right
        return unsigned(model(unsigned(a, bits), unsigned(chosen, bits), bits), bits), b

    return result


def _condition(bits, model, right=None):
    def result(a, b):
        chosen = b if right is None else right
        return int(model(unsigned(a, bits), unsigned(chosen, bits), bits)), b

    return result


def _jump(one):
    """r2 = whether the jump is taken."""
    return (i.mov_imm(i.R4, 1), one, i.mov_imm(i.R4, 0), i.mov_reg(i.R2, i.R4))


def arithmetic():
    for name, (operation, offset, model) in OPERATIONS.items():
        for bits, kind in ((64, i.ALU64), (32, i.ALU)):
            yield Case(
                f"{name}{bits}", (i.Instruction(kind | i.X | operation, 2, 3, offset),), _binary(bits, model)
            )  # fmt: skip
            for imm in IMMEDIATES:
                in_kernel = not (operation in (i.DIV, i.MOD) and not imm)
                in_kernel &= not (operation in SHIFTS and not 0 <= imm < bits)
                one = i.Instruction(kind | i.K | operation, 2, 0, offset, imm)
                yield Case(f"{name}{bits} {imm}", (one,), _binary(bits, model, imm), in_kernel)


def jumps():
    for name, (operation, model) in CONDITIONS.items():
        for bits, kind in ((64, i.JMP), (32, i.JMP32)):
            one = i.Instruction(kind | i.X | operation, 2, 3, 1)
            yield Case(f"j{name}{bits}", _jump(one), _condition(bits, model))
            for imm in IMMEDIATES:
                one = i.Instruction(kind | i.K | operation, 2, 0, 1, imm)
                yield Case(f"j{name}{bits} {imm}", _jump(one), _condition(bits, model, imm))


def unary():
    yield Case("neg64", (i.neg(2),), lambda a, b: (unsigned(-a, 64), b))
    yield Case("neg32", (i.neg32(2),), lambda a, b: (unsigned(-a, 32), b))
    for width in (8, 16, 32):
        yield Case(f"movsx64 {width}", (i.movsx(2, 3, width),), lambda a, b, w=width: (unsigned(signed(b, w), 64), b))
    for width in (8, 16):
        yield Case(f"movsx32 {width}", (i.movsx32(2, 3, width),), lambda a, b, w=width: (unsigned(signed(b, w), 32), b))
    for width in (16, 32, 64):
        yield Case(f"le{width}", (i.to_little_endian(2, width),), lambda a, b, w=width: (unsigned(a, w), b))
        for name, make in (("be", i.to_big_endian), ("bswap", i.byte_swap)):
            yield Case(f"{name}{width}", (make(2, width),), lambda a, b, w=width: (_reversed(a, w), b))


def _reversed(value, width):
    return int.from_bytes(unsigned(value, width).to_bytes(width // 8, "big"), "little")


def memory():
    for size in (1, 2, 4, 8):
        bits = 8 * size
        keep = (i.store_reg(8, i.R10, -8, 2),)
        yield Case(
            f"store{bits}", (*keep, i.store_reg(size, i.R10, -8, 3), i.load(8, 2, i.R10, -8)),
            lambda a, b, w=bits: ((a >> w << w) + unsigned(b, w), b),
        )  # fmt: skip
        yield Case(
            f"store{bits} -2", (*keep, i.store_imm(size, i.R10, -8, -2), i.load(8, 2, i.R10, -8)),
            lambda a, b, w=bits: ((a >> w << w) + unsigned(-2, w), b),
        )  # fmt: skip
        yield Case(f"load{bits}", (*keep, i.load(size, 2, i.R10, -8)), lambda a, b, w=bits: (unsigned(a, w), b))
        if size < 8:
            yield Case(
                f"load{bits} signed", (*keep, i.load(size, 2, i.R10, -8, signed=True)),
                lambda a, b, w=bits: (unsigned(signed(a, w), 64), b),
            )  # fmt: skip


def atomics():
    for size in (4, 8):
        bits = 8 * size
        for name in ("add", "or", "and", "xor"):
            operation, _, model = OPERATIONS[name]
            for fetch in (0, i.FETCH):
                yield Case(
                    f"atomic {name}{bits} {fetch}", _atomic(size, operation | fetch), _atomic_model(bits, model, fetch)
                )  # fmt: skip
        yield Case(f"xchg{bits}", _atomic(size, i.XCHG), _atomic_model(bits, lambda a, b, w: b, 1))
        for chosen in (2, 3):
            code = (i.mov_reg(0, chosen), *_atomic(size, i.CMPXCHG), i.mov_reg(3, 0))
            yield Case(f"cmpxchg{bits} r{chosen}", code, _exchange_model(bits, chosen))


def _atomic(size, operation):
    """r2 = the 8 bytes that held r2, after the operation with r3 on the first of them."""
    return (i.store_reg(8, i.R10, -8, 2), i.atomic(size, operation, i.R10, -8, 3), i.load(8, 2, i.R10, -8))


def _atomic_model(bits, model, fetch):
    def result(a, b):
        made = unsigned(model(unsigned(a, bits), unsigned(b, bits), bits), bits)
        return (a >> bits << bits) + made, unsigned(a, bits) if fetch else b

    return result


def _exchange_model(bits, chosen):
    def result(a, b):
        equal = unsigned(a, bits) == unsigned(a if chosen == 2 else b, bits)
        return (a >> bits << bits) + unsigned(b if equal else a, bits), unsigned(a, bits)

    return result


CASES = [*arithmetic(), *jumps(), *unary(), *memory(), *atomics()]
PAIRS = [(a, b) for a in EDGES for b in EDGES]


def program(*cases):
    """Code that takes r2 and r3 from the 16 bytes at r1, for each case again, and puts them behind these afterwards."""
    code = [i.mov_reg(6, 1)]
    for place, case in enumerate(cases, 1):
        code += [i.load(8, 2, 6, 0), i.load(8, 3, 6, 8), i.mov_imm(0, 0), i.mov_imm(4, 0), *case.code]
        code += [i.store_reg(8, 6, 16 * place, 2), i.store_reg(8, 6, 16 * place + 8, 3)]
    return (*code, i.mov_imm(0, 0), i.exit_())
