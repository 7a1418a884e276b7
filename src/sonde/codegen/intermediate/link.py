"""Functions -> one BPF program: subprograms put behind the main function, calls resolved, BTF written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.bpf.btf_writer import FUNC_GLOBAL, FUNC_STATIC, BtfBuilder, LineInfo, pack_func_info, pack_line_info
from sonde.bpf.instructions import Instruction, encode
from sonde.codegen.intermediate import flow, ir
from sonde.codegen.intermediate.allocate import allocate
from sonde.codegen.intermediate.coalesce import coalesce
from sonde.codegen.intermediate.emit import STACK_LIMIT, FunctionCode, TooLargeError, emit
from sonde.codegen.intermediate.liveness import remove_dead_code
from sonde.codegen.intermediate.numbering import number_values
from sonde.codegen.intermediate.reach import split_offsets
from sonde.model.errors import Position
from sonde.model.spec import ProgramSpec, Stamp

MOST_FRAMES = 8
"""MAX_CALL_FRAMES, include/linux/bpf_verifier.h: the program itself, and what it calls, in loops as well."""

SourcePlaces = tuple[ir.BpfFunction, Sequence[Position | None]]
"""A function and the source positions that its instructions name by number."""


def optimize(function: ir.BpfFunction) -> ir.BpfFunction:
    """All passes, in place."""
    flow.tidy(function)
    split_offsets(function)
    number_values(function)
    flow.tidy(function)
    remove_dead_code(function)
    coalesce(function)
    flow.tidy(function)
    return function


def compile_function(function: ir.BpfFunction) -> FunctionCode:
    optimize(function)
    return emit(function, allocate(function))


class ProgramPieces:
    """The pieces of a program: code, and where in it maps, stamps and source lines are."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self.starts: dict[str, int] = {}
        self.parameters: dict[str, int] = {}
        self.contexts: dict[str, str] = {}
        self.references: list[tuple[int, str]] = []
        self.stamps: list[Stamp] = []
        self.lines: list[tuple[int, Position]] = []
        self._calls: list[tuple[int, str]] = []
        self._frames: dict[str, tuple[int, set[str]]] = {}

    def add(self, code: FunctionCode, positions: Sequence[Position | None]) -> None:
        start = len(self.code)
        self.starts[code.name] = start
        self.code.extend(code.instructions)
        self.references += [(start + index, name) for index, name in code.map_references]
        self.stamps += [stamp._replace(at=start + stamp.at) for stamp in code.stamps]
        self._calls += [(start + index, name) for index, name in code.calls]
        self.parameters[code.name] = code.parameters
        if code.context:
            self.contexts[code.name] = code.context
        self._frames[code.name] = code.stack, {name for _, name in code.calls}
        for index in code.here:
            self.code[start + index] = self.code[start + index]._replace(imm=start + index)
        last = next((p for p in positions if p is not None), Position(None, 1, 1))
        for index, number in code.positions:
            position = (positions[number] if number < len(positions) else None) or last
            self.lines.append((start + index, position))
        if not any(index == start for index, _ in self.lines):
            self.lines.append((start, last))

    def missing(self) -> str | None:
        """A function that is called and not yet here."""
        return next((name for _, name in self._calls if name not in self.starts), None)

    def check_stack(self) -> None:
        """All functions that can be active together share eBPF's stack, and are so many. Raises TooLargeError."""
        main = next(iter(self._frames))
        active = self._active(main)
        if active > MOST_FRAMES:
            raise TooLargeError(
                f"they are {active} functions of eBPF within each other, and {MOST_FRAMES} may be: each loop in a loop "
                "is one"
            )
        deepest = self._depth(main)
        if deepest > STACK_LIMIT:
            raise TooLargeError(f"they need {deepest} bytes of stack, eBPF has {STACK_LIMIT}")

    def _active(self, name: str) -> int:
        return 1 + max((self._active(each) for each in self._frames[name][1]), default=0)

    def _depth(self, name: str) -> int:
        size, called = self._frames[name]
        # The verifier rounds each frame up (check_max_stack_depth, kernel/bpf/verifier.c).
        return max(-(-size // 32) * 32, 32) + max((self._depth(each) for each in called), default=0)

    def resolve(self) -> None:
        """Calls know their targets once every function has its place."""
        for index, name in self._calls:
            self.code[index] = self.code[index]._replace(imm=self.starts[name] - index - 1)


def link(
    name: str,
    main: SourcePlaces,
    part: Callable[[str], SourcePlaces],
    source_line: Callable[[Position], str],
) -> ProgramSpec:
    """A ProgramSpec with code, references and BTF, still without its kind and probes.

    `part` makes the subprograms that the code left after optimization still calls.
    """
    linked = ProgramPieces()
    linked.add(compile_function(main[0]), main[1])
    while (wanted := linked.missing()) is not None:
        function, positions = part(wanted)
        assert function.name == wanted, f"the subprogram {wanted} calls itself {function.name}"
        linked.add(compile_function(function), positions)
    linked.check_stack()
    linked.resolve()
    lines = sorted(set(linked.lines), key=lambda pair: pair[0])
    btf, func_info, line_info = _debug_info(linked, lines, source_line)
    return ProgramSpec(
        name, 0, 0, encode(linked.code), tuple(linked.references), (), tuple(linked.stamps), None,
        btf, func_info, line_info, tuple((index, _show(position)) for index, position in lines),
    )  # fmt: skip


def _show(position: Position) -> str:
    return f"{position.file or '<command line>'}:{position.line}"


def _debug_info(
    linked: ProgramPieces, lines: Sequence[tuple[int, Position]], source_line: Callable[[Position], str]
) -> tuple[bytes, bytes, bytes]:
    builder = BtfBuilder()
    number = builder.add_int("long long", 8, 1)
    pointer = builder.add_pointer(0)
    functions = []
    for name, start in linked.starts.items():
        parameters = [("ctx", pointer)] if start == 0 else [(f"a{i}", number) for i in range(linked.parameters[name])]
        if name in linked.contexts:
            structure = builder.add_struct(linked.contexts[name], 0, ())
            parameters[0] = ("ctx", builder.add_pointer(structure))
        prototype = builder.add_function_type(number, parameters)
        linkage = FUNC_GLOBAL if name in linked.contexts else FUNC_STATIC
        functions.append((start, builder.add_func(name, prototype, linkage)))
    infos = []
    seen = set()
    for index, position in lines:
        if index in seen or index >= len(linked.code):
            continue
        seen.add(index)
        file = builder.string(position.file or "<command line>")
        infos.append(LineInfo(index, file, builder.string(source_line(position)), position.line, position.column))
    return builder.build(), pack_func_info(functions), pack_line_info(infos)
