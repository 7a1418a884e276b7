"""Programs that have gone the whole way: verified, linked, and ready to be fired."""

import pytest

from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.model.spec import ProgramSpec
from sonde.runtime.helpers.table import SUPPORTED, make_helpers
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.translation.translator import translate
from sonde.runtime.programs.loaded import RunnableProgram
from sonde.runtime.verifier.verify import verify
from support.bpf.bpf_interpreter import Interpreter
from support.bpf.embedded_world import World


def program(kind, text, variables=()):
    code, references = assemble(text)
    return ProgramSpec("test", kind, 0, encode(code), references, (), variables=tuple(variables))


@pytest.fixture(params=[Interpreter, translate], ids=["interpreted", "translated"], autouse=True)
def execution(request, monkeypatch):
    """Every test of a file that imports this runs in both executions."""
    monkeypatch.setattr(World, "execution", staticmethod(request.param), raising=False)


def load(world, spec, maps=None):
    """The LoadedProgram of a spec in a world, whose maps have these names."""
    environment, maps = world.environment, maps or {}
    verified = verify(spec, {name: each.spec for name, each in maps.items()})
    linked = link(spec._replace(code=encode(verified.code)), maps, lambda stamp: 0, environment.functions)
    helpers = make_helpers(SUPPORTED, environment)
    make = getattr(world, "execution", Interpreter)
    return RunnableProgram(
        environment, spec.kind, make(linked, world.memory, helpers, environment.functions), spec.variables
    )
