"""Assertions over aggregations: comparisons in which `@name["key"]` stands for a value. Nothing but the operators and
functions below can be reached from them."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping

from sonde.library.histograms import Histogram
from sonde.library.scalars import Average, Deviation, Scalar
from sonde.typed import Any, NamedTuple, TypeAlias

LONGEST = 2000
"""Characters of an assertion."""

_DEEPEST = 50
_KEYS_SHOWN = 6
_TOKENS = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|@\w*|&&|\|\||(?<=[\[(,])\s*\*(?=\s*[\]),])""")
_ANY, _AGGREGATION = "_any_", "_aggregation_"
"""What Python's grammar reads in the place of `*` and of `@`."""

Tables: TypeAlias = Mapping[str, Mapping[tuple[Any, ...], Any]]


class ExpressionError(Exception):
    """What is wrong with an assertion, or why it has no value."""


class Selection(NamedTuple):
    """The rows of an aggregation that a key with `*` chooses, or all."""

    text: str
    rows: Mapping[tuple[Any, ...], Any]


class Assertion(NamedTuple):
    text: str
    tree: ast.expr


def parsed(text: str) -> Assertion:
    """Raises ExpressionError where it is no expression of these."""
    if len(text) > LONGEST:
        raise ExpressionError(f"an assertion has {LONGEST} characters at most")
    if _AGGREGATION in text or _ANY in text:
        raise ExpressionError(f"{text}: names begin with @")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(_TOKENS.sub(_translated, text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        cause = error.msg if isinstance(error, SyntaxError) else "it is too deep"
        raise ExpressionError(f"{text}: no assertion: {cause}") from None
    _require_known(tree, text, 0)
    return Assertion(text, tree)


def _translated(found: re.Match[str]) -> str:
    """In words of Python's: texts stay as they are."""
    token = found[0]
    if token[0] in "\"'":
        return token
    if token[0] == "@":
        return _AGGREGATION + token[1:]
    return {"&&": " and ", "||": " or "}.get(token, f" {_ANY}")


_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_OPERATORS = (*_BINARY, *_UNARY, *_COMPARISONS, ast.In, ast.NotIn, ast.And, ast.Or, ast.Load)


def _require_known(node: ast.AST, text: str, depth: int) -> None:
    """Raises ExpressionError for what assertions do not have."""
    if depth > _DEEPEST:
        raise ExpressionError(f"{text}: no assertion: it is too deep")
    if isinstance(node, ast.Name):
        known = node.id == _ANY or node.id.startswith(_AGGREGATION)
    elif isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and len(node.args) == _ARGUMENTS.get(node.func.id) and not node.keywords
    elif isinstance(node, ast.Constant):
        known = isinstance(node.value, int | float | str)
    elif isinstance(node, ast.Subscript):
        known = isinstance(node.value, ast.Name) and node.value.id.startswith(_AGGREGATION)
    else:
        known = isinstance(node, (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple, ast.Dict, *_OPERATORS))
    if not known:
        functions = ", ".join(f"{each}()" for each in _ARGUMENTS)
        raise ExpressionError(
            f"{text}: no assertion: there are aggregations, numbers, texts, comparisons, + - * / // %, and, or, not, "
            f"in, and {functions}"
        )
    children = node.args if isinstance(node, ast.Call) else [*ast.iter_child_nodes(node)]
    for child in children:
        _require_known(child, text, depth + 1)


class Evaluation:
    """One assertion against the aggregations of a run. `found` is what it has looked at, as lines."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.found: list[str] = []

    def holds(self, assertion: Assertion) -> bool:
        """Raises ExpressionError where it has no value."""
        try:
            value = self._value(assertion.tree)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ExpressionError(str(error)) from None
        if not isinstance(value, bool):
            raise ExpressionError("it compares nothing: its value is " + _shown(value))
        return value

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name() | ast.Subscript():
                return self._aggregation(node)
            case ast.BoolOp():
                test = all if isinstance(node.op, ast.And) else any
                return test(_truth(self._value(each)) for each in node.values)
            case ast.UnaryOp():
                value = self._value(node.operand)
                return _UNARY[type(node.op)](_truth(value) if isinstance(node.op, ast.Not) else _number(value))
            case ast.BinOp():
                return _BINARY[type(node.op)](_number(self._value(node.left)), _number(self._value(node.right)))
            case ast.Compare():
                return self._comparison(node)
            case ast.Call(func=ast.Name(id=name)):
                return _FUNCTIONS[name](*map(self._value, node.args))
            case ast.Tuple():
                return self._key(node)
            case ast.Dict():
                return {self._value(key): self._value(value) for key, value in _pairs(node)}
        raise ExpressionError(f"{ast.unparse(node)} has no value")

    def _comparison(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for symbol, each in zip(node.ops, node.comparators, strict=True):
            right = self._value(each)
            if isinstance(symbol, ast.In | ast.NotIn):
                result = _is_in(left, right) == isinstance(symbol, ast.In)
            else:
                result = bool(_COMPARISONS[type(symbol)](_compared(left), _compared(right)))
            if not result:
                return False
            left = right
        return True

    def _aggregation(self, node: ast.Name | ast.Subscript) -> Any:
        name = node.id if isinstance(node, ast.Name) else ast.unparse(node.value)
        if name == _ANY:
            raise ExpressionError("* stands for a part of a key")
        rows = self._rows(name.removeprefix(_AGGREGATION))
        text = f"@{name.removeprefix(_AGGREGATION)}"
        if isinstance(node, ast.Name):
            return self._noted(Selection(text, rows))
        key = self._key(node.slice)
        text += f"[{', '.join('*' if part is _ANY else _quoted(part) for part in key)}]"
        chosen = {each: value for each, value in rows.items() if _matches(key, each)}
        if any(part is _ANY for part in key):
            return self._noted(Selection(text, chosen))
        if not chosen:
            raise ExpressionError(f"{text} is not there; {_keys_shown(rows)}")
        value = next(iter(chosen.values()))
        self._note(f"{text} is {_shown(value)}")
        return value

    def _rows(self, name: str) -> Mapping[tuple[Any, ...], Any]:
        if name not in self._tables and not (name == "" and "_" in self._tables):
            known = ", ".join(f"@{'' if each == '_' else each}" for each in self._tables) or "none"
            raise ExpressionError(f"no aggregation @{name} was shown; there are: {known}")
        return self._tables[name or "_"]

    def _key(self, node: ast.expr) -> tuple[Any, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(_ANY if isinstance(each, ast.Name) and each.id == _ANY else self._value(each) for each in parts)

    def _noted(self, selection: Selection) -> Selection:
        count = len(selection.rows)
        only = next(iter(selection.rows.values())) if count == 1 else None
        self._note(f"{selection.text} is {_shown(only)}" if count == 1 else f"{selection.text} has {count} keys")
        return selection

    def _note(self, text: str) -> None:
        if text not in self.found:
            self.found.append(text)


def _pairs(node: ast.Dict) -> list[tuple[ast.expr, ast.expr]]:
    if any(key is None for key in node.keys):
        raise ExpressionError("** is for programs")
    return [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]


def _matches(wanted: tuple[Any, ...], key: tuple[Any, ...]) -> bool:
    return len(wanted) == len(key) and all(
        part is _ANY or _same(part, each) for part, each in zip(wanted, key, strict=True)
    )


def _same(part: Any, found: Any) -> bool:
    """Whether a part of a key is meant: values that are neither numbers nor texts, as stacks, by their text."""
    return bool(part == found) or (isinstance(part, str) and not isinstance(found, int) and part == str(found))


def _is_in(wanted: Any, found: Any) -> bool:
    if not isinstance(found, Selection):
        raise ExpressionError("behind `in` is an aggregation")
    key = wanted if isinstance(wanted, tuple) else (wanted,)
    return any(_matches(key, each) for each in found.rows)


def _only(value: Any) -> Any:
    """A selection as its one value."""
    if not isinstance(value, Selection):
        return value
    if len(value.rows) != 1:
        what = "nothing" if not value.rows else f"{len(value.rows)} keys"
        raise ExpressionError(f"{value.text} has {what}: sum(), min(), max() and len() make one number of several")
    return next(iter(value.rows.values()))


def _compared(value: Any) -> Any:
    value = _only(value)
    if isinstance(value, Histogram):
        raise ExpressionError("a histogram is compared by buckets(), bucket(), count() or percentile()")
    return value


def _number(value: Any) -> Any:
    value = _compared(value)
    if not isinstance(value, Scalar | int | float):
        raise ExpressionError(f"{_shown(value)} is no number")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f"{_shown(value)} is neither true nor false: compare it")
    return value


def _values(value: Any) -> list[Any]:
    if not isinstance(value, Selection):
        raise ExpressionError("sum(), min(), max() and len() are of an aggregation")
    return [_number(each) for each in value.rows.values()]


def _of_some(function: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    def least_or_most(value: Any) -> Any:
        found = _values(value)
        if not found:
            raise ExpressionError(f"{value.text} has nothing")
        return function(found)

    return least_or_most


def _length(value: Any) -> int:
    if not isinstance(value, Selection):
        raise ExpressionError("len() is the number of keys of an aggregation")
    return len(value.rows)


def _histogram(value: Any) -> Histogram:
    value = _only(value)
    if not isinstance(value, Histogram):
        raise ExpressionError("buckets(), bucket() and percentile() are of quantize(), lquantize() and llquantize()")
    return value


def _count(value: Any) -> int:
    value = _only(value)
    if isinstance(value, Histogram):
        return value.total
    if isinstance(value, Average | Deviation):
        return value.count
    raise ExpressionError("count() is of avg(), stddev() and of histograms")


def _buckets(value: Any) -> dict[Any, int]:
    """The counts of the buckets that have some, by the least value of each."""
    return {each.low: each.count for each in _histogram(value).buckets if each.count}


def _bucket(value: Any, of: Any) -> int:
    """The count of the bucket that a value is in."""
    number = _number(of)
    for low, high, count in _histogram(value).buckets:
        if (low is None or low <= number) and (high is None or number <= high):
            return count
    return 0


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": _length, "sum": lambda value: sum(_values(value)), "min": _of_some(min), "max": _of_some(max),
    "abs": lambda value: abs(_number(value)), "count": _count, "buckets": _buckets, "bucket": _bucket,
    "percentile": lambda value, percent: _histogram(value).percentile(_number(percent)),
}  # fmt: skip
_ARGUMENTS = {name: 2 if name in ("bucket", "percentile") else 1 for name in _FUNCTIONS}


def _quoted(part: Any) -> str:
    return f'"{part}"' if isinstance(part, str) else str(part)


def _shown(value: Any) -> str:
    if isinstance(value, Selection):
        return value.text
    return _quoted(value) if isinstance(value, str) else repr(value) if isinstance(value, Histogram) else str(value)


def _keys_shown(rows: Mapping[tuple[Any, ...], Any]) -> str:
    """Some of the keys that there are."""
    if not rows:
        return "there are no keys"
    shown = [f"[{', '.join(map(_quoted, key))}]" for key in list(rows)[:_KEYS_SHOWN]]
    more = f" and {len(rows) - _KEYS_SHOWN} more" if len(rows) > _KEYS_SHOWN else ""
    return f"there are {', '.join(shown)}{more}"
