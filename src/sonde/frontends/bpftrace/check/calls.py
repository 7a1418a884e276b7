"""Functions: those that give values, and those that are statements."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check import (
    address_spaces,
    builtins,
    formats,
    function_table,
    maps,
    offsets,
    told_lookups,
    tuples,
    type_information,
    type_names,
)
from sonde.frontends.bpftrace.check.aggregating import NAMES as AGGREGATING
from sonde.frontends.bpftrace.check.aggregating import shown_function
from sonde.frontends.bpftrace.check.conversions import (
    arguments_spelled,
    constant,
    integer_value,
    wide,
)
from sonde.frontends.bpftrace.check.macros import is_defined, no_definition
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import (
    INT32,
    INT64,
    UINT64,
    base_name,
    fixed,
    is_integer,
    is_text,
    spelled,
)
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr, Statement
from sonde.model.types import BOOL, CHAR, INT, STRING, Enum, Pointer, resolve, size_of

Value = Callable[[nodes.Call, BtScope], Expr]
Action = Callable[[nodes.Call, BtScope], Statement]


def require(call: nodes.Call, scope: BtScope, least: int, most: int | None = None) -> list[nodes.Expr]:
    """The arguments, if there are as many as there have to be."""
    most, given = least if most is None else most, len(call.arguments)
    if not least <= given <= most:
        if least == most or not most:
            wanted = f"requires {arguments_spelled(least)}"
        elif given < least:
            wanted = f"requires at least {arguments_spelled(least)}"
        else:
            wanted = f"takes up to {arguments_spelled(most)}"
        raise scope.mistake(f"{call.name}() {wanted} ({given} provided)", call.at)
    found = [each for each in call.arguments if not isinstance(each, nodes.TypeName)]
    if len(found) != given:
        raise scope.mistake(f"{call.name}() takes no types", call.at)
    return found


def value(call: nodes.Call, scope: BtScope) -> Expr:
    """A call as a value."""
    found = _VALUES.get(call.name)
    if found is not None:
        return found(call, scope)

    more = function_table.value_call(call.name)
    if more is not None:
        return more.check(call, require(call, scope, more.least, more.most), scope)
    if not call.arguments and (variable := builtins.builtin(call.name, call.at, scope)) is not None:
        return variable
    if is_defined(call, scope):
        raise no_definition(call, scope, "they differ in the number of their arguments")
    if call.name in AGGREGATING:
        raise scope.mistake(f"{call.name}() must be assigned directly to a map", call.at)
    if is_action(call.name):
        raise scope.mistake(f"{call.name}() is a statement and has no value", call.at)
    raise _unknown(call.name, call.at, scope)


def is_bare(name: str) -> bool:
    """Whether the function may be called without parentheses."""
    found = function_table.value_call(name)
    return found is not None and not found.least


def is_action(name: str) -> bool:
    """Whether the function is a statement and gives no value."""
    if name in _ACTIONS:
        return True

    return name in function_table.ACTIONS


def action(call: nodes.Call, scope: BtScope) -> Statement | None:
    """A call as a statement, None if it gives a value."""
    found = _ACTIONS.get(call.name)
    if found is None:
        found = function_table.action_call(call.name)
    return found(call, scope) if found is not None else None


def _unknown(name: str, span: SourceSpan, scope: BtScope) -> BtError:
    return scope.mistake(f"Unknown function: '{name}'", span)


# Values


def _positional_text(node: nodes.Expr, scope: BtScope) -> bytes | None:
    """The characters of `$1`, or of `$1 + 2` without the first two; None for anything else."""
    if isinstance(node, nodes.Binary) and node.op == "+" and isinstance(node.right, nodes.Number):
        of = _positional_text(node.left, scope)
        return None if of is None else of[node.right.value :]
    if not isinstance(node, nodes.Positional) or not node.number:
        return None
    text = scope.arguments[node.number - 1] if node.number <= len(scope.arguments) else ""
    return text.encode(errors="surrogateescape")


def _str(call: nodes.Call, scope: BtScope) -> Expr:
    arguments = require(call, scope, 1, 2)
    at = scope.at(call.at)
    given = _positional_text(arguments[0], scope)
    if given is not None:
        return tree.StringConst(STRING, at, given)
    e = scope.expression(arguments[0], scope)
    if is_text(e.type):
        base = tree.Cast(STRING, at, e) if resolve(e.type) != STRING else e
    elif isinstance(resolve(e.type), Pointer) or is_integer(e.type):
        base = tree.Cast(STRING, at, tree.Cast(address_spaces.pointer_into(CHAR, e, scope), at, e))
    else:
        text = f"str() expects a string, integer or a pointer type as first argument ({spelled(e.type)} provided)"
        raise scope.mistake(text, call.at)
    if len(arguments) == 1:
        return base
    # A length counts the NUL that ends the string.
    most = integer_value(arguments[1], scope, "str()")
    if isinstance(most, tree.Const) and most.value + 1 > scope.strsize:
        text = f"length param ({most.value}) is too long and will be shortened to {scope.strsize} bytes (see "
        scope.remark(f"{text}BPFTRACE_MAX_STRLEN)", call.at)
    if isinstance(most, tree.Const) and most.value < 0:
        raise scope.mistake(f"str() cannot use negative length ({most.value})", call.at)
    length = tree.Binary(INT64, at, "-", most, constant(1, at, INT64))
    return tree.Call(STRING, at, "substr", (base, constant(0, at, INT), tree.Cast(INT, at, length)))


def _delete(call: nodes.Call, scope: BtScope) -> Expr:
    found = _element(call, scope)
    if found is None:
        return constant(0, scope.at(call.at), BOOL)
    if isinstance(found, tree.Element):
        told_lookups.told(found, told_lookups.DELETE, call.at, scope)
    return tree.Remove(BOOL, scope.at(call.at), found)


def _has_key(call: nodes.Call, scope: BtScope) -> Expr:
    found = _element(call, scope)
    return constant(0, scope.at(call.at), BOOL) if found is None else tree.Holds(BOOL, scope.at(call.at), found)


def _element(call: nodes.Call, scope: BtScope) -> tree.Element | tree.Aggregated | None:
    """The element that a map and a key, or an element as it is written, tell of; None where the map is yet unknown."""
    arguments = require(call, scope, 1, 2)
    first = arguments[0]
    if not isinstance(first, nodes.MapName):
        raise scope.mistake(f"{call.name}() expects a map", call.at)
    use = scope.map(first.name, first.at)
    if len(arguments) == 2:
        if first.keys is not None:
            raise scope.mistake(f"{call.name}() expects a map without keys as its first argument", first.at)
        if use.keys == ():
            raise scope.mistake(
                f"call to {_of_two(call.name)} expects a map with explicit keys (non-scalar map)", first.at
            )
        key = arguments[1]
        parts = key.items if isinstance(key, nodes.Tuple) else (key,)
        values = maps.of_tuple([scope.expression(each, scope) for each in parts])
        keys = maps.key_values(values, key.at, scope, use)
    else:
        keys = maps.keys_of(first, scope, use)
    if use.function == "tseries":
        raise scope.mistake(f"{call.name}() does not take the map of a tseries(): print, clear or zero it", first.at)
    if use.function:
        return tree.Aggregated(UINT64, scope.at(first.at), scope.aggregation(use), keys)
    if use.value is None:
        # Further on in the program something may be assigned to it.
        scope.known.is_guessed = scope.known.has_unknown = True
        if scope.known.settled:
            raise scope.mistake(f"Undefined map: {use.name}", first.at)
        return None
    return tree.Element(use.value, scope.at(first.at), scope.array(use), keys)


def _of_two(name: str) -> str:
    return "delete() with two arguments" if name == "delete" else f"{name}()"


def _sizeof(call: nodes.Call, scope: BtScope) -> Expr:
    if len(call.arguments) != 1:
        raise scope.mistake(f"sizeof() requires one argument ({len(call.arguments)} provided)", call.at)
    argument = call.arguments[0]

    kind = type_names.type_of(argument, scope)
    if resolve(kind) == STRING and not isinstance(argument, nodes.TypeName):
        size = tuples.text_size(type_names.unevaluated(argument, scope), scope)
    elif isinstance(resolve(kind), Enum) and is_integer(kind) and not _is_stored(argument, scope):
        size = size_of(UINT64)
    else:
        size = size_of(kind)
    return constant(size, scope.at(call.at), UINT64)


def _is_stored(argument: nodes.Expr | nodes.TypeName, scope: BtScope) -> bool:
    """Whether it is a part of something in memory, where an enumerator has as many bytes as C gives it; the language's
    own are of 64 bits."""
    if isinstance(argument, nodes.TypeName):
        return False
    return isinstance(type_names.unevaluated(argument, scope), (tree.MemberOf, tree.Index, tree.Deref, tree.Argument))


_VALUES: dict[str, Value] = {
    "str": _str, "delete": _delete, "has_key": _has_key, "sizeof": _sizeof,
    "container_of": lambda call, scope: offsets.container_of(call, scope),
    "typeinfo": lambda call, scope: type_information.type_information(call, scope),
}  # fmt: skip


# Statements


def _printf(call: nodes.Call, scope: BtScope) -> Statement:
    pieces, values = formats.formatted(call, scope)
    return tree.Printf(scope.at(call.at), pieces, values)


def _system(call: nodes.Call, scope: BtScope) -> Statement:
    if not scope.is_unsafe:
        text = "system() is an unsafe function being used in safe mode"
        raise scope.mistake(f"{text}. To use it you need the --unsafe flag", call.at)
    pieces, values = formats.formatted(call, scope)
    return tree.FormattedCommand(scope.at(call.at), "system", pieces, values)


def _limit(node: nodes.Expr, scope: BtScope) -> Expr:
    """How many elements are printed, or by what they are divided."""
    e = scope.expression(node, scope)
    if not is_integer(e.type):
        raise scope.mistake(f"print() expects a int literal ({base_name(e.type)} provided)", scope.call or node.at)
    return wide(e)


def _print(call: nodes.Call, scope: BtScope) -> Statement:
    arguments = require(call, scope, 1, 3)
    first, at = arguments[0], scope.at(call.at)
    if isinstance(first, nodes.MapName) and first.keys is None:
        use = scope.map(first.name, first.at)
        rest = [_limit(each, scope) for each in arguments[1:]]
        if not use.function and use.value is None:
            scope.known.is_guessed = True
            raise scope.mistake(f"Undefined map: {use.name}", first.at)
        if scope.loops:
            text = "Due to it's asynchronous nature using 'print()' in a loop can lead to unexpected behavior. The map "
            scope.remark(f"{text}will likely be updated before the runtime can 'print' it.", call.at)
        if use.function == "stats" and rest:
            scope.remark("print()'s top and div arguments are ignored when used on stats() maps.", call.at)
        if use.keys or use.function or rest:
            return tree.Show(at, scope.storage(use), *rest)
    if function := shown_function(first, scope):
        text = f"Map type {function}_t cannot print the value of individual keys. You must print the whole map."
        raise scope.mistake(text, call.at)
    if len(arguments) > 1:
        raise scope.mistake("Non-map print() only takes 1 argument, " + f"{len(arguments)} found", call.at)
    e = scope.expression(first, scope)
    if is_text(e.type):
        formats.shown_whole(first, scope)
    # A map is shown by its name, with what it has now: it may have changed by the time that the record is read.
    label = first.name if isinstance(first, nodes.MapName) and first.keys is None else ""
    return tree.Print(fixed(e.type), at, e, False, label)


def _exit(call: nodes.Call, scope: BtScope) -> Statement:
    arguments = require(call, scope, 0, 1)
    status = integer_value(arguments[0], scope, "exit()") if arguments else constant(0, scope.at(call.at), INT64)
    return tree.Exit(scope.at(call.at), tree.Cast(INT32, scope.at(call.at), status))


def _clear(call: nodes.Call, scope: BtScope) -> Statement:
    (argument,) = require(call, scope, 1)
    if not isinstance(argument, nodes.MapName) or argument.keys is not None:
        raise scope.mistake(f"{call.name}() expects a map argument", argument.at)
    use = scope.map(argument.name, argument.at)
    if not use.function:
        if use.value is None and not scope.known.changed:
            raise scope.mistake(f"Undefined map: {argument.name}", argument.at)
        if use.value is None or use.keys is None:
            return tree.Evaluate(scope.at(call.at), constant(0, scope.at(call.at)))
        return tree.Empty(scope.at(call.at), scope.array(use), call.name == "zero")
    aggregation = scope.storage(use)
    if isinstance(aggregation, tree.Variable):
        return tree.Empty(scope.at(call.at), aggregation, False)
    if call.name == "zero":
        return tree.Clear(scope.at(call.at), aggregation)
    return tree.Trunc(scope.at(call.at), aggregation, None)


_ACTIONS: dict[str, Action] = {
    "printf": _printf, "print": _print, "exit": _exit, "clear": _clear, "zero": _clear, "system": _system,
}  # fmt: skip
