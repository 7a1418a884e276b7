"""Subroutines that show addresses of networks: inet_ntoa, inet_ntoa6, inet_ntop, link_ntop."""

from __future__ import annotations

from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import copy
from sonde.codegen.expressions.integers import pointer_place
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.texts import BYTES, INPUT, LENGTH, MAPPED_ALONE, SIZE, TEXT
from sonde.codegen.subroutines.results import get, moved, part_into, put
from sonde.model import program as tree

AF_INET, AF_INET6 = 2, 10
"""Address families (include/linux/socket.h)."""

ARPHRD_ETHER, ARPHRD_INFINIBAND = 1, 32
"""Kinds of hardware (include/uapi/linux/if_arp.h)."""

_LINK_BYTES = {ARPHRD_ETHER: 6, ARPHRD_INFINIBAND: 20}
_INET_BYTES = {AF_INET: 4, AF_INET6: 16}


def inet_ntoa(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    work = g.framed(SIZE)
    _read_address(g, e.arguments[0], work, 4)
    _ipv4(g, work)
    _text_into(g, work, memory, size)


def inet_ntoa6(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """Without a second argument, or with 0, addresses that stand for IPv4 addresses are shown as these."""
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(SIZE)
    strict = g.value(e.arguments[1]) if len(e.arguments) > 1 else Imm(0)
    alone = g.b.truth("eq", strict, Imm(0))
    _read_address(g, e.arguments[0], work, 16)
    _ipv6(g, work, alone)
    _text_into(g, work, memory, size)


def inet_ntop(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """As inet_ntop(3); another family is an illegal operation."""
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(SIZE)
    family = g.value(e.arguments[0])
    six, four, other, end = g.b.label(), g.b.label(), g.b.label(), g.b.label()
    not_six = g.b.label()
    g.b.branch("eq", family, Imm(AF_INET6), six, not_six)
    g.b.place(not_six)
    g.b.branch("eq", family, Imm(AF_INET), four, other)
    g.b.place(other)
    fault(g, ILLEGAL_OPERATION, Imm(0))
    g.b.place(six)
    _read_address(g, e.arguments[1], work, _INET_BYTES[AF_INET6])
    _ipv6(g, work, Imm(0))
    g.b.jump(end)
    g.b.place(four)
    _read_address(g, e.arguments[1], work, _INET_BYTES[AF_INET])
    _ipv4(g, work)
    g.b.place(end)
    _text_into(g, work, memory, size)


def link_ntop(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """An Ethernet or InfiniBand address; another kind of hardware is an illegal operation."""
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(SIZE)
    hardware = g.value(e.arguments[0])
    end = g.b.label()
    for kind, count in _LINK_BYTES.items():
        this, other = g.b.label(), g.b.label()
        g.b.branch("eq", hardware, Imm(kind), this, other)
        g.b.place(this)
        _read_address(g, e.arguments[1], work, count)
        put(g, work, BYTES, Imm(count))
        g.b.jump(end)
        g.b.place(other)
    fault(g, ILLEGAL_OPERATION, Imm(0))
    g.b.place(end)
    g.routine("link_text", g.address(work))
    _text_into(g, work, memory, size)


def show(g: Generation, kind: int, work: Memory, memory: Memory, size: int) -> None:
    """The text of an address whose bytes are in the working memory: 4 or 6 for IP's versions, 1 for Ethernet."""
    if kind == 4:
        _ipv4(g, work)
    elif kind == 6:
        _ipv6(g, work, Imm(1))
    else:
        put(g, work, BYTES, Imm(_LINK_BYTES[ARPHRD_ETHER]))
        g.routine("link_text", g.address(work))
    _text_into(g, work, memory, size)


def _read_address(g: Generation, pointer: tree.Expr, work: Memory, count: int) -> None:
    copy(g, pointer_place(g, pointer), moved(work, INPUT), count)


def _ipv4(g: Generation, work: Memory) -> None:
    put(g, work, LENGTH, Imm(0))
    g.routine("ipv4_text", g.address(work), Imm(0))


def _ipv6(g: Generation, work: Memory, alone: Operand) -> None:
    put(g, work, MAPPED_ALONE, alone)
    g.routine("ipv6_text", g.address(work))


def _text_into(g: Generation, work: Memory, memory: Memory, size: int) -> None:
    part_into(g, moved(work, TEXT), Imm(0), get(g, work, LENGTH), memory, size)
