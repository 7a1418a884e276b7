"""Facts that many files need stand in one: units, pages, error numbers, the layout of rings and of records in them."""

import ast
import operator
import re
from functools import cache
from pathlib import Path

import pytest
from support.source.parsed import parsed

import sonde
from sonde.arch.x86_64.pages import PAGE, PAGE_BITS
from sonde.bpf.helpers import MAX_ERRNO
from sonde.formats import bpf_ring
from sonde.model.units import MICROSECOND, MILLISECOND, SECOND, whole_words

ROOT = Path(sonde.__file__).parent

HOMES = {
    SECOND: "model.units", MILLISECOND: "model.units", 1 / SECOND: "model.units", bpf_ring.DISCARD: "formats.bpf_ring",
    MAX_ERRNO: "bpf.helpers",
}  # fmt: skip
"""Values, and the only file that may spell them as a number."""

NAMES = {
    "BUSY": "formats.bpf_ring", "DISCARD": "formats.bpf_ring", "RING_HEADER": "formats.bpf_ring",
    "IMAGE_HEADER": "formats.bpf_ring", "PAGE": "arch.x86_64.pages", "PAGE_SIZE": "arch.x86_64.pages",
    "PAGE_BITS": "arch.x86_64.pages", "PAGE_SHIFT": "arch.x86_64.pages", "MAX_ERRNO": "bpf.helpers",
    "NS": "model.units", "SECOND": "model.units", "NANOSECONDS": "model.units", "NS_PER_SECOND": "model.units",
    "MILLISECOND": "model.units", "MICROSECOND": "model.units", "KIB": "model.units", "MIB": "model.units",
    "GIB": "model.units", "MEGABYTE": "model.units", "PROBE_AT": "model.records", "CPU_AT": "model.records",
    "SPECULATION_AT": "model.records",
}  # fmt: skip
"""Names, with or without an underscore, and the only file that may give them a value of its own."""

REASONED = {
    ("codegen.routines.packet_headers", MAX_ERRNO): "the 12 bits of a VLAN's number",
    ("engines.embedded.tracer.placement", bpf_ring.DISCARD): "__WALL of wait(2)",
    ("formats.raw_file", bpf_ring.DISCARD): "a gibibyte",
    ("formats.perf_events", MAX_ERRNO): "PERF_CONTEXT_MAX",
    ("frontends.bpftrace.check.counted_events", MILLISECOND): "a count of events",
    ("frontends.bpftrace.check.probes", MILLISECOND): "a count of events",
    ("frontends.bpftrace.check.settings", MILLISECOND): "the most that a setting takes",
    ("frontends.d.lexer", SECOND): "a line of the source, more than any has",
    ("frontends.d.report.printf", bpf_ring.DISCARD): "more characters than any text has",
    ("frontends.d.warnings.narrowing", MILLISECOND): "a count",
    ("model.units", bpf_ring.DISCARD): "a gibibyte",
    ("objects.linking", MILLISECOND): "a count of instructions",
    ("pictures.heatmap", 1 / SECOND): "what a rounding may be off by",
    ("providers.cpc", MILLISECOND): "a count of events",
    ("providers.perf_sources", MILLISECOND): "a count of events",
    ("providers.provider", MILLISECOND): "an identifier",
    ("bpf.work.costs", MILLISECOND): "a count of instructions",
    ("runtime.verifier.exploration", MILLISECOND): "a count of instructions",
}  # fmt: skip
"""Numbers that happen to be the same."""

NAMED = {
    ("codegen.routines.sites", "SECOND"): "the second register",
    ("codegen.routines.speculations", "BUSY"): "of a speculation",
    ("engines.embedded.tracer.placement", "_BUSY"): "of a CPU",
    ("formats.pcapng", "_NANOSECONDS"): "the value of an option that says so",
    ("objects.frame", "BUSY"): "of a buffer",
    ("providers.derived.fsinfo", "_SECOND"): "the second argument",
    ("providers.provider", "MIB"): "identifiers of the provider mib",
}  # fmt: skip
"""Names that mean something else."""

_OPERATORS = {
    ast.LShift: operator.lshift, ast.Pow: operator.pow, ast.Mult: operator.mul, ast.Add: operator.add,
    ast.Sub: operator.sub,
}  # fmt: skip


def value_of(node):
    """The number that an expression of nothing but numbers is, None for others."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = value_of(node.left), value_of(node.right)
        if left is None or right is None or abs(right) > 128:
            return None
        return _OPERATORS[type(node.op)](left, right)
    return None


def numbers(tree):
    """(line, number) of the largest expressions that are numbers."""
    value = value_of(tree)
    if value is not None:
        yield tree.lineno, value
        return
    for child in ast.iter_child_nodes(tree):
        yield from numbers(child)


@cache
def modules():
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): parsed(path) for path in sorted(ROOT.rglob("*.py"))}


@pytest.mark.long
def test_numbers_stand_in_their_home_alone():
    found = {
        (name, value): line
        for name, tree in modules().items()
        for line, value in numbers(tree)
        if value in HOMES and name != HOMES[value]
    }
    assert found.keys() == REASONED.keys(), {
        key: line for key, line in found.items() if key not in REASONED
    } or REASONED.keys() - found.keys()


def given(tree):
    """Names of the module that are given a value which is not that of another name."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or isinstance(node.value, ast.Attribute | ast.Name):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def test_names_are_given_in_their_home_alone():
    found = {
        (name, given_name)
        for name, tree in modules().items()
        for given_name in given(tree)
        if NAMES.get(given_name.lstrip("_"), name) != name
    }
    assert found == NAMED.keys()


def is_paging(node):
    """Arithmetic with a page's size as a number: & -4096, % 4096, & 4095, >> 12."""
    if not isinstance(node, ast.BinOp):
        return False
    form = r"(& |% |// )-?(4096|4095|0xfff)$" + "|& ~(4095)$|>> 12$"
    return value_of(node) is None and bool(re.search(form, ast.unparse(node)))


@pytest.mark.long
def test_pages_are_counted_by_their_constants():
    found = {name for name, tree in modules().items() for node in ast.walk(tree) if is_paging(node)}
    assert not found
    assert PAGE == 1 << PAGE_BITS == 4096


def is_rounding(node):
    """Up to a multiple of 8: x + 7 & ~7, x + 15 & -8."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd)):
        return False
    return bool(re.search(r"\+ (7|15)\)? & (~7|-8)$", ast.unparse(node)))


@pytest.mark.long
def test_sizes_are_rounded_in_one_way():
    found = {name for name, tree in modules().items() for node in ast.walk(tree) if is_rounding(node)}
    assert not found
    assert [whole_words(size) for size in (0, 1, 8, 9, 4095)] == [0, 8, 8, 16, 4096]
    assert [bpf_ring.record_size(word) for word in (0, 1, 8, 8 | bpf_ring.BUSY, 9 | bpf_ring.DISCARD)] == [
        8, 16, 16, 16, 24,
    ]  # fmt: skip


@pytest.mark.long
def test_the_header_of_perf_records_is_one():
    found = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in ("=IHH", "=I2xH")
    }
    assert found == {"formats.perf_events"}


def test_units():
    assert (SECOND, MILLISECOND, MICROSECOND) == (1_000_000_000, 1_000_000, 1000)
