"""Calls of helpers: what comes back, and what they write (check_helper_call() of kernel/bpf/verifier.c)."""

from __future__ import annotations

from sonde.bpf.helpers import MAX_ERRNO
from sonde.bpf.instructions import CALL_HELPER
from sonde.bpf.maps import ARRAY, MAPS_OF_MAPS, PERCPU_ARRAY
from sonde.bpf.signatures import SIGNATURES, Signature
from sonde.model.spec import MapSpec
from sonde.runtime.verifier import stack
from sonde.runtime.verifier.accesses import slots, use
from sonde.runtime.verifier.arguments import is_output, map_of
from sonde.runtime.verifier.relevance import Effect, bit
from sonde.runtime.verifier.scalar import UNKNOWN, ScalarValue, between
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.steps import Step
from sonde.runtime.verifier.subject import Doubt, Subject
from sonde.runtime.verifier.values import MAP, OBJECT, RECORD, RESERVED, SLOT, STACK, VALUE, PointerValue, Value

_MAX_CPUS = 8192

_CALLER_SAVED = 0b111111
"""r0 to r5, which a call overwrites."""


def call(subject: Subject, at: int) -> Step:
    """The step of a call of a helper that does not call back."""
    signature = SIGNATURES.get(subject.code[at].imm)
    if signature is None or subject.code[at].src != CALL_HELPER:
        return _impossible
    arguments = sum(bit(position + 1) for position in range(len(signature.arguments)))
    sizes = sum(bit(n + 1) for n, kind in enumerate(signature.arguments) if kind in _EXACT)
    if signature.name == "loop":
        sizes |= bit(1)
    plain = Effect(_CALLER_SAVED, 0, 0, arguments, sizes)
    has_memory = any(kind in _MEMORY or is_output(kind) for kind in signature.arguments)

    def run(state: State) -> Effect:
        effect = _memory(subject, state, signature, at, plain) if has_memory else plain
        key = _constant_key(state, signature) if signature.name == "map_lookup_elem" else 0
        if key:
            effect = effect._replace(demands=effect.demands | key)
        result = _result(subject, state, signature, at, bool(key))
        for n, kind in enumerate(signature.arguments):
            if kind in RESERVED:
                record = state.frame.registers[n + 1]
                assert type(record) is PointerValue
                state.release(record.id)
        state.frame.registers[:6] = (result, None, None, None, None, None)
        if signature.moves_packet:
            state.lose_packet()
        return effect

    return run


def _impossible(_state: State) -> Effect:
    raise AssertionError("the obligations of this call cannot be met")


_EXACT = frozenset({"size", "size_or_zero", "constant", "stack_or_null", "memory_or_null", "memory_out_or_null",
                    "value_or_null", "task_or_null"})  # fmt: skip
"""Arguments of which the exact number matters, if they are numbers."""

_MEMORY = frozenset({"key", "value", "value_or_null", "memory", "memory_or_null"})

_OF_MAPS = frozenset({"key", "value", "value_or_null"})
"""What a map takes."""


def _memory(subject: Subject, state: State, signature: Signature, at: int, effect: Effect) -> Effect:
    """Account for what the helper reads and writes of stacks."""
    kills, _, _, uses, demands = effect
    for n, kind in enumerate(signature.arguments):
        value = state.frame.registers[n + 1]
        if type(value) is not PointerValue or value.kind != STACK:
            continue
        size = _size(state, signature, n, kind)
        if not size:
            continue
        assert isinstance(value.referent, int)
        low, high = value.offset + value.variable.smin, value.offset + value.variable.smax + size
        touched = slots(len(state.frames) - 1 - value.referent, low, high)
        use(subject, state, value, low)
        of = state.frames[value.referent].stack
        if not is_output(kind):
            uses |= touched
            if kind in _OF_MAPS and subject.rules.unused_stack and stack.is_missing(of, low, high):
                _doubt(subject, state, signature, at, n, low, high)
            continue
        subject.write_stack(state.frames[value.referent].function, low)
        if value.variable.mask:
            stack.disturb(of, low, high)
        else:
            _written(of, low, high, _least(state, n, kind, size))
            if not low % 8 and not high % 8:
                kills |= touched
    return Effect(kills, 0, 0, uses, demands)


