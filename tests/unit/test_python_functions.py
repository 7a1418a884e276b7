"""Functions of Python: lines against what interpreters of each version say, texts as they are in memory, and stacks."""

import ctypes
import json
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine.interpreters import VERSIONS, interpreter

from sonde.model.python_frames import (
    CODE,
    FRAME,
    LINES_PARTS,
    LINES_SIZE,
    NO_ROOM,
    NOT_KNOWN,
    PLACE_BITS,
    PYTHON_CODES,
    PYTHON_LINES,
    PYTHON_STATE,
    REASON_BITS,
    UNKNOWN_PLACE,
    PythonFrame,
)
from sonde.model.python_functions import LineStart, PythonFunction, line_at
from sonde.symbols.python import met_functions
from sonde.symbols.python.functions import PythonFunctions
from sonde.symbols.python.line_tables import rows
from sonde.symbols.python.memory_objects import MOST_TEXT, bytes_of, text_of
from sonde.symbols.python.met_functions import MetFunctions

DUMP = """
import argparse, ast, asyncio.events, collections, dis, inspect, json, subprocess, sys, tokenize
seen, found = set(), []
def take(code):
    if code in seen: return
    seen.add(code)
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    if hasattr(code, "co_lines"):
        lines = [(start, end, line) for start, end, line in code.co_lines() if line is not None and end > start]
    else:
        starts = [*dis.findlinestarts(code), (len(code.co_code), 0)]
        lines = [(a, b, line) for (a, line), (b, _) in zip(starts, starts[1:])]
    found.append((table.hex(), code.co_firstlineno, lines))
    for each in code.co_consts:
        if hasattr(each, "co_code"): take(each)
for module in (argparse, ast, asyncio.events, collections, dis, inspect, subprocess, tokenize):
    take(compile(open(module.__file__, encoding="utf-8").read(), module.__file__, "exec"))
print(json.dumps([sys.hexversion >> 16, found]))
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("version", VERSIONS)
def test_lines_are_those_that_the_interpreter_tells(version):
    done = subprocess.run([interpreter(version), "-c", DUMP], capture_output=True, text=True, check=True)
    number, found = json.loads(done.stdout)
    assert len(found) > 500
    for table, first, lines in found:
        made = rows(bytes.fromhex(table), first, number)
        for start, end, line in lines:
            assert {line_at(made, place) for place in range(start, end, 2)} == {line}


@given(st.binary(max_size=200), st.integers(0, 1 << 40), st.sampled_from([0x0309, 0x030A, 0x030B, 0x030E]))
def test_any_table_has_rows_in_order(table, first, version):
    made = rows(table, first, version)
    assert [each.place for each in made] == sorted({each.place for each in made})


@given(st.integers(0, 200))
def test_a_table_that_is_cut_off_is_right_as_far_as_it_goes(size):
    code = test_lines_are_those_that_the_interpreter_tells.__code__
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    whole = rows(table, code.co_firstlineno, sys.hexversion >> 16)
    *cut, end = rows(table[:size], code.co_firstlineno, sys.hexversion >> 16, False) or [LineStart(0, 0)]
    assert tuple(cut) == whole[: len(cut)]
    # What lies behind has no line, rather than the last one that is known.
    assert end.line == 0
    assert all(line_at((*cut, end), place) in (line_at(whole, place), 0) for place in range(len(code.co_code)))
    assert line_at((*cut, end), end.place) == 0


def of_this_process(address, size):
    return ctypes.string_at(address, size)


def nothing(address, size):
    return b""


TEXTS = ("", "main", "größe", "漢字", "\U0001d4b3 and others", "n" * 500, "漢" * 500)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("copied", [64, 160, 4096])
def test_texts_are_read_from_memory(text, copied):
    kept = "".join(list(text))
    have = of_this_process(id(kept), sys.getsizeof(kept))[:copied]
    assert text_of(id(kept), have.ljust(copied, b"\0"), sys.hexversion >> 16, of_this_process) == text
    alone = text_of(id(kept), have, sys.hexversion >> 16, nothing)
    assert alone == text if len(have) == sys.getsizeof(kept) else text.startswith(alone.removesuffix("…"))
    # Where the program could copy nothing.
    assert text_of(id(kept), bytes(copied), sys.hexversion >> 16, of_this_process) == text


def test_what_is_no_text_has_none():
    version = sys.hexversion >> 16
    assert text_of(0, bytes(160), version, of_this_process) is None
    assert text_of(id(None), bytes(160), version, nothing) is None
    assert text_of(64, bytes(160), version, nothing) is None


def test_long_texts_are_cut():
    text = "n" * (2 * MOST_TEXT)
    assert text_of(id(text), bytes(160), sys.hexversion >> 16, of_this_process) == text[:MOST_TEXT] + "…"


@given(st.binary(max_size=160), st.sampled_from([0x0309, 0x030C, 0x030E]))
def test_any_memory_is_a_text_or_none(data, version):
    found = text_of(1, data, version, lambda address, size: data[:size])
    assert found is None or len(found) <= MOST_TEXT + 1


@given(st.binary(max_size=300), st.integers(32, 200))
def test_tables_are_read_from_memory(data, copied):
    address = id(data)
    have = of_this_process(address, sys.getsizeof(data))[:copied].ljust(copied, b"\0")
    assert bytes_of(address, have, of_this_process) == (data, True)
    content, is_whole = bytes_of(address, have, nothing)
    assert data.startswith(content)
    assert is_whole == (content == data)


FUNCTION = PythonFunction("module.name", "/there/file.py", 10, tuple(map(LineStart, (0, 4, 8, 20), (10, 11, 12, 11))))


def word(number, place):
    return FRAME | number << PLACE_BITS | place


def stack(*words):
    return struct.pack(f">{len(words)}Q", *words)


def test_words_are_functions_lines_and_remarks():
    functions = PythonFunctions()
    functions.learn(7, FUNCTION)
    assert functions.frame(word(7, 6)) == PythonFrame("module.name", "/there/file.py", 11)
    assert functions.frame(word(7, UNKNOWN_PLACE)).line == 10
    assert functions.frame(word(8, 6)) is NOT_KNOWN
    said = functions.frame(word(0, NO_ROOM | 0x0308 << REASON_BITS)).name
    assert said == "[functions of Python 3.8 are missing: too many new functions]"


def test_a_function_may_become_known():
    functions = PythonFunctions()
    functions.ask = lambda: functions.learn(7, FUNCTION)
    assert functions.frame(word(7, 8)).line == 12


def test_stacks_that_are_shown_alike_are_one():
    functions = PythonFunctions()
    functions.learn(7, FUNCTION)
    functions.learn(9, FUNCTION)
    one = functions.canonical(stack(1, 0x1000, word(7, 4), 0x2000))
    for number, place in ((7, 6), (7, 20), (7, 30), (9, 5)):
        assert functions.canonical(stack(1, 0x1000, word(number, place), 0x2000)) == one
    assert functions.canonical(stack(1, 0x1000, word(7, 8), 0x2000)) != one
    assert functions.canonical(stack(2, 0x1000, word(7, 4), 0x2000)) != one
    assert functions.frame(struct.unpack(">4Q", one)[2]).line == 11


@given(st.lists(st.integers(0, FRAME - 1), max_size=20))
def test_stacks_without_functions_stay_as_they_are(words):
    given_ = stack(1, *words)
    assert PythonFunctions().canonical(given_) is given_


class Maps:
    """What programs have met: `count` numbers, for `lost` of which there was no room."""

    def __init__(self):
        self.codes, self.parts, self.count, self.lost = {}, {}, 0, 0

    def read(self, name):
        if name == PYTHON_STATE:
            return [(bytes(4), struct.pack("<QQ", self.count, self.lost))]
        return [*(self.codes if name == PYTHON_CODES else self.parts).items()]

    def remove(self, name, key):
        assert name in (PYTHON_CODES, PYTHON_LINES)
        del (self.codes if name == PYTHON_CODES else self.parts)[key]

    def meet(self, code, module, process=1):
        """As a program does."""
        self.count += 1
        kept = (code.co_filename, code.co_name, module, code.co_linetable)
        copied = [of_this_process(id(each), sys.getsizeof(each)) for each in kept]
        value = CODE.pack(process, id(code), *map(id, kept), code.co_firstlineno, sys.hexversion >> 16, *copied)
        self.codes[struct.pack("<I", self.count)] = value
        table = of_this_process(id(kept[3]), sys.getsizeof(kept[3]))
        for part in range(1, min(-(-len(table) // LINES_SIZE), LINES_PARTS)):
            copied = table[part * LINES_SIZE : (part + 1) * LINES_SIZE].ljust(LINES_SIZE, b"\0")
            self.parts[struct.pack("<I", self.count * LINES_PARTS + part)] = copied
        return kept


@pytest.mark.skipif(not hasattr(test_words_are_functions_lines_and_remarks.__code__, "co_linetable"), reason="of 3.10")
def test_what_programs_have_met_is_taken_once():
    maps, told = Maps(), {}
    met = MetFunctions(maps.read, maps.remove, told.__setitem__)
    met.poll()
    code = stack.__code__
    kept = maps.meet(code, "a.module")
    met.poll()
    met.poll()
    assert not maps.codes
    assert told[1][:3] == ("a.module.stack", code.co_filename, code.co_firstlineno)
    assert told[1].rows == rows(kept[3], code.co_firstlineno, sys.hexversion >> 16)
    maps.count += 1
    met.poll()
    maps.lost += 1
    maps.meet(word.__code__, "")
    met.poll()
    assert told[3].name == "word"
    assert met.lost == 1


@pytest.mark.skipif(not hasattr(test_words_are_functions_lines_and_remarks.__code__, "co_linetable"), reason="of 3.10")
@pytest.mark.parametrize("lines", [10, 600, 1200])
@pytest.mark.parametrize("missing", [(), (2,), (1,)])
def test_a_long_table_of_lines_is_put_together_though_the_process_is_gone(lines, missing):
    """As far as it was copied without a gap; behind that no line is told but the function's first."""
    code = compile("\n".join(f"value = name({each})" for each in range(lines)), "file", "exec")
    maps, told, gone = Maps(), {}, (1 << 31) - 1
    met = MetFunctions(maps.read, maps.remove, told.__setitem__)
    maps.meet(code, "module", gone)
    for part in missing:
        maps.parts.pop(struct.pack("<I", LINES_PARTS + part), None)
    there = [part for part in range(1, LINES_PARTS) if struct.pack("<I", LINES_PARTS + part) in maps.parts]
    whole = next((part for part in range(1, LINES_PARTS) if part not in there), LINES_PARTS)
    met.poll()
    assert not maps.parts
    table = code.co_linetable[: whole * LINES_SIZE - 32]
    is_whole = table == code.co_linetable
    assert told[1].rows == rows(table, 1, sys.hexversion >> 16, is_whole)
    assert is_whole or told[1].rows[-1].line == 0


@pytest.mark.skipif(not hasattr(test_words_are_functions_lines_and_remarks.__code__, "co_linetable"), reason="of 3.10")
def test_a_process_that_makes_functions_all_the_time_is_bounded(monkeypatch):
    monkeypatch.setattr(met_functions, "_MOST_FUNCTIONS", 20)
    monkeypatch.setattr(met_functions, "_MOST_ROWS", 10)
    maps, told = Maps(), {}
    met = MetFunctions(maps.read, maps.remove, told.__setitem__)
    for _ in range(30):
        maps.meet(stack.__code__, "module")
        met.poll()
    assert len(told) == 20
    assert met.lost == 10
    assert 10 <= sum(len(each.rows) for each in told.values()) < 20
