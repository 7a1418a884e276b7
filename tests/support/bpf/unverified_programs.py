"""Programs that no verifier has seen: any valid instructions, any control flow, any addresses."""

from sonde.bpf import instructions as i
from sonde.runtime.machine import structure

ARITHMETIC = (i.ADD, i.SUB, i.MUL, i.DIV, i.OR, i.AND, i.LSH, i.RSH, i.MOD, i.XOR, i.MOV, i.ARSH)
CONDITIONS = (i.JEQ, i.JGT, i.JGE, i.JSET, i.JNE, i.JSGT, i.JSGE, i.JLT, i.JLE, i.JSLT, i.JSLE)
ATOMICS = (
    i.ADD, i.OR, i.AND, i.XOR, i.ADD | i.FETCH, i.OR | i.FETCH, i.AND | i.FETCH, i.XOR | i.FETCH, i.XCHG, i.CMPXCHG,
    i.LOAD_ACQUIRE, i.STORE_RELEASE,
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, -8, 255, 1 << 20, 0x7FFFFFFF, -0x80000000)
HELPERS = (1, 5, 6, 12)


def instructions(random, addresses, length):
    """One instruction after the other; `addresses` are of regions, and what LD_IMM64 often loads."""
    makers = (
        (8, _arithmetic), (2, _movsx), (1, _unary), (4, _load), (4, _store), (2, _atomic), (1, _frame_pointer),
        (2, lambda r: _address(r, addresses)), (1, _call),
    )  # fmt: skip
    weights = [weight for weight, _ in makers]
    for _ in range(length):
        yield from random.choices([make for _, make in makers], weights)[0](random)


def _tells_frame(one):
    """Whether it makes a number of the frame's address."""
    kind = one.opcode & 7
    if kind in (i.JMP, i.JMP32):
        return i.R10 in (one.dst, one.src)
    if kind == i.STX and one.imm == i.LOAD_ACQUIRE:
        return False
    return one.src == i.R10 and kind != i.LDX


def _arithmetic(random):
    operation, kind = random.choice(ARITHMETIC), random.choice((i.ALU, i.ALU64))
    offset = random.randrange(2) if operation in (i.DIV, i.MOD) else 0
    if random.randrange(2):
        return [i.Instruction(kind | i.X | operation, random.randrange(10), random.randrange(11), offset)]
    return [i.Instruction(kind | operation, random.randrange(10), 0, offset, random.choice(NUMBERS))]


def _movsx(random):
    width = random.choice((8, 16))
    return [random.choice((i.movsx, i.movsx32))(random.randrange(10), random.randrange(11), width)]


def _unary(random):
    register = random.randrange(10)
    swap = random.choice((i.byte_swap, i.to_big_endian, i.to_little_endian))
    return [random.choice((i.neg(register), i.neg32(register), swap(register, random.choice((16, 32, 64)))))]


def _base(random):
    """A register and an offset: most often in the frame."""
    if random.randrange(3):
        return i.R10, -random.choice((8, 16, 24, 4, 12, 1, 512, 520, 0, -8))
    return random.randrange(11), random.choice((0, 0, 8, -8, 4, 60, 32767, -32768))


def _load(random):
    size = random.choice((1, 2, 4, 8))
    register, offset = _base(random)
    return [i.load(size, random.randrange(10), register, offset, signed=size < 8 and not random.randrange(3))]


def _store(random):
    size = random.choice((1, 2, 4, 8))
    register, offset = _base(random)
    if random.randrange(2):
        return [i.store_imm(size, register, offset, random.choice(NUMBERS))]
    return [i.store_reg(size, register, offset, random.randrange(11))]


def _atomic(random):
    register, offset = _base(random)
    operation, other = random.choice(ATOMICS), random.randrange(10)
    if operation == i.LOAD_ACQUIRE:
        return [i.atomic(random.choice((4, 8)), operation, other, offset, register)]
    return [i.atomic(random.choice((4, 8)), operation, register, offset, other)]


def _frame_pointer(random):
    register = random.randrange(10)
    return [i.mov_reg(register, i.R10), i.alu64_imm(i.ADD, register, -random.choice((8, 16, 64, 600)))]


