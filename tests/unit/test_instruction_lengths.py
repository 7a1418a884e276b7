"""Where instructions begin, against hand-written encodings and, over whole libraries, against objdump."""

import os
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine import packages

from sonde.arch.x86_64.instruction_lengths import LONGEST, decode, starts
from sonde.symbols.elf.file import ElfFile

ENCODINGS = {
    "55": "push %rbp",
    "f30f1efa": "endbr64",
    "c3": "ret",
    "c20800": "ret $8",
    "c8100001": "enter $16,$1",
    "4889e5": "mov %rsp,%rbp",
    "48b8efcdab8967452301": "movabs",
    "66b83412": "mov $0x1234,%ax",
    "48a1efcdab8967452301": "movabs 0x123456789abcdef,%rax",
    "67a178563412": "addr32 mov",
    "f6c101": "test $1,%cl",
    "f6d9": "neg %cl",
    "66f7c13412": "test $0x1234,%cx",
    "48f7c178563412": "test $0x12345678,%rcx",
    "f7f9": "idiv %ecx",
    "0ff70f": "maskmovq, as two bytes of opcode: no group 3",
    "8b0425785634 12".replace(" ", ""): "mov 0x12345678,%eax, by SIB without base",
    "8b05785634 12".replace(" ", ""): "mov 0x12345678(%rip),%eax",
    "8b44240f": "mov 0xf(%rsp),%eax",
    "8b8424785634 12".replace(" ", ""): "mov 0x12345678(%rsp),%eax",
    "662e0f1f840000000000": "cs nopw",
    "e878563412": "call",
    "0f8478563412": "je",
    "0fbae003": "bt $3,%eax",
    "660f3a0fc108": "palignr",
    "0f3800c1": "pshufb",
    "c5f877": "vzeroupper",
    "c5f96fc1": "vmovdqa",
    "c5f970c11b": "vpshufd $0x1b",
    "c4e37d18c101": "vinsertf128 $1",
    "c4e27d18c1": "vbroadcastss",
    "62f17c4810442401": "vmovups, EVEX with a displacement",
    "62f37d4825c1ff": "vpternlogd $0xff",
    "8fe97801c1": "blcfill, XOP map 9",
    "8fc0": "pop %rax, not XOP",
    "660f78c10204": "extrq $4,$2",
    "9b": "fwait",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_lengths(encoding):
    """The instruction is as long as its bytes, whatever follows; without its last byte there is none."""
    code = bytes.fromhex(encoding)
    for follower in (b"", b"\x00" * 16, b"\xff" * 16):
        assert decode(code + follower, 0).length == len(code)
    assert decode(code[:-1], 0) is None or len(code) == 1 or decode(code[:-1], 0).length < len(code)


@pytest.mark.parametrize("encoding", ["06", "0f04", "d5", "0f0a", "66" * 15 + "90", "62f9ffffff", ""])
def test_what_is_no_instruction(encoding):
    assert decode(bytes.fromhex(encoding), 0) is None


NOT_PROBED = (
    "f00fb10f 0f05 cc cd80 3effe0 2e90 f4 6e 0f34 ee "
    # vmovdqa, vpbroadcastb, a store by vmovdqu, vzeroupper, vcmpps, vpor, vfnmadd213ss, one with XOP
    "c5fd6fc1 62e27d487ac6 c5fe7f07 c5f877 c5f4c2c200 c5f5ebc2 c4e2719dc2 8fe97801c1 "
    # vfmaddsd and vfmaddss with four operands
    "c4e3f96bc210 c4e3f96ac210"
)


@pytest.mark.parametrize("encoding", NOT_PROBED.split())
def test_what_the_kernel_does_not_probe(encoding):
    assert not decode(bytes.fromhex(encoding), 0).is_probeable


@given(st.binary(max_size=64))
def test_any_bytes(code):
    """Instructions follow one another without a gap, none longer than the processor takes."""
    end = 0
    for at, instruction in starts(code, lambda: None).items():
        assert at == end
        assert 1 <= instruction.length <= LONGEST
        end += instruction.length
    assert end <= len(code)


def _disassembled(path):
    listing = subprocess.run(
        ["objdump", "-d", "-z", "--no-show-raw-insn", "-j", ".text", path], capture_output=True, text=True, check=True
    ).stdout
    return [(int(each[1], 16), each[2]) for each in re.finditer(r"^ *([0-9a-f]+):\t(.*)$", listing, re.M)]


def _library(name):
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    match = re.search(rf"{re.escape(name)} \(.*x86-64.*\) => (\S+)", found)
    return match[1] if match else None


LIBRARIES = ["libc.so.6", *os.environ.get("SONDE_LIBRARIES", "").split()]


@pytest.mark.long
@pytest.mark.parametrize("name", LIBRARIES)
def test_every_instruction_of_a_library(name):
    """As objdump has them. What it shows as data, and the prefixes it takes for instructions among data, is left out;
    a wait that it shows as a part of the instruction behind is an instruction to the processor."""
    packages.require("objdump", "ldconfig")
    path = name if os.path.exists(name) else _library(name)
    file = ElfFile.open(path)
    section = next(each for each in file.sections if each.name == ".text")
    code = file.section(".text")
    found = _disassembled(path)
    ends = [address for address, _ in found[1:]] + [section.address + section.size]
    wrong, compared = [], 0
    for (address, text), end in zip(found, ends, strict=True):
        at = address - section.address
        if "(bad)" in text or re.match(r"rex(\.\w+)?$", text.strip()) or code[at] == 0x9B:
            continue
        compared += 1
        instruction = decode(code, at)
        if instruction is None or instruction.length != end - address:
            wrong.append((hex(address), text, instruction))
    assert compared > 10_000
    assert wrong == []
