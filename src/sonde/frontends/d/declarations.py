"""C declarations: specifiers, declarators, type names, structures and enumerations."""

from __future__ import annotations

from sonde.frontends.d import gnu
from sonde.frontends.d.lexer import END, NAME
from sonde.frontends.d.stream import BASE_WORDS, MAX_NESTING, QUALIFIERS, TAG_WORDS, TokenStream, split_scope, too_deep
from sonde.frontends.d.syntax import (
    ArrayPart,
    Declaration,
    Declarator,
    DeclaratorPart,
    Enumerator,
    EnumSpecifier,
    FunctionPart,
    MemberDeclaration,
    MemberDeclarator,
    Parameter,
    PointerPart,
    Specifier,
    Specifiers,
    StructSpecifier,
    TypedefName,
    TypeName,
    TypeWord,
)
from sonde.model.errors import Position

STORAGE_WORDS = frozenset({"auto", "extern", "inline", "register", "self", "static", "this", "typedef"})


def declaration(stream: TokenStream) -> Declaration:
    """`specifiers declarator, ...` up to the semicolon, which stays the current token.

    A function of C that is inline may have a body, which nobody needs; its brace stays the current token.
    """
    position = stream.token.position
    return declaration_of(stream, position, specifiers(stream, STORAGE_WORDS), [])


def declaration_of(
    stream: TokenStream, position: Position, head: Specifiers, declarators: list[Declarator]
) -> Declaration:
    """The rest of a declaration whose specifiers, and perhaps its first declarator, have been read."""
    if not declarators and not stream.at(";"):
        declarators.append(declarator(stream))
    while stream.accept(","):
        declarators.append(declarator(stream))
    if stream.at("{") and is_inline_function(head, declarators):
        stream.lexer.pass_braces()
        return Declaration(position, head, tuple(declarators))
    stream.expect_last(";")
    if any(word.text == "typedef" for word in head.storage):
        stream.typedefs.update(each.name for each in declarators if each.name)
    return Declaration(position, head, tuple(declarators))


def is_inline_function(head: Specifiers, declarators: list[Declarator]) -> bool:
    """Whether what was declared is one function of C that `inline` lets have a body."""
    is_inline = any(word.text == "inline" for word in head.storage)
    return is_inline and len(declarators) == 1 and is_function(declarators[0])


def is_function(declarator: Declarator) -> bool:
    return bool(declarator.parts) and isinstance(declarator.parts[0], FunctionPart)


def static_assertion(stream: TokenStream) -> None:
    """Pass over `_Static_assert(...)`, up to its semicolon: the compiler of the header has checked it."""
    stream.expect("_Static_assert")
    stream.expect("(")
    depth = 1
    while depth and not stream.at(END):
        depth += {"(": 1, ")": -1}.get(stream.token.kind, 0)
        stream.advance()
    stream.expect_last(";")


def specifiers(stream: TokenStream, storage_words: frozenset[str] = frozenset()) -> Specifiers:
    """The words before a declarator; at least one."""
    position = stream.token.position
    storage: list[TypeWord] = []
    qualifiers: list[TypeWord] = []
    types: list[Specifier] = []
    while True:
        kind = stream.token.kind
        if kind in BASE_WORDS:
            types.append(stream.word())
        elif kind in QUALIFIERS:
            qualifiers.append(stream.word())
        elif kind in TAG_WORDS:
            types.append(_tagged(stream))
        elif kind in storage_words:
            storage.append(stream.word())
        elif kind == NAME and not types and stream.is_type(stream.token.text):
            types.append(_typedef_name(stream))
        elif types or qualifiers or storage:
            return Specifiers(position, tuple(storage), tuple(qualifiers), tuple(types))
        else:
            raise stream.error()


def type_name(stream: TokenStream) -> TypeName:
    """A type as in a cast."""
    position = stream.token.position
    return TypeName(position, specifiers(stream), declarator(stream, needs_name=False, may_name=False))


def parameter(stream: TokenStream) -> Parameter:
    """A type with or without a name."""
    position = stream.token.position
    return Parameter(position, specifiers(stream, STORAGE_WORDS), declarator(stream, needs_name=False))


def declarator(stream: TokenStream, needs_name: bool = True, may_name: bool = True) -> Declarator:
    """A name with its pointers, arrays and parameter lists."""
    position = stream.token.position
    pointers: list[DeclaratorPart] = []
    while stream.at("*"):
        pointers.append(_pointer(stream))
    name: str | None = None
    parts: list[DeclaratorPart] = []
    if stream.at(NAME) and may_name:
        position, name = stream.token.position, stream.token.text
        stream.advance()
    elif stream.at("(") and (needs_name or not _starts_parameters(stream)):
        position, name, parts = _parenthesized(stream, needs_name, may_name)
    elif needs_name:
        raise stream.error()
    while stream.at("[") or stream.at("("):
        parts.append(_array(stream) if stream.at("[") else parameters(stream))
    parts += reversed(pointers)
    if len(parts) > MAX_NESTING:
        raise too_deep(position)
    return Declarator(position, name, tuple(parts))


