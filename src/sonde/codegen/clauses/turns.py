"""What the turns of a firing's loops may cost together.

A firing has `maxloop` turns for all of its loops, whatever clauses they are in and however they are nested, those of
the ERROR clauses that it runs included. They are counted down in the firing's scratch frame. A turn in which more is
done than takes `_TURN_NS` counts as several, by what its statements cost at most, so that the default number of turns
ends within 10 ms whatever is done in them. Where a user asks for more, or where sonde executes the program, there is a
deadline besides, which is looked at now and then.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.codegen.basis.faults import LONG_LOOP, LONG_TIME, fault, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.settings import Settings
from sonde.codegen.intermediate.ir import Imm
from sonde.model import program as tree
from sonde.model.program import Clause
from sonde.model.units import MILLISECOND
from sonde.model.walk import below, nodes
from sonde.typed import Any

SIZE = 16
_LEFT, _DEADLINE = 0, 8
"""Of the memory: the turns that are left, and when the firing must have ended."""

LOOPS = (tree.Loop, tree.Each)

_TURN_NS = 8000
_LIMIT_NS = 900 * MILLISECOND
"""With what a turn can take until the time is looked at, and what follows, less than a second."""

_UNTIMED = 1 << 15
"""So many turns end within a second, by what they cost at most and a factor of four."""

_EVERY = 6
"""The time is looked at each time that 2 to this power turns have been used."""

INTERPRETED = "interpreted"
"""The feature of a target in which programs take a hundred times as long."""


def has_loops(clauses: Iterable[Clause]) -> bool:
    return any(isinstance(node, LOOPS) for clause in clauses for node in nodes(clause))


def reserve(g: Generation, clauses: Iterable[Clause]) -> None:
    """Keep the memory for a program that loops, or whose faults run clauses that do."""
    if g.is_error_routine:
        g.turns = Memory(g.parameters[4], 0) if g.shared.error_loops else None
    elif g.shared.error_loops or has_loops(clauses):
        g.turns = g.lasting(SIZE)


def begin(g: Generation) -> None:
    """The firing has not looped yet."""
    if g.turns is None or g.is_error_routine:
        return
    g.b.store(g.turns.base, g.turns.offset + _LEFT, 8, Imm(g.shared.settings.maxloop))
    if _is_timed(g):
        end = g.b.alu("add", g.call("ktime_get_boot_ns"), Imm(_LIMIT_NS))
        g.b.store(g.turns.base, g.turns.offset + _DEADLINE, 8, end)


def charge(g: Generation, loop: tree.Loop | tree.Each) -> None:
    """Pay for a turn of the loop; a fault where nothing is left."""
    assert g.turns is not None
    base, offset = g.turns
    price = cost(loop, g.shared.settings)
    left = g.b.in_register(g.b.load(base, offset + _LEFT, 8))
    fault_if(g, "lt", left, Imm(price), LONG_LOOP, Imm(g.shared.settings.maxloop))
    rest = g.b.alu("sub", left, Imm(price))
    g.b.store(base, offset + _LEFT, 8, rest)
    if not _is_timed(g):
        return
    look, on = g.b.label(), g.b.label()
    g.b.branch("ne", g.b.alu("rsh", left, Imm(_EVERY)), g.b.alu("rsh", rest, Imm(_EVERY)), look, on)
    g.b.place(look)
    late = g.b.label()
    g.b.branch("gt", g.call("ktime_get_boot_ns"), g.b.load(base, offset + _DEADLINE, 8), late, on)
    g.b.place(late)
    fault(g, LONG_TIME, Imm(0))
    g.b.place(on)


def _is_timed(g: Generation) -> bool:
    return g.shared.settings.maxloop > _UNTIMED or INTERPRETED in g.shared.target.features


def cost(loop: tree.Loop | tree.Each, settings: Settings) -> int:
    """What a turn counts; the turns of loops inside of the loop are paid for there, but for the first test of each."""
    test = loop.test if isinstance(loop, tree.Loop) else None
    spent = sum(_cost(node, settings) for part in (test, *_repeated(loop)) for node in _own(part))
    return max(1, -(-spent // _TURN_NS))


def _own(node: Any) -> Iterable[Any]:
    """The nodes of a statement or expression, of loops in it only the test."""
    if node is None:
        return
    if not isinstance(node, LOOPS):
        inner = {id(each) for loop in below(node) if isinstance(loop, LOOPS) for each in _inside(loop)}
        yield from (each for each in below(node) if id(each) not in inner)
        return
    yield node
    if isinstance(node, tree.Loop):
        yield from _own(node.test)


def _inside(loop: tree.Loop | tree.Each) -> Iterable[Any]:
    for statement in _repeated(loop):
        yield from below(statement)


def _repeated(loop: tree.Loop | tree.Each) -> tuple[tree.Statement, ...]:
    return (*loop.body, *loop.step) if isinstance(loop, tree.Loop) else loop.body


_NODE_NS = 40
"""A node of an expression: arithmetic, a variable, a built-in variable's helper."""

