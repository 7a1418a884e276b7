"""Options agghist, aggpack and aggzoom: what lines and bars show."""

import pytest

from sonde.consume.events import Table, TableRow
from sonde.consume.options import Options
from sonde.frontends.d.report.aggregate import AggregateText
from sonde.frontends.d.report.histogram import histogram
from sonde.model.records import AggregationSpec, Field
from sonde.report.escaping import escaping_for
from sonde.report.stack import Addresses
from sonde.report.symbolizer import NoNames

NAME = Field(0, 8, "string", False, "")
HEADING = "key  ------------- Distribution ------------- value"


def spec(function, parameters=(), keys=(NAME,)):
    words = 6 if parameters else 1
    return AggregationSpec("a", function, tuple(parameters), tuple(keys), 8, words, "", False)


def shown(table_spec, rows, **switches):
    options = Options()
    for name, value in switches.items():
        setattr(options, name, value)
    table = Table((table_spec,), (1,), [TableRow((key,), (tuple(words),)) for key, words in rows])
    text = AggregateText(Addresses(NoNames(), options), options)
    return b"".join(text.format(table, None, escaping_for(False, False, False))).decode().splitlines()


def bars(lines):
    return [line.count("@") for line in lines]


def test_bars_are_parts_of_the_sum_and_zoomed_of_the_largest():
    rows = [(b"cat", [10]), (b"dog", [30]), (b"a much longer name", [0])]
    plain = shown(spec("sum"), rows, agghist=True)
    assert plain[1].endswith(f"{HEADING}    ")
    assert bars(plain[2:]) == [10, 30, 0]
    assert bars(shown(spec("sum"), rows, agghist=True, aggzoom=True)[2:]) == [13, 40, 0]
    assert [line.split()[-1] for line in plain[2:]] == ["10", "30", "0"]
    assert len({line.index("|") for line in plain[2:]}) == 1


def test_bars_of_both_signs_have_the_axis_in_the_middle():
    lines = shown(spec("sum"), [(b"a", [(1 << 64) - 20]), (b"b", [20])], agghist=True)
    assert lines[2].index("@") < lines[2].index("|") < lines[3].index("@")


def test_other_aggregations_and_options_keep_their_layout():
    chart = shown(spec("lquantize", (0, 4, 1)), [(b"a", [0, 1, 2, 3, 0, 0])], agghist=True)
    assert chart == shown(spec("lquantize", (0, 4, 1)), [(b"a", [0, 1, 2, 3, 0, 0])])
    plain = shown(spec("sum"), [(b"a", [1])])
    assert plain == shown(spec("sum"), [(b"a", [1])], aggpack=True, aggzoom=True)
    per_cpu = Options()
    per_cpu.agghist = per_cpu.aggpercpu = True
    assert shown(spec("sum"), [(b"a", [1])], agghist=True, aggpercpu=True) == plain


@pytest.mark.parametrize(("locale", "signs"), [("C.UTF-8", "▂▃▄"), ("C", ":-="), ("", ":-=")])
def test_a_packed_distribution_has_a_sign_for_each_bucket(monkeypatch, locale, signs):
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    lines = shown(spec("lquantize", (0, 4, 1)), [(b"a", [0, 2, 3, 4, 0, 0])], aggpack=True)
    assert lines[1].split() == ["key", "min", ".-----.", "max", "|", "count"]
    assert lines[2].split(":", 1)[0].split() == ["a", "<", "0"]
    assert signs in lines[2]
    assert lines[2].endswith("| 9")


def test_packed_distributions_share_their_columns(monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    lines = shown(spec("lquantize", (0, 4, 1)), [(b"a", [0, 5, 0, 0, 0, 0]), (b"b", [0, 0, 0, 0, 1, 0])], aggpack=True)
    assert [line[line.index(":") :] for line in lines[2:]] == [": █    : >= 4 | 5", ":    █ : >= 4 | 1"]


def test_what_is_not_zero_is_seen(monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    lines = shown(spec("lquantize", (0, 4, 1)), [(b"a", [0, 1, 100000, 0, 0, 0])], aggpack=True)
    assert "▁█" in lines[2]


def test_a_zoomed_chart_has_a_full_bar():
    words = [0, 1, 2, 1, 0, 0]
    plain, zoomed = (histogram(spec("lquantize", (0, 4, 1)), words, 1, z).decode().splitlines() for z in (False, True))
    assert (max(bars(plain)), max(bars(zoomed))) == (20, 40)
    assert [line.split()[-1] for line in plain[1:]] == [line.split()[-1] for line in zoomed[1:]]
