"""Source that the package generates has none of the values that a program or a file has chosen: they are constants."""

import ast
import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.bpf_interpreter import bare
from support.files.records import record
from support.source.parsed import parsed

import sonde
from sonde.bpf import instructions as i
from sonde.captures.rows import BlockMaker
from sonde.consume import generated
from sonde.consume.decode import key_reader
from sonde.consume.decode import record_reader as value_reader
from sonde.consume.events import Table
from sonde.consume.generated import code, constant, function
from sonde.consume.options import Options
from sonde.frontends.d.report.aggregate import AggregateText
from sonde.frontends.d.report.record import HEADER_WORDS, Style, compile_actions
from sonde.frontends.d.report.text import TextReport
from sonde.library.record_reader import ProbeNames, record_reader
from sonde.library.values import CapturedPacket, Values
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.records import (
    LITERAL,
    AggregationSpec,
    CaptureAction,
    CommandAction,
    Field,
    PacketAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    TraceAction,
    TracememAction,
    TypeSpec,
)
from sonde.model.spec import TracingSpec
from sonde.report.escaping import escaping_for
from sonde.report.piece import environment
from sonde.report.stack import Addresses
from sonde.report.symbolizer import NoNames
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.translation.translator import translate

ROOT = Path(sonde.__file__).parent

JUSTIFIED = {
    "consume.generated.function": "fixed fragments and counted names, as the tests here hold",
    "runtime.machine.translation.translator.translate": "checked instructions: their numbers as digits, counted names",
    "typed._constructor": "counted names",
}
"""Functions that have Python compile a text, and what the text is made of."""

COMPILING = {"eval", "exec", "compile", "builtins.eval", "builtins.exec", "builtins.compile",
             "FunctionType", "types.FunctionType", "runpy.run_path", "runpy.run_module"}  # fmt: skip

MAKING = {"code": 0, "function": 0}
"""Functions of `consume.generated` that take a piece of source, and which argument that is."""


def calls(tree):
    """(the qualified name of the function around it, the call, what is called) for each."""

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef)
            if isinstance(child, ast.Call):
                yield ".".join(inside), child, ast.unparse(child.func)
            yield from visit(child, [*inside, child.name] if named else inside)

    return visit(tree, [])


@cache
def modules():
    return [
        (".".join(path.relative_to(ROOT).with_suffix("").parts), parsed(path)) for path in sorted(ROOT.rglob("*.py"))
    ]


@pytest.mark.long
def test_only_the_listed_functions_compile_source():
    found = {f"{name}.{around}" for name, tree in modules() for around, _, called in calls(tree) if called in COMPILING}
    assert found == set(JUSTIFIED)


def imported(tree, module):
    """Names that a module's text has from another one."""
    each = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module)
    return {name.asname or name.name: name.name for node in each for name in node.names}


@pytest.mark.long
def test_every_fragment_is_a_literal():
    """Nobody else puts expressions together, and nobody hands a text that was put together."""
    count = 0
    for name, tree in modules():
        known = imported(tree, "sonde.consume.generated")
        assert known.keys() == set(known.values()), name
        for _, call, called in calls(tree):
            assert known.get(called) != "GeneratedExpression", name
            if called in known and called in MAKING:
                fragment = call.args[MAKING[called]]
                assert isinstance(fragment, ast.Constant), f"{name}:{call.lineno}"
                count += 1
    assert count > 50


NASTY = [
    "'", '"', "'''", '"""', "\n", "\r", "\\", "\\'", "{}", "{0}", "{", "%", "%s", "%(a)d", "\0", "\u2028", "\U0001d518",
    "\udc80", "#", ")]+[probes", "__import__('os').abort()", "' + __import__('os').abort() + '", "lambda: 0",
]  # fmt: skip
TEXT = st.sampled_from(NASTY) | st.text(max_size=8)
PLAIN = st.just("a")
NUMBERS = st.integers(1, 1 << 20)


@st.composite
def fields(draw, text, gaps, kinds):
    """Fields of those kinds one behind the other; which of them share bytes is not a value."""
    found, at = [], 24
    for kind, size, signed in kinds:
        at += draw(gaps)
        detail = {"stack": "3", "ustack": "256", "string": LITERAL}.get(kind, "")
        if kind in ("symbol", "user_symbol"):
            detail = draw(text)
        found.append(Field(at, size, kind, signed, detail))
        at += size
    return found, at


KINDS = st.sampled_from(
    [("int", size, signed) for size in (1, 2, 4, 8) for signed in (False, True)]
    + [("string", 24, False), ("interned", 4, False), ("bytes", 16, False), ("bytes", 3, True), ("stack", 24, False),
       ("ustack", 32, False), ("symbol", 8, False), ("user_symbol", 16, False), ("long_string", 8, False),
       ("long_bytes", 8, False)]
)  # fmt: skip
LETTERS = {
    "int": ["d", "i", "u", "x", "X", "o", "c", "s", "Y", "T", "C", "a", "A", "f", "lld", "lc"],
    "symbol": ["a", "s", "d"], "user_symbol": ["A", "s", "d"], "stack": ["k"], "ustack": ["k"],
}  # fmt: skip
TEXTS = ["s", "S"]