_HASH_NS = 500
"""An element of an array or of an aggregation, its key compared and copied."""

_CPUS = 64
"""Of which an aggregation's value is made; more of them are rare."""

_ALL_NS = 40_000
"""All elements of a map gone through, of thousands."""

_CHARACTER_NS = 16
"""A subroutine that goes through a string, for each character that the string can have."""

_LINEAR = frozenset({
    "basename", "cleanpath", "copyinstr", "dirname", "inet_ntop", "inet_ntoa", "inet_ntoa6", "lltostr", "strchr",
    "strjoin", "strlen", "strrchr", "strtok", "strtoll", "substr", "link_ntop", "tolower", "toupper", "json",
    "__moved",
})  # fmt: skip

_PAIR_NS = 0.5
"""One that compares at each place of a string, for each two characters."""

_SEARCHES = frozenset({"index", "rindex", "strstr"})

_FRAME_NS = 500
"""A frame of a process's stack that is walked by tables."""

_KERNEL_STACK_NS = 8000
_SIGNAL_NS = 8000
_OBJECT_NS = 4000
_PATH_NS = 40_000
_PATHS = frozenset({"d_path", "progenyof", "__open_file", "__cpu_time"})
_ACTS = frozenset({"breakpoint", "chill", "delay", "inject", "override", "panic", "printk", "raise", "stop"})
_COPIES = frozenset({"bcopy", "copyin", "copyinto", "copyout", "copyoutstr"})


def _cost(node: Any, settings: Settings) -> int:
    """Nanoseconds that a node takes at most, without those below it; `bench/loops.py` measures them."""
    if isinstance(node, tree.Call):
        return _NODE_NS + _call_cost(node.name, settings)
    if isinstance(node, tree.StackTrace):
        return node.frames * _FRAME_NS if node.is_user else _KERNEL_STACK_NS
    if isinstance(node, (tree.Element, tree.Aggregate, tree.Each)):
        return _HASH_NS + settings.strsize
    if isinstance(node, tree.Aggregated):
        return _HASH_NS * _CPUS + settings.strsize
    if isinstance(node, tree.ElementCount):
        return _ALL_NS
    if isinstance(node, (tree.Print, tree.Tracemem)) or (isinstance(node, tree.Act) and node.name in ("pcap",)):
        return _OBJECT_NS
    if isinstance(node, tree.Act) and node.name in _ACTS:
        return _SIGNAL_NS
    if isinstance(node, (tree.Trace, tree.Printf, tree.FormattedCommand, tree.Evaluate, tree.Act)):
        return 4 * _NODE_NS + settings.strsize
    return _NODE_NS


def _call_cost(name: str, settings: Settings) -> int:
    if name in _SEARCHES:
        return round(_PAIR_NS * settings.strsize**2)
    if name in _LINEAR:
        return _CHARACTER_NS * settings.strsize
    if name in _PATHS:
        return _PATH_NS
    return 2000 + settings.scratch_region if name in _COPIES else _HASH_NS
