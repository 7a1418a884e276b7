"""Numbers in a packet, and where its headers are, for programs that are run for packets.

The functions' names say what kind of program they are for: `skb`, `xdp`, or `linear` for XDP on kernels where a packet
there is always in one piece and no helper reads it.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg, SlotAddress

SKB, FRAGMENTS, LINEAR = "skb", "xdp", "linear"

_HELPERS = {SKB: "skb_load_bytes", FRAGMENTS: "xdp_load_bytes"}

TRANSPORT, PROTOCOL, TYPE = 16, 32, 40
"""From which bit on a word of `headers` has the offset of the transport header (0: there is none) and the protocol
above IP (each 0 where there is no IP), and the Ethernet type; its first 16 bits have the offset of the network header.
"""

_ETHERNET = 14
_VLAN = (0x8100, 0x88A8)
_IPV4, _IPV6 = 0x0800, 0x86DD
_TAGS, _EXTENSIONS = 4, 8
"""How many tags, and headers behind that of IPv6, are looked at."""

_HOPOPTS, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DSTOPTS = 0, 43, 44, 51, 60
"""IPv6 extension headers (https://www.iana.org/assignments/protocol-numbers)."""

_FARTHEST = 0xFF00
"""More than a packet in one piece has; up to 0xFFFF the verifier knows one (MAX_PACKET_OFF, kernel/bpf/verifier.c)."""

_VLAN_PRESENT, _VLAN_TCI = 20, 24
"""In struct __sk_buff (include/uapi/linux/bpf.h): a tag that the device has taken out of the packet."""

_DATA, _END = 0, 4
"""In struct xdp_md."""


def load(b: Builder, kind: str, context: Reg, offset: Operand, target: SlotAddress, size: int) -> Reg:
    """Copy `size` bytes of the packet to the stack; less than 0 where it does not have them, and zeros there then."""
    words = -(-size // 8)
    for word in range(words):
        b.store(target.slot, target.offset + 8 * word, 8, Imm(0))
    if kind != LINEAR:
        return b.call(NUMBERS[_HELPERS[kind]], context, offset, target, Imm(size))
    result, end = b.copy(Imm(-1)), b.label()
    b.branch("gt", offset, Imm(_FARTHEST), end)
    place = b.in_register(b.alu("add", b.load(context, _DATA, 4), offset))
    b.branch("gt", b.alu("add", place, Imm(size)), b.load(context, _END, 4), end)
    for at in range(size):
        b.store(target.slot, target.offset + at, 1, b.load(place, at, 1))
    b.move(result, Imm(0))
    b.place(end)
    return result


def _function(name: str, kind: str, parameters: int) -> Builder:
    """A function that is verified by itself: what it reads leads to many paths, and it is called in many places."""
    b = Builder(name, parameters)
    b.function.context = "__sk_buff" if kind == SKB else "xdp_md"
    return b


def number(name: str, kind: str, size: int) -> BpfFunction:
    """(context, offset): the unsigned number of `size` bytes (1, 2, 4, 8), the most significant first, at an offset in
    the packet; 0 where the packet ends before."""
    b = _function(name, kind, 2)
    context, offset = b.function.parameters
    b.ret(_number(b, kind, context, offset, size))
    return b.function


def _number(b: Builder, kind: str, context: Reg, offset: Operand, size: int) -> Operand:
    slot = b.slot(8)
    load(b, kind, context, offset, SlotAddress(slot), size)
    value = b.load(slot, 0, size)
    b.release(slot)
    return value if size == 1 else b.swap(value, size)


def tag(name: str, kind: str) -> BpfFunction:
    """(context): the number of the VLAN that the packet is in, 0 if it is in none."""
    b = _function(name, kind, 1)
    (context,) = b.function.parameters
    if kind == SKB:
        with b.when("ne", b.load(context, _VLAN_PRESENT, 4), Imm(0)):
            b.ret(b.alu("and", b.load(context, _VLAN_TCI, 4), Imm(0xFFF)))
    found = b.label()
    kind_of = _number(b, kind, context, Imm(_ETHERNET - 2), 2)
    for each in _VLAN:
        b.branch("eq", kind_of, Imm(each), found)
    b.ret(Imm(0))
    b.place(found)
    b.ret(b.alu("and", _number(b, kind, context, Imm(_ETHERNET), 2), Imm(0xFFF)))
    return b.function


def headers(name: str, kind: str, link: str) -> BpfFunction:
    """(context): where the packet's headers are, in one word. `link` is what it begins with, as `probe.Packet` has
    it."""
    b = _function(name, kind, 1)
    (context,) = b.function.parameters

    def read(offset: Operand, size: int) -> Operand:
        return _number(b, kind, context, offset, size)

    type_, network = b.register(), b.register()
    protocol, transport = b.copy(Imm(0)), b.copy(Imm(0))
    if link in _TYPED:
        _begin_with_type(b, read, type_, network, *_TYPED[link])
    else:
        _begin_with_ip(b, read, type_, network, _FAMILY if link == "null" else 0)
    four, six, end, other = b.label(), b.label(), b.label(), b.label()
    b.branch("eq", type_, Imm(_IPV4), four, other)
    b.place(other)
    b.branch("eq", type_, Imm(_IPV6), six, end)
    b.place(four)
    _version4(b, read, network, protocol, transport)
    b.jump(end)
    b.place(six)
    _version6(b, read, network, protocol, transport)
    b.place(end)
    word = b.alu("or", network, b.alu("lsh", transport, Imm(TRANSPORT)))
    word = b.alu("or", word, b.alu("lsh", protocol, Imm(PROTOCOL)))
    b.ret(b.alu("or", word, b.alu("lsh", type_, Imm(TYPE))))
    return b.function


_Read = Callable[[Operand, int], Operand]
"""The number at an offset, of so many bytes."""


_TYPED = {"ethernet": (_ETHERNET - 2, _ETHERNET), "sll": (14, 16), "sll2": (0, 20)}
"""Where in a header the type of what follows it stands, and how long it is."""
_FAMILY = 4
"""Bytes before the packet on a loopback device of BSD, in some byte order."""


def _begin_with_type(b: Builder, read: _Read, type_: Reg, network: Reg, at: int, size: int) -> None:
    """Type and network header behind whatever tags there are."""
    b.move(type_, read(Imm(at), 2))
    b.move(network, Imm(size))
    end = b.label()
    for _ in range(_TAGS):
        tagged, plain = b.label(), b.label()
        b.branch("eq", type_, Imm(_VLAN[0]), tagged, plain)
        b.place(plain)
        b.branch("ne", type_, Imm(_VLAN[1]), end)
        b.place(tagged)
        b.move(type_, read(b.alu("add", network, Imm(2)), 2))
        b.move(network, b.alu("add", network, Imm(4)))
    b.place(end)


def _begin_with_ip(b: Builder, read: _Read, type_: Reg, network: Reg, at: int) -> None:
    version = b.alu("rsh", read(Imm(at), 1), Imm(4))
    b.move(network, Imm(at))
    b.move(type_, Imm(0))
    for number_, kind in ((4, _IPV4), (6, _IPV6)):
        with b.when("eq", version, Imm(number_)):
            b.move(type_, Imm(kind))


def _version4(b: Builder, read: _Read, network: Reg, protocol: Reg, transport: Reg) -> None:
    """Of a fragment only the first has a transport header."""
    end = b.label()
    b.move(protocol, read(b.alu("add", network, Imm(9)), 1))
    b.branch("set", read(b.alu("add", network, Imm(6)), 2), Imm(0x1FFF), end)
    words = b.alu("and", read(network, 1), Imm(15))
    b.branch("lt", words, Imm(5), end)
    b.move(transport, b.alu("add", network, b.alu("lsh", words, Imm(2))))
    b.place(end)


def _version6(b: Builder, read: _Read, network: Reg, protocol: Reg, transport: Reg) -> None:
    """The transport header is behind all extension headers, and there only in the first fragment."""
    at, left = b.copy(b.alu("add", network, Imm(40))), b.copy(Imm(_EXTENSIONS))
    b.move(protocol, read(b.alu("add", network, Imm(6)), 1))
    loop, following, fragment, long, found, end = (b.label() for _ in range(6))
    b.place(loop)
    units = b.copy(Imm(8))
    for each in (_HOPOPTS, _ROUTING, _DSTOPTS):
        b.branch("eq", protocol, Imm(each), long)
    b.branch("eq", protocol, Imm(_FRAGMENT), fragment)
    b.branch("ne", protocol, Imm(_AUTHENTICATION), found)
    b.move(units, b.alu("lsh", b.alu("add", read(b.alu("add", at, Imm(1)), 1), Imm(2)), Imm(2)))
    b.jump(following)
    b.place(long)
    b.move(units, b.alu("lsh", b.alu("add", read(b.alu("add", at, Imm(1)), 1), Imm(1)), Imm(3)))
    b.jump(following)
    b.place(fragment)
    b.move(protocol, read(at, 1))
    b.branch("set", read(b.alu("add", at, Imm(2)), 2), Imm(0xFFF8), end)
    b.move(at, b.alu("add", at, units))
    _again(b, left, loop, end)
    b.place(following)
    b.move(protocol, read(at, 1))
    b.move(at, b.alu("add", at, units))
    _again(b, left, loop, end)
    b.place(found)
    b.move(transport, at)
    b.place(end)


def _again(b: Builder, left: Reg, loop: int, end: int) -> None:
    b.move(left, b.alu("sub", left, Imm(1)))
    b.branch("ne", left, Imm(0), loop, end)
