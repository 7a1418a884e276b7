"""The subprograms that generated code may call, by name."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.intermediate.ir import BpfFunction
from sonde.codegen.routines import (
    bases,
    buckets,
    characters,
    components,
    extremes,
    firing_pieces,
    frame_descriptions,
    gathering,
    json_values,
    mapped_files,
    mapped_processes,
    packet_headers,
    paths,
    processes,
    python_frames,
    searching,
    sites,
    speculations,
    strings,
    texts,
    tokens,
    totals,
    unwinding,
    waiting,
)
from sonde.model.readings import Reading

_FIXED: dict[str, Callable[[], BpfFunction]] = {
    "namespace_pid": processes.namespace_pid,
    "quantize_bucket": buckets.quantize_bucket,
    "compare_strings": strings.compare_strings,
    "site_argument": sites.site_argument,
    "widen": extremes.widen,
}

_TEXTS: dict[str, Callable[[str], BpfFunction]] = {
    "based": bases.based,
    "based_digit": bases.based_digit,
    "chill": waiting.chill,
    "chill_turn": waiting.chill_turn,
    "decimal": texts.decimal,
    "decimal_digit": texts.decimal_digit,
    "ipv4_text": texts.ipv4_text,
    "ipv6_text": texts.ipv6_text,
    "ipv6_run": texts.ipv6_run,
    "ipv6_group": texts.ipv6_group,
    "link_text": texts.link_text,
    "link_byte": texts.link_byte,
}

_OF_STRINGS: dict[str, Callable[[str, int], BpfFunction]] = {
    "upper": characters.upper,
    "upper_letter": characters.upper_letter,
    "lower": characters.lower,
    "lower_letter": characters.lower_letter,
    "number": characters.number,
    "digit": characters.digit,
    "json": json_values.json,
    "json_part": json_values.json_part,
    "json_step": json_values.json_step,
    "find": searching.find,
    "find_at": searching.find_at,
    "match": searching.match,
    "token": tokens.token,
    "delimiter": tokens.delimiter,
    "in_token": tokens.in_token,
    "last_component": components.last_component,
    "component": components.component,
    "clean_path": components.clean_path,
    "clean": components.clean,
    "compare_long": strings.compare_long,
    "compare_word": strings.compare_word,
}
"""Their names end with the capacity of the strings they are for: `find_264`."""


def routine(name: str) -> BpfFunction:
    """The function of that name; KeyError if there is none."""
    if name.startswith("llquantize_"):
        factor, low, high, steps = (int(p) for p in name.split("_")[1:])
        return buckets.llquantize_bucket(name, factor, low, high, steps)
    if name.startswith("quantize_bucket_"):
        return buckets.divided_bucket(name, int(name.rpartition("_")[2]))
    if name.startswith("speculation_"):
        return speculations.speculation(name, int(name.removeprefix("speculation_")))
    if name.startswith("progenyof_"):
        return processes.progenyof(name, [int(p) for p in name.split("_")[1:]])
    if name.startswith(("d_path_", "counted_path_")):
        numbers = name.split("_")[2:]
        step = "_".join(("path_step", *numbers)) if name.startswith("d_path_") else None
        return paths.d_path(name, paths.PathOffsets(*map(int, numbers)), step)
    if name.startswith(("gather_", "gathered_")):
        kind, size, most = name.split("_")[1:]
        if name.startswith("gather_"):
            return gathering.gather(name, name.replace("gather_", "gathered_"))
        return gathering.element(name, Reading(kind, int(size), int(most)))
    if name.startswith(("total_", "visit_")):
        return _of_elements(name)
    if name.startswith("unwind_"):
        return _unwinding(name)
    if name.startswith("python_"):
        return python_frames.routine(name)
    if name.startswith("firing_"):
        return _of_records(name)
    if name.startswith("packet_"):
        return _of_packets(name)
    if name.startswith("path_step_"):
        return paths.step_up(name, paths.PathOffsets(*map(int, name.split("_")[2:])))
    if name in _TEXTS:
        return _TEXTS[name](name)
    base, _, capacity = name.rpartition("_")
    if base in _OF_STRINGS:
        return _OF_STRINGS[base](name, int(capacity))
    return _FIXED[name]()


def _of_elements(name: str) -> BpfFunction:
    if name.startswith("visit_"):
        return totals.visit(name)
    _, shape, map_name = name.split("_", 2)
    return totals.total(name, shape, map_name)


def _of_records(name: str) -> BpfFunction:
    _, what, kind = name.split("_")
    made = {"piece": firing_pieces.piece, "value": firing_pieces.value, "stack": firing_pieces.stack}
    return made[what](name, int(kind))


def _of_packets(name: str) -> BpfFunction:
    _, what, kind, *rest = name.split("_")
    if what == "number":
        return packet_headers.number(name, kind, int(rest[0]))
    return packet_headers.tag(name, kind) if what == "tag" else packet_headers.headers(name, kind, rest[0])


_OF_WALKS: dict[str, Callable[[str], BpfFunction]] = {
    "unwind_byte": frame_descriptions.byte,
    "unwind_described": frame_descriptions.rule,
    "unwind_four": frame_descriptions.four,
    "unwind_frame": unwinding.frame,
    "unwind_instruction": frame_descriptions.instruction,
    "unwind_mapping": mapped_processes.mapping,
    "unwind_number": frame_descriptions.number,
    "unwind_pair": frame_descriptions.pair,
    "unwind_process": mapped_processes.find,
    "unwind_registers": unwinding.saved_registers,
    "unwind_row": unwinding.row,
    "unwind_rule": unwinding.rule,
    "unwind_word": mapped_files.word,
}


def _unwinding(name: str) -> BpfFunction:
    """`unwind_walk_FRAMES_FIND`, with `mixed_` before FIND, and `unwind_step_...`; the offsets in the kernel's
    structures are the numbers of what finds files and, behind it, of what finds the true return addresses."""
    _, what, *words = name.split("_")
    if name in _OF_WALKS:
        return _OF_WALKS[name](name)
    numbers = [int(each) for each in words if each.isdigit()]
    if what == "down":
        return mapped_files.down(name, *numbers)
    if what == "file":
        return mapped_files.find(name, mapped_files.MappingOffsets(*numbers))
    if what == "instance":
        return mapped_files.instance(name, *numbers)
    if what == "returned":
        return mapped_files.returned(name, mapped_files.ReturnOffsets(*numbers))
    frames, rest = int(words[0]), name.split("_", 3)[3]
    is_mixed = rest.startswith("mixed_")
    if what == "walk":
        return unwinding.walk(name, frames, f"unwind_step_{frames}_{rest}", is_mixed)
    rest = rest.removeprefix("mixed_")
    find, _, returned = rest.partition("_returned_")
    look_up = "unwind_rule" if find == "process" else "unwind_described"
    known = f"unwind_returned_{returned}" if returned else None
    return unwinding.step(name, frames, f"unwind_{find}", look_up, known, is_mixed)
