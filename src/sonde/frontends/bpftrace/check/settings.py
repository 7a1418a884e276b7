"""Settings: of the config block and, stronger, of the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import NamedTuple

_PREFIX = "BPFTRACE_"
_NOWHERE = SourceSpan(1, 1, 1, 2)
_TRUE, _FALSE = ("1", "true"), ("0", "false")

SWITCH, NUMBER, TEXT = "switch", "number", "text"


class KnownSetting(NamedTuple):
    """`kind` of its value, the `default`, and which values it takes, all without any. What has no effect here is
    accepted, since what it is about does not exist: `is_idle`."""

    kind: str
    default: int | str
    values: tuple[str, ...] = ()
    is_idle: bool = False


SETTINGS = {
    "cache_user_symbols": KnownSetting(TEXT, "", is_idle=True),
    "cpp_demangle": KnownSetting(SWITCH, 1, ("1", "true")),
    "lazy_symbolication": KnownSetting(SWITCH, 0, is_idle=True),
    "license": KnownSetting(TEXT, "GPL", ("GPL",)),
    "log_size": KnownSetting(NUMBER, 0, is_idle=True),
    "max_bpf_progs": KnownSetting(NUMBER, 1024, is_idle=True),
    "max_cat_bytes": KnownSetting(NUMBER, 10240),
    "max_map_keys": KnownSetting(NUMBER, 4096),
    "max_probes": KnownSetting(NUMBER, 1024),
    "max_strlen": KnownSetting(NUMBER, 1024),
    "missing_probes": KnownSetting(TEXT, "error", ("error", "warn", "ignore")),
    "on_stack_limit": KnownSetting(NUMBER, 32, is_idle=True),
    "perf_rb_pages": KnownSetting(NUMBER, 64, is_idle=True),
    "print_maps_on_exit": KnownSetting(SWITCH, 1),
    "show_debug_info": KnownSetting(SWITCH, 0, is_idle=True),
    "stack_mode": KnownSetting(TEXT, "bpftrace", ("bpftrace", "perf", "raw", "build_id")),
    "str_trunc_trailer": KnownSetting(TEXT, ".."),
    "unstable_tseries": KnownSetting(TEXT, "warn", ("error", "warn", "enable")),
}
"""By their short names."""


def settings_of(
    items: Sequence[nodes.ConfigSetting], environment: Mapping[str, str], file: str | None
) -> dict[str, int | str]:
    """All settings with their values. Raises BtError."""
    found = {name: each.default for name, each in SETTINGS.items()}
    for item in items:
        name = item.name.lower().removeprefix(_PREFIX.lower())
        if name not in SETTINGS:
            raise BtError(f"{item.name}: not a known configuration option", item.at, "", file)
        found[name] = _value(name, item.value, item, file)
    for name in SETTINGS:
        if _PREFIX + name.upper() in environment:
            at = items[0] if items else None
            found[name] = _value(name, environment[_PREFIX + name.upper()], at, file)
    return found


def _value(name: str, text: str, item: nodes.ConfigSetting | None, file: str | None) -> int | str:
    known = SETTINGS[name]
    right = not known.values or text in known.values
    if right and known.kind == TEXT:
        return text
    if right and known.kind == NUMBER and text.isdigit():
        return int(text)
    if right and known.kind == SWITCH and text in (*_TRUE, *_FALSE):
        return int(text in _TRUE)
    span = item.at if item is not None else _NOWHERE
    wanted = f"one of {', '.join(known.values)}" if known.values else f"a {known.kind}"
    raise BtError(f"{item.name if item else name}: expecting {wanted}, got {text}", span, "", file)
