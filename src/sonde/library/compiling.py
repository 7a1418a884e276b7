"""From a source to what an engine loads."""

from __future__ import annotations

from sonde.frontends.d.programs.compiling import Compiled, compile_programs, macros, read
from sonde.frontends.d.programs.destructive import is_destructive
from sonde.frontends.d.programs.mistakes import compile_error
from sonde.library import errors
from sonde.library.engines import of_session
from sonde.library.errors import CompileError
from sonde.library.settings import option_table
from sonde.library.sources import Source
from sonde.model.errors import DError, ProgramError
from sonde.model.options import OptionTable, Value
from sonde.model.spec import TracingSpec
from sonde.session.engines import features, refused_functions
from sonde.session.errors import SessionError
from sonde.session.kernels import registry_of
from sonde.session.registry import Registry
from sonde.session.tracing import compile_session
from sonde.typed import NamedTuple


class Product(NamedTuple):
    """The compiled program, the options that go with it, and whether it does more than look."""

    spec: TracingSpec
    kept: dict[str, Value]
    destructive: bool


def product(source: Source, engine: str, target: int | None = None) -> Product:
    """Compile for an engine; with the number of $target if that is known. Raises CompileError."""
    options = option_table(source.options)
    try:
        registry = registry_of(engine, source.target)
        given = read("file" if source.kind == "file" else "name", source.text, options)
        if source.kind == "text":
            given = given._replace(source=given.source._replace(bodiless=False, pspec=options.on("pspec")))
        variables = macros(source.arguments, 0, options)._replace(target=target)
        program = compile_programs([given], options, registry, variables, "sonde")
        spec = _generate(program, options, registry, engine)
    except ProgramError as error:
        raise errors.compile_error(error) from None
    except SessionError as error:
        raise of_session(error) from None
    if not spec.programs:
        raise CompileError("no probes matched")
    return Product(spec, options.kept(), is_destructive(program.program))


def _generate(program: Compiled, options: OptionTable, registry: Registry, engine: str) -> TracingSpec:
    target = registry.target
    if not target.portable:
        found = features(engine, program.program, target)
        refused = refused_functions(program.program) if "fentry" in found else frozenset[str]()
        target = target._replace(features=found, refused_functions=refused)
    try:
        return compile_session(program.program, options, target, registry, program.lines, for_values=True).spec()
    except DError as error:
        given = program.containing(error.position)
        raise compile_error(error, given.failure, given.original, given.is_script, options.on("errtags")) from None
