"""What gdb's `info scope *ADDRESS` tells of variables, as numbers: with made-up registers and memory each place that
gdb describes is an address or a value, and so is each that sonde has."""

import os
import random
import re
import subprocess

from sonde.model import location
from sonde.model.types import size_of
from sonde.symbols.dwarf.errors import DebugInfoError
from support.symbols.dwarf_machine import concrete, signed

MASK = (1 << 64) - 1
NAMES = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{number}" for number in range(8, 16)), "rip")
_SYMBOL = re.compile(r"^Symbol (\S+) is ", re.MULTILINE)
_RANGE = re.compile(r"Range 0x([0-9a-f]+)-0x([0-9a-f]+): ")
_OPERATION = re.compile(r"^\s*(\d+): DW_OP_(\w+)(?: (?:to )?(-?\w+))?", re.MULTILINE)
_BINARY = {each: each for each in ("plus", "minus", "mul", "and", "or", "xor", "shl", "shr", "shra", "div")}
_BINARY |= {"mod": "umod", **{each: each for each in ("eq", "ne", "lt", "le", "gt", "ge")}}


def scopes(path, addresses):
    """gdb's text for each address, by the name of the variable; the first of a name is the innermost."""
    # A script would end with the first address of which gdb knows nothing.
    asked = [each for at in addresses for each in ("-ex", f"echo \\n=={at:x}\\n", "-ex", f"info scope *{at:#x}")]
    words = ["gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", *asked, path]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    found = {}
    for part in f"\n{done.stdout}".split("\n==")[1:]:
        head, _, text = part.partition("\n")
        marks = [*_SYMBOL.finditer(text)]
        ends = [each.start() for each in marks[1:]]
        rows = {}
        for mark, end in zip(marks, [*ends, len(text)], strict=False):
            rows.setdefault(mark[1], text[mark.end() : end])
        found[int(head, 16)] = rows
    return found


class State:
    """Registers and memory that are made up, the same for both."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.registers = [draw.getrandbits(64) for _ in range(17)]
        self.entry = [draw.getrandbits(64) for _ in range(17)]

    def load(self, address, size):
        return random.Random(address).getrandbits(64) & (1 << 8 * size) - 1


def of_gdb(text, address, cfa, state):
    """`("memory", address)`, `("value", number)`, or None where it is nowhere; a text for what is not understood."""
    if not re.search(r"length \d+\.|optimized out\.", text):
        return "gdb gives up in the middle of it"
    if text.startswith("multi-location"):
        marks = [*_RANGE.finditer(text)]
        ends = [each.start() for each in marks[1:]]
        for mark, end in zip(marks, [*ends, len(text)], strict=False):
            if int(mark[1], 16) <= address < int(mark[2], 16):
                return _described(text[mark.end() : end], cfa, state)
        return None
    return _described(text, cfa, state)


def _described(text, cfa, state):
    if text.startswith("optimized out"):
        return None
    if found := re.match(r"(?:a variable )?in \$(\w+)", text):
        return ("value", state.registers[NAMES.index(found[1])]) if found[1] in NAMES else f"in {found[1]}"
    if found := re.match(r"(?:the constant|a constant with value) (-?\d+)", text):
        return "value", int(found[1]) & MASK
    if found := re.search(r"static storage at address 0x([0-9a-f]+)", text):
        return "memory", int(found[1], 16)
    if found := re.match(r"a variable at frame base reg \$(\w+) offset (-?\d+)", text):
        return "memory", state.registers[NAMES.index(found[1])] + int(found[2]) & MASK
    if found := re.match(r"a variable at frame base reg \$\w+ offset \d+\+(-?\d+)", text):
        return "memory", cfa + int(found[1]) & MASK
    if found := re.match(r"a variable with multiple locations|a complex DWARF expression", text):
        return _run(_OPERATION.findall(text), cfa, state)
    return f"not understood: {text[:80]!r}"


def _run(operations, cfa, state):
    """DWARF's stack machine on the operations as gdb prints them."""
    stack, is_value, entered = [], False, False
    at = {int(offset): place for place, (offset, *_) in enumerate(operations)}
    place = 0
    while place < len(operations):
        _, name, operand = operations[place]
        place += 1
        number = int(operand, 0) if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", operand) else 0
        if name == "entry_value":
            entered = True
        elif found := re.fullmatch(r"b?reg(\d+)", name):
            registers = state.entry if entered else state.registers
            if int(found[1]) > 16:
                return "in a vector register"
            stack.append(registers[int(found[1])] + (number if name[0] == "b" else 0) & MASK)
            if name[0] == "r" and not entered:
                is_value = True
            entered = False
        elif name in ("fbreg", "call_frame_cfa"):
            stack.append(cfa + number & MASK)
        elif re.fullmatch(r"lit(\d+)", name):
            stack.append(int(name[3:]))
        elif (name.startswith("const") and name[5:6].isdigit()) or name in ("constu", "consts", "addr"):
            stack.append(number & MASK)
        elif name == "plus_uconst":
            stack.append(stack.pop() + number & MASK)
        elif name == "deref":
            stack.append(state.load(stack.pop(), 8))
        elif name == "deref_size":
            stack.append(state.load(stack.pop(), number))
        elif name in ("dup", "over"):
            stack.append(stack[-1 if name == "dup" else -2])
        elif name == "drop":
            stack.pop()
        elif name == "swap":
            stack[-2:] = stack[:-3:-1]
        elif name in ("neg", "not"):
            stack.append((-stack.pop() if name == "neg" else ~stack.pop()) & MASK)
        elif name in _BINARY:
            right, left = stack.pop(), stack.pop()
            stack.append(location.fold(_BINARY[name], left, right))
        elif name in ("bra", "skip"):
            if name == "skip" or stack.pop():
                place = at.get(number, len(operations))
        elif name == "stack_value":
            is_value = True
        else:
            return f"not understood: DW_OP_{name}"
    return ("value" if is_value else "memory", stack[-1]) if stack else None


