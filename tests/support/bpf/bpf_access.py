"""The statements of random eBPF programs that go through pointers: into maps, records, packets and the context."""

from sonde.bpf import instructions as i
from sonde.bpf import programs
from support.bpf.bpf_statements import atomic


def context_of(f):
    """The register that holds the context, or None."""
    return next((r for r, span in f.pointers.items() if span.kind == "context"), None)


def use(g, register):
    """A few accesses through the pointer in `register`, which other statements come between."""
    f, random = g.function, g.random
    span = f.pointers[register]
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.2:
            g.statement()
        if f.pointers.get(register) != span:
            return
        access(g, register, span)


def access(g, register, span):
    f, random = g.function, g.random
    size = random.choice([size for size in (1, 2, 4, 8) if size <= span.size])
    offset = span.start + random.randrange(0, span.size - size + 1, size if span.kind != "packet" else 1)
    form = random.random()
    if form < 0.15 and span.is_atomic and span.size >= 4:
        size = 8 if span.size >= 8 and random.random() < 0.6 else 4
        atomic(f, random, register, span.start + random.randrange(0, span.size - size + 1, size), size)
    elif form < 0.5 and span.is_writable:
        f.emit(i.store_reg(size, register, offset, f.number(but=(register,))))
    elif form < 0.6 and span.is_writable:
        f.emit(i.store_imm(size, register, offset, f.immediate()))
    else:
        dst = f.free(but=(register,))
        f.emit(i.load(size, dst, register, offset, size < 8 and random.random() < 0.3))
        f.set_scalar(dst)


def access_spans(g):
    """Use a pointer that is there."""
    f = g.function
    if not f.pointers:
        return g.statement()
    register = g.random.choice(sorted(f.pointers))
    if f.pointers[register].kind == "context":
        return g.statement()
    return access(g, register, f.pointers[register])


def variable_offset(g, register):
    """An access at an offset that is bounded by a mask or a comparison."""
    f, random = g.function, g.random
    span = f.pointers.get(register)
    if span is None or span.size < 16 or random.random() < 0.5:
        return
    copy = f.free(but=(register,))
    index = f.target(but=(register, copy))
    if index is None or copy is None or index == copy:
        return
    f.emit(i.mov_reg(copy, register))
    f.set_pointer(copy, span)
    if random.random() < 0.7:
        f.emit(i.alu64_imm(i.AND, index, 7))
        skip = None
    else:
        skip = f.jump(i.jump_imm(random.choice((i.JGT, i.JGE)), index, 7, 0))
    before = f.state()
    f.emit(i.alu64_reg(i.ADD, copy, index))
    f.set_pointer(copy, g.span(span.kind, span.start, span.size - 8, span.is_writable, False))
    access(g, copy, f.pointers[copy])
    if skip is not None:
        f.land(skip)
        f.merge(before)
    f.forget([copy])


def spill(g):
    """Put a pointer on the stack and take it back."""
    f, random = g.function, g.random
    choice = sorted(r for r, span in f.pointers.items() if span.kind in ("value", "context"))
    if not choice:
        return g.statement()
    register = random.choice(choice)
    slot, copy = f.slot(fresh=True), f.free(but=(register,))
    if copy is None:
        return None
    f.emit(i.store_reg(8, 10, slot, register))
    f.slots.discard(slot)
    if random.random() < 0.5:
        f.locked.add(slot)
        g.statement()
        f.locked.discard(slot)
    span = f.pointers.get(register)
    if copy in f.locked or span is None:
        return None
    f.emit(i.load(8, copy, 10, slot))
    f.set_pointer(copy, span)
    return None


def context_access(g):
    f, random = g.function, g.random
    context = context_of(f)
    if context is None:
        return g.statement()
    if g.kind == programs.SYSCALL:
        return access(g, context, g.span("value", 0, 32, True, False))
    if g.kind == programs.RAW_TRACEPOINT:
        return access(g, context, g.span("value", 0, 96, False, False))
    dst = f.free(but=(context,))
    if g.kind == programs.XDP:
        f.emit_access(i.load(4, dst, context, 12))
    else:
        place = random.choice(((0, 4), (8, 4), (48, 20)))
        if place[0] == 48 and random.random() < 0.5:
            f.emit_access(i.store_reg(4, context, 48 + 4 * random.randrange(5), f.number(but=(context,))))
            return None
        f.emit_access(i.load(4, dst, context, place[0] + random.randrange(0, place[1], 4)))
    f.set_scalar(dst)
    return None


def packet(g):
    """Compare with the packet's end, then read and write what is known to be there."""
    f, random = g.function, g.random
    context = context_of(f)
    if context is None or g.kind not in (programs.XDP, programs.SCHED_CLS):
        return g.statement()
    at, end = (0, 4) if g.kind == programs.XDP else (76, 80)
    free = [r for r in range(10) if r not in f.locked and r != context]
    if len(free) < 3:
        return g.statement()
    data, limit, edge = random.sample(free, 3)
    size = random.choice((1, 2, 4, 8, 14, 14, 20, 34, 60, 64, 200))
    f.emit_access(i.load(4, data, context, at))
    f.emit_access(i.load(4, limit, context, end))
    f.forget([data, limit, edge])
    if random.random() < 0.3:
        index = f.number(but=(data, limit))
        if index != edge:
            f.emit(i.mov_reg(edge, index), i.alu64_imm(i.AND, edge, 15), i.alu64_reg(i.ADD, data, edge))
    f.emit(i.mov_reg(edge, data), i.alu64_imm(i.ADD, edge, size))
    form = random.choice((i.JGT, i.JLT, i.JGE, i.JLE))
    if form == i.JGT:
        skip = f.jump(i.jump_reg(i.JGT, edge, limit, 0))
    elif form == i.JLT:
        skip = f.jump(i.jump_reg(i.JLT, limit, edge, 0))
    elif form == i.JGE:
        skip = f.jump(i.jump_reg(i.JGE, edge, limit, 0))
    else:
        f.emit(i.jump_reg(i.JLE, edge, limit, 1))
        skip = f.jump(i.jump(0))
    f.forget([data, limit, edge])
    before = f.state()
    f.set_pointer(data, g.span("packet", 0, size, True, False))
    use(g, data)
    f.land(skip)
    f.merge(before)
    f.forget([data, limit, edge])
    return None
