"""User stacks without frame pointers: the walk of `routines/unwinding.py` from the registers that the process had."""

from __future__ import annotations

from sonde.arch import registers
from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.identity import process
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions import callers
from sonde.codegen.expressions.access import zero
from sonde.codegen.expressions.images import image
from sonde.codegen.expressions.probed_returns import probed_returns
from sonde.codegen.expressions.structures import member_offset
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.routines import unwinding
from sonde.codegen.routines.mapped_files import MappingOffsets
from sonde.model import python_frames
from sonde.model.named_maps import (
    UNWIND_BLOCKS,
    UNWIND_CUT,
    UNWIND_FILE,
    UNWIND_FILES,
    UNWIND_MAPPINGS,
    UNWIND_OBJECT,
    UNWIND_OBJECTS,
    UNWIND_PAGE,
    UNWIND_PROCESSES,
    UNWIND_ROWS,
    UNWIND_RULES,
    UNWIND_WANTED,
)
from sonde.model.python_frames import (
    PYTHON_CODES,
    PYTHON_KNOWN,
    PYTHON_LINES,
    PYTHON_RUNTIMES,
    PYTHON_STATE,
    PYTHON_THREADS,
)
from sonde.model.spec import MapSpec
from sonde.typed import NamedTuple

_ROW_PAGES, _BLOCK_PAGES, _RULE_PAGES, _OBJECTS = 2048, 64, 256, 4096
"""Room for two million rows, 65,536 blocks (4 GiB of files) and as many rules, and so many objects."""

_MAPPING_PAGES, _PROCESSES, _WANTED = 512, 8192, 4096
"""Room for 65,536 mappings and so many processes, where programs do not look for mappings themselves."""


def user_stack(g: Generation, memory: Memory, size: int, flags: int, is_mixed: bool) -> Operand:
    """At most `size` bytes of addresses, the innermost first, zeros behind them; how many bytes there are. With
    `is_mixed` functions of Python stand among them (`model/python_frames.py`).

    Of processes of 32 bits, and where mappings are the session's and not even that of the innermost function is known,
    frame pointers are followed by the helper get_stack with these `flags`.
    """
    result = g.b.copy(Imm(0))
    # Of kernels that are not known nobody knows where they have it.
    is_mixed = is_mixed and not g.shared.target.portable
    thread_pointer = member_offset(g, "task_struct", "thread", registers.THREAD_POINTER_MEMBER) if is_mixed else None
    is_mixed = thread_pointer is not None
    work = g.framed(unwinding.FRAMES + size + (python_frames.CODE.size if is_mixed else 0))
    _share_tables(g)
    simple, end = g.b.label(), g.b.label()
    saved = g.call("task_pt_regs", g.current_task(), pure="registers")
    g.b.branch("eq", g.b.load(saved, registers.MODE, 8, invariant=True), Imm(registers.MODE_32_BIT), simple)
    asked, begin = g.b.copy(Imm(0)), g.b.label()
    g.b.place(begin)
    zero(g, Memory(work.base, work.offset), unwinding.FRAMES + size)
    offsets = _offsets(g)
    if offsets is not None:
        find = _in_files(g, work, offsets)
    else:
        find = _in_processes(g, work, _Again(asked, begin, simple))
    if thread_pointer is not None:
        find = f"mixed_{find}"
        _share_python(g)
        g.b.store(work.base, work.offset + unwinding.IMAGE, 8, image(g))
        pointer = g.b.load(g.current_task(), thread_pointer, 8)
        g.b.store(work.base, work.offset + unwinding.THREAD, 8, pointer)
    _walk(g, saved, work, size, find)
    missed, whole = g.b.load(work.base, work.offset + unwinding.MISSED, 8), g.b.label()
    g.b.branch("eq", missed, Imm(0), whole)
    if offsets is None:
        _ask(g, _Again(asked, begin, None))
    g.b.branch("ge", g.b.load(work.base, work.offset + unwinding.COUNT, 8), Imm(size // 8), whole)
    _count_cut(g)
    if offsets is None:
        g.b.branch("eq", missed, Imm(1), simple)
    g.b.place(whole)
    frames = g.argument_of(work.base, work.offset + unwinding.FRAMES)
    g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), Imm(size), frames)
    g.b.move(result, g.b.alu("lsh", g.b.load(work.base, work.offset + unwinding.COUNT, 8), Imm(3)))
    g.b.jump(end)
    g.b.place(simple)
    g.b.move(result, callers.user_stack(g, memory, size, flags))
    g.b.place(end)
    return result


