"""Run inside gdb: at every stop, each variable sonde names against gdb's own value; one JSON line for each.

gdb -batch -nx -ex "python ..." sets before it sources this file: `lines` where to stop, FILE:LINE each, `most` how
often, `follows` whether what pointers lead to is compared too, `paths` of sonde and pyelftools, `remote` the address
of a machine that runs a kernel where it was linked, "" for a program that gdb starts.
"""

import json
import re
import struct
import sys

import gdb  # type: ignore[import-not-found]

sys.path[:0] = paths  # noqa: F821 - given by the command line

from sonde.model import location  # noqa: E402
from sonde.model.types import Array, Float, Pointer, Struct, name_of, resolve, size_of  # noqa: E402
from sonde.symbols.dwarf.attributes import ranges_of  # noqa: E402
from sonde.symbols.dwarf.definitions import Definitions  # noqa: E402
from sonde.symbols.dwarf.entry_values import EntryValues  # noqa: E402
from sonde.symbols.dwarf.errors import DebugInfoError  # noqa: E402
from sonde.symbols.dwarf.fetching import fetches  # noqa: E402
from sonde.symbols.dwarf.information import open_information  # noqa: E402
from sonde.symbols.dwarf.places import Places  # noqa: E402
from sonde.symbols.dwarf.scopes import nameable, scopes_at  # noqa: E402
from sonde.symbols.dwarf.types import Types  # noqa: E402
from support.symbols.dwarf_machine import concrete, signed  # noqa: E402

NAMES = [*["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"], *(f"r{number}" for number in range(8, 16)), "rip"]
PT_REGS = (80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128)
_MASK = (1 << 64) - 1


def load(address, size):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, size)), "little")


def content(piece, size, *state):
    """The bytes of a piece, None where there are none: it was not called from where a caller tells them."""
    try:
        return content_of(piece, size, *state)
    except StopIteration:
        return None


def content_of(piece, size, registers, bias):
    match piece.place:
        case location.InMemory(address):
            number = concrete(address, registers, load, bias=bias)
            try:
                return load(number, size).to_bytes(size, "little")
            except gdb.MemoryError:
                return None
        case location.InRegister(number) if number < 17:
            return registers[number].to_bytes(8, "little")[:size]
        case location.InRegister(number):
            vector = gdb.selected_frame().read_register(f"xmm{number - 17}")["v2_int64"]
            return b"".join((int(vector[i]) & _MASK).to_bytes(8, "little") for i in (0, 1))[:size]
        case location.IsValue(value):
            return concrete(value, registers, load, bias=bias).to_bytes(8, "little")[:size]
        case location.IsBytes(data):
            return data[:size]
    return None


def leaves(value, kind, start, path):
    """The scalars in a value: a path, the place in bits, how many bits, and gdb's number (None: optimised out)."""
    kind = kind.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        for field in kind.fields():
            if hasattr(field, "bitpos"):
                try:
                    inner, where = value[field], start + field.bitpos
                except gdb.error:
                    # Of Rust's enums only the variant that is there.
                    continue
                yield from leaves_of_field(inner, field, where, f"{path}.{field.name}")
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        for index in range(low, min(high, 3) + 1):
            element, where = kind.target(), f"{path}[{index}]"
            try:
                inner = value[index]
            except gdb.error:
                continue
            yield from leaves(inner, element, start + index * element.sizeof * 8, where)
    else:
        is_extended = kind.code == gdb.TYPE_CODE_FLT and kind.sizeof == 16
        yield path, start, 80 if is_extended else kind.sizeof * 8, scalar(value, kind)


def leaves_of_field(value, field, start, path):
    if field.bitsize:
        number = scalar(value, field.type.strip_typedefs())
        yield path, start, field.bitsize, None if number is None else number & (1 << field.bitsize) - 1
    else:
        yield from leaves(value, field.type, start, path)


def scalar(value, kind):
    try:
        # What no piece has is a synthetic pointer for gdb if pieces before it are location.
        shown = value.format_string()
        if value.is_optimized_out or "optimized out" in shown or "synthetic pointer" in shown:
            return None
        if kind.code == gdb.TYPE_CODE_FLT:
            if kind.sizeof == 16:
                return load(int(value.address), 10) if value.address is not None else None
            return int.from_bytes(struct.pack("<d" if kind.sizeof == 8 else "<f", float(value)), "little")
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return int(value.referenced_value().address)
        return int(value) & (1 << kind.sizeof * 8) - 1
    except (gdb.error, ValueError, OverflowError, TypeError):
        return None


