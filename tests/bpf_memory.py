"""The statements of random eBPF programs that use memory they are given: maps, ring buffers, packets, and helpers."""

import random as random_module

from bpf_functions import CALLER_SAVED
from bpf_statements import atomic

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.bpf.helpers import NUMBERS
from sonde.spec import MapSpec

RESULTS = "results"
"""What every program stores its numbers into at its end."""


def _bytes(random, size):
    return random.getrandbits(8 * size).to_bytes(size, "little")


def map_specs():
    """The maps that programs choose from, always the same."""
    random = random_module.Random(1)

    def filled(count, size):
        return tuple((n.to_bytes(4, "little"), _bytes(random, size)) for n in range(count))

    keys = [(n * 3).to_bytes(8, "little") for n in range(4)]
    text = b"sonde\0" + _bytes(random, 26)
    return {
        spec.name: spec
        for spec in (
            MapSpec(RESULTS, maps.ARRAY, 4, 96, 1),
            MapSpec("value", maps.ARRAY, 4, 64, 1, contents=filled(1, 64)),
            MapSpec("array", maps.ARRAY, 4, 48, 5, contents=filled(5, 48)),
            MapSpec("hash", maps.HASH, 8, 24, 16, contents=tuple((key, _bytes(random, 24)) for key in keys)),
            MapSpec("small", maps.HASH, 4, 8, 3),
            MapSpec("lru", maps.LRU_HASH, 8, 16, 512),
            MapSpec("per_cpu", maps.PERCPU_ARRAY, 4, 32, 3),
            MapSpec("per_cpu_hash", maps.PERCPU_HASH, 4, 16, 8),
            MapSpec("text", maps.ARRAY, 4, 32, 1, maps.F_RDONLY_PROG, contents=((bytes(4), text),), frozen=True),
            MapSpec("ring", maps.RINGBUF, 0, 0, 4096),
            MapSpec("programs", maps.PROG_ARRAY, 4, 4, 2),
            MapSpec("nested", maps.ARRAY_OF_MAPS, 4, 4, 2, inner=MapSpec("inner", maps.ARRAY, 4, 16, 2)),
        )
    }


SPECS = map_specs()
LOOKED_UP = ("array", "array", "hash", "hash", "small", "lru", "per_cpu", "per_cpu_hash")
UPDATED = ("array", "hash", "small", "small", "lru", "per_cpu_hash")
DELETED = ("hash", "small", "lru", "per_cpu_hash", "array")


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
    elif span.kind != "record":
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


def direct_value(g):
    f, random = g.function, g.random
    register = f.free()
    offset = random.choice((0, 0, 8, 16, 60))
    f.load_map_value(register, "value", offset)
    f.set_pointer(register, g.span("value", -offset, 64))
    use(g, register)
    variable_offset(g, register)


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


def _key(g, name, register):
    """Point `register` at a key on the stack; returns the slot."""
    f, random = g.function, g.random
    spec = SPECS[name]
    slot = f.slot(fresh=True)
    if random.random() < 0.8:
        count = 5 if spec.kind in (maps.ARRAY, maps.PERCPU_ARRAY, maps.ARRAY_OF_MAPS) else 12
        key = random.randrange(count) * (3 if name == "hash" else 1)
        f.emit(i.store_imm(spec.key_size, 10, slot, key))
        if spec.key_size == 8:
            f.slots.add(slot)
        else:
            f.slots.discard(slot)
    else:
        source = f.target()
        f.emit(i.alu64_imm(i.AND, source, 7), i.store_reg(8, 10, slot, source))
        f.slots.add(slot)
    f.emit(i.mov_reg(register, 10), i.alu64_imm(i.ADD, register, slot))
    f.set_pointer(register, g.span("key", 0, spec.key_size))


def lookup(g):
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    name = random.choice(LOOKED_UP)
    _key(g, name, 2)
    f.load_map(1, name)
    if name.startswith("per_cpu") and random.random() < 0.2:
        f.emit(i.mov_imm(3, 0))
        f.call("map_lookup_percpu_elem")
    else:
        f.call("map_lookup_elem")
    return _checked(g, lambda register: _found(g, register, name))


