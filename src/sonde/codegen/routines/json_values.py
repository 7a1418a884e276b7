"""json(): the part of a JSON text that a path like `a.b[1]` leads to.

The text is gone through once, character by character, by a machine of states. What is not on the path is passed over
without being understood: only strings and brackets are told apart there.
"""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.work import OVERLAP, at, get, put, repeat, step_of_loop, stop_if

LENGTH, PATH_LENGTH, START, END, _STATE, _PART, _NEXT = range(0, 56, 8)
_ON_PATH, _MATCHED, _IN_ARRAY, _WANTED, _DEPTH, _WRITTEN = range(56, 104, 8)
"""Words of the state. The caller sets the lengths of text and path, and finds START (-1: nothing) and END.

_PART is where in the path the part begins that is looked for, _NEXT where the one behind it does; _ON_PATH whether the
value to come is the one looked for; _MATCHED where in the path the key's next character should stand, -1 if it is
another key; _WANTED how many elements of the array come before the one looked for."""

_WORDS = 128
_PATH_DIGITS = 6

_VALUE, _OBJECT, _KEY, _KEY_ESCAPE, _COLON, _STRING, _ESCAPE, _BARE = range(8)
_NESTED, _NESTED_STRING, _NESTED_ESCAPE, _BEHIND, _FOUND = range(8, 13)
"""States: what may come. _BARE is a number or a word, _NESTED inside of brackets that are passed over, _BEHIND is
behind a value."""

_BLANKS = 1 << 9 | 1 << 10 | 1 << 13 | 1 << 32


def first(_capacity: int) -> int:
    """The offset of the text."""
    return _WORDS


def second(capacity: int) -> int:
    """The offset of the path."""
    return _WORDS + capacity + OVERLAP


def size(capacity: int) -> int:
    """Bytes of the working memory."""
    return _WORDS + 2 * (capacity + OVERLAP)


def json(name: str, capacity: int) -> BpfFunction:
    """(work): sets START and END."""
    b = Builder(name, 1)
    work = b.function.parameters[0]
    for word in (_STATE, _PART, _NEXT, _IN_ARRAY, _WANTED, _DEPTH, _MATCHED, _WRITTEN, END):
        put(b, work, word, Imm(0))
    put(b, work, START, Imm(-1))
    put(b, work, _ON_PATH, Imm(1))
    repeat(b, f"json_part_{capacity}", get(b, work, PATH_LENGTH), work)
    written = get(b, work, _WRITTEN)
    with b.when("lt", written, Imm(capacity)):
        b.store(at(b, work, second(capacity), written), 0, 1, Imm(0))
    put(b, work, PATH_LENGTH, written)
    repeat(b, f"json_step_{capacity}", get(b, work, LENGTH), work)
    with b.when("ne", get(b, work, _STATE), Imm(_FOUND)):
        put(b, work, START, Imm(-1))
    b.ret(Imm(0))
    return b.function


def json_part(name: str, capacity: int) -> BpfFunction:
    """One character of the path: the dots and brackets between its parts become a NUL."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(capacity))
    character = b.copy(b.load(at(b, work, second(capacity), index), 0, 1))
    with b.when("eq", character, Imm(ord("]"))):
        b.ret(Imm(0))
    written = get(b, work, _WRITTEN)
    stop_if(b, "ge", written, Imm(capacity))
    keep = b.label()
    for separator in ".[":
        with b.when("eq", character, Imm(ord(separator))):
            # Before the first part there is nothing to end.
            with b.when("eq", written, Imm(0)):
                b.ret(Imm(0))
            b.move(character, Imm(0))
            b.jump(keep)
    b.place(keep)
    b.store(at(b, work, second(capacity), written), 0, 1, character)
    put(b, work, _WRITTEN, b.alu("add", written, Imm(1)))
    b.ret(Imm(0))
    return b.function


def json_step(name: str, capacity: int) -> BpfFunction:
    """One character of the text."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(capacity))
    step = _Step(b, work, b.in_register(b.load(at(b, work, first(capacity), index), 0, 1)), index, capacity)
    step.in_string(_STRING, _ESCAPE)
    step.in_string(_NESTED_STRING, _NESTED_ESCAPE)
    step.in_key()
    step.in_brackets()
    step.in_bare_value()
    step.pass_blanks()
    step.behind_value()
    step.in_object()
    step.before_value()
    stop_if(b, "ne", b.load(work, _STATE, 8), Imm(_VALUE))
    step.at_value()
    return b.function