def of_sonde(pieces, state):
    """The same of the pieces of a variable."""
    if len(pieces) > 1 or pieces[0].bits or pieces[0].offset:
        return "in pieces"
    match pieces[0].place:
        case location.Nowhere():
            return None
        case location.InMemory(address):
            return "memory", concrete(address, state.registers, state.load, state.entry)
        case location.InRegister(number):
            return ("value", state.registers[number]) if number < 17 else "in a vector register"
        case location.IsValue(value):
            if "EntryParameter" in str(value):
                return "what a caller gave for a parameter that was removed"
            return "value", concrete(value, state.registers, state.load, state.entry)
        case location.IsBytes(content):
            return "value", int.from_bytes(content[:8], "little")
    return f"not understood: {type(pieces[0].place).__name__}"


class Pair(tuple):
    """(address, name, what gdb has, what sonde has)."""

    @property
    def is_equal(self):
        return self[2] == self[3]

    @property
    def is_beyond(self):
        """One of them has no number for it: an expression that this reader of gdb's text does not follow."""
        return isinstance(self[2], str) or isinstance(self[3], str)


def compared(path, points, places, addresses, seed=1):
    """The pairs of each variable that sonde names at the addresses; `points` and `places` are those of the object."""
    told = scopes(path, addresses)
    found = []
    for address in addresses:
        point = points.at_address(address)
        if point is None:
            continue
        for variable in point.nameable:
            text = told.get(address, {}).get(variable.name)
            state = State(f"{seed} {address} {variable.name}")
            try:
                cfa = concrete(places.cfa(address), state.registers, state.load)
                mine = of_sonde(places.of(variable, point.function, address), state)
            except DebugInfoError as error:
                mine = str(error)
                cfa = 0
            theirs = "gdb does not name it" if text is None else of_gdb(text, address, cfa, state)
            found.append(Pair((address, variable.name, cut(theirs, variable), cut(mine, variable))))
    return found


def cut(found, variable):
    """A value as wide as the variable."""
    size = size_of(variable.type)
    if isinstance(found, tuple) and found[0] == "value" and 0 < size < 8:
        return "value", signed(found[1], size) & (1 << 8 * size) - 1
    return found