def _found(g, register, name):
    g.function.set_pointer(register, g.span("value", 0, SPECS[name].value_size))
    use(g, register)
    variable_offset(g, register)


def _checked(g, then):
    """r0 is a pointer or 0: do `then` with a register that has it where it is not 0."""
    f, random = g.function, g.random
    register = 0
    if random.random() < 0.6:
        saved = f.free(saved=True)
        if saved is not None:
            register = saved
            f.forget([saved])
            f.emit(i.mov_reg(register, 0))
    null = f.jump(i.jump_imm(i.JEQ, random.choice((0, register)), 0, 0))
    f.forget([0, register])
    before = f.state()
    then(register)
    f.land(null)
    f.merge(before)
    f.forget([0, register])


def nested_lookup(g):
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    _key(g, "nested", 2)
    f.load_map(1, "nested")
    f.call("map_lookup_elem")
    slot = f.slot(fresh=True)
    null = f.jump(i.jump_imm(i.JEQ, 0, 0, 0))
    before = f.state()
    f.emit(i.store_imm(4, 10, slot, random.randrange(3)), i.mov_reg(1, 0))
    f.slots.discard(slot)
    f.emit(i.mov_reg(2, 10), i.alu64_imm(i.ADD, 2, slot))
    f.call("map_lookup_elem")

    def found(register):
        f.set_pointer(register, g.span("value", 0, 16))
        use(g, register)

    _checked(g, found)
    f.land(null)
    f.merge(before)
    return None


def update(g):
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    name = random.choice(UPDATED)
    start = f.slots_for(SPECS[name].value_size)
    if start is None:
        return g.statement()
    taken = {start + 8 * n for n in range(SPECS[name].value_size + 7 >> 3)} - f.locked
    f.locked |= taken
    _key(g, name, 2)
    f.locked -= taken
    f.emit(i.mov_reg(3, 10), i.alu64_imm(i.ADD, 3, start))
    f.load_map(1, name)
    f.emit(i.mov_imm(4, random.choice((0, 0, 0, 1, 2, 7))))
    f.call("map_update_elem")
    f.set_scalar(0)
    return None


def delete(g):
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    name = random.choice(DELETED)
    _key(g, name, 2)
    f.load_map(1, name)
    f.call("map_delete_elem")
    f.set_scalar(0)
    return None


def record(g):
    """Reserve a record, fill it, submit or discard it."""
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    size = random.choice((8, 16, 24, 40, 64))
    f.load_map(1, "ring")
    f.emit(i.mov_imm(2, size), i.mov_imm(3, 0))
    f.call("ringbuf_reserve")
    saved = f.free(saved=True)
    if saved is None:
        return _release(g, 0, f.jump(i.jump_imm(i.JEQ, 0, 0, 0)))
    f.emit(i.mov_reg(saved, 0))
    f.forget([saved])
    null = f.jump(i.jump_imm(i.JEQ, saved, 0, 0))
    before = f.state()
    f.set_pointer(saved, g.span("record", 0, size))
    f.locked.add(saved)
    could, g.may_tail_call = g.may_tail_call, False
    for offset in range(0, size, 8):
        f.emit(i.store_imm(8, saved, offset, f.immediate()))
    f.set_pointer(saved, g.span("value", 0, size))
    use(g, saved)
    if random.random() < 0.4:
        g.block(random.randint(1, 3))
    f.locked.discard(saved)
    g.may_tail_call = could
    _release(g, saved, null)
    f.merge(before)
    f.forget([saved])
    return None


def _release(g, register, null):
    f, random = g.function, g.random
    if register != 1:
        f.emit(i.mov_reg(1, register))
    f.emit(i.mov_imm(2, random.choice((0, 1, 2))))
    f.call(random.choice(("ringbuf_submit", "ringbuf_submit", "ringbuf_discard")))
    f.forget([register])
    f.land(null)


