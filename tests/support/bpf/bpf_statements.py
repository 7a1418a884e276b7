"""The statements that random eBPF programs are made of: numbers, the stack, control flow."""

from sonde.bpf import instructions as i

OPERATIONS = (i.ADD, i.SUB, i.MUL, i.DIV, i.OR, i.AND, i.LSH, i.RSH, i.MOD, i.XOR, i.MOV, i.ARSH)
CONDITIONS = (i.JEQ, i.JGT, i.JGE, i.JSET, i.JNE, i.JSGT, i.JSGE, i.JLT, i.JLE, i.JSLT, i.JSLE)
ATOMICS = (i.ADD, i.OR, i.AND, i.XOR)
SHIFTS = (i.LSH, i.RSH, i.ARSH)


def arithmetic(g):
    f, random = g.function, g.random
    dst = f.target()
    operation = random.choice(OPERATIONS)
    wide = random.random() < 0.6
    signed = int(operation in (i.DIV, i.MOD) and random.random() < 0.5)
    if random.random() < 0.5:
        value = random.randrange(64 if wide else 32) if operation in SHIFTS else f.immediate()
        if operation in (i.DIV, i.MOD):
            value = value or 3
        f.emit((i.alu64_imm if wide else i.alu32_imm)(operation, dst, value, signed))
    else:
        src = f.number()
        f.emit((i.alu64_reg if wide else i.alu32_reg)(operation, dst, src, signed))
    f.set_scalar(dst)


def unary(g):
    f, random = g.function, g.random
    dst = f.target()
    form = random.randrange(6)
    bits = random.choice((16, 32, 64))
    if form == 0:
        f.emit(random.choice((i.neg, i.neg32))(dst))
    elif form == 1:
        f.emit(random.choice((i.to_big_endian, i.to_little_endian, i.byte_swap))(dst, bits))
    elif form == 2:
        f.emit(i.movsx(dst, f.number(), random.choice((8, 16, 32))))
    elif form == 3:
        f.emit(i.movsx32(dst, f.number(), random.choice((8, 16))))
    else:
        f.emit(random.choice((i.mov_reg, i.mov32_reg))(dst, f.number()))
    f.set_scalar(dst)


def constant(g):
    g.function.load_constant(g.function.free())


def _size(random):
    return random.choice((1, 2, 4, 8, 8))


def store_stack(g):
    f, random = g.function, g.random
    offset = f.slot(fresh=True)
    if offset in f.slots:
        size = _size(random)
        offset += random.randrange(0, 8, size)
    else:
        size = 8
        f.slots.add(offset)
    if random.random() < 0.5:
        f.emit(i.store_reg(size, 10, offset, f.number()))
    else:
        f.emit(i.store_imm(size, 10, offset, f.immediate()))


def load_stack(g):
    f, random = g.function, g.random
    offset, size = f.slot(), _size(random)
    dst = f.free()
    signed = size < 8 and random.random() < 0.3
    f.emit(i.load(size, dst, 10, offset + random.randrange(0, 8, size), signed))
    f.set_scalar(dst)


def atomic(f, random, base, offset, size):
    """One atomic operation on memory that holds a number."""
    operation = random.choice(ATOMICS)
    form = random.randrange(4)
    if form == 3 and base != 0 and 0 not in f.locked:
        src = f.number(but=(base, 0))
        if 0 not in f.scalars:
            f.load_constant(0)
        f.emit(i.atomic(size, i.CMPXCHG, base, offset, src))
        return
    if form == 0:
        f.emit(i.atomic(size, operation, base, offset, f.number(but=(base,))))
        return
    src = f.target(but=(base,))
    f.emit(i.atomic(size, i.XCHG if form == 1 else operation | i.FETCH, base, offset, src))
    f.set_scalar(src)


def atomic_stack(g):
    f, random = g.function, g.random
    size = random.choice((4, 8))
    atomic(f, random, 10, f.slot() + random.randrange(0, 8, size), size)


def condition(g):
    """A jump over what follows, on a comparison of numbers; `land` sets its target."""
    f, random = g.function, g.random
    a = f.number()
    operation = random.choice(CONDITIONS)
    wide = random.random() < 0.6
    if random.random() < 0.6:
        build = i.jump_imm if wide else i.jump32_imm
        return f.jump(build(operation, a, f.immediate(), 0))
    return f.jump((i.jump_reg if wide else i.jump32_reg)(operation, a, f.number(), 0))


def branch(g):
    """if, with or without else."""
    f, random = g.function, g.random
    skip = condition(g)
    before = f.state()
    g.block(random.randint(1, 5))
    if random.random() < 0.5:
        after = f.state()
        end = f.jump(i.jump(0) if random.random() < 0.9 else i.jump_long(0))
        f.land(skip)
        f.resume(before)
        g.block(random.randint(1, 5))
        if f.code[end].opcode == i.JMP32 | i.JA:
            f.code[end] = f.code[end]._replace(imm=len(f.code) - end - 1)
        else:
            f.land(end)
        f.merge(after)
    else:
        f.land(skip)
        f.merge(before)


def loop(g):
    """A loop with a counter that the verifier can follow to its end."""
    f, random = g.function, g.random
    counter = f.free(saved=True)
    if counter is None:
        return
    turns = random.randint(1, 8 if f.nesting < 2 else 3)
    # What a turn may take away, the next one must not count on.
    f.forget([r for r in range(6) if r not in f.locked])
    f.forget([counter])
    locked = set(f.locked)
    downwards = random.random() < 0.5
    f.emit(i.mov_imm(counter, turns if downwards else 0))
    kept = {counter, *f.pointers}
    f.locked |= kept
    scalars, slots = set(f.scalars), set(f.slots)
    start = len(f.code)
    g.block(random.randint(1, 5))
    for register in sorted(scalars - f.scalars):
        f.load_constant(register)
    for slot in sorted(slots - f.slots):
        f.emit(i.store_imm(8, 10, slot, 1))
    f.slots |= slots
    if downwards:
        f.emit(i.alu64_imm(i.SUB, counter, 1))
        f.emit(i.jump_imm(i.JNE, counter, 0, start - len(f.code) - 1))
    else:
        f.emit(i.alu64_imm(i.ADD, counter, 1))
        f.emit(i.jump_imm(random.choice((i.JLT, i.JSLT, i.JNE)), counter, turns, start - len(f.code) - 1))
    f.locked = locked
    f.set_scalar(counter)
