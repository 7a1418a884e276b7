"""Probe descriptions -> the probes they match."""

from __future__ import annotations

from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.check.stability import description_attributes, require_attributes
from sonde.frontends.d.errors import DError, in_d
from sonde.frontends.d.syntax import ProbeDescription
from sonde.model.errors import Position, SourceError
from sonde.model.probe import Probe, StaticProbe

_NOT_THERE = ("D_PROC_FUNC", "D_PROC_LINE", "D_PROC_OFF")
"""What a process does not have, which may be so where the options allow it."""


def matching_probes(spec: ProbeDescription, scope: Scope) -> tuple[Probe, ...]:
    """All probes of one description; none is an error unless the options allow it."""
    if spec.identifier is not None:
        return (numbered_probe(spec, scope),)
    try:
        found = tuple(scope.catalog.match(*spec.fields))
    except SourceError as refusal:
        error = in_d(refusal)
        if error.position is not None:
            raise error from None
        if error.tag in _NOT_THERE and scope.options.zero_probes:
            return ()
        raise DError(error.tag, error.text, spec.position, error.hint, error.names) from None
    if not found and not scope.options.zero_probes:
        text = f"probe description {':'.join(spec.fields)} does not match any probes"
        reason = scope.catalog.absence(spec.fields[0])
        # Without a provider all of them are asked, which takes seconds.
        is_explained = not reason and (scope.options.explained or spec.fields[0] != "")
        hint = scope.catalog.mismatch(*spec.fields) if is_explained else ""
        names = scope.catalog.alike(*spec.fields) if is_explained else ()
        raise DError("D_PDESC_ZERO", f"{text}\n{reason}" if reason else text, spec.position, hint, names)
    if not found and (why := scope.catalog.unawaited(spec.fields[0])):
        text = f"probe description {':'.join(spec.fields)} matches no probes, and will match none"
        raise DError("D_PDESC_ZERO", f"{text}\n{why}", spec.position)
    return _with_awaited(found, spec, scope) if found or scope.options.zero_probes else found


def numbered_probe(spec: ProbeDescription, scope: Scope) -> Probe:
    """The probe of a description that is a number."""
    assert spec.identifier is not None
    probe = scope.catalog.by_id(spec.identifier)
    if probe is None:
        text = f"invalid probe identifier {spec.identifier}: Unknown probe identifier"
        raise DError("D_PDESC_INVAL", text, spec.position)
    return probe


def _with_awaited(found: tuple[Probe, ...], spec: ProbeDescription, scope: Scope) -> tuple[Probe, ...]:
    """With one probe for the static probes of all processes, whether they run or will, in the place of those that there
    are by now; or for those that a process may come to have, where it has none. Where a description without a provider
    matches a probe of the kernel, it means no others."""
    provider = spec.fields[0]
    is_static = any(isinstance(each.firing, StaticProbe) for each in found)
    if found and (provider[-1:].isdigit() or not (provider or is_static)):
        return found
    awaited = scope.catalog.awaited(*spec.fields)
    if awaited is None:
        return found
    return (*(each for each in found if not scope.catalog.is_awaited(each, *spec.fields)), awaited)


def require_stability(spec: ProbeDescription, matched: int, scope: Scope, position: Position) -> None:
    """Refuse a description less stable than the option amin wants."""
    require_attributes("clause", description_attributes(spec.fields, matched), scope.amin, position)
