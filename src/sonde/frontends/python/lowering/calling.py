"""Calls: of D's functions, of integer types, of Python's own, of functions of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.d.check.prototypes import ACTIONS, SUBROUTINES
from sonde.frontends.python.check.numbers import Comparison, Narrow, Sign, TypeCast, TypeQuestion
from sonde.frontends.python.check.objects import AsNumber, AsText, Attribute, Length, OfFiring
from sonde.frontends.python.check.signs import Choice
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.inlining import called
from sonde.frontends.python.lowering.operands import as_truth, computed, expression, operands, simple
from sonde.frontends.python.lowering.text_methods import is_method, method
from sonde.frontends.python.lowering.values import Code, Counted, Items, KnownName, Outside, Value
from sonde.typed import Any

_RAISE = "raise_"
"""D's raise(), which is a word of Python's."""


def call(node: ast.Call, context: Lowering) -> Value:
    """A call that has a value, or of an action, which D's checker refuses where a value is due."""
    function = context.value(node.func)
    match function:
        case KnownName("subroutine", name):
            if name in ACTIONS or name == _RAISE:
                raise context.mistake(node, f"{name}() has no value", "let it be a statement of its own")
            return of_d(name, node, context)
        case KnownName("type", name):
            return Narrow(context.at(node), name, _only(node, context))
        case KnownName("word", name):
            return _WORDS[name](node, context)
        case KnownName("builtin" | "maker", name) if name in _BUILTINS:
            made: Value = _BUILTINS[name](node, context)
            return made
        case KnownName("builtin", name):
            raise context.mistake(node, f"{name}() is not for this place in a probe", _ELSEWHERE.get(name, ""))
        case KnownName("maker", name):
            raise context.mistake(
                node,
                f"{name}() makes an aggregation, which a probe cannot",
                f"make it outside of the probe: n = {name}()",
            )
        case Code(number):
            return called(number, node, True, context)
        case Counted(_, _, _, True):
            raise context.mistake(node, "add() has no value", "let it be a statement of its own")
        case Outside(text):
            spelled = context.frame.function.text(node.func)
            hint = _INSTEAD.get(spelled, "a probe calls functions of the program, and D's: from sonde import copyinstr")
            raise context.mistake(node, f"{spelled} is {text}, which the kernel cannot call", hint)
    if isinstance(function, Attribute) and is_method(function.name):
        return method(function.name, function.object, node, context)
    spelled = context.frame.function.text(node.func)
    if isinstance(function, OfFiring):
        hint = "what a firing has are values: leave the brackets out"
        if function.name in ACTIONS | SUBROUTINES:
            hint = f"D's functions are imported: from sonde import {function.name}"
        raise context.mistake(node, f"{spelled} is no function", hint)
    raise context.mistake(node, f"{spelled} cannot be called", "a probe calls functions made by def, and D's")


_INSTEAD = {
    "hex": "print() has formats: print(f'{n:#x}')", "oct": "print() has formats: print(f'{n:#o}')",
    "bin": "print() has formats: print(f'{n:#x}')", "format": "print() has formats: print(f'{n:8}')",
    "repr": "print() has formats: print(f'{text!r}')", "chr": "print() has formats: print(f'{n:c}')",
    "round": "probes compute with whole numbers: (n + 5) // 10 * 10",
    "float": "multiply first: ns // 1000 for microseconds", "sum": "write a + b, or a loop",
    "any": "write a or b, or a loop", "all": "write a and b, or a loop", "pow": "write n ** 2",
    "divmod": "write n // m and n % m", "sorted": "write if, or min() and max()",
    "reversed": "range(n - 1, -1, -1) goes backwards", "zip": "a tuple of tuples: for a, b in ((1, 2), (3, 4)):",
    "map": "write a loop", "filter": "write a loop, and if", "list": "a tuple groups values",
    "tuple": "write the items one by one", "set": "a tuple groups values",
    "dict": "an empty dict outside of the probe is an associative array: starts = {}",
    "isinstance": "each value of a probe has one type, which is known", "getattr": "write the name behind a dot",
}  # fmt: skip
"""What to write in the place of names of Python's."""

_ELSEWHERE = {
    "print": "let print() be a statement of its own",
    "range": "range() is for loops: for n in range(10):",
    "exit": "let exit() be a statement of its own",
}


_MANY = 64


def arguments(node: ast.Call, context: Lowering, most: int = _MANY, least: int = 0) -> list[ast.expr]:
    """Those of a call that takes no names. Raises PythonError."""
    spelled = context.frame.function.text(node.func)
    if node.keywords:
        raise context.mistake(node, f"{spelled}() takes its arguments by their places", "leave the names out")
    for each in node.args:
        if isinstance(each, ast.Starred):
            raise context.mistake(each, "a * stands for nothing in a probe", "write the arguments one by one")
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}" if most < _MANY else f"at least {least}"
        raise context.mistake(node, f"{spelled}() takes {wanted} arguments, not {len(node.args)}")
    return node.args


def _only(node: ast.Call, context: Lowering) -> syntax.Expr:
    return expression(arguments(node, context, 1, 1)[0], context)


