"""The statements of random eBPF programs that call: helpers, functions of the program, other programs."""

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.helpers import NUMBERS
from support.bpf.bpf_access import context_of
from support.bpf.bpf_functions import CALLER_SAVED

_PLAIN = ("ktime_get_ns", "jiffies64", "get_current_pid_tgid", "get_current_uid_gid", "get_prandom_u32")
"""Helpers whose results are all below 1 << 63."""


def helper(g):
    """A call of a helper whose result is the same everywhere, or is made so."""
    f, random = g.function, g.random
    if not f.callable_arguments():
        return g.statement()
    names = [*_PLAIN, "get_smp_processor_id", *_ARGUMENTS]
    if g.kind in (programs.SOCKET_FILTER, programs.SCHED_CLS):
        names += ["skb_load_bytes"] * 8
    if g.kind == programs.XDP:
        names += ["xdp_load_bytes"] * 3
    name = random.choice(names)
    prepare = _load_bytes if name.endswith("load_bytes") else _ARGUMENTS.get(name)
    if prepare is not None and not prepare(g):
        return g.statement()
    f.call(name)
    if name in _PLAIN:
        f.emit(i.alu64_imm(i.RSH, 0, 63))
    elif name == "strncmp":
        # Only the sign of the result is promised.
        f.emit(i.alu64_imm(i.ARSH, 0, 31))
    f.set_scalar(0)
    return None


def _probe_read(g):
    f, random = g.function, g.random
    start = f.slots_for(16)
    if start is None:
        return False
    f.emit(i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, start), i.mov_imm(2, random.randint(1, 16)))
    f.load_map_value(3, "value", random.choice((0, 8, 40)))
    return True


def _compared(g):
    f, random = g.function, g.random
    start = f.slots_for(8)
    if start is None:
        return False
    f.emit(i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, start), i.mov_imm(2, random.randint(1, 8)))
    f.load_map_value(3, "text")
    return True


def _number_in_text(g):
    f, random = g.function, g.random
    start = f.slots_for(8)
    if start is None:
        return False
    result = f.slot(fresh=True)
    if result == start:
        return False
    text = random.choice((b"12345678", b"-77\0    ", b"  0x1f\0\0", b"0755\0\0\0\0", b"abc\0\0\0\0\0", b"99999999"))
    f.emit(*i.ld_imm64(1, int.from_bytes(text, "little")), i.store_reg(8, 10, start, 1), i.store_imm(8, 10, result, 0))
    f.forget([1])
    f.slots.add(result)
    f.emit(i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, start), i.mov_imm(2, random.choice((1, 4, 8))))
    f.emit(i.mov_imm(3, random.choice((0, 8, 10, 16, 3))), i.mov_reg(4, 10), i.alu64_imm(i.ADD, 4, result))
    return True


def _load_bytes(g):
    f, random = g.function, g.random
    context, start = context_of(f), f.slots_for(16)
    if context is None or start is None:
        return False
    f.emit(i.mov_reg(1, context), i.mov_imm(2, random.choice((0, 1, 14, 30, 60, 500))))
    f.emit(i.mov_reg(3, 10), i.alu64_imm(i.ADD, 3, start), i.mov_imm(4, random.randint(1, 16)))
    return True


_ARGUMENTS = {
    "probe_read_kernel": _probe_read,
    "probe_read_kernel_str": _probe_read,
    "strncmp": _compared,
    "strtol": _number_in_text,
    "strtoul": _number_in_text,
}
"""What puts a helper's arguments into r1 to r5; it tells whether there was room for them."""


def tail_call(g):
    """Into a slot that is empty: the program goes on."""
    f, random = g.function, g.random
    context = context_of(f)
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