def _doubt(subject: Subject, state: State, signature: Signature, at: int, n: int, low: int, high: int) -> None:
    """Remember that nothing was written on the way here of what the helper takes as its argument number `n`."""
    value = state.frame.registers[n + 1]
    assert type(value) is PointerValue
    assert isinstance(value.referent, int)
    function = state.frames[value.referent].function
    place = at, n, function, high
    if place not in subject.doubts:
        is_key = signature.arguments[n] == "key"
        what = f"bpf_{signature.name} takes {high - low} bytes as a {'key' if is_key else 'value'} of a map"
        subject.doubts[place] = Doubt(at, function, low, high, n + 1, is_key, what, state.copy())


def _written(of: stack.Stack, low: int, high: int, least: int) -> None:
    """A helper writes all of its buffer, if only with zeros where it fails, but never more than it is told to."""
    if least:
        stack.clobber(of, low, low + least)
    if low + least < high:
        stack.disturb(of, low + least, high)


def _size(state: State, signature: Signature, position: int, kind: str) -> int:
    """How many bytes of memory an argument stands for at most."""
    if kind == "long_out":
        return 8
    of = map_of(state, signature)
    if kind == "key":
        return of.key_size if of else 0
    if kind in ("value", "value_or_null", "value_out"):
        return of.value_size if of else 0
    if kind in _MEMORY or is_output(kind):
        size = state.frame.registers[position + 2]
        return size.umax if type(size) is ScalarValue else 0
    return 0


def _least(state: State, position: int, kind: str, most: int) -> int:
    """How many bytes it is at least."""
    if kind in ("long_out", "value_out"):
        return most
    size = state.frame.registers[position + 2]
    return size.umin if type(size) is ScalarValue else 0


def _constant_key(state: State, signature: Signature) -> int:
    """Where a lookup in an array cannot fail, its index being a constant: the bits of the slot that has the index."""
    of, key = map_of(state, signature), state.frame.registers[2]
    if of is None or of.kind not in (ARRAY, PERCPU_ARRAY) or type(key) is not PointerValue or key.kind != STACK:
        return 0
    if key.variable.mask or key.variable.value:
        return 0
    assert isinstance(key.referent, int)
    index = stack.constant_at(state.frames[key.referent].stack, key.offset, of.key_size)
    if index is None or index >= of.max_entries:
        return 0
    return slots(len(state.frames) - 1 - key.referent, key.offset, key.offset + of.key_size)


def _result(subject: Subject, state: State, signature: Signature, at: int, is_there: bool) -> Value:
    kind = signature.result
    if kind == "void":
        return None
    if kind == "length":
        return between(-MAX_ERRNO, _largest(state, signature))
    if kind == "cpu":
        return between(0, _MAX_CPUS - 1)
    if kind == "task":
        return PointerValue(OBJECT, referent="task_struct")
    if kind == "registers":
        return PointerValue(OBJECT, referent="pt_regs")
    if kind == "value_or_null":
        of = map_of(state, signature)
        assert isinstance(of, MapSpec)
        if is_there:
            return PointerValue(VALUE, size=of.value_size, referent=of)
        identity = subject.identities.give(at)
        if of.kind in MAPS_OF_MAPS:
            assert of.inner is not None
            return PointerValue(MAP, referent=of.inner, maybe_null=True, id=identity)
        return PointerValue(VALUE, size=of.value_size, referent=of, maybe_null=True, id=identity)
    if kind == "record_or_null":
        return _reserved(RECORD, subject, state, signature, at)
    if kind == "slot_or_null":
        return _reserved(SLOT, subject, state, signature, at)
    return UNKNOWN


def _largest(state: State, signature: Signature) -> int:
    for n, kind in enumerate(signature.arguments):
        if kind in ("size", "size_or_zero"):
            size = state.frame.registers[n + 1]
            assert type(size) is ScalarValue
            return size.umax
    return (1 << 31) - 1


def _reserved(kind: str, subject: Subject, state: State, signature: Signature, at: int) -> PointerValue:
    size = state.frame.registers[signature.arguments.index("constant") + 1]
    assert type(size) is ScalarValue
    identity = subject.identities.give(at)
    state.references = (*state.references, identity)
    return PointerValue(kind, size=size.value, maybe_null=True, id=identity)
