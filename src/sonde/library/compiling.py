"""From a source to what an engine loads."""

from __future__ import annotations

from sonde.frontends.languages import Checked, front_end
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
    """The compiled program, the options that go with it, whether it does more than look, and whether it, or the
    options it was compiled with, permit that."""

    spec: TracingSpec
    kept: dict[str, Value]
    destructive: bool
    permitted: bool


def product(source: Source, engine: str, target: int | None = None, is_portable: bool = False) -> Product:
    """Compile for an engine; with the number of $target if that is known. `is_portable`: for other kernels, too, so
    without what not all of them have. Raises CompileError."""
    options = option_table(source.options)
    try:
        registry = registry_of(engine, source.target, is_portable)
        is_file = source.kind == "file"
        checked = front_end(source.language).check(source.text, is_file, options, registry, source.arguments, target)
        spec = _generated(checked, options, registry, engine)
    except ProgramError as error:
        raise errors.compile_error(error) from None
    except SessionError as error:
        raise of_session(error) from None
    if not spec.programs:
        raise CompileError("no probes matched")
    return Product(spec, options.kept(), checked.is_destructive, options.on("destructive"))


def _generated(checked: Checked, options: OptionTable, registry: Registry, engine: str) -> TracingSpec:
    target = registry.target
    if not target.portable:
        found = features(engine, checked.program, target)
        refused = refused_functions(checked.program) if "fentry" in found else frozenset[str]()
        target = target._replace(features=found, refused_functions=refused)
    try:
        return compile_session(checked.program, options, target, registry, checked.lines, for_values=True).spec()
    except DError as error:
        raise checked.explain(error) from None