def bits_of(pieces, size, *state):
    """The variable's bits and which of them are known, as two numbers."""
    number = known = at = 0
    for piece in pieces:
        bits = piece.bits or size * 8 - at
        data = content(piece, (bits + piece.offset + 7) // 8, *state)
        if data is not None:
            mask = (1 << bits) - 1
            number |= (int.from_bytes(data, "little") >> piece.offset & mask) << at
            known |= mask << at
        at += bits
    return number, known


def fetched(pieces, size, registers, bias):
    """What the steps of a fetch bring, as a number; None where there are none."""
    try:
        buffer = bytearray(size)
        for fetch in fetches(pieces, size, 0, bias):
            number = 0
            for operation, operand in fetch.steps:
                match operation:
                    case "register":
                        number = registers[PT_REGS.index(operand)]
                    case "constant":
                        number = operand
                    case "offset":
                        number = number + operand & _MASK
                    case "dereference":
                        number = load(number, operand)
                    case "shift":
                        number >>= operand
                    case "extend":
                        number = signed(number, operand) & _MASK
            data = load(number, fetch.size) if fetch.kind == "memory" else number & (1 << 8 * fetch.size) - 1
            buffer[fetch.offset : fetch.offset + fetch.size] = data.to_bytes(fetch.size, "little")
    except (DebugInfoError, gdb.MemoryError):
        return None
    return int.from_bytes(buffer, "little")


def has_reference(kind):
    return kind.code == gdb.TYPE_CODE_STRUCT and any(
        field.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF) for field in kind.fields()
    )


def obstacle(pieces):
    """What keeps a probe's program from fetching it, "" if nothing does."""
    waiting = [each.place for each in pieces]
    while waiting:
        match waiting.pop():
            case location.InRegister(number) | location.Register(number) if number > 16:
                return "a vector register"
            case location.Chosen(key, cases):
                waiting += [key, *(each for _, each in cases)]
            case location.ThreadLocal(inner):
                waiting.append(inner)
            case location.PointsInto():
                return "an implicit pointer"
            case location.InMemory(inner) | location.IsValue(inner) | location.Extend(inner, _, _):
                waiting.append(inner)
            case location.Load(inner, _) | location.Unary(_, inner):
                waiting.append(inner)
            case location.Binary(_, left, right):
                waiting += [left, right]
    return ""


def compare(variable, pieces, is_inlined, registers, *state):
    try:
        value = gdb.selected_frame().read_var(variable.name)
    except (ValueError, gdb.error):
        return
    # Of an array whose length is known only when it runs the type has none.
    size = size_of(variable.type) or min(max(value.type.sizeof, 0), 64)
    failure = pieces if isinstance(pieces, str) else ""
    if len(pieces) > 1 and not failure and has_reference(value.type.strip_typedefs()):
        # gdb 13 ends with an internal error when it shows a reference that is a piece.
        return
    if "ThreadLocal(" in str(pieces):
        # Where those are only a program at a probe computes.
        return
    number, known = (0, 0) if failure else bits_of(pieces, size, registers, *state)
    by_steps = None if failure else fetched(pieces, size, registers, state[0])
    for path, start, bits, expected in leaves(value, value.type, 0, variable.name):
        mask = (1 << bits) - 1
        if start + bits > 8 * size:
            # What a flexible array has is no part of the variable.
            continue
        is_known = known >> start & mask == mask
        result = {"path": path, "gdb": expected, "sonde": number >> start & mask if is_known else None}
        result["list"] = len(variable.locations) > 1 or any(each.start for each in variable.locations)
        result["is_inlined"] = is_inlined
        result["size"] = [size, value.type.strip_typedefs().sizeof]
        result["obstacle"] = "" if failure else obstacle(pieces)
        result["steps"] = None if by_steps is None else by_steps >> start & mask
        print("=" + json.dumps({**result, "failure": failure, "pc": hex(registers[16])}))
    if follows:  # noqa: F821
        follow(variable, value, failure or obstacle(pieces), hex(registers[16]))