def _share_tables(g: Generation) -> None:
    pool = g.shared.maps
    pool.add(MapSpec(UNWIND_OBJECTS, kinds.ARRAY, 4, UNWIND_OBJECT.size, _OBJECTS))
    for name, pages in ((UNWIND_BLOCKS, _BLOCK_PAGES), (UNWIND_ROWS, _ROW_PAGES), (UNWIND_RULES, _RULE_PAGES)):
        pool.add(MapSpec(name, kinds.ARRAY, 4, UNWIND_PAGE, pages))
    pool.add(MapSpec(UNWIND_CUT, kinds.ARRAY, 4, 8, 1))


def _share_python(g: Generation) -> None:
    pool, key = g.shared.maps, python_frames.KNOWN_KEY
    pool.add(MapSpec(PYTHON_RUNTIMES, kinds.ARRAY, 4, python_frames.RUNTIME.size, python_frames.MOST_RUNTIMES))
    pool.add(MapSpec(PYTHON_KNOWN, kinds.LRU_HASH, key, 8, python_frames.MOST_KNOWN))
    pool.add(MapSpec(PYTHON_CODES, kinds.HASH, 4, python_frames.CODE.size, python_frames.MOST_CODES))
    pool.add(MapSpec(PYTHON_LINES, kinds.LRU_HASH, 4, python_frames.LINES_SIZE, python_frames.MOST_PARTS))
    pool.add(MapSpec(PYTHON_STATE, kinds.ARRAY, 4, 16, 1))
    pool.add(MapSpec(PYTHON_THREADS, kinds.LRU_HASH, 16, 8, python_frames.MOST_THREADS))


def _offsets(g: Generation) -> MappingOffsets | None:
    """Where this kernel has a process's mappings; None if programs cannot go there themselves."""
    if g.shared.target.portable:
        return None
    seconds = member_offset(g, "inode", "i_ctime_sec")
    nanoseconds = member_offset(g, "inode", "i_ctime_nsec")
    for name in ("__i_ctime", "i_ctime"):
        seconds = member_offset(g, "inode", name, "tv_sec") if seconds is None else seconds
        nanoseconds = member_offset(g, "inode", name, "tv_nsec") if nanoseconds is None else nanoseconds
    found = (
        member_offset(g, "mm_struct", "mm_mt", "ma_root"),
        member_offset(g, "mm_struct", "context", "vdso"),
        member_offset(g, "maple_range_64", "pivot"),
        member_offset(g, "maple_range_64", "slot"),
        member_offset(g, "maple_arange_64", "slot"),
        member_offset(g, "vm_area_struct", "vm_start"),
        member_offset(g, "vm_area_struct", "vm_end"),
        member_offset(g, "vm_area_struct", "vm_pgoff"),
        member_offset(g, "vm_area_struct", "vm_flags"),
        member_offset(g, "vm_area_struct", "vm_file"),
        member_offset(g, "file", "f_inode"),
        member_offset(g, "inode", "i_sb"),
        member_offset(g, "inode", "i_ino"),
        seconds,
        nanoseconds,
        member_offset(g, "super_block", "s_dev"),
    )
    known = [each for each in found if each is not None]
    return (
        MappingOffsets(*known)
        if len(known) == len(found) and member_offset(g, "task_struct", "mm") is not None
        else None
    )