@st.composite
def shapes(draw):
    """Kinds of fields, and of conversions with their flags and how width and precision are given."""
    kinds = draw(st.lists(KINDS, min_size=1, max_size=5))
    forms = []
    for kind, size, _ in kinds:
        letters = draw(st.sampled_from(LETTERS.get(kind, TEXTS if kind != "bytes" else ["s", "d"])))
        # No floating-point number has one byte.
        letters = "d" if letters == "f" and size == 1 else letters
        flags = "".join(draw(st.sets(st.sampled_from("#0-+ '?"), max_size=3)))
        forms.append((flags, letters, draw(st.booleans()), draw(st.booleans())))
    return kinds, forms


@st.composite
def filled(draw, shape, text, numbers, gaps):
    """The actions of a record of that shape, the record's size, names for its values."""
    kinds, forms = shape
    found, size = draw(fields(text, gaps, kinds))
    taken = iter(found)
    conversions = tuple(
        Conversion(draw(text), flags, draw(numbers) if wide else None, draw(numbers) if precise else None, letters)
        for flags, letters, wide, precise in forms
    )
    number = Field(16, 4, "int")
    dump = Field(16, 8, "bytes")
    actions = (
        PrintfAction(conversions, tuple(taken)),
        *(TraceAction(each) for each in found),
        PrintAction(draw(numbers), dump, number),
        PrintAction(draw(numbers), dump),
        TracememAction(dump),
        TracememAction(dump, number),
        CommandAction("system", (Conversion(draw(text)),), ()),
    )
    return actions, size, tuple(draw(text) for _ in range(len(found) * 2 + 4))


def written(make):
    """The sources that `make` has Python evaluate."""
    sources = []

    def spy(source, *arguments):
        sources.append(source)
        return eval(source, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated, "eval", spy, raising=False)
        make()
    assert sources
    return sources


def whole_record(actions, size, names, numbers):
    """Every generator of functions over records, given that record."""
    strings = (b"",)
    functions = environment(Addresses(NoNames(), Options()))
    for is_terminal, shows_raw, is_recorded, quiet in ((True, False, True, False), (False, False, False, True),
                                                       (False, True, False, False)):  # fmt: skip
        style = Style(quiet, numbers[0] if shows_raw else 0, escaping_for(is_terminal, shows_raw, is_recorded))
        compile_actions(actions, size, strings, style, functions)
    layout = RecordLayout(numbers[1], size, actions, names=names, clause=numbers[2], time=Field(16, 8, "int"))
    record_reader(layout, strings, size, ProbeNames(), Values(NoNames()))
    shown = [action.field for action in actions if isinstance(action, TraceAction)]
    value_reader(shown, strings, size)
    keys = tuple(each for each in shown if not each.kind.startswith("long_"))
    if keys:
        key_reader(keys, strings, size)
    spec = TracingSpec((), (), (layout,), (), strings, (Probe(1, *names[:4], Internal("")),))
    for flow in (False, True):
        options = Options()
        options.flowindent = flow
        report = TextReport(spec, options, 1, symbolizer=NoNames())
        report._compile_run(layout, size)
    at = Field(shown[0].offset, 8, "int")
    BlockMaker(CaptureAction(at, at._replace(size=4), Field(shown[0].offset, 8, "long_bytes")), size, {})


def tables(actions, names, numbers):
    """The generators of tables, for keys as the record's fields."""
    keys = tuple(each.field for each in actions if isinstance(each, TraceAction))
    (format_,) = (each for each in actions if isinstance(each, PrintfAction))
    spec = AggregationSpec(names[0], "count", (), keys, numbers[0], 1, names[1], True)
    conversions = (*format_.conversions, Conversion(names[2], "@", numbers[1], None, "d"))
    for form in (None, conversions):
        text = AggregateText(Addresses(NoNames(), Options()), Options())
        text.format(Table((spec,), (1,), []), form, escaping_for(True, False, False))


@pytest.mark.long
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_source_says_nothing_of_values(data):
    """Two records of one shape have the same source, whatever their texts, numbers and offsets."""
    shape = data.draw(shapes())
    tame, size, names = data.draw(filled(shape, PLAIN, st.just(1), st.just(0)))
    hostile, end, called = data.draw(filled(shape, TEXT, NUMBERS, st.integers(0, 1 << 16)))
    few, many = (1, 1, 1), tuple(data.draw(st.lists(NUMBERS, min_size=3, max_size=3)))
    assert written(lambda: whole_record(tame, size, names, few)) == written(
        lambda: whole_record(hostile, end, called, many)
    )
    assert written(lambda: tables(tame, names, few)) == written(lambda: tables(hostile, called, many))