def follow(variable, value, failure, pc):
    """The scalars of what a pointer leads to: gdb's, and what sonde's type has at their place in memory."""
    kind = value.type.strip_typedefs()
    if kind.code not in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        return
    target = kind.target().strip_typedefs()
    if target.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return
    try:
        pointed = value.referenced_value()
        pointed.fetch_lazy()
        start = int(pointed.address)
    except (gdb.error, TypeError):
        return
    mine = resolve(variable.type)
    known = members(resolve(mine.to), 0) if isinstance(mine, Pointer) else {}
    for path, at, bits, expected in leaves(pointed, target, 0, f"{variable.name}->"):
        found = None
        if not failure and (at, bits) in known:
            found = load(start + at // 8, (at % 8 + bits + 7) // 8) >> at % 8 & (1 << bits) - 1
        reason = failure or ("" if found is not None else f"{name_of(mine)} has no such member")
        result = {"path": path, "gdb": expected, "sonde": found, "list": False, "is_inlined": False, "obstacle": ""}
        print("=" + json.dumps({**result, "steps": found, "failure": reason, "pc": pc}))


def members(kind, at):
    """Where the scalars of a type are and how many bits they have."""
    kind = resolve(kind)
    if isinstance(kind, Struct):
        found = [(at + each.offset, each) for each in kind.members]
        return {
            place: True
            for start, each in found
            for place in ([(start, each.bits)] if each.bits else members(each.type, start))
        }
    if isinstance(kind, Array):
        size = 8 * size_of(kind.of)
        return {place: True for n in range(min(kind.length or 0, 4)) for place in members(kind.of, at + n * size)}
    is_extended = isinstance(kind, Float) and kind.size == 16 and "Complex" not in kind.name
    return {(at, 80 if is_extended else 8 * size_of(kind)): True}


def leave(address):
    """Stop there no more: a program would not end otherwise."""
    for each in gdb.breakpoints():
        for place in getattr(each, "locations", ()):
            if place.address == address and len(each.locations) > 1:
                place.enabled = False
            elif place.address == address:
                each.enabled = False


def main():
    information = open_information(gdb.current_progspace().filename)
    information.costs.allow(600)
    types, places = Types(Definitions(information).of), Places(information)
    entry_values = EntryValues(information, places)
    for line in lines:  # noqa: F821
        gdb.Breakpoint(line)
    bias = connected() if remote else started(information)  # noqa: F821
    gdb.execute("continue", to_string=True)
    stops, seen = 0, {}
    while gdb.selected_inferior().pid and stops < most:  # noqa: F821
        stops += 1
        frame = gdb.selected_frame()
        registers = [int(frame.read_register(each)) & _MASK for each in NAMES]
        address = registers[16] - bias
        seen[address] = seen.get(address, 0) + 1
        if seen[address] == 2:
            leave(registers[16])
        function = information.function_at(address)
        if seen[address] <= 2 and function is not None:
            scopes = scopes_at(function, address, types)
            # gdb shows the caller's frame at the first instruction of an inlined copy, if the breakpoint is of it.
            wanted = plain(frame.name() or "")
            while scopes and plain(next(each.name for each in reversed(scopes) if each.name)) != wanted:
                scopes = scopes[:-1]
            for variable in nameable(scopes) if scopes else ():
                try:
                    pieces = places.of(variable, function, address)
                    pieces = entry_values.put_in(pieces, function, address)
                except DebugInfoError as error:
                    pieces = str(error)
                compare(variable, pieces, any(each.is_inlined for each in scopes), registers, bias)
        gdb.execute("continue", to_string=True)


def started(information):
    """Start the program; what is added to link-time addresses."""
    gdb.execute("set startup-with-shell off")
    gdb.execute("starti", to_string=True)
    bias = base()
    for function in information.functions("main"):
        gdb.Breakpoint(f"*{ranges_of(function)[0][0] + bias:#x}")
    return bias


def connected():
    """Connect to a machine that waits to be started."""
    gdb.execute("set architecture i386:x86-64")
    gdb.execute(f"target remote {remote}", to_string=True)  # noqa: F821
    return 0


def plain(name):
    """A function's own name: without what it is in, its parameters, arguments of templates and what compilers add."""
    name = re.sub(r"\[abi:\w+\]|\(anonymous namespace\)|\.(constprop|isra|part|cold|lto_priv)\.?\d*", "", name)
    if "operator" in name:
        return name[name.index("operator") :][:10]
    found, depth = "", 0
    for each in name:
        if each == "(" and not depth:
            break
        depth += each == "<"
        found += each if not depth else ""
        depth -= each == ">"
    return found.rpartition("::")[2].strip()


def base():
    """What is added to link-time addresses where the program is loaded."""
    for row in gdb.execute("info proc mappings", to_string=True).splitlines():
        words = row.split()
        if words and words[-1] == gdb.current_progspace().filename:
            return int(words[0], 16) - int(words[3], 16)
    return 0


main()
print("=done")
