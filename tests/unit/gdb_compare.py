"""Run inside gdb: at every stop, each variable sonde names against gdb's own value; one JSON line for each.

gdb -batch -nx -ex "python ..." sets `lines`, `paths` (of sonde and pyelftools) and `name` before it sources this file.
"""

import json
import struct
import sys

import gdb  # type: ignore[import-not-found]

sys.path[:0] = paths  # noqa: F821 - given by the command line

from dwarf_machine import concrete, signed  # noqa: E402

from sonde.lang.types import size_of  # noqa: E402
from sonde.symbols.dwarf import values  # noqa: E402
from sonde.symbols.dwarf.attributes import ranges_of, source_of  # noqa: E402
from sonde.symbols.dwarf.errors import DebugInfoError  # noqa: E402
from sonde.symbols.dwarf.fetching import fetches  # noqa: E402
from sonde.symbols.dwarf.information import open_information  # noqa: E402
from sonde.symbols.dwarf.places import Places  # noqa: E402
from sonde.symbols.dwarf.scopes import nameable, scopes_at  # noqa: E402
from sonde.symbols.dwarf.types import Types  # noqa: E402

NAMES = [*["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"], *(f"r{number}" for number in range(8, 16)), "rip"]
PT_REGS = (80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128)
_MASK = (1 << 64) - 1


def load(address, size):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, size)), "little")


def content(piece, size, registers, bias, entry):
    """The bytes of a piece, None where there are none."""
    match piece.place:
        case values.InMemory(address):
            number = concrete(address, registers, load, entry, bias)
            return load(number, size).to_bytes(size, "little")
        case values.InRegister(number) if number < 17:
            return registers[number].to_bytes(8, "little")[:size]
        case values.InRegister(number):
            vector = gdb.selected_frame().read_register(f"xmm{number - 17}")["v2_int64"]
            return b"".join((int(vector[i]) & _MASK).to_bytes(8, "little") for i in (0, 1))[:size]
        case values.IsValue(value):
            return concrete(value, registers, load, entry, bias).to_bytes(8, "little")[:size]
        case values.IsBytes(data):
            return data[:size]
    return None


def leaves(value, kind, start, path):
    """The scalars in a value: a path, the place in bits, how many bits, and gdb's number (None: optimised out)."""
    kind = kind.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        for field in kind.fields():
            if hasattr(field, "bitpos"):
                inner, where = value[field], start + field.bitpos
                yield from leaves_of_field(inner, field, where, f"{path}.{field.name}")
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        for index in range(low, min(high, 3) + 1):
            element = kind.target()
            yield from leaves(value[index], element, start + index * element.sizeof * 8, f"{path}[{index}]")
    else:
        yield path, start, kind.sizeof * 8, scalar(value, kind)


def leaves_of_field(value, field, start, path):
    if field.bitsize:
        number = scalar(value, field.type.strip_typedefs())
        yield path, start, field.bitsize, None if number is None else number & (1 << field.bitsize) - 1
    else:
        yield from leaves(value, field.type, start, path)


def scalar(value, kind):
    try:
        # What no piece has is a synthetic pointer for gdb if pieces before it are values.
        shown = value.format_string()
        if value.is_optimized_out or "optimized out" in shown or "synthetic pointer" in shown:
            return None
        if kind.code == gdb.TYPE_CODE_FLT:
            return int.from_bytes(struct.pack("<d" if kind.sizeof == 8 else "<f", float(value)), "little")
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return int(value.referenced_value().address)
        return int(value) & (1 << kind.sizeof * 8) - 1
    except (gdb.error, ValueError, OverflowError):
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
                    case "extend":
                        number = signed(number, operand) & _MASK
            data = load(number, fetch.size) if fetch.kind == "memory" else number & (1 << 8 * fetch.size) - 1
            buffer[fetch.offset : fetch.offset + fetch.size] = data.to_bytes(fetch.size, "little")
    except DebugInfoError:
        return None
    return int.from_bytes(buffer, "little")


def compare(variable, pieces, registers, *state):
    try:
        value = gdb.selected_frame().read_var(variable.name)
    except (ValueError, gdb.error):
        return
    size = size_of(variable.type)
    failure = pieces if isinstance(pieces, str) else ""
    number, known = (0, 0) if failure else bits_of(pieces, size, registers, *state)
    by_steps = None if failure else fetched(pieces, size, registers, state[0])
    for path, start, bits, expected in leaves(value, value.type, 0, variable.name):
        mask = (1 << bits) - 1
        is_known = known >> start & mask == mask
        result = {"path": path, "gdb": expected, "sonde": number >> start & mask if is_known else None}
        result["list"] = len(variable.locations) > 1 or any(each.start for each in variable.locations)
        result["size"] = [size, value.type.strip_typedefs().sizeof]
        result["steps"] = None if by_steps is None else by_steps >> start & mask
        print("=" + json.dumps({**result, "failure": failure, "pc": hex(registers[16])}))


def main():
    information = open_information(gdb.current_progspace().filename)
    types, places = Types(), Places(information)
    for line in lines:  # noqa: F821
        gdb.Breakpoint(f"{name}:{line}")  # noqa: F821
    gdb.execute("set startup-with-shell off")
    gdb.execute("starti", to_string=True)
    bias = base()
    starts = {start + bias for start in entries(information.functions("main")[0])}
    for start in starts:
        gdb.Breakpoint(f"*{start:#x}")
    gdb.execute("continue", to_string=True)
    stops, seen, kept = 0, {}, {}
    while gdb.selected_inferior().pid and stops < 600:
        stops += 1
        frame = gdb.selected_frame()
        registers = [int(frame.read_register(each)) & _MASK for each in NAMES]
        if registers[16] in starts:
            # What a probe at the entry keeps, by the frame it is of.
            kept[registers[7] + 8] = registers
        address = registers[16] - bias
        seen[address] = seen.get(address, 0) + 1
        function = information.function_at(address)
        if seen[address] <= 2 and function is not None:
            entry = kept.get(concrete(places.cfa(address), registers, load))
            scopes = scopes_at(function, address, types)
            # gdb shows the caller's frame at the first instruction of an inlined copy, if the breakpoint is of it.
            wanted = frame.name().partition("(")[0].rpartition("::")[2].partition("<")[0] if frame.name() else ""
            while scopes and next(each.name for each in reversed(scopes) if each.name).partition("<")[0] != wanted:
                scopes = scopes[:-1]
            for variable in nameable(scopes) if scopes else ():
                try:
                    pieces = places.of(variable, function, address)
                except DebugInfoError as error:
                    pieces = str(error)
                compare(variable, pieces, registers, bias, entry)
        gdb.execute("continue", to_string=True)


def entries(function):
    """Where the functions of the same unit begin."""
    for each in source_of(function).children(function.cu.get_top_DIE()):
        if each.tag == "DW_TAG_subprogram" and ranges_of(each):
            yield ranges_of(each)[0][0]


def base():
    """What is added to link-time addresses where the program is loaded."""
    for row in gdb.execute("info proc mappings", to_string=True).splitlines():
        words = row.split()
        if words and words[-1] == gdb.current_progspace().filename:
            return int(words[0], 16) - int(words[3], 16)
    return 0


main()