class _Step:
    """What the states do with a character; each leaves the loop's turn where the state is its own."""

    def __init__(self, b: Builder, work: Reg, character: Reg, index: Operand, capacity: int) -> None:
        self._b, self._work, self._character, self._index, self._capacity = b, work, character, index, capacity
        self._state = get(b, work, _STATE)

    def _goes_on(self, state: int) -> None:
        put(self._b, self._work, _STATE, Imm(state))
        self._b.ret(Imm(0))

    def _ends(self, end: Operand) -> None:
        """The value ends before the index `end`: it is the one looked for, or another comes."""
        b = self._b
        with b.when("ne", get(b, self._work, _ON_PATH), Imm(0)):
            put(b, self._work, END, end)
            put(b, self._work, _STATE, Imm(_FOUND))
            b.ret(Imm(1))

    def _following(self) -> Operand:
        return self._b.alu("add", self._index, Imm(1))

    def in_string(self, state: int, escape: int) -> None:
        b = self._b
        with b.when("eq", self._state, Imm(escape)):
            self._goes_on(state)
        with b.when("eq", self._state, Imm(state)):
            with b.when("eq", self._character, Imm(ord("\\"))):
                self._goes_on(escape)
            with b.when("eq", self._character, Imm(ord('"'))):
                if state == _STRING:
                    self._ends(self._index)
                self._goes_on(_BEHIND if state == _STRING else _NESTED)
            b.ret(Imm(0))

    def in_key(self) -> None:
        """Compare with the path, and decide behind the key whether its value is on it."""
        b, work = self._b, self._work
        with b.when("eq", self._state, Imm(_KEY_ESCAPE)):
            self._compare()
            self._goes_on(_KEY)
        with b.when("eq", self._state, Imm(_KEY)):
            with b.when("eq", self._character, Imm(ord('"'))):
                matched = get(b, work, _MATCHED)
                put(b, work, _ON_PATH, Imm(0))
                with b.when("lt", matched, Imm(self._capacity)):
                    behind = b.load(at(b, work, second(self._capacity), matched), 0, 1)
                    with b.when("eq", behind, Imm(0)):
                        put(b, work, _ON_PATH, Imm(1))
                        put(b, work, _PART, b.alu("add", matched, Imm(1)))
                self._goes_on(_COLON)
            self._compare()
            with b.when("eq", self._character, Imm(ord("\\"))):
                self._goes_on(_KEY_ESCAPE)
            b.ret(Imm(0))

    def _compare(self) -> None:
        b, work = self._b, self._work
        matched = get(b, work, _MATCHED)
        with b.when("lt", matched, Imm(self._capacity)):
            put(b, work, _MATCHED, Imm(-1))
            expected = b.load(at(b, work, second(self._capacity), matched), 0, 1)
            with b.when("eq", expected, self._character):
                put(b, work, _MATCHED, b.alu("add", matched, Imm(1)))

    def in_brackets(self) -> None:
        b, work = self._b, self._work
        with b.when("eq", self._state, Imm(_NESTED)):
            with b.when("eq", self._character, Imm(ord('"'))):
                self._goes_on(_NESTED_STRING)
            for opening in "{[":
                with b.when("eq", self._character, Imm(ord(opening))):
                    put(b, work, _DEPTH, b.alu("add", get(b, work, _DEPTH), Imm(1)))
            for closing in "}]":
                with b.when("eq", self._character, Imm(ord(closing))):
                    depth = b.in_register(b.alu("sub", get(b, work, _DEPTH), Imm(1)))
                    put(b, work, _DEPTH, depth)
                    with b.when("eq", depth, Imm(0)):
                        self._ends(self._following())
                        self._goes_on(_BEHIND)
            b.ret(Imm(0))

    def in_bare_value(self) -> None:
        """Numbers and words end where something else begins, which is then looked at as behind a value."""
        b = self._b
        ended, other = b.label(), b.label()
        b.branch("ne", self._state, Imm(_BARE), other)
        for sign in ",]}":
            b.branch("eq", self._character, Imm(ord(sign)), ended)
        with b.when("le", self._character, Imm(ord(" "))):
            b.jump(ended)
        b.ret(Imm(0))
        b.place(ended)
        self._ends(self._index)
        put(b, self._work, _STATE, Imm(_BEHIND))
        b.place(other)
        self._state = get(b, self._work, _STATE)

    def pass_blanks(self) -> None:
        b = self._b
        with b.when("le", self._character, Imm(ord(" "))):
            bit = b.alu("and", b.alu("rsh", Imm(_BLANKS), self._character), Imm(1))
            with b.when("ne", bit, Imm(0)):
                b.ret(Imm(0))

    def behind_value(self) -> None:
        b, work = self._b, self._work
        with b.when("eq", self._state, Imm(_BEHIND)):
            stop_if(b, "ne", self._character, Imm(ord(",")))
            with b.when("eq", get(b, work, _IN_ARRAY), Imm(0)):
                self._goes_on(_OBJECT)
            wanted = b.in_register(b.alu("sub", get(b, work, _WANTED), Imm(1)))
            put(b, work, _WANTED, wanted)
            with b.when("eq", wanted, Imm(0)):
                put(b, work, _ON_PATH, Imm(1))
                put(b, work, _PART, get(b, work, _NEXT))
            self._goes_on(_VALUE)

    def in_object(self) -> None:
        b, work = self._b, self._work
        with b.when("eq", self._state, Imm(_OBJECT)):
            stop_if(b, "ne", self._character, Imm(ord('"')))
            put(b, work, _MATCHED, get(b, work, _PART))
            self._goes_on(_KEY)

    def before_value(self) -> None:
        b = self._b
        with b.when("eq", self._state, Imm(_COLON)):
            stop_if(b, "ne", self._character, Imm(ord(":")))
            self._goes_on(_VALUE)

    def at_value(self) -> None:
        """The first character of a value: one that is on the path is entered, unless the path ends here."""
        b, work = self._b, self._work
        value = b.label()
        b.branch("eq", get(b, work, _ON_PATH), Imm(0), value)
        b.branch("ge", get(b, work, _PART), get(b, work, PATH_LENGTH), value)
        with b.when("eq", self._character, Imm(ord("{"))):
            put(b, work, _IN_ARRAY, Imm(0))
            put(b, work, _ON_PATH, Imm(0))
            self._goes_on(_OBJECT)
        stop_if(b, "ne", self._character, Imm(ord("[")))
        self._enter_array()
        b.place(value)
        for sign in "]},:":
            stop_if(b, "eq", self._character, Imm(ord(sign)))
        put(b, work, START, self._index)
        with b.when("eq", self._character, Imm(ord('"'))):
            put(b, work, START, self._following())
            self._goes_on(_STRING)
        for opening in "{[":
            with b.when("eq", self._character, Imm(ord(opening))):
                put(b, work, _DEPTH, Imm(1))
                self._goes_on(_NESTED)
        self._goes_on(_BARE)

    def _enter_array(self) -> None:
        """The part of the path is the number of the element."""
        b, work = self._b, self._work
        place = b.copy(get(b, work, _PART))
        number = b.copy(Imm(0))
        read = b.label()
        for _ in range(_PATH_DIGITS):
            stop_if(b, "ge", place, Imm(self._capacity))
            digit = b.in_register(b.load(at(b, work, second(self._capacity), place), 0, 1))
            b.branch("eq", digit, Imm(0), read)
            stop_if(b, "lt", digit, Imm(ord("0")))
            stop_if(b, "gt", digit, Imm(ord("9")))
            b.move(number, b.alu("add", b.alu("mul", number, Imm(10)), b.alu("sub", digit, Imm(ord("0")))))
            b.move(place, b.alu("add", place, Imm(1)))
        b.place(read)
        following = b.in_register(b.alu("add", place, Imm(1)))
        put(b, work, _NEXT, following)
        put(b, work, _WANTED, number)
        put(b, work, _IN_ARRAY, Imm(1))
        put(b, work, _ON_PATH, Imm(0))
        with b.when("eq", number, Imm(0)):
            put(b, work, _ON_PATH, Imm(1))
            put(b, work, _PART, following)
        self._goes_on(_VALUE)
