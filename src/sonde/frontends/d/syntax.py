"""The syntax tree of a D program: what the parser makes and the checker reads.

Nothing is resolved here: a name is only a name, a type only the words that spell it. Every node has `position`, the
place of the token that names it best: the operator of an operation, the name of a called function, the first token of
an item. Where DTrace would name a later line, because it had read on (see `TokenStream.place`), it is a token there.
"""

from __future__ import annotations

from sonde.model.errors import Position
from sonde.model.types import Int
from sonde.typed import Any, Node, Protocol, TypeAlias

# Types and declarations


class TypeWord(Node):
    """A keyword that is part of a type: `unsigned`, `long`, `const`, `typedef`, `self`, `string` ..."""

    position: Position
    text: str


class TypedefName(Node):
    """A type called by its name; `module` is what stood before a backquote ("" for a bare one), else None."""

    position: Position
    name: str
    module: str | None = None


class Enumerator(Node):
    position: Position
    name: str
    value: Expr | None


class EnumSpecifier(Node):
    """`enum tag { ... }`; `tag` is "" where there is none, `enumerators` None where there are no braces."""

    position: Position
    tag: str
    module: str | None
    enumerators: tuple[Enumerator, ...] | None


class StructSpecifier(Node):
    """`struct tag { ... }` or `union`; `tag` is "" where there is none, `members` None where there are no braces.

    Members of a `packed` one have no padding between them.
    """

    position: Position
    keyword: str
    tag: str
    module: str | None
    members: tuple[MemberDeclaration, ...] | None
    packed: bool = False


Specifier: TypeAlias = TypeWord | TypedefName | EnumSpecifier | StructSpecifier


class Specifiers(Node):
    """What stands before the declarators, each kind in the order of the source.

    `storage` holds typedef, extern, static, auto, register, inline, self and this; `qualifiers` const, volatile and
    restrict; `types` the words that together name a type, in any combination that the user wrote.
    """

    position: Position
    storage: tuple[TypeWord, ...]
    qualifiers: tuple[TypeWord, ...]
    types: tuple[Specifier, ...]


class PointerPart(Node):
    position: Position
    qualifiers: tuple[TypeWord, ...]


class ArrayPart(Node):
    """`[size]`, or the tuple of an associative array `[int, string]` in `keys`; both are None for `[]`."""

    position: Position
    size: Expr | None
    keys: tuple[Parameter, ...] | None
    variadic: bool = False


class FunctionPart(Node):
    """`(parameters)`; `()` has none, `(void)` has one of type void."""

    position: Position
    parameters: tuple[Parameter, ...]
    variadic: bool = False


DeclaratorPart: TypeAlias = PointerPart | ArrayPart | FunctionPart


class Declarator(Node):
    """A name (None in an abstract declarator) and its parts, read from the name outwards.

    `int *a[3]` has (ArrayPart, PointerPart): `a` is an array of pointers. The type is built from the last part to
    the first.
    """

    position: Position
    name: str | None
    parts: tuple[DeclaratorPart, ...]


class TypeName(Node):
    """A type in a cast, sizeof, offsetof or xlate; the declarator has no name."""

    position: Position
    specifiers: Specifiers
    declarator: Declarator


class Parameter(Node):
    """A parameter of a function, a key of an associative array, the input of a translator."""

    position: Position
    specifiers: Specifiers
    declarator: Declarator


class MemberDeclarator(Node):
    """One member; `bits` is the width of a bit-field. An unnamed one has no name in its declarator."""

    declarator: Declarator
    bits: Expr | None


class MemberDeclaration(Node):
    """`declarators` is empty for an anonymous structure or union."""

    position: Position
    specifiers: Specifiers
    declarators: tuple[MemberDeclarator, ...]


# Expressions


class Integer(Node):
    """An integer or character constant; `type` is the one C's rules give it for its value and spelling."""

    position: Position
    value: int
    type: Int
    is_character: bool = False


class StringLiteral(Node):
    """`value` has the escapes replaced and no terminating NUL."""

    position: Position
    value: bytes


class Identifier(Node):
    """A name; `module` is what stood before a backquote ("" for a bare one), else None."""

    position: Position
    name: str
    module: str | None = None


class ScopedVariable(Node):
    """`self->name` or `this->name`."""

    position: Position
    scope: str
    name: str


class Aggregation(Node):
    """`@name[keys]`; `keys` is None without brackets; `@` alone is named `_`. `title` is what it shows, which D
    does not say."""

    position: Position
    name: str
    keys: tuple[Expr, ...] | None
    title: str = ""


class Unary(Node):
    """`op` is one of `+ - ~ ! * &`."""

    position: Position
    op: str
    operand: Expr


class Increment(Node):
    """`op` is `++` or `--`."""

    position: Position
    op: str
    target: Expr
    is_prefix: bool


class Binary(Node):
    """`op` is one of `|| ^^ && | ^ & == != < <= > >= << >> + - * / %`."""

    position: Position
    op: str
    left: Expr
    right: Expr