@pytest.mark.long
@given(TEXT, TEXT, st.text(max_size=8), st.sampled_from(NASTY) | st.text(max_size=8))
def test_texts_of_formats_come_out_as_they_are(before, behind, first, second):
    """printf("<before>%s<between>%s<behind>", ...) as bytes: the second string is one of the spec's."""
    shown = [each.encode(errors="surrogateescape" if "\udc80" in each else "surrogatepass") for each in (first, second)]
    slot = shown[0].partition(b"\0")[0].ljust(64, b"\0")
    layout = Field(16, 64, "string"), Field(80, 4, "interned")
    conversions = Conversion(before, letters="s"), Conversion("", letters="s"), Conversion(behind)
    style = Style(True, 0, escaping_for(False, True, False))
    data = memoryview(record(1, slot + struct.pack("<I", 1)))
    functions = environment(Addresses(NoNames(), Options()))
    texts = [literal(each) for each in (before, behind)]
    made = compile_actions((PrintfAction(conversions, layout),), len(data), (b"", shown[1]), style, functions)
    assert made(data) == [texts[0] + slot.rstrip(b"\0") + shown[1] + texts[1]]


def literal(text):
    return text.encode(errors="surrogateescape")


@pytest.mark.long
@given(st.lists(TEXT, min_size=1, max_size=4, unique=True))
def test_names_of_values_are_names_however_they_are_spelled(names):
    layout_fields = tuple(Field(16 + 8 * number, 8, "int") for number in range(len(names)))
    action = PrintfAction((Conversion(""),), layout_fields)
    layout = RecordLayout(1, 16 + 8 * len(names), (action,), names=tuple(names))
    data = record(1, struct.pack(f"<{len(names)}Q", *range(len(names))), probe=7)
    probes = ProbeNames()
    probes.learn([Probe(7, "p", names[0], "f", "n", Internal(""))])
    (found,) = record_reader(layout, (), len(data), probes, Values(NoNames()))(memoryview(data))
    assert [found[name] for name in names] == list(range(len(names)))
    assert found.probe.module == names[0]


def test_a_format_that_needs_more_parts_than_it_is_given_is_refused():
    with pytest.raises(ValueError, match="places for 2 parts"):
        code("{} + {}", constant(1))


@pytest.mark.parametrize("value", [*NASTY, b"'", 1 << 70, -1, None, float("nan"), ("'", {"}": 1})])
def test_a_constant_is_the_value_itself(value):
    assert function("x", code("(x, {})", constant(value)), {})(3)[1] is value


@given(st.sampled_from(NASTY), st.lists(st.integers(0, 0xFF), min_size=2, max_size=16))
def test_a_translated_program_has_neither_its_name_nor_its_bytes_in_its_source(name, data):
    """The source of stores of constants is the same whatever they are."""
    sources = []
    for taken_name, values in (("program", [1] * len(data)), (name, data)):
        stores = [i.store_imm(1, 1, at, value) for at, value in enumerate(values)]
        memory, target = MachineMemory(), bytearray(len(data))
        address = memory.add(target)
        translated = translate(bare([*stores, i.mov_imm(0, 0), i.exit_()], taken_name), memory, {}, {})
        translated.run(address)
        assert [*target] == values
        sources.append(translated.source)
    assert sources[0] == sources[1] or not any(data)


def test_values_of_a_type_that_prints_badly_are_shown_without_being_source():
    name = "struct '\n{}"
    values = Values(NoNames(), (TypeSpec("integer", name, 8),))
    layout = RecordLayout(1, 24, (PrintAction(0, Field(16, 8, "bytes")),))
    data = record(1, struct.pack("<Q", 5), probe=7)
    probes = ProbeNames()
    probes.learn([Probe(7, "p", "m", "f", "n", Internal(""))])
    (found,) = record_reader(layout, (), len(data), probes, values)(memoryview(data))
    assert found[0].type == name


def test_packets_take_their_expressions_in_order():
    size, words = 24, [Field(16 + 4 * number, 4, "int") for number in range(4)]
    action = PacketAction(words[0], words[1], words[2], words[3], Field(32, 4, "bytes"))
    layout = RecordLayout(1, size, (action,))
    data = record(1, struct.pack("<4I4s", 9, 1500, 2, 1, b"abcd"), probe=7)
    probes = ProbeNames()
    probes.learn([Probe(7, "p", "m", "f", "n", Internal(""))])
    (found,) = record_reader(layout, (), len(data), probes, Values(NoNames()))(memoryview(data))
    assert found[0] == CapturedPacket(9, 1500, b"ab")


def test_header_words_are_expressions():
    assert [generated.source_of(name, []) for _, name in HEADER_WORDS] == ["probe", "cpu"]
