"""Statements and clauses of D in Python: each has a text, and runs in a State of `d_evaluator.py`."""

from collections.abc import Callable
from typing import NamedTuple

from support.d import d_model
from support.d.d_evaluator import STRING, FaultError, Node, State, constant, is_true, lazy, needed
from support.d.d_model import INT, LONG


class Statement(NamedTuple):
    text: str
    run: Callable[[State], None]


def assigned(variable, subscripts, node):
    def run(state):
        value, key = node.run(state), variable.key(subscripts, state)
        kept = value if variable.type == STRING else variable.type.keep(value)
        state.place(variable.scope)[key] = kept

    return Statement(f"{variable.text(subscripts)} = {node.text};", run)


def compound(variable, subscripts, op, node):
    """`x op= e`: computed as `x op e`, kept as `x`."""
    before = variable.read(*subscripts)
    computed = lazy(lambda a, b: d_model.binary(op, a, b), before, node)
    operand = computed.text[1:-1].removeprefix(f"{before.text} {op} ")
    rest = assigned(variable, subscripts, computed)
    return Statement(f"{before.text} {op}= {operand};", rest.run)


def stepped(variable, subscripts, sign, prefix):
    text = variable.text(subscripts)
    one = constant(INT, 1)
    run = assigned(
        variable, subscripts, lazy(lambda a, b: d_model.binary(sign, a, b), variable.read(*subscripts), one)
    ).run
    return Statement(f"{sign * 2}{text};" if prefix else f"{text}{sign * 2};", run)


def printed(mark, nodes):
    """printf() of these, each by a conversion that suits it, on a line that begins with the mark."""
    conversions = ["%s" if node.type == STRING else "%x" if n % 3 == 2 else "%d" for n, node in enumerate(nodes)]

    def run(state):
        words = []
        for conversion, node in zip(conversions, nodes, strict=True):
            value = node.run(state)
            if node.type == STRING:
                words.append(needed(value).decode())
            else:
                kept = node.type.keep(value)
                words.append(f"{kept & (1 << 8 * node.type.size) - 1:x}" if conversion == "%x" else str(kept))
        state.pending.append(f"{mark}<{'><'.join(words)}>")

    form = f"{mark}<{'><'.join(conversions)}>"
    return Statement(f'printf("{form}\\n", {", ".join(node.text for node in nodes)});', run)


def aggregated(name, keys, function, nodes):
    """`nodes` are the value and maybe what is added instead of 1."""

    def run(state):
        key = tuple(needed(k.run(state)) if k.type == STRING else k.type.keep(k.run(state)) for k in keys)
        values = [LONG.keep(node.run(state)) for node in nodes]
        state.aggregations.setdefault(name, {}).setdefault(key, []).append(values)

    inner = ", ".join(key.text for key in keys)
    given = [node.text for node in nodes[:1]] + function.constants + [node.text for node in nodes[1:]]
    return Statement(f"@{name}{f'[{inner}]' if keys else ''} = {function.name}({', '.join(given)});", run)


def branch(test, yes, no):
    def run(state):
        state.flush()
        for statement in yes if is_true(test, state) else no:
            statement.run(state)
        state.flush()

    otherwise = f" else {{ {joined(no)} }}" if no else ""
    return Statement(f"if ({test.text}) {{ {joined(yes)} }}{otherwise}", run)


def loop(variable, turns, body):
    """`for` with a variable that the body does not change."""

    def run(state):
        state.flush()
        place, key = state.place(variable.scope), variable.key((), state)
        for turn in range(turns):
            place[key] = turn
            for statement in body:
                statement.run(state)
            state.flush()
        place[key] = turns

    name = variable.text(())
    return Statement(f"for ({name} = 0; {name} < {turns}; {name}++) {{ {joined(body)} }}", run)


def joined(statements):
    return " ".join(statement.text for statement in statements)


# Programs


class Clause(NamedTuple):
    probes: tuple[str, ...]
    predicate: Node | None
    statements: list[Statement]

    @property
    def text(self):
        predicate = f" /{self.predicate.text}/" if self.predicate else ""
        return f"{', '.join(self.probes)}{predicate} {{ {joined(self.statements)} }}"


def run(clauses, firings, strsize):
    """The State after these firings."""
    state = State(strsize)
    for firing in firings:
        state.firing, state.locals, state.rest = firing, {}, None
        for clause in clauses:
            if firing.probe in clause.probes:
                _run_clause(clause, state)
    return state


def _run_clause(clause, state):
    try:
        if clause.predicate is None or is_true(clause.predicate, state):
            for statement in clause.statements:
                statement.run(state)
        state.flush()
    except FaultError:
        state.pending = []
        state.faults += 1
