"""`verify FILE`: the embedded engine's verifier alone, on what a D program compiles to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.bpf.disassembler import disassemble
from sonde.bpf.instructions import decode
from sonde.bpf.programs import NAMES
from sonde.cli.arguments import Arguments, ProgramText, parse
from sonde.cli.messages import FatalError, Messages, UsageError
from sonde.cli.object_choices import chosen, refuse_choices
from sonde.cli.output import show
from sonde.cli.settings import option_table
from sonde.library.compiling import For, compiled
from sonde.model.errors import EngineError
from sonde.model.options import OptionTable
from sonde.model.spec import MapSpec, ProgramSpec, TracingSpec
from sonde.runtime.programs.verification import verify_here
from sonde.runtime.verifier.merging import Merged
from sonde.runtime.verifier.verify import Refusal, Verified, verify
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.permission import refusal
from sonde.untrusted import open_file


def verify_file(words: Sequence[str], messages: Messages) -> int:
    """Verify every program of a D script, of -n and the like, or of an object; returns 0 if all are accepted, else 1.

    -v prints each program with what is known before each instruction.
    """
    arguments = parse(words)
    if arguments.operands and not arguments.programs:
        first, *rest = arguments.operands
        arguments = arguments._replace(programs=(ProgramText("file", first),), operands=tuple(rest))
    if not arguments.programs or arguments.commands or arguments.pids:
        raise UsageError("verify takes a D script or object, or programs by -n and the like, and the options -v and -x")
    options = option_table(arguments)
    wanted = options.text("engine")
    engine = wanted if wanted in (KERNEL, EMBEDDED) else EMBEDDED if refusal() else KERNEL
    path = arguments.programs[0].text if arguments.programs[0].kind == "file" else ""
    if path and _is_object(path):
        spec = _of_object(path, arguments, options)
    else:
        refuse_choices(arguments)
        spec = _compile(arguments, options, engine, messages)
    maps = {each.name: each for each in spec.maps}
    prove = verify_here if engine == EMBEDDED else verify
    refused = [each for each in spec.programs if not _verify(each, maps, prove, "verbose" in arguments.flags, messages)]
    return 1 if refused else 0


def _is_object(path: str) -> bool:
    try:
        with open_file(path) as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _of_object(path: str, arguments: Arguments, options: OptionTable) -> TracingSpec:
    """An object's programs as they would be loaded into this kernel. Raises the library's Error."""
    from sonde.library.bpf_object import Words, load_words  # what other programs do without

    return load_words(path, Words(*chosen(arguments, options))).spec


def _compile(arguments: Arguments, options: OptionTable, engine: str, messages: Messages) -> TracingSpec:
    wanted = For(engine, arguments.btf, arguments.save is not None, 0)
    spec = compiled("d", arguments.programs, options, arguments.operands, wanted, messages.program).spec
    if not spec.programs:
        raise FatalError("no probes matched")
    return spec


def _verify(
    program: ProgramSpec, maps: Mapping[str, MapSpec], prove: Callable[..., Verified], verbose: bool, messages: Messages
) -> bool:
    merged = Merged() if verbose else None
    try:
        verified = prove(program, maps, observe=merged.observe if merged is not None else None)
        outcome = f"accepted, {verified.steps} instructions gone through"
    except (Refusal, EngineError) as error:
        messages.error(str(error))
        outcome = "refused"
    kind = NAMES[program.kind] if program.kind < len(NAMES) else str(program.kind)
    length = len(program.code) // 8
    show(f"program {program.name} (type {kind}, {length} instructions): {outcome}\n")
    if merged is not None:
        show(listing(program, merged) + "\n")
    return outcome != "refused"


def listing(program: ProgramSpec, merged: Merged) -> str:
    """The program's instructions; above each what is known before it that was not so before the one above."""
    code = decode(program.code)
    lines: list[str] = []
    places, place = dict(program.lines), ""
    known: dict[str, str] = {}
    for index, text in enumerate(disassemble(code, dict(program.map_references))):
        if places.get(index, place) != place:
            place = places[index]
            lines.append(f"; {place}")
        if not text:
            continue
        if not merged.visits(index):
            lines.append(f"{index:4}: {text}    (never reached)")
            continue
        state = merged.texts(index)
        lines += [f"        {name} = {value}" for name, value in state.items() if known.get(name) != value]
        gone = [name for name in known if name not in state]
        if gone:
            lines.append(f"        unknown: {' '.join(gone)}")
        known = state
        lines.append(f"{index:4}: {text}")
    return "\n".join(lines) + "\n"
