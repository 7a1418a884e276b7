"""-d of `bt`: what the program becomes, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.cli.bt_arguments import BtArguments
from sonde.cli.messages import FatalError
from sonde.cli.output import show
from sonde.library.bpftrace.programs import BtProgram
from sonde.library.bpftrace.stages import CODE, INTERMEDIATE, TREE, stage

_STAGES = {
    "ast": TREE, "codegen": INTERMEDIATE, "codegen-opt": INTERMEDIATE, "dis": CODE,
}  # fmt: skip
"""bpftrace's names of stages. There is one intermediate form."""

_ALL = "all"
_LACKING = {
    "libbpf": "sonde loads programs without libbpf",
    "verifier": "what the kernel's verifier says is told where it refuses a program",
}


def show_stages(arguments: BtArguments, programs: Sequence[tuple[str, str]], made: BtProgram) -> None:
    """Print what -d asks for, each stage once, in the order of the stages. Raises FatalError."""
    asked = set(_asked(arguments))
    for name in (TREE, INTERMEDIATE, CODE):
        if name in asked:
            show(f"{name}\n{'-' * len(name)}\n{stage(name, programs, arguments.operands, made)}\n")


def _asked(arguments: BtArguments) -> Iterator[str]:
    for value in arguments.several["-d"]:
        for name in value.split(","):
            if name in _LACKING:
                raise FatalError(f"-d {name}: {_LACKING[name]}")
            if name == _ALL:
                yield from _STAGES.values()
            elif name in _STAGES:
                yield _STAGES[name]
            else:
                raise FatalError(f"USAGE: -d must be one of {', '.join((*_STAGES, _ALL))}, not '{name}'")