def of_d(name: str, node: ast.Call, context: Lowering) -> syntax.Expr:
    """A function of D's; aggregations are among the arguments of some actions."""
    given = arguments(node, context)
    at = context.at(node)
    if any(isinstance(each, ast.Name | ast.Attribute) and _is_counted(each, context) for each in given):
        made = [_argument(each, context) for each in given]
    else:
        made = operands(given, context)
    return syntax.Call(at, syntax.Identifier(at, "raise" if name == _RAISE else name), tuple(made))


def _is_counted(node: ast.expr, context: Lowering) -> bool:
    return isinstance(context.value(node), Counted)


def _argument(node: ast.expr, context: Lowering) -> syntax.Expr:
    found = context.value(node)
    if isinstance(found, Counted) and found.keys is None and not found.is_add:
        return syntax.Aggregation(context.at(node), context.program.aggregations[found.number].name, None)
    return computed(found, node, context)


def counted(node: ast.Call, of: Counted, context: Lowering) -> None:
    """`reads[key].add(value)`."""
    made = context.program.aggregations[of.number]
    at = context.at(node)
    most, least = _VALUES.get(made.function, (1, 1))
    weights = [each.value for each in node.keywords if each.arg == "weight" and most == 2]
    if weights:
        node = ast.copy_location(ast.Call(node.func, [*node.args, *weights], []), node)
    elif node.keywords and most == 2:
        raise context.mistake(node, "add() takes a value and a weight", "reads[key].add(value, weight=2)")
    given = operands(arguments(node, context, most, least), context)
    constants = [integer(each, at) for each in made.parameters]
    if len(given) > 1 and made.function == "lquantize" and len(constants) == 2:
        constants.append(integer(1, at))
    function = syntax.Call(at, syntax.Identifier(at, made.function), (*given[:1], *constants, *given[1:]))
    target = syntax.Aggregation(at, made.name, of.keys, made.title)
    context.run(syntax.Assign(at, "=", target, function), of.names)


_VALUES = {"count": (0, 0), "quantize": (2, 1), "lquantize": (2, 1), "llquantize": (2, 1)}
"""How many values add() takes at most and at least."""


# Words of sonde's


def _literal(node: ast.expr, context: Lowering) -> str:
    found = expression(node, context)
    if not isinstance(found, syntax.StringLiteral):
        raise context.mistake(node, "a type is a text", 'write it as C does: cast("struct file *", p.arg0)')
    return found.value.decode(errors="replace")


def _cast(node: ast.Call, context: Lowering) -> Value:
    kind, operand = arguments(node, context, 2, 2)
    return TypeCast(context.at(node), _literal(kind, context), expression(operand, context))


def _sizeof(node: ast.Call, context: Lowering) -> Value:
    return TypeQuestion(context.at(node), _literal(arguments(node, context, 1, 1)[0], context), "")


def _offsetof(node: ast.Call, context: Lowering) -> Value:
    kind, member = arguments(node, context, 2, 2)
    return TypeQuestion(context.at(node), _literal(kind, context), _literal(member, context))


def _stringof(node: ast.Call, context: Lowering) -> Value:
    return syntax.Stringof(context.at(node), _only(node, context))


_WORDS: dict[str, Callable[[ast.Call, Lowering], Value]] = {
    "cast": _cast,
    "sizeof": _sizeof,
    "offsetof": _offsetof,
    "stringof": _stringof,
}


# Python's own


def _len(node: ast.Call, context: Lowering) -> Value:
    (given,) = arguments(node, context, 1, 1)
    found = context.value(given)
    if isinstance(found, Items):
        return integer(len(found.values), context.at(node))
    return Length(context.at(node), computed(found, given, context))


def _int(node: ast.Call, context: Lowering) -> Value:
    return AsNumber(context.at(node), _only(node, context))


def _str(node: ast.Call, context: Lowering) -> Value:
    return AsText(context.at(node), _only(node, context))


def _bool(node: ast.Call, context: Lowering) -> Value:
    at = context.at(node)
    return syntax.Conditional(at, as_truth(_only(node, context)), integer(1, at), integer(0, at))


def _abs(node: ast.Call, context: Lowering) -> Value:
    at = context.at(node)
    one = simple(_only(node, context), context)
    test = Comparison(at, "<", one, integer(0, at))
    return Choice(at, test, Sign(at, "-", one), one)


def _extreme(op: str) -> Callable[[ast.Call, Lowering], Value]:
    """min() and max(): of equals the first, as Python has it."""

    def made(node: ast.Call, context: Lowering) -> Value:
        at = context.at(node)
        given = arguments(node, context, least=1)
        alone = context.value(given[0]) if len(given) == 1 else None
        if isinstance(alone, Items) and alone.values:
            first, *rest = (computed(each, node, context) for each in alone.values)
        else:
            first, *rest = operands(arguments(node, context, least=2), context)
        best = simple(first, context)
        for each in rest:
            other = simple(each, context)
            test = Comparison(at, op, other, best)
            best = simple(Choice(at, test, other, best), context)
        return best

    return made


_BUILTINS: dict[str, Callable[[ast.Call, Lowering], Any]] = {
    "len": _len,
    "int": _int,
    "str": _str,
    "bool": _bool,
    "abs": _abs,
    "min": _extreme("<"),
    "max": _extreme(">"),
}
