"""What an object only declares: options of the kernel's configuration (`__kconfig`), the kernel's release
(LINUX_KERNEL_VERSION), and the kernel's own variables and functions (`__ksym`).

Supported are numbers, characters and texts of the configuration; variables of the kernel that its BTF describes, and
others by their address (declared `extern const void`); functions that the kernel lets programs call. A weak declaration
of something that is not there is 0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from sonde.bpf import btf, maps
from sonde.bpf.btf import Btf, BtfType
from sonde.model.spec import MapSpec
from sonde.objects.elf import SHN_UNDEF, ObjectFile, Symbol
from sonde.objects.errors import ObjectError
from sonde.objects.linking import External, MapPlace
from sonde.objects.types import size_of, stripped
from sonde.typed import NamedTuple
from sonde.untrusted import lines, read_kernel, read_regular, text_of, unpacked

CONFIGURATION, KERNEL_SYMBOLS = ".kconfig", ".ksyms"
_STB_WEAK = 2
_RELEASE = "LINUX_KERNEL_VERSION"
_OF_LOADERS = {"LINUX_HAS_BPF_COOKIE": 1, "LINUX_HAS_SYSCALL_WRAPPER": 1}
"""What no configuration has and those who load objects tell (tools/lib/bpf/libbpf.c, bpf_object__resolve_externs): that
programs have cookies, without which the verifier refuses who asks for one, and how functions of system calls are
called."""
_TRISTATES = {"n": 0, "y": 1, "m": 2}


class Externals(NamedTuple):
    """What each declared symbol is, and the map of the configuration, if it has one."""

    symbols: dict[str, External]
    map: MapSpec | None


def externals(
    file: ObjectFile, types: Btf | None, kernel: Callable[[], Btf], configuration: Callable[[], dict[str, str]]
) -> Externals:
    """Raises ObjectError."""
    wanted = [each for each in file.symbols if each.section == SHN_UNDEF and each.name]
    if types is None or not wanted:
        return Externals({}, None)
    members = {section: _members(types, section) for section in (CONFIGURATION, KERNEL_SYMBOLS)}
    symbols: dict[str, External] = {}
    data = bytearray()
    for each in wanted:
        if each.name in members[CONFIGURATION]:
            identifier = members[CONFIGURATION][each.name].type
            data += bytes(-len(data) % 8)
            symbols[each.name] = External(MapPlace(CONFIGURATION, len(data), False))
            data += _option(types, each, identifier, configuration)
        elif each.name in members[KERNEL_SYMBOLS]:
            symbols[each.name] = _of_kernel(types, each, members[KERNEL_SYMBOLS][each.name], kernel())
    if not data:
        return Externals(symbols, None)
    flags = maps.F_RDONLY_PROG
    spec = MapSpec(CONFIGURATION, maps.ARRAY, 4, len(data), 1, flags, contents=((bytes(4), bytes(data)),), frozen=True)
    return Externals(symbols, spec)


def _members(types: Btf, section: str) -> dict[str, BtfType]:
    """The variables and functions of a section by their names."""
    found = types.find(section, btf.DATASEC)
    described = [types.type(each.type) for each in types.type(found).variables] if found else []
    return {each.name: each for each in described}


def _option(types: Btf, symbol: Symbol, identifier: int, configuration: Callable[[], dict[str, str]]) -> bytes:
    real, size = stripped(types, identifier), size_of(types, identifier)
    if symbol.name == _RELEASE:
        return _release().to_bytes(size or 4, "little")
    if symbol.name in _OF_LOADERS:
        return _OF_LOADERS[symbol.name].to_bytes(size or 1, "little")
    text = configuration().get(symbol.name)
    if text is None:
        if symbol.binding != _STB_WEAK and real.kind != btf.INT:
            raise ObjectError(f"the kernel's configuration has no {symbol.name}", "declare it __weak")
        text = "n" if real.encoding & btf.INT_BOOL or size == 1 else "0"
        if symbol.binding != _STB_WEAK and text == "0":
            raise ObjectError(f"the kernel's configuration has no {symbol.name}", "declare it __weak")
    return _value(types, symbol.name, text, real, size)


def _value(types: Btf, name: str, text: str, real: BtfType, size: int) -> bytes:
    if text.startswith('"'):
        if real.kind != btf.ARRAY:
            raise ObjectError(f"{name} is a text, and declared as something else")
        return text[1:-1].encode()[: max(size - 1, 0)].ljust(size, b"\0")
    if real.kind not in (btf.INT, btf.ENUM, btf.ENUM64):
        raise ObjectError(f"{name} is {text}, and declared as something else")
    if text in _TRISTATES:
        is_character = real.kind == btf.INT and real.name.endswith("char")
        return text.encode() if is_character else _TRISTATES[text].to_bytes(size, "little")
    try:
        return (int(text, 0) & (1 << 8 * size) - 1).to_bytes(size, "little")
    except ValueError:
        raise ObjectError(f"{name} is {text}, which is no number") from None


def _of_kernel(types: Btf, symbol: Symbol, declared: BtfType, kernel: Btf) -> External:
    is_weak = symbol.binding == _STB_WEAK
    if declared.kind == btf.FUNC or types.type(declared.type).kind == btf.FUNC_PROTO:
        found = kernel.find(symbol.name, btf.FUNC)
        if found is None and not is_weak:
            raise ObjectError(f"the kernel itself has no function {symbol.name}", "those of modules are not supported")
        return External(type_id=found or 0, missing=found is None)
    if stripped(types, declared.type).id == 0:
        return External(symbol=f"vmlinux`{symbol.name}")
    found = kernel.find(symbol.name, btf.VAR)
    if found is None and not is_weak:
        raise ObjectError(
            f"the kernel's BTF has no variable {symbol.name}", "declare it `extern const void`: its address is known"
        )
    return External(type_id=found or 0, missing=found is None)


def _release() -> int:
    """KERNEL_VERSION(a, b, c) of the running kernel."""
    numbers = [int(each) for each in re.findall(r"\d+", os.uname().release)[:3]]
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major << 16 | minor << 8 | min(patch, 255)


_LARGEST = 4 << 20
"""Bytes of a kernel's configuration, which has some hundred KiB."""


def running_configuration() -> dict[str, str]:
    """The options of the running kernel. Raises ObjectError where it does not tell them."""
    try:
        return read_configuration(text_of(unpacked(read_kernel("/proc/config.gz"), _LARGEST)))
    except OSError:
        path = f"/boot/config-{os.uname().release}"
    try:
        return read_configuration(text_of(read_regular(path, _LARGEST)))
    except OSError:
        text = f"it depends on the kernel's configuration: neither /proc/config.gz nor {path} is there"
        raise ObjectError(text) from None


def read_configuration(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines(text) if line.startswith("CONFIG_") and "=" in line)
