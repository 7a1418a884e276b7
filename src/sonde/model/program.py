"""A checked program: what a front end makes and the code generator takes.

Names are resolved, types are known, inline definitions and translators are expanded, C's conversions are explicit
(`Cast`), and every probe description has become the probes it matches. Nothing here knows of eBPF.

Every expression has `type` and `position`. The objects an expression can denote in memory (lvalues) are `Var`,
`Element`, `Deref`, `MemberOf`, `Index`, `ProbeVariable` and `KernelObject`; used as a value they mean the content.
"""

from __future__ import annotations

from sonde.model import location
from sonde.model.conversions import Conversion
from sonde.model.errors import Position
from sonde.model.probe import Probe
from sonde.model.types import Member, Type
from sonde.typed import TYPE_CHECKING, Node, TypeAlias

if TYPE_CHECKING:
    from sonde.model.location import Piece


class Kept(Node):
    """How an associative array is kept whose elements stay until they are deleted, whatever they hold, and which can be
    shown: `entries` are how many it has room for; where it is full it `evicts` the one that was not used for longest,
    or else loses what comes."""

    entries: int
    evicts: bool = False


class Variable(Node):
    """A variable. `scope` is `global`, `self` or `this`; `keys` are the types of an associative array's tuple, else
    None. `id` numbers the variables of one program. Elements of an array that is not `kept` are freed by setting them
    to zero."""

    scope: str
    name: str
    type: Type
    keys: tuple[Type, ...] | None
    id: int
    kept: Kept | None = None


class Aggregation(Node):
    """An aggregation; `function` is `count` ... `llquantize`.

    `parameters` are the constants of the function: lquantize (base, limit, step), llquantize (factor, low, high,
    steps), else (). `keys` are the types of the tuple. `name` is without the `@`; `@` alone is `_`.
    With `kept` it has room for so many elements, else for as many as the option aggsize says. `title` is what it shows,
    in words, "" where the program does not say. `is_unsigned`: its values are unsigned numbers, which tells for `sum`,
    `avg`, `min` and `max`.
    """

    name: str
    id: int
    function: str
    parameters: tuple[int, ...]
    keys: tuple[Type, ...]
    kept: Kept | None = None
    title: str = ""
    is_unsigned: bool = False


# Expressions


class Const(Node):
    """An integer; `value` is in the range of `type`."""

    type: Type
    position: Position
    value: int


class StringConst(Node):
    """Constant characters or, of an array's type, bytes."""

    type: Type
    position: Position
    value: bytes


class Var(Node):
    """A scalar, string, structure or C array variable."""

    type: Type
    position: Position
    variable: Variable


class Element(Node):
    """An element of an associative array; the keys are converted to the array's key types."""

    type: Type
    position: Position
    variable: Variable
    keys: tuple[Expr, ...]


class Builtin(Node):
    """A built-in variable: `pid`, `execname`, `curthread`, `arg0`, `probefunc`, `timestamp` ... `probetext` is what
    `Program.probe_texts` has of the probe."""

    type: Type
    position: Position
    name: str


class Argument(Node):
    """`args[number]`: the probe's typed argument, before any translation; from ENTERED on at a return from a function
    of the kernel what the function was called with."""

    type: Type
    position: Position
    number: int


ENTERED = 2
"""The first parameter's number at a return: behind where the function has returned from, and its result."""


class ProbeVariable(Node):
    """A variable of the code that the probe is in, by its name there: `pieces` say where it is at the probe, `is_user`
    tells that this is the code of a process, not the kernel's."""

    type: Type
    position: Position
    name: str
    pieces: tuple[Piece, ...]
    is_user: bool = True

    @property
    def is_in_memory(self) -> bool:
        """Whether it is an object in the memory of that code, which has an address."""
        return len(self.pieces) == 1 and isinstance(self.pieces[0].place, location.InMemory)


class KernelObject(Node):
    """Kernel data named with a backquote: module`symbol. Its address is looked up when the program is loaded."""

    type: Type
    position: Position
    name: str


class Deref(Node):
    """The object that a pointer, or an integer used as one, points to."""

    type: Type
    position: Position
    pointer: Expr


class MemberOf(Node):
    """A member of the structure that `object` denotes; `member.offset` counts from the structure's start."""

    type: Type
    position: Position
    object: Expr
    member: Member


class Index(Node):
    """An element of a C array object or a character of a string; pointers are indexed with `Deref` of a sum."""

    type: Type
    position: Position
    object: Expr
    subscript: Expr


class AddressOf(Node):
    type: Type
    position: Position
    object: Expr


class Unary(Node):
    """`op` is one of `-`, `~`, `!`; the operand of the first two has the type of the result."""

    type: Type
    position: Position
    op: str
    operand: Expr


class Binary(Node):
    """`+ - * / % & | ^ << >>`: operands of the result's type (shift counts of any integer type).

    `< <= > >= == !=` give int: two operands of one type, integers, pointers or strings.
    `&& || ^^` give int: any scalars or strings (a string is true if it is not empty... its address is not NULL).
    Pointer arithmetic has been scaled: both operands of `+` and `-` are then 64-bit, the result typed as the pointer.
    """

    type: Type
    position: Position
    op: str
    left: Expr
    right: Expr


