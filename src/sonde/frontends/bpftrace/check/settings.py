"""Settings: of the config block and, stronger, of the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import NamedTuple

_PREFIX = "BPFTRACE_"
_NOWHERE = SourceSpan(1, 1, 1, 2)
_TRUE, _FALSE = ("1", "true"), ("0", "false")

SWITCH, NUMBER, TEXT, UNSTABLE = "switch", "number", "text", "unstable"


class KnownSetting(NamedTuple):
    """`kind` of its value, the `default`, and which values it takes, all without any. What has no effect here is
    accepted, since what it is about does not exist: `is_idle`."""

    kind: str
    default: int | str
    values: tuple[str, ...] = ()
    is_idle: bool = False


_LICENSES = ("GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL")
_READINESS = ("enable", "warn", "error")
"""What may be said of features that bpftrace calls unstable."""

SETTINGS = {
    "cache_user_symbols": KnownSetting(TEXT, "PER_PID", ("PER_PID", "PER_PROGRAM", "NONE", "1", "0"), is_idle=True),
    "cpp_demangle": KnownSetting(SWITCH, 1),
    "lazy_symbolication": KnownSetting(SWITCH, 0, is_idle=True),
    "license": KnownSetting(TEXT, "GPL", _LICENSES, is_idle=True),
    "log_size": KnownSetting(NUMBER, 1_000_000, is_idle=True),
    "max_bpf_progs": KnownSetting(NUMBER, 1024, is_idle=True),
    "max_cat_bytes": KnownSetting(NUMBER, 10240),
    "max_map_keys": KnownSetting(NUMBER, 4096),
    "max_probes": KnownSetting(NUMBER, 1024),
    "max_strlen": KnownSetting(NUMBER, 1024),
    "missing_probes": KnownSetting(TEXT, "error", ("ignore", "warn", "error")),
    "on_stack_limit": KnownSetting(NUMBER, 32, is_idle=True),
    "perf_rb_pages": KnownSetting(NUMBER, 64, is_idle=True),
    "print_maps_on_exit": KnownSetting(SWITCH, 1),
    "show_debug_info": KnownSetting(SWITCH, 0, is_idle=True),
    "stack_mode": KnownSetting(TEXT, "bpftrace", ("bpftrace", "perf", "raw", "build_id")),
    "str_trunc_trailer": KnownSetting(TEXT, ".."),
    "unstable_dw_ustack": KnownSetting(UNSTABLE, "warn", _READINESS),
    "unstable_tseries": KnownSetting(UNSTABLE, "warn", _READINESS),
    "unstable_typeinfo": KnownSetting(UNSTABLE, "error", _READINESS),
    "use_blazesym": KnownSetting(SWITCH, 0, is_idle=True),
}
"""By their short names."""

_RENAMED = {
    "strlen": "max_strlen", "no_cpp_demangle": "cpp_demangle", "cat_bytes_max": "max_cat_bytes",
    "map_keys_max": "max_map_keys",
}  # fmt: skip
_NEGATED = "no_cpp_demangle"
"""An older name that says the opposite."""
_WITHOUT_EFFECT = (
    "symbol_source", "max_type_res_iterations", "unstable_addr", "unstable_import", "unstable_macro",
    "unstable_map_decl",
)  # fmt: skip
_OF_ENVIRONMENT = ("btf", "kernel_build", "kernel_source", "vmlinux")
"""Names that older versions had, some for what has another name now, and those that a program cannot set."""


class GivenSettings(NamedTuple):
    """All `values` by their names; `warnings` about what is set."""

    values: dict[str, int | str]
    warnings: tuple[BtError, ...]


def settings_of(
    items: Sequence[nodes.ConfigSetting], environment: Mapping[str, str], file: str | None
) -> GivenSettings:
    """Those of a program, and of the environment. Raises BtError."""
    found = {name: each.default for name, each in SETTINGS.items()}
    warnings = []
    for item in items:
        name = item.name.lower().removeprefix(_PREFIX.lower())
        if name in _WITHOUT_EFFECT:
            warnings.append(BtError(f"{item.name} is deprecated and has no effect", item.at, "", file))
            continue
        if name in _RENAMED:
            name = _RENAMED[name]
            warnings.append(BtError(f"{item.name} has been renamed, please use {name}", item.at, "", file))
        if name not in SETTINGS:
            why = "not a known configuration option"
            if name in _OF_ENVIRONMENT:
                why = "can only be set as an environment variable"
            raise BtError(f"{item.name}: {why}", item.at, "", file)
        found[name] = _value(name, item.value, item, file)
    for variable, name in _variables(environment):
        span = items[0].at if items else _NOWHERE
        text = environment[variable]
        if variable != _variable(name):
            warnings.append(BtError(f"{variable} has been renamed, please use {_variable(name)}", span, "", file))
            if variable == _variable(_NEGATED):
                text = {"0": "1", "1": "0"}.get(text, text)
        found[name] = _value(name, text, nodes.ConfigSetting(span, variable, text), file)
    return GivenSettings(found, tuple(warnings))


def _variables(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables that are set, each with what it sets; those of older names where the newer ones are not."""
    newer = {name: name for name in SETTINGS if _variable(name) in environment}
    older = {old: new for old, new in _RENAMED.items() if new not in newer and _variable(old) in environment}
    return [(_variable(each), name) for each, name in (newer | older).items()]


def _variable(name: str) -> str:
    return _PREFIX + name.upper()


def _value(name: str, text: str, item: nodes.ConfigSetting | None, file: str | None) -> int | str:
    known = SETTINGS[name]
    chosen = _chosen(known, text)
    if chosen is not None:
        return chosen
    span = item.at if item is not None else _NOWHERE
    if name == "license":
        raise BtError(f"Invalid value for license. Found: {text}. Valid values: {', '.join(_LICENSES)}", span, "", file)
    raise BtError(f"{item.name if item else name}: {_wanted(name, known, text)}", span, "", file)


def _chosen(known: KnownSetting, text: str) -> int | str | None:
    """The value that a text stands for, None if it is none."""
    if known.kind == NUMBER:
        return int(text) if text.isdigit() and text.isascii() else None
    if known.kind == SWITCH:
        return int(text in _TRUE) if text in (*_TRUE, *_FALSE) else None
    if known.kind == UNSTABLE and text in (*_TRUE, *_FALSE):
        return "enable" if text in _TRUE else "error"
    if not known.values:
        return text
    return next((each for each in known.values if each.lower() == text.lower()), None)


def _wanted(name: str, known: KnownSetting, text: str) -> str:
    if known.kind == NUMBER:
        return f"expecting a number, got {text}"
    if known.kind == SWITCH:
        return "Invalid bool value: valid values are true, false, 1 or 0."
    what = "unstable config" if known.kind == UNSTABLE else name
    # The numbers are other words for what has a name, too.
    values = [each for each in known.values if not each.isdigit()]
    return f"Invalid value for {what}: valid values are {', '.join(values[:-1])}, and {values[-1]}."
