"""Which files are asked for, of which aggregations, and why they cannot be had."""

import pytest

from sonde.model.records import AggregationSpec, Field
from sonde.pictures.requests import FLAME, FOLDED, HEATMAP, PPROF, SPEEDSCOPE, PictureTask, RequestError, request, tasks

STACK, NUMBER = Field(0, 160, "stack", False, "20"), Field(0, 8, "int")


def spec(name, function, *keys):
    return AggregationSpec(name, function, (), keys, 0, 1, "m", False)


SPECS = (
    spec("a", "count", STACK), spec("_", "sum", NUMBER, STACK), spec("n", "count", NUMBER), spec("q", "quantize"),
    spec("s", "lquantize", STACK),
)  # fmt: skip


def files(kind, text, specs=SPECS, not_drawn=None):
    return [(task.path, task.aggregations) for task in tasks([request(kind, text)], specs, not_drawn)]


def test_each_that_fits_has_a_file_named_after_it():
    assert files(FLAME, "dir.d/x.html") == [
        ("dir.d/x.a.html", (0,)),
        ("dir.d/x._.html", (1,)),
        ("dir.d/x.s.html", (4,)),
    ]
    assert files(PPROF, "x.pb.gz") == [("x.a.pb.gz", (0,)), ("x._.pb.gz", (1,)), ("x.s.pb.gz", (4,))]
    assert files(FOLDED, "dir.d/x") == [("dir.d/x.a", (0,)), ("dir.d/x._", (1,)), ("dir.d/x.s", (4,))]
    assert files(HEATMAP, "X.SVG") == [("X.q.SVG", (3,)), ("X.s.SVG", (4,))]


def test_one_that_fits_has_the_file():
    assert files(FLAME, "x.svg", SPECS[:1]) == [("x.svg", (0,))]
    assert files(FLAME, "x.svg", SPECS[:2], not_drawn=1) == [("x.svg", (0,))]


def test_speedscope_has_all_in_one_file():
    assert files(SPEEDSCOPE, "x.json") == [("x.json", (0, 1, 4))]


def test_one_can_be_named():
    assert files(FLAME, "@s:x.html") == [("x.html", (4,))]
    assert files(FLAME, "@_:x.html") == files(FLAME, "@:x.html") == [("x.html", (1,))]
    assert files(FOLDED, "@a:b:c") == [("b:c", (0,))]
    # What others are compared with is drawn where it is named.
    assert files(FLAME, "@a:x.html", not_drawn=0) == [("x.html", (0,))]


def test_several_kinds_are_several_tasks():
    asked = [request(FLAME, "@a:x.html"), request(FOLDED, "@a:x.txt")]
    assert tasks(asked, SPECS) == [PictureTask(FLAME, "x.html", (0,)), PictureTask(FOLDED, "x.txt", (0,))]


@pytest.mark.parametrize(
    ("kind", "text", "specs", "message", "hint"),
    [
        (FLAME, "x.html", SPECS[2:4],
         "--flame: no aggregation of the program is keyed by stack() or ustack()", "profile"),
        (HEATMAP, "x.html", SPECS[:3],
         "--heatmap: no aggregation of the program is a quantize, lquantize or llquantize", "quantize(arg0)"),
        (FLAME, "x.png", SPECS, "--flame x.png: the file's name has to end in .html or .svg", ""),
        (HEATMAP, "x", SPECS, "--heatmap x: the file's name has to end in .html or .svg", ""),
        (FOLDED, "", SPECS, "--folded needs the name of a file", ""),
        (FLAME, "@x:a.svg", SPECS[:3], "--flame: there is no aggregation @x", "there are: @a, @, @n"),
        (PPROF, "@n:a", SPECS, "--pprof: @n is not keyed by stack() or ustack()", "profile"),
        (HEATMAP, "@n:a.svg", SPECS, "--heatmap: @n is no quantize, lquantize or llquantize", "quantize(arg0)"),
    ],
)  # fmt: skip
def test_why_there_is_none(kind, text, specs, message, hint):
    with pytest.raises(RequestError) as caught:
        tasks([request(kind, text)], specs)
    assert caught.value.text == message
    assert hint in caught.value.hint


def test_no_file_is_written_twice():
    with pytest.raises(RequestError, match=r"two outputs would be written to x\.a\.svg"):
        tasks([request(FLAME, "x.svg"), request(FLAME, "@a:x.a.svg")], SPECS)
