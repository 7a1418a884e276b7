"""The syntax tree of a program: what the parser makes and the checker reads.

Nothing is resolved here: a name is only a name, a type only the words that spell it. Every node has `at`, the text that
it was made of.
"""

from __future__ import annotations

from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.typed import Node, TypeAlias

# Types


class TypeName(Node):
    """`words` name the type (`int32`, `struct task_struct`), `suffixes` follow it: `*`, or a number of elements, -1
    where the brackets are empty. `of` is what typeof() looks at, a type or an expression, else None."""

    at: SourceSpan
    words: str
    suffixes: tuple[str | int, ...] = ()
    of: TypeName | Expr | None = None


# Expressions


class Number(Node):
    """`is_unsigned`: its suffix says so."""

    at: SourceSpan
    value: int
    is_unsigned: bool = False


class StringLiteral(Node):
    at: SourceSpan
    value: bytes


class Positional(Node):
    """`$1`; 0 is `$#`, how many there are."""

    at: SourceSpan
    number: int


class Name(Node):
    """A built-in variable, an enumerator, a macro without arguments, or a parameter of a macro."""

    at: SourceSpan
    name: str


class ScratchVariable(Node):
    """`$name`."""

    at: SourceSpan
    name: str


class MapName(Node):
    """`@name`, with its keys as they were written, None without brackets."""

    at: SourceSpan
    name: str
    keys: tuple[Expr, ...] | None = None


class Member(Node):
    """`object.name` or `object->name`; of tuples the name is a number."""

    at: SourceSpan
    object: Expr
    name: str
    is_arrow: bool = False


class Index(Node):
    at: SourceSpan
    object: Expr
    subscript: Expr


class Call(Node):
    """`arguments` may be types: sizeof, offsetof."""

    at: SourceSpan
    name: str
    arguments: tuple[Expr | TypeName, ...]


class Offset(Node):
    """`offsetof(of, path)`."""

    at: SourceSpan
    of: Expr | TypeName
    path: tuple[str, ...]


class Unary(Node):
    """`op` is one of `-`, `+`, `~`, `!`, `*`, `&`."""

    at: SourceSpan
    op: str
    operand: Expr


class Increment(Node):
    at: SourceSpan
    target: Expr
    step: int
    is_prefix: bool


class Binary(Node):
    """`place` is the operator's own."""

    at: SourceSpan
    op: str
    left: Expr
    right: Expr
    place: SourceSpan


class Ternary(Node):
    """`then` None is `test ?: otherwise`. `is_if`: written as `if test { ... } else { ... }`, so both are blocks, and
    the one that is known not to be taken is no part of the program."""

    at: SourceSpan
    test: Expr
    then: Expr | None
    otherwise: Expr
    is_if: bool = False


class Comptime(Node):
    """`comptime operand`: has to be known when the program is compiled."""

    at: SourceSpan
    operand: Expr


class Cast(Node):
    at: SourceSpan
    type: TypeName
    operand: Expr


class Tuple(Node):
    at: SourceSpan
    items: tuple[Expr, ...]


class RecordExpression(Node):
    at: SourceSpan
    names: tuple[str, ...]
    items: tuple[Expr, ...]


class BlockValue(Node):
    """`{ statements; value }`."""

    at: SourceSpan
    statements: tuple[Statement, ...]
    value: Expr


Expr: TypeAlias = (
    Number | StringLiteral | Positional | Name | ScratchVariable | MapName | Member | Index | Call | Offset | Unary
    | Increment | Binary | Ternary | Comptime | Cast | Tuple | RecordExpression | BlockValue
)  # fmt: skip


# Statements


class Evaluate(Node):
    """`is_discarded`: `_ = value`. `whole` is the statement, with its semicolon or, without one, the block that it
    ends; `is_last`: it stands at the end of a block that may have a value."""

    at: SourceSpan
    value: Expr
    is_discarded: bool = False
    whole: SourceSpan | None = None
    is_last: bool = False


class Assign(Node):
    """`target op= value`; `op` is "" for a plain one."""

    at: SourceSpan
    target: Expr
    op: str
    value: Expr


class Let(Node):
    """`let $x: type = value`."""

    at: SourceSpan
    name: str
    type: TypeName | None
    value: Expr | None
    declared_at: SourceSpan
    """`let $x` alone."""


class If(Node):
    at: SourceSpan
    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


class ForRange(Node):
    """`at` ends with the range, `whole` with the body."""

    at: SourceSpan
    name: str
    start: Expr
    end: Expr
    body: tuple[Statement, ...]
    name_at: SourceSpan
    whole: SourceSpan


class ForMap(Node):
    at: SourceSpan
    name: str
    map: Expr
    body: tuple[Statement, ...]
    name_at: SourceSpan


class While(Node):
    at: SourceSpan
    test: Expr
    body: tuple[Statement, ...]


class Unroll(Node):
    at: SourceSpan
    count: Expr
    body: tuple[Statement, ...]


class Jump(Node):
    """`word` is break, continue or return."""

    at: SourceSpan
    word: str
    value: Expr | None = None


class Block(Node):
    at: SourceSpan
    body: tuple[Statement, ...]


class Inlined(Node):
    """The body of a function where it is called. Variables around it have its parameters and, of one that returns
    something, `result`; `names` are what these are called in the function and around it."""

    at: SourceSpan
    function: SubprogramItem
    names: tuple[tuple[str, str], ...]
    result: str | None


Statement: TypeAlias = Evaluate | Assign | Let | If | ForRange | ForMap | While | Unroll | Jump | Block | Inlined


# What programs consist of


class AttachPoint(Node):
    """A probe's description as it is written; macro arguments are in their places, quotes are gone."""

    at: SourceSpan
    text: str


class ProbeItem(Node):
    at: SourceSpan
    points: tuple[AttachPoint, ...]
    predicate: Expr | None
    body: tuple[Statement, ...]
    predicate_at: SourceSpan
    """With its slashes; nothing behind the points without one."""


class ConfigSetting(Node):
    """Of the config block."""

    at: SourceSpan
    name: str
    value: str


class Import(Node):
    at: SourceSpan
    path: str


class MapDeclaration(Node):
    """`let @name = kind(entries)`."""

    at: SourceSpan
    name: str
    kind: str
    entries: int


class Macro(Node):
    """`parameters` are as written: `x`, `$x` or `@x`. `value` is what it gives, None for a statement."""

    at: SourceSpan
    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    value: Expr | None


class SubprogramItem(Node):
    """`fn name($x: type): type { ... }`."""

    at: SourceSpan
    name: str
    parameters: tuple[tuple[str, TypeName], ...]
    returns: TypeName
    body: tuple[Statement, ...]


class CDefinition(Node):
    """C text: a type or a line of the preprocessor."""

    at: SourceSpan
    text: str


Item: TypeAlias = ProbeItem | ConfigSetting | Import | MapDeclaration | Macro | SubprogramItem | CDefinition