def output(g):
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    size = random.choice((1, 7, 8, 24))
    start = f.slots_for(size)
    if start is None:
        return g.statement()
    f.emit(i.mov_reg(2, 10), i.alu64_imm(i.ADD, 2, start), i.mov_imm(3, size), i.mov_imm(4, 0))
    f.load_map(1, "ring")
    f.call("ringbuf_output")
    f.set_scalar(0)
    return None


def packet(g):
    """Compare with the packet's end, then read and write what is known to be there."""
    f, random = g.function, g.random
    context = next((r for r, span in f.pointers.items() if span.kind == "context"), None)
    if context is None or g.kind not in (programs.XDP, programs.SCHED_CLS):
        return g.statement()
    at, end = (0, 4) if g.kind == programs.XDP else (76, 80)
    free = [r for r in range(10) if r not in f.locked and r != context]
    if len(free) < 3:
        return g.statement()
    data, limit, edge = random.sample(free, 3)
    size = random.choice((1, 2, 4, 8, 14, 14, 20, 34, 60, 64, 200))
    f.emit(i.load(4, data, context, at), i.load(4, limit, context, end))
    f.forget([data, limit, edge])
    extra = 0
    if random.random() < 0.3:
        index = f.number(but=(data, limit))
        if index != edge:
            f.emit(i.mov_reg(edge, index), i.alu64_imm(i.AND, edge, 15), i.alu64_reg(i.ADD, data, edge))
            extra = 15
    f.emit(i.mov_reg(edge, data), i.alu64_imm(i.ADD, edge, size))
    form = random.choice((i.JGT, i.JLT, i.JGE, i.JLE))
    known = size
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
    f.set_pointer(data, g.span("packet", 0, known, True, False))
    use(g, data)
    f.land(skip)
    f.merge(before)
    f.forget([data, limit, edge])
    return extra


def context_access(g):
    f, random = g.function, g.random
    context = next((r for r, span in f.pointers.items() if span.kind == "context"), None)
    if context is None:
        return g.statement()
    if g.kind == programs.SYSCALL:
        return access(g, context, g.span("value", 0, 32, True, False))
    if g.kind == programs.RAW_TRACEPOINT:
        return access(g, context, g.span("value", 0, 96, False, False))
    dst = f.free(but=(context,))
    if g.kind == programs.XDP:
        f.emit(i.load(4, dst, context, 12))
    else:
        place = random.choice(((0, 4), (8, 4), (48, 20)))
        if place[0] == 48 and random.random() < 0.5:
            f.emit(i.store_reg(4, context, 48 + 4 * random.randrange(5), f.number(but=(context,))))
            return None
        f.emit(i.load(4, dst, context, place[0] + random.randrange(0, place[1], 4)))
    f.set_scalar(dst)
    return None


def helper(g):
    """A call of a helper whose result is the same everywhere, or is made so."""
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    names = ["ktime_get_ns", "get_smp_processor_id", "probe_read_kernel", "strncmp", "strtol", "strtoul", "jiffies64"]
    names += ["get_current_pid_tgid", "get_current_uid_gid", "get_prandom_u32", "probe_read_kernel_str"]
    if g.kind in (programs.SOCKET_FILTER, programs.SCHED_CLS):
        names += ["skb_load_bytes"] * 8
    if g.kind == programs.XDP:
        names += ["xdp_load_bytes"] * 3
    name = random.choice(names)
    if name in ("ktime_get_ns", "jiffies64", "get_current_pid_tgid", "get_current_uid_gid", "get_prandom_u32"):
        f.call(name)
        f.emit(i.alu64_imm(i.RSH, 0, 63))
    elif name == "get_smp_processor_id":
        f.call(name)
    elif name.startswith("probe_read"):
        _probe_read(g, name)
    elif name == "strncmp":
        start = f.slots_for(8)
        if start is None:
            return None
        f.emit(i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, start), i.mov_imm(2, random.randint(1, 8)))
        f.load_map_value(3, "text")
        f.call(name)
        # Only the sign of the result is promised.
        f.emit(i.alu64_imm(i.ARSH, 0, 31))
    elif name.startswith("strto"):
        _number_of_text(g, name)
    else:
        _load_bytes(g, name)
    f.set_scalar(0)
    return None


