"""The probes there are, with their typed arguments."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.library.errors import Error, as_errors
from sonde.model.errors import SourceError
from sonde.model.kinds import spell
from sonde.model.probe import Probe
from sonde.session.engines import EMBEDDED, KERNEL
from sonde.session.kernels import registry_of
from sonde.session.permission import refusal
from sonde.session.registry import Registry
from sonde.typed import NamedTuple

_NAMES = 4
"""Of a probe: provider, module, function and name."""


class ProbeArgument(NamedTuple):
    """`args[n]` of a probe: its name where the kernel or a declaration gives it one, else "", and its type in C."""

    name: str
    type: str


class ListedProbe(NamedTuple):
    """A probe that can be named in a program. `id` is its number on this machine while it runs."""

    id: int
    provider: str
    module: str
    function: str
    name: str
    arguments: tuple[ProbeArgument, ...]

    def __str__(self) -> str:
        return f"{self.provider}:{self.module}:{self.function}:{self.name}"


def probes(
    description: str = "", *, engine: str = "auto", target: str | None = None, pid: int | None = None
) -> tuple[ListedProbe, ...]:
    """Those that a description matches, `provider:module:function:name` with patterns of sh(1), where what is left out
    is anything; a word without a colon is any of the four. `target` is the BTF of another kernel; `pid` is $target.
    Raises Error."""
    if engine not in ("auto", KERNEL, EMBEDDED):
        raise Error(f"there is no engine {engine!r}", f"there are auto, {KERNEL} and {EMBEDDED}")
    chosen = engine if engine != "auto" else KERNEL if target is not None or not refusal() else EMBEDDED
    with as_errors():
        registry = registry_of(chosen, target)
        found = described(description.replace("$target", str(pid or 0)), registry)
        return tuple(_listed(each, registry) for each in found)


def described(word: str, registry: Registry) -> Sequence[Probe]:
    """The probes whose names are, from the provider on, what stands between colons; what is left out is anything. A
    word without a colon is any of the four names. Raises Error where a provider refuses the description."""
    try:
        return _matching(word, registry)
    except SourceError as error:
        raise Error(f"failed to match {word}: {error.text}", error.hint) from None


def _matching(word: str, registry: Registry) -> Sequence[Probe]:
    if not word:
        return registry.listed("", "", "", "")
    fields = word.split(":")
    if len(fields) > _NAMES:
        return ()
    if len(fields) > 1:
        return registry.listed(*fields, *("" for _ in range(_NAMES - len(fields))))
    found: dict[int, Probe] = {}
    for place in range(_NAMES):
        names = ["" for _ in range(_NAMES)]
        names[place] = word
        found |= {probe.id: probe for probe in registry.listed(*names)}
    return [found[number] for number in sorted(found)]


def _listed(probe: Probe, registry: Registry) -> ListedProbe:
    found = registry.arguments(probe) or ()
    names = registry.argument_names(probe) or ("",) * len(found)
    arguments = tuple(ProbeArgument(name, spell(each.shown)) for each, name in zip(found, names, strict=False))
    return ListedProbe(probe.id, probe.provider, probe.module, probe.function, probe.name, arguments)
