"""The statements of random eBPF programs that use maps and ring buffers, and the maps."""

import random as random_module

from sonde.bpf import instructions as i
from sonde.bpf import maps
from sonde.model.spec import MapSpec
from support.bpf.bpf_access import use, variable_offset

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


def direct_value(g):
    f, random = g.function, g.random
    register = f.free()
    offset = random.choice((0, 0, 8, 16, 60))
    f.load_map_value(register, "value", offset)
    f.set_pointer(register, g.span("value", -offset, 64))
    use(g, register)
    variable_offset(g, register)


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