def _address(random, addresses):
    chosen = random.choice((*addresses, random.getrandbits(64), 1 << 63))
    return i.ld_imm64(random.randrange(10), chosen + random.choice((0, 0, 8, -8, 60)))


def _call(random):
    return [i.call(random.choice(HELPERS))]


def program(random, addresses):
    """Functions of blocks; every block ends with a jump to any other one, most of them conditional, or with an exit."""
    while True:
        code = _functions(random, addresses)
        try:
            structure.check(code)
        except structure.StructureError:
            continue
        return code


def _functions(random, addresses):
    count = random.choice((1, 1, 2, 3))
    made = [_function(random, addresses, count) for _ in range(count)]
    begins = [sum(map(len, made[:number])) for number in range(count + 1)]
    code = []
    for body in made:
        for one in body:
            if isinstance(one, tuple) and one[0] == "call":
                one = i.call_local(begins[one[1]] - len(code) - 1)
            code.append(one)
    return code


def _function(random, addresses, count):
    blocks = [list(instructions(random, addresses, random.randrange(5))) for _ in range(random.randrange(1, 9))]
    if count > 1 and random.randrange(3):
        random.choice(blocks).append(("call", random.randrange(count)))
    blocks.append([i.mov_reg(0, random.randrange(10))])
    lengths = [len(block) + 2 for block in blocks]
    starts = [sum(lengths[:place]) for place in range(len(blocks))]
    code = []
    for place, block in enumerate(blocks):
        code += block
        code += _ending(random, len(code), starts, place == len(blocks) - 1)
    # Which function has which frame is not said anywhere, so where there are several, none may tell.
    return [i.mov_imm(8, 1) if count > 1 and one[0] != "call" and _tells_frame(one) else one for one in code]


def _ending(random, at, starts, is_last):
    """Two instructions: a conditional jump and another jump."""
    if is_last:
        return [i.mov_imm(5, 0), i.exit_()]
    one, other = random.choice(starts), random.choice(starts)
    if not random.randrange(6):
        return [i.Instruction(i.JMP | i.JCOND, 0, 0, one - at - 1), i.jump_long(other - at - 2)]
    condition, by_register = random.choice(CONDITIONS), random.randrange(2)
    kind = random.choice((i.JMP, i.JMP32))
    if by_register:
        jump = i.Instruction(kind | i.X | condition, random.randrange(11), random.randrange(11), one - at - 1)
    else:
        jump = i.Instruction(kind | condition, random.randrange(11), 0, one - at - 1, random.choice(NUMBERS))
    return [jump, i.jump(other - at - 2)]


def control_flow(random):
    """One function of arithmetic with jumps from anywhere to anywhere, which ends after a while: r0 tells the way."""
    count = random.randrange(1, 14)
    blocks = [_step(random, number) for number in range(count)]
    lengths = [len(block) + 2 for block in blocks]
    starts = [1 + sum(lengths[:place]) for place in range(count)]
    end = 1 + sum(lengths)
    code = [i.mov_imm(9, random.choice((3, 20, 60)))]
    for block in blocks:
        code += block
        # Where a block leads to is near, mostly, so that there are loops within loops and ways out of them.
        code[-1] = code[-1]._replace(offset=end - len(code))
        code += _choice(random, len(code), starts)
    code += [i.alu64_imm(i.MUL, 0, 7)] * random.choice((0, 3))
    return [*code, i.exit_()]


def _step(random, number):
    return [
        i.alu64_imm(i.MUL, 0, 31), i.alu64_imm(i.ADD, 0, number), i.alu64_reg(i.XOR, random.randrange(6), 0),
        i.alu64_imm(i.SUB, 9, 1), i.jump_imm(i.JEQ, 9, 0, 0),
    ]  # fmt: skip


def _choice(random, at, starts):
    near = min(range(len(starts)), key=lambda place: abs(starts[place] - at))
    ways = [starts[min(max(near + random.randrange(-3, 4), 0), len(starts) - 1)] for _ in range(2)]
    kind, register = random.choice((i.JMP, i.JMP32)), random.randrange(6)
    jump = i.Instruction(kind | random.choice(CONDITIONS), register, 0, ways[0] - at - 1, random.choice(NUMBERS))
    return [jump, i.jump(ways[1] - at - 2)]