class Conditional(Node):
    type: Type
    position: Position
    test: Expr
    then: Expr
    otherwise: Expr


class Cast(Node):
    """A conversion: between scalars as in C; to string (stringof) of a char array, a pointer to char or an integer
    used as an address; of a string or an array object to a pointer (its address)."""

    type: Type
    position: Position
    operand: Expr


class Assign(Node):
    """`target = value`, or `target op= value` with `op` not None (`+`, `<<` ...); the value is the target's new one.

    For a compound assignment `value` and the arithmetic have type `operation`, the result is converted to the target.
    """

    type: Type
    position: Position
    target: Expr
    value: Expr
    op: str | None = None
    operation: Type | None = None


class Increment(Node):
    """`++` and `--`; `step` is what is added (scaled for pointers, negative for `--`)."""

    type: Type
    position: Position
    target: Expr
    step: int
    is_prefix: bool


class Comma(Node):
    type: Type
    position: Position
    left: Expr
    right: Expr


class Call(Node):
    """A subroutine: `strlen`, `copyinstr`, `sym`, `uaddr` ..."""

    type: Type
    position: Position
    name: str
    arguments: tuple[Expr, ...]


class Compose(Node):
    """A structure of these values, one for each member in their order; a string fills an array of characters. An array
    is made of one integer of its size, whose bytes it has."""

    type: Type
    position: Position
    values: tuple[Expr, ...]


class Aggregated(Node):
    """What an aggregation that comes to a number has come to for a key, over all CPUs, 0 where the key is not there."""

    type: Type
    position: Position
    aggregation: Aggregation
    keys: tuple[Expr, ...]


class ReadBytes(Node):
    """An array of bytes whose first ones, as many as `size` says, are those at an address; zeros are behind them."""

    type: Type
    position: Position
    address: Expr
    size: Expr


class FilledWords(Node):
    """How many words of an array are before its first that is 0, at most `most`."""

    type: Type
    position: Position
    array: Expr
    most: int


class Remove(Node):
    """Delete an element of an array that is kept, or of an aggregation with keys: 1 if it was there, else 0."""

    type: Type
    position: Position
    element: Element | Aggregated


class Holds(Node):
    """Whether an array that is kept, or an aggregation with keys, has the element."""

    type: Type
    position: Position
    element: Element | Aggregated


class ElementCount(Node):
    """How many elements an array that is kept, or an aggregation with keys, has."""

    type: Type
    position: Position
    of: Variable | Aggregation


class StackTrace(Node):
    """`stack(frames)` or `ustack(frames, string_size)`: a value of type STACK, or a structure of u64 addresses and, of
    a process, its number before them."""

    type: Type
    position: Position
    is_user: bool
    frames: int
    string_size: int = 0


Expr: TypeAlias = (
    Const | StringConst | Var | Element | Builtin | Argument | ProbeVariable | KernelObject | Deref | MemberOf | Index
    | AddressOf | Unary | Binary | Conditional | Cast | Assign | Increment | Comma | Call | Compose | Aggregated
    | ReadBytes | FilledWords | Remove | Holds | ElementCount | StackTrace
)  # fmt: skip


# Statements


class Evaluate(Node):
    """An expression for its effect."""

    position: Position
    expression: Expr


class Aggregate(Node):
    """`@a[keys] = function(value, ..., increment)`; count has no value, only quantize & co. may have an increment.
    `names` are what the source calls the keys, () where they are to be found in its text."""

    position: Position
    aggregation: Aggregation
    keys: tuple[Expr, ...]
    value: Expr | None
    increment: Expr | None = None
    names: tuple[str, ...] = ()


class Trace(Node):
    """`trace(value)`; also `stack()`, `ustack()`, `sym(a)` ... as statements. `names`: what the source calls the value,
    as of all that record; () where that is to be found in its text."""

    position: Position
    value: Expr
    names: tuple[str, ...] = ()


class Printf(Node):
    """`values` are in the order the conversions take them, `*` widths and precisions included."""

    position: Position
    conversions: tuple[Conversion, ...]
    values: tuple[Expr, ...]
    names: tuple[str, ...] = ()


class Print(Node):
    """`print(value)`, a typed dump of an object of this `type`: `value` is its address or, if not `by_address`, the
    object itself. The value of a variable may be shown behind the variable's name, `label`."""

    type: Type
    position: Position
    value: Expr
    by_address: bool
    label: str = ""
    names: tuple[str, ...] = ()


class Printa(Node):
    """`conversions` is None for the default layout."""

    position: Position
    conversions: tuple[Conversion, ...] | None
    aggregations: tuple[Aggregation, ...]


class Show(Node):
    """Have an aggregation, or an array that is kept, shown as it is then: with `top` only the last so many rows,
    with `divisor` values divided by it."""

    position: Position
    of: Aggregation | Variable
    top: Expr | None = None
    divisor: Expr | None = None


