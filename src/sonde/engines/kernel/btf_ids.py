"""Ids of types in the kernel's own BTF, by name.

The kernel finds them itself, in well under a millisecond: a program of type SYSCALL may call
bpf_btf_find_by_name_kind, which also looks into the modules (Linux 5.14).
"""

from __future__ import annotations

import errno
import os
import struct

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.helpers import NUMBERS
from sonde.engines.kernel import commands
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.programs import TypeReference
from sonde.model.errors import EngineError

KIND_TYPEDEF, KIND_FUNC = 8, 12
_NAME_SIZE = 128
_BPF_F_SLEEPABLE = 1 << 4


class TypeFinder:
    """Looks types up by name. Owns the program it asks."""

    def __init__(self) -> None:
        """Raises OSError."""
        program = ProgramCode("find_type", programs.SYSCALL, 0, _lookup_code(), flags=_BPF_F_SLEEPABLE)
        self._program = commands.load_program(program)

    def typedef(self, name: str) -> TypeReference:
        """The typedef of that name; a descriptor in it is the caller's to close. Raises EngineError."""
        return self._find(name, KIND_TYPEDEF)

    def function(self, name: str) -> TypeReference:
        """The function of that name, likewise."""
        return self._find(name, KIND_FUNC)

    def _find(self, name: str, kind: int) -> TypeReference:
        context = bytearray(_NAME_SIZE + 8)
        encoded = name.encode()
        if len(encoded) >= _NAME_SIZE:
            raise EngineError(f"the name {name} is too long for a type of the kernel")
        context[: len(encoded)] = encoded
        struct.pack_into("=Q", context, _NAME_SIZE, kind)
        try:
            commands.run_syscall_program(self._program, context)
        except OSError as error:
            raise explain(error, f"cannot look up type {name} of the kernel") from None
        (result,) = struct.unpack_from("=q", context, _NAME_SIZE)
        if result < 0:
            raise EngineError(_absent(name, kind, -result))
        return TypeReference(result & 0xFFFFFFFF, result >> 32)

    def close(self) -> None:
        os.close(self._program)


_TRACEPOINT = "btf_trace_"
"""Before the name of a tracepoint: the typedef of its probes' prototype."""


def _absent(name: str, kind: int, number: int) -> str:
    if number == errno.ENOENT and kind == KIND_FUNC:
        return f"this kernel's BTF has no function {name}"
    if number == errno.ENOENT and name.startswith(_TRACEPOINT):
        return f"this kernel has no tracepoint {name.removeprefix(_TRACEPOINT)}"
    return f"this kernel has no type {name}: {os.strerror(number)}"


def _lookup_code() -> bytes:
    """u64 context[0..15] is the name, zeros behind it; context[16] the kind, then descriptor << 32 | id."""
    code = [i.mov_reg(i.R6, i.R1)]
    for at in range(0, _NAME_SIZE, 8):
        code += [i.load(8, i.R0, i.R6, at), i.store_reg(8, i.R10, at - _NAME_SIZE, i.R0)]
    code += [
        i.mov_reg(i.R1, i.R10),
        i.alu64_imm(i.ADD, i.R1, -_NAME_SIZE),
        i.mov_imm(i.R2, _NAME_SIZE),
        i.load(8, i.R3, i.R6, _NAME_SIZE),
        i.mov_imm(i.R4, 0),
        i.call(NUMBERS["btf_find_by_name_kind"]),
        i.store_reg(8, i.R6, _NAME_SIZE, i.R0),
        i.mov_imm(i.R0, 0),
        i.exit_(),
    ]
    return i.encode(code)