def _parenthesized(
    stream: TokenStream, needs_name: bool, may_name: bool
) -> tuple[Position, str | None, list[DeclaratorPart]]:
    stream.advance()
    with stream.nested():
        inner = declarator(stream, needs_name, may_name)
    stream.expect(")")
    return inner.position, inner.name, list(inner.parts)


def _starts_parameters(stream: TokenStream) -> bool:
    """Whether the current parenthesis opens a parameter list, where a parenthesized declarator could stand as well."""
    following = stream.peek()
    return following.kind in (")", "...") or following.kind in STORAGE_WORDS or stream.starts_type(following)


def _pointer(stream: TokenStream) -> PointerPart:
    position = stream.expect("*").position
    qualifiers = []
    while stream.token.kind in QUALIFIERS:
        qualifiers.append(stream.word())
    return PointerPart(position, tuple(qualifiers))


def _array(stream: TokenStream) -> ArrayPart:
    position = stream.expect("[").position
    if stream.accept("]"):
        return ArrayPart(position, None, None)
    if stream.at("...") or stream.token.kind in STORAGE_WORDS or stream.starts_type(stream.token):
        keys, variadic = _parameter_list(stream, "]")
        return ArrayPart(position, None, keys, variadic)
    with stream.nested():
        size = stream.expression(stream)
    stream.expect("]")
    return ArrayPart(position, size, None)


def parameters(stream: TokenStream) -> FunctionPart:
    """A parameter list with its parentheses."""
    position = stream.expect("(").position
    if stream.accept(")"):
        return FunctionPart(position, ())
    listed, variadic = _parameter_list(stream, ")")
    return FunctionPart(position, listed, variadic)


def _parameter_list(stream: TokenStream, closing: str) -> tuple[tuple[Parameter, ...], bool]:
    listed: list[Parameter] = []
    with stream.nested():
        while not stream.accept("..."):
            listed.append(parameter(stream))
            if not stream.accept(","):
                stream.expect(closing)
                return tuple(listed), False
    stream.expect(closing)
    return tuple(listed), True


def _typedef_name(stream: TokenStream) -> TypedefName:
    token = stream.token
    stream.advance()
    name, module = split_scope(token.text)
    return TypedefName(token.position, name, module)


def _tagged(stream: TokenStream) -> Specifier:
    """`struct`, `union` or `enum`, with a tag, a body, or both."""
    keyword = stream.token
    stream.take_attributes()
    stream.advance()
    tag, module = "", None
    if stream.at(NAME):
        tag, module = split_scope(stream.token.text)
        stream.advance()
    elif not stream.at("{"):
        raise stream.error()
    position = stream.place(keyword.position)
    with stream.nested():
        if keyword.kind == "enum":
            return EnumSpecifier(position, tag, module, _enumerators(stream))
        attributes = stream.take_attributes()
        members = _members(stream)
        attributes |= stream.take_attributes()
        return StructSpecifier(position, keyword.kind, tag, module, members, bool(attributes & gnu.PACKED))


def _enumerators(stream: TokenStream) -> tuple[Enumerator, ...] | None:
    if not stream.accept("{"):
        return None
    listed: list[Enumerator] = []
    while not listed or not stream.at("}"):
        name = stream.expect(NAME)
        value = stream.expression(stream) if stream.accept("=") else None
        listed.append(Enumerator(stream.place(name.position), name.text, value))
        if not stream.accept(","):
            break
    stream.expect("}")
    return tuple(listed)


def _members(stream: TokenStream) -> tuple[MemberDeclaration, ...] | None:
    if not stream.accept("{"):
        return None
    listed: list[MemberDeclaration] = []
    while not listed or not stream.at("}"):
        if stream.at("_Static_assert"):
            static_assertion(stream)
            stream.advance()
            continue
        listed.append(_member(stream))
    # Attributes of the members are none of the structure.
    stream.take_attributes()
    stream.advance()
    return tuple(listed)


def _member(stream: TokenStream) -> MemberDeclaration:
    position = stream.token.position
    head = specifiers(stream, STORAGE_WORDS)
    declarators = []
    if not stream.at(";"):
        declarators.append(_member_declarator(stream))
        while stream.accept(","):
            declarators.append(_member_declarator(stream))
    stream.expect(";")
    return MemberDeclaration(position, head, tuple(declarators))


def _member_declarator(stream: TokenStream) -> MemberDeclarator:
    position = stream.token.position
    name = Declarator(position, None, ()) if stream.at(":") else declarator(stream)
    return MemberDeclarator(name, stream.expression(stream) if stream.accept(":") else None)
