"""-h and -G: what a program with static probes is built with, from the definitions of its providers."""

from __future__ import annotations

import os

from sonde.cli.arguments import Arguments
from sonde.cli.messages import FatalError, Messages
from sonde.cli.output import show
from sonde.formats.static_header import MOST_PARAMETERS, Parameter, Provided, counter_name, header
from sonde.frontends.d.programs.compiling import compile_programs, macros, read
from sonde.model.kinds import spell
from sonde.model.options import OptionTable
from sonde.model.types import Array, Enum, Float, Int, Pointer, String, Type, resolve, size_of
from sonde.session.engines import choose
from sonde.session.kernels import registry_of


def write(arguments: Arguments, options: OptionTable, messages: Messages) -> int:
    """The header of -h, or -G's object with the counters of the probes, whose operands are the objects that use them.

    The file is that of -o, `-` for the output, or is called as the script is. Raises FatalError.
    """
    probes = _provided(arguments, options, messages)
    if "header" in arguments.flags:
        _to_file(arguments, ".h", header(probes).encode())
        return 0
    for path in arguments.operands:
        if not os.path.exists(path):
            raise FatalError(f"failed to open {path}: No such file or directory")
    from sonde.arch import object_files
    from sonde.formats.elf_object import counters_object

    _to_file(arguments, ".o", counters_object([counter_name(each) for each in probes], object_files.MACHINE))
    return 0


def _provided(arguments: Arguments, options: OptionTable, messages: Messages) -> list[Provided]:
    if not arguments.programs:
        option = "-h" if "header" in arguments.flags else "-G"
        text = f"{option} requires one or more scripts or enabling options"
        raise FatalError(text, 2, "name the script that defines the provider with -s")
    options.set("zdefs", None)
    registry = registry_of(
        choose(options, messages.error, only_compiles=True), arguments.btf, arguments.save is not None
    )
    given = [read(*each, options) for each in arguments.programs]
    compiled = compile_programs(given, options, registry, macros((), 0, options), messages.program)
    found = [
        Provided(provider, name, tuple(_parameter(f"{provider}:{name}", each) for each in probe.inputs), probe.sources)
        for provider, probes in compiled.checker.providers.items()
        for name, probe in probes.items()
    ]
    if not found:
        raise FatalError("the programs define no providers: provider NAME { probe NAME(TYPES); };")
    for each in found:
        if len(each.parameters) > MOST_PARAMETERS:
            raise FatalError(
                f"probe {each.provider}:{each.name} has more than {MOST_PARAMETERS} parameters, which an asm "
                "statement of C cannot have"
            )
    return found


def _parameter(probe: str, type_: Type) -> Parameter:
    base = resolve(type_)
    if isinstance(base, (Int, Enum)):
        return Parameter("integer", base.size, base.signed)
    if isinstance(base, (Pointer, Array, String)):
        return Parameter("pointer", 8)
    if isinstance(base, Float) and size_of(base) in (4, 8):
        return Parameter("float", size_of(base))
    raise FatalError(f"probe {probe}: a parameter cannot be of type {spell(type_)}: pass a pointer to it")


def _to_file(arguments: Arguments, ending: str, content: bytes) -> None:
    scripts = [each.text for each in arguments.programs if each.kind == "file" and each.text != "-"]
    path = arguments.output
    if path is None:
        if len(scripts) != 1:
            raise FatalError("name the file to write with -o, - for the output")
        path = os.path.splitext(os.path.basename(scripts[0]))[0] + ending
    if path == "-":
        show(content.decode(errors="replace"))
        return
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise FatalError(f"failed to write {path}: {error.strerror}") from None
