"""Features that bpftrace calls unstable: a setting of each refuses it, has it warned of, or is silent."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import NOWHERE, SourceSpan


def require_enabled(feature: str, setting: str, span: SourceSpan, scope: BtScope) -> None:
    """Warns of a feature, once and without a place, as bpftrace does. Raises BtError where it is refused."""
    state = scope.settings[setting]
    if state == "error":
        text = f"{feature} feature is not enabled by default. To enable this unstable feature, set the config flag to "
        raise scope.mistake(f"{text}enable. {setting}=enable", span)
    if state == "warn":
        text = f"Script is using an unstable feature: {feature}. To prevent this warning you must explicitly enable it "
        scope.remark(f"{text}in the config e.g. {setting}=enable", NOWHERE)