def _in_files(g: Generation, work: Memory, offsets: MappingOffsets) -> str:
    """Have mappings looked for in the kernel's tree; the end of the name of the walk that does so."""
    g.shared.maps.add(MapSpec(UNWIND_FILES, kinds.HASH, UNWIND_FILE.size, 4, _OBJECTS))
    g.shared.maps.add(MapSpec(UNWIND_WANTED, kinds.HASH, UNWIND_FILE.size, 16, _WANTED))
    space = g.b.load(g.current_task(), member_offset(g, "task_struct", "mm") or 0, 8)
    g.b.store(work.base, work.offset + unwinding.SPACE, 8, space)
    g.b.store(work.base, work.offset + unwinding.PROCESS, 8, process(g))
    find = "_".join(("file", *map(str, offsets)))
    probed = probed_returns(g)
    if probed is None:
        return find
    g.b.store(work.base, work.offset + unwinding.RETURNS, 8, probed.innermost)
    g.b.store(work.base, work.offset + unwinding.TRAMPOLINE, 8, probed.trampoline)
    return "_".join((find, "returned", *map(str, probed.offsets)))


class _Again(NamedTuple):
    """Whether the session has been asked, in a register, and where the walk begins: one that executes programs itself
    has answered at once. `otherwise` is where to go if that did not help, None: on."""

    asked: Reg
    begin: int
    otherwise: int | None


def _in_processes(g: Generation, work: Memory, again: _Again) -> str:
    """Have mappings looked for among those that the session has noted."""
    g.shared.maps.add(MapSpec(UNWIND_MAPPINGS, kinds.ARRAY, 4, UNWIND_PAGE, _MAPPING_PAGES))
    processes = g.shared.maps.add(MapSpec(UNWIND_PROCESSES, kinds.HASH, 8, 8, _PROCESSES))
    g.shared.maps.add(MapSpec(UNWIND_WANTED, kinds.HASH, 8, 8, _WANTED))
    key = g.b.slot(8)
    g.b.store(key, 0, 8, process(g))
    found = g.call("map_lookup_elem", MapDescriptor(processes), SlotAddress(key))
    g.b.release(key)
    known = g.b.label()
    g.b.branch("ne", found, Imm(0), known)
    _ask(g, again)
    g.b.place(known)
    g.b.store(work.base, work.offset + unwinding.SPACE, 8, g.b.load(found, 0, 4))
    g.b.store(work.base, work.offset + unwinding.MAPPINGS, 8, g.b.load(found, 4, 4))
    return "process"


def _ask(g: Generation, again: _Again) -> None:
    """Have the session look at the process, and begin once more."""
    asked = g.b.label()
    g.b.branch("ne", again.asked, Imm(0), asked)
    key, one = g.b.slot(8), g.b.slot(8)
    g.b.store(key, 0, 8, process(g))
    g.b.store(one, 0, 8, Imm(1))
    g.call("map_update_elem", MapDescriptor(UNWIND_WANTED), SlotAddress(key), SlotAddress(one), Imm(0))
    g.b.release(key)
    g.b.release(one)
    g.b.move(again.asked, Imm(1))
    g.b.jump(again.begin)
    g.b.place(asked)
    if again.otherwise is not None:
        _count_cut(g)
        g.b.jump(again.otherwise)


def _count_cut(g: Generation) -> None:
    """One more stack for which a table was not there."""
    slot = g.b.slot(8)
    g.b.store(slot, 0, 8, Imm(0))
    value = g.call("map_lookup_elem", MapDescriptor(UNWIND_CUT), SlotAddress(slot))
    with g.b.when("ne", value, Imm(0)):
        g.b.atomic_add(value, 0, Imm(1))
    g.b.release(slot)


def _walk(g: Generation, saved: Reg, work: Memory, size: int, find: str) -> None:
    """Put the rest of the walk's state together and run it."""
    counter = g.b.load(saved, registers.PROGRAM_COUNTER, 8, invariant=True)
    values = {
        unwinding.PC: counter,
        unwinding.STACK: g.b.load(saved, registers.STACK_POINTER, 8, invariant=True),
        unwinding.FRAME: g.b.load(saved, registers.FRAME_POINTER, 8, invariant=True),
        unwinding.BASE: g.b.load(saved, registers.BASE, 8, invariant=True),
        unwinding.LOOK: counter,
        unwinding.CALLER_AT: callers.caller_at(g),
    }
    if not g.shared.target.portable:
        values[unwinding.REGISTERS] = saved
    for word, value in values.items():
        g.b.store(work.base, work.offset + word, 8, value)
    g.routine(f"unwind_walk_{size // 8}_{find}", g.address(work))
