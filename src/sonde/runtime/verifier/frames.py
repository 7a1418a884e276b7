"""Frames come and go: calls of functions of the program, by itself or by a helper."""

from __future__ import annotations

from sonde.bpf.signatures import Signature
from sonde.runtime.verifier.arguments import map_of
from sonde.runtime.verifier.scalar import UNKNOWN, ScalarValue
from sonde.runtime.verifier.state import Activation, State
from sonde.runtime.verifier.values import KEY, MAP, MEMORY, VALUE, PointerValue


def enter_function(state: State, function: int, site: int) -> None:
    """The program calls one of its functions: r1 to r5 are its arguments."""
    caller = state.frame
    frame = Activation(function, site, len(state.frames))
    frame.registers[1:6] = caller.registers[1:6]
    state.enter(frame)


def return_(state: State) -> None:
    """The function ends: its r0 is the caller's, of which r1 to r5 are lost."""
    left = state.leave()
    state.frame.registers[:6] = (left.registers[0], None, None, None, None, None)


def end_elsewhere(state: State) -> None:
    """Another program took over, by a tail call: what it returns is not known, nor what it did to the packet."""
    state.frame.registers[0] = UNKNOWN
    state.lose_packet()


_CALLBACKS = {"loop": (2, 3), "for_each_map_elem": (4, 3)}


def callback_of(helper: str) -> tuple[int, int]:
    """The registers of the callback's context: its own, and the caller's for the helper."""
    return _CALLBACKS[helper]


def never_calls_back(state: State, signature: Signature) -> bool:
    """Whether it is known that the helper has nothing to call back for."""
    times = state.frame.registers[1]
    return signature.name == "loop" and type(times) is ScalarValue and times.umax == 0


def enter_callback(state: State, signature: Signature, site: int) -> int:
    """The helper calls back; returns the function that it calls."""
    caller = state.frame.registers
    pointer = caller[signature.arguments.index("callback") + 1]
    assert type(pointer) is PointerValue
    assert isinstance(pointer.referent, int)
    frame = Activation(pointer.referent, site, len(state.frames), callback=True)
    frame.held = state.references
    inner, outer = callback_of(signature.name)
    if signature.name == "loop":
        frame.registers[1] = UNKNOWN
    else:
        of = map_of(state, signature)
        assert of is not None
        frame.registers[1] = PointerValue(MAP, referent=of)
        frame.registers[2] = PointerValue(MEMORY, size=of.key_size, referent=KEY)
        frame.registers[3] = PointerValue(VALUE, size=of.value_size, referent=of)
    frame.registers[inner] = caller[outer]
    state.enter(frame)
    return pointer.referent


def resume(state: State) -> None:
    """The callback ends, and the helper goes on: the caller is where it called the helper, with what it gave it."""
    state.leave()