def _probe_read(g, name):
    f, random = g.function, g.random
    start = f.slots_for(16)
    if start is None:
        return
    f.emit(i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, start), i.mov_imm(2, random.randint(1, 16)))
    f.load_map_value(3, "value", random.choice((0, 8, 40)))
    f.call(name)


def _number_of_text(g, name):
    f, random = g.function, g.random
    start, result = f.slots_for(8), f.slot(fresh=True)
    if start is None or result == start:
        return
    text = random.choice((b"12345678", b"-77\0    ", b"  0x1f\0\0", b"0755\0\0\0\0", b"abc\0\0\0\0\0", b"99999999"))
    f.emit(*i.ld_imm64(1, int.from_bytes(text, "little")), i.store_reg(8, 10, start, 1), i.store_imm(8, 10, result, 0))
    f.slots.add(result)
    f.emit(i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, start), i.mov_imm(2, random.choice((1, 4, 8))))
    f.emit(i.mov_imm(3, random.choice((0, 8, 10, 16, 3))), i.mov_reg(4, 10), i.alu64_imm(i.ADD, 4, result))
    f.call(name)


def _load_bytes(g, name):
    f, random = g.function, g.random
    context = next((r for r, span in f.pointers.items() if span.kind == "context"), None)
    start = f.slots_for(16)
    if context is None or start is None:
        return
    f.emit(i.mov_reg(1, context), i.mov_imm(2, random.choice((0, 1, 14, 30, 60, 500))))
    f.emit(i.mov_reg(3, 10), i.alu64_imm(i.ADD, 3, start), i.mov_imm(4, random.randint(1, 16)))
    f.call(name)


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


def tail_call(g):
    """Into a slot that is empty: the program goes on."""
    f, random = g.function, g.random
    context = next((r for r, span in f.pointers.items() if span.kind == "context"), None)
    if context is None or not f.callable_arguments() or f.depth or g.functions[1:] or not g.may_tail_call:
        return g.statement()
    g.has_tail_call = True
    f.emit(i.mov_reg(1, context))
    f.load_map(2, "programs")
    f.emit(i.mov_imm(3, random.choice((0, 1, 9))))
    f.call("tail_call")
    return None


def local_call(g):
    """Call one of the program's functions, with numbers and perhaps a pointer into the stack."""
    f, random = g.function, g.random
    if not f.callable_arguments() or f.depth >= 3 or g.has_tail_call:
        return g.statement()
    start = f.slots_for(16) if random.random() < 0.4 else None
    count = random.randint(0, 3)
    for register in range(1, 1 + count):
        if random.random() < 0.5:
            f.load_constant(register)
        else:
            f.emit(i.mov_reg(register, f.number(but=tuple(range(1, register)))))
            f.set_scalar(register)
    if start is not None:
        f.emit(i.mov_reg(count + 1, 10), i.alu64_imm(i.ADD, count + 1, start))
    callee = g.subprogram(count, start is not None, f.depth + 1)
    f.calls.append((len(f.code), callee))
    f.emit(i.call_local(0))
    f.forget(CALLER_SAVED)
    f.set_scalar(0)
    return None


def callback(g):
    """bpf_loop over one of the program's functions, which gets a pointer into this stack."""
    f, random = g.function, g.random
    if not f.callable_arguments() or f.depth or g.has_tail_call:
        return g.statement()
    start = f.slots_for(16)
    if start is None:
        return g.statement()
    callee = g.callback()
    f.emit(i.mov_imm(1, random.randint(0, 9)))
    f.calls.append((len(f.code), callee))
    f.emit(*i.ld_function(2, 0))
    f.emit(i.mov_reg(3, 10), i.alu64_imm(i.ADD, 3, start), i.mov_imm(4, 0))
    f.emit(i.call(NUMBERS["loop"]))
    f.forget(CALLER_SAVED)
    f.set_scalar(0)
    g.has_callback = True
    return None
