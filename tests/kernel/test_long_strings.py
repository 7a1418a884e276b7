"""Strings that may be longer than 512 bytes travel behind the fixed part of their record, as long as they are."""

import pytest
from support.d.d_run import Run
from support.machine.access import needs

from sonde.codegen.records.plan import IN_PLACE_STRING

LENGTHS = (0, 1, 7, 8, 9, 255, 511, 512, 513, 1023, 2001, 4095, 4096)
pytestmark = needs("CAP_BPF", "CAP_PERFMON")


def recorded(size, *texts):
    """The values and the raw record of one printf of global strings, an int before and behind them."""
    names = "abc"[: len(texts)]
    declared = "".join(f"string {name};" for name in names)
    format_ = "%d" + "%s" * len(texts) + "%d"
    program = f'{declared} BEGIN {{ printf("{format_}", 7, {", ".join(names)}, 11); }}'
    with Run(program, strsize=size) as run:
        ((key, data),) = run.tracing.read_map("globals")
        places = {v.name: where for v, (_, where) in run.compilation.shared.variables.items()}
        content = bytearray(data)
        for name, text in zip(names, texts, strict=True):
            content[places[name] : places[name] + len(text)] = text
        run.tracing.write_map("globals", key, bytes(content))
        run.begin()
        (record,) = run.raw_records()
        return run.decode(record), record.data, run.spec.records[0]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_string_of_any_length_arrives_whole(length):
    """Nothing is cut, nothing is added, and the fields behind it are in their places."""
    text = bytes(ord("a") + n % 26 for n in range(length))
    values, _, _ = recorded(4096, text)
    assert values == [7, text, 11]


def test_a_record_is_as_long_as_its_strings():
    """Three strings: the record has the fixed part and their characters, and no padding between."""
    texts = b"x" * 1500, b"y" * 3, b"z" * 700
    values, data, layout = recorded(2000, *texts)
    assert values == [7, *texts, 11]
    assert len(data) == layout.size + sum(map(len, texts))


def test_strings_up_to_the_documented_size_stay_in_place():
    """The slot is the string's own up to IN_PLACE_STRING bytes with the NUL, and one more makes it a long one."""
    _, data, layout = recorded(IN_PLACE_STRING - 1, b"short")
    assert [field.kind for field in layout.actions[0].fields] == ["int", "string", "int"]
    assert len(data) == layout.size
    _, _, layout = recorded(IN_PLACE_STRING, b"short")
    assert layout.actions[0].fields[1].kind == "long_string"


def test_a_full_ring_is_counted():
    """Records of changing length: what is lost and what arrives is everything there was."""
    body = 'printf("%s", s);'
    with Run(f'#pragma D option strsize=1000\nBEGIN {{ s = "long"; {body} }}', strsize=1000, bufsize=4096) as run:
        for _ in range(211):
            run.begin()
        arrived = len(run.raw_records())
        assert 0 < arrived < 211
        assert arrived + run.lost()["records"] == 211