class Tracemem(Node):
    """`size` constant bytes at `address`; `dynamic` limits what is shown."""

    position: Position
    address: Expr
    size: int
    dynamic: Expr | None = None
    names: tuple[str, ...] = ()


class Exit(Node):
    position: Position
    status: Expr


class Clear(Node):
    position: Position
    aggregation: Aggregation


class Trunc(Node):
    """Keep the `keep` highest (negative: lowest) keys; None removes all."""

    position: Position
    aggregation: Aggregation
    keep: Expr | None


class Empty(Node):
    """Delete all elements of an array that is kept or, with `keeps_keys`, make their values zero."""

    position: Position
    of: Variable
    keeps_keys: bool


class Normalize(Node):
    """Divide by `factor` when printing; None takes an earlier factor back (denormalize)."""

    position: Position
    aggregation: Aggregation
    factor: Expr | None


class SetOption(Node):
    """`setopt(name, value)`."""

    position: Position
    name: Expr
    value: Expr | None


class FormattedCommand(Node):
    """`system(fmt, ...)` and `freopen(fmt, ...)`, carried out by the consumer; `name` is which."""

    position: Position
    name: str
    conversions: tuple[Conversion, ...]
    values: tuple[Expr, ...]


class Act(Node):
    """Any other action, by name: `raise(sig)`, `speculate(id)`, `commit(id)`, `discard(id)`, `ftruncate()` ...,
    `override(result)`, by which the function of the kernel that a kprobe is at the begin of returns at once, and
    `pcap(packet, link type)` with, perhaps, the most bytes that are wanted of the packet."""

    position: Position
    name: str
    arguments: tuple[Expr, ...]


class If(Node):
    """`if (test) then else otherwise`; the test is true or false as a predicate is."""

    position: Position
    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


class Loop(Node):
    """Test, body, step, test ...; no `test` is a true one. `continue` goes to the step."""

    position: Position
    test: Expr | None
    body: tuple[Statement, ...]
    step: tuple[Statement, ...]


class Each(Node):
    """The body for each element of an array that is kept, or of an aggregation with keys. `keys` are the variables of
    the clause that are set to the parts of its key, None for a part that nobody asks for, `value` the one that is set
    to its value, as `Aggregated` has it of an aggregation, or None. Elements that come or go meanwhile are gone through
    or not."""

    position: Position
    of: Variable | Aggregation
    keys: tuple[Var | None, ...]
    value: Var | None
    body: tuple[Statement, ...]


class Leave(Node):
    """`break`, or `continue`, of the innermost loop."""

    position: Position
    is_break: bool


class Inlined(Node):
    """A function's statements where it is called; a `Return` of theirs leads behind them. `inlining.py` makes it."""

    position: Position
    body: tuple[Statement, ...]


MOST_STATEMENTS = 20_000
"""Of one clause: functions are copied where they are called."""


class Return(Node):
    """The end of the clause, but of none that follow; or, with `of_function`, of the innermost inlined function."""

    position: Position
    of_function: bool = False


Statement: TypeAlias = (
    Evaluate | Aggregate | Trace | Printf | Print | Printa | Show | Tracemem | Exit | Clear | Trunc | Empty
    | Normalize | SetOption | FormattedCommand | Act | If | Loop | Each | Leave | Inlined | Return
)  # fmt: skip


class Clause(Node):
    """`probes / predicate / { statements }`; a clause without statements shows its header line.

    `id` counts the clauses of the session from 1, in the order of the program, and from -1 downwards those that the
    program did not write but depends on: they record nothing. `position` is where it begins. `condition` says when the
    one probe of a clause has fired that follows from another; without it, its firing is always one. `keeps`: its
    statements are evaluated for what they read, which is recorded, each whatever has become of the others.
    """

    id: int
    probes: tuple[Probe, ...]
    predicate: Expr | None
    statements: tuple[Statement, ...]
    position: Position
    condition: Expr | None = None
    keeps: bool = False

    @property
    def is_hidden(self) -> bool:
        return self.id < 0


class Program(Node):
    """Everything one session runs. `options` are those that pragmas set, in order; `scratch` the ids of the variables
    that hold pointers from alloca() or copyin(), which no other variable ever does. `is_typed`: whoever shows
    aggregations is told the types of their keys. `goes_on`: a division by zero comes to 1, what cannot be read to 0, an
    index that is out of bounds to the first element; each is told, and the clause goes on. `probe_texts`: what the
    language calls probes, by their identifiers, where a clause asks for that. `has_whole_literals`:
    literals are shown as they are, whatever the longest string is. `shown` are shown when all is over.
    `follows_lines`: an expression may be of another line than its statement, and faults are told by lines."""

    clauses: tuple[Clause, ...]
    variables: tuple[Variable, ...]
    aggregations: tuple[Aggregation, ...]
    options: tuple[tuple[str, str | None], ...] = ()
    scratch: frozenset[int] = frozenset()
    is_typed: bool = False
    goes_on: bool = False
    probe_texts: tuple[tuple[int, str], ...] = ()
    has_whole_literals: bool = False
    shown: tuple[Aggregation | Variable, ...] = ()
    follows_lines: bool = False