class Assign(Node):
    """`op` is as written: `=`, `+=`, `<<=` ..."""

    position: Position
    op: str
    target: Expr
    value: Expr


class Conditional(Node):
    position: Position
    test: Expr
    then: Expr
    otherwise: Expr


class Comma(Node):
    position: Position
    left: Expr
    right: Expr


class Cast(Node):
    position: Position
    type: TypeName
    operand: Expr


class SizeofExpr(Node):
    position: Position
    operand: Expr


class SizeofType(Node):
    position: Position
    type: TypeName


class Offsetof(Node):
    position: Position
    type: TypeName
    member: str


class Stringof(Node):
    position: Position
    operand: Expr


class Xlate(Node):
    """`xlate <type> operand`."""

    position: Position
    type: TypeName
    operand: Expr


class Member(Node):
    """`object.name`, or `object->name` where `arrow`."""

    position: Position
    object: Expr
    name: str
    arrow: bool


class Index(Node):
    """`object[subscript, ...]`: an element of an array, of what a pointer points to or of an associative array."""

    position: Position
    object: Expr
    subscripts: tuple[Expr, ...]


class Call(Node):
    """`function` is an Identifier in every correct program."""

    position: Position
    function: Expr
    arguments: tuple[Expr, ...]


class Foreign(Protocol):
    """An expression of another language, whose front end made the node: it says how it is checked."""

    @property
    def position(self) -> Position: ...

    def checked(self, scope: Any) -> Any:
        """The operand (`check.operands`) that it is in a `check.scope.Scope`. Raises SourceError."""


Expr: TypeAlias = (
    Integer | StringLiteral | Identifier | ScopedVariable | Aggregation | Unary | Increment | Binary | Assign
    | Conditional | Comma | Cast | SizeofExpr | SizeofType | Offsetof | Stringof | Xlate | Member | Index | Call
    | Foreign
)  # fmt: skip


# Statements


class ExpressionStatement(Node):
    """`names` are what the source calls the values that it records, or the keys of what it counts; D's are found in its
    text."""

    position: Position
    expression: Expr
    names: tuple[str, ...] = ()


class If(Node):
    position: Position
    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


class Loop(Node):
    """`for (initial; test; step) body`, where any of the three may be missing, and `while (test) body`."""

    position: Position
    initial: Expr | None
    test: Expr | None
    step: Expr | None
    body: tuple[Statement, ...]


class Leave(Node):
    """`break`, or `continue`."""

    position: Position
    is_break: bool


class Inlined(Node):
    """A function's statements where it is called. D has no word for it."""

    position: Position
    body: tuple[Statement, ...]


class Return(Node):
    """The end of the clause or, with `of_function`, of the innermost inlined function. D has no word for it."""

    position: Position
    of_function: bool = False


Statement: TypeAlias = ExpressionStatement | If | Loop | Leave | Inlined | Return


# The items of a program


class ProbeDescription(Node):
    """A probe description as written, and its fields (provider, module, function, name) with macros replaced.

    A field is "" where it matches everything. `kind` names the last field the description may have: `provider`,
    `module`, `function` or `name`. A probe given by number has it in `identifier`.
    """

    position: Position
    text: str
    kind: str
    fields: tuple[str, str, str, str]
    identifier: int | None = None


class ProbeClause(Node):
    """`specs / predicate / { statements }`; `statements` is None where there are no braces (command line only)."""

    position: Position
    specs: tuple[ProbeDescription, ...]
    predicate: Expr | None
    statements: tuple[Statement, ...] | None


class Declaration(Node):
    """`specifiers declarator, ... ;`, a variable, a typedef or only a type (no declarators)."""

    position: Position
    specifiers: Specifiers
    declarators: tuple[Declarator, ...]


class InlineDefinition(Node):
    """`inline type name = value;`; the parameters of an inline array or function are in the declarator's parts."""

    position: Position
    specifiers: Specifiers
    declarator: Declarator
    value: Expr


class TranslatorMember(Node):
    position: Position
    name: str
    value: Expr


class Translator(Node):
    """`translator output < input > { name = value; ... };`."""

    position: Position
    output: TypeName
    input: Parameter
    members: tuple[TranslatorMember, ...]


class ProviderProbe(Node):
    """`probe name(native) : (translated);`; `translated` is None without the second list."""

    position: Position
    name: str
    native: FunctionPart
    translated: FunctionPart | None


class ProviderDefinition(Node):
    position: Position
    name: str
    probes: tuple[ProviderProbe, ...]


class Pragma(Node):
    """`#pragma D name words`, or `#error` (`name` is `error`); string words keep their quotes.

    `name` is "" for a bare `#pragma D`.
    """

    position: Position
    name: str
    words: tuple[str, ...]


Item: TypeAlias = ProbeClause | Declaration | InlineDefinition | Translator | ProviderDefinition | Pragma
