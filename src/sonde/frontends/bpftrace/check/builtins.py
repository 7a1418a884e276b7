"""Built-in variables, which may be called like functions without arguments."""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import registers
from sonde.frontends.bpftrace.check import numbers, shown_numbers, stacks
from sonde.frontends.bpftrace.check.scope import SAMPLED, BtScope
from sonde.frontends.bpftrace.check.types import INT32, INT64, UINT32, UINT64, structure_of
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.model import program as tree
from sonde.model.errors import SourceError
from sonde.model.probe import KernelFunction, Probe, StaticPattern, Syscall, Uprobe
from sonde.model.program import Expr
from sonde.model.types import STRING, ULONG, VOID, Array, Member, Pointer, Type

_PLAIN: dict[str, tuple[str, Type]] = {
    "pid": ("pid", UINT32), "tid": ("tid", UINT32), "ppid": ("ppid", UINT32), "uid": ("uid", UINT32),
    "gid": ("gid", UINT32), "comm": ("execname", STRING), "nsecs": ("timestamp", UINT64), "cpu": ("cpu", UINT32),
}  # fmt: skip
"""What is called otherwise in the model, with its type."""

_ARGUMENTS = tuple(f"arg{number}" for number in range(10))


_WITH_ARGUMENTS = ("kprobe", "uprobe", "usdt", "rawtracepoint")


_INTERNAL = "__builtin_"
_INTERNALS = ("comm", "cpid", "cpu", "dw_ustack", "elapsed", "func", "ncpus", "probe", "retval", "usermode")
"""What bpftrace's own library calls these built-in variables, behind `_INTERNAL`."""


def public_name(name: str) -> str:
    """What a built-in variable is called that is named as bpftrace's own library does."""
    rest = name.removeprefix(_INTERNAL)
    return rest if rest != name and rest in _INTERNALS else name


def builtin(name: str, span: SourceSpan, scope: BtScope) -> Expr | None:
    """The variable of that name, None if there is none."""
    if name.startswith("__builtin_"):
        name = name.removeprefix("__builtin_")
    at = scope.at(span)
    if name in _PLAIN:
        model, type_ = _PLAIN[name]
        return tree.Builtin(type_, at, model)
    if name in _ARGUMENTS:
        if scope.attached.kind not in _WITH_ARGUMENTS:
            text = f"The {name} builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes"
            raise scope.mistake(text, span)
        return tree.Builtin(UINT64, at, name)
    made = _MADE.get(name)
    return made(span, scope) if made else None


def _retval(span: SourceSpan, scope: BtScope) -> Expr:
    """What a function has given, or a system call."""
    for probe in scope.attached.probes:
        firing = probe.firing
        is_return = (isinstance(firing, KernelFunction) and firing.is_return) or (
            isinstance(firing, Uprobe) and firing.kind == "return"
        )
        if not is_return:
            raise scope.mistake(
                "The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fexit' probes", span
            )
    if scope.attached.kind == "fexit":
        return _typed_result(span, scope)
    return tree.Builtin(UINT64, scope.at(span), "arg1")


def _typed_result(span: SourceSpan, scope: BtScope) -> Expr:
    """What a function of the kernel has given, of the type that BTF says."""
    kinds: list[Type] = []
    for probe in scope.attached.probes:
        given = scope.catalog.arguments(probe)
        if given is not None and len(given) <= RESULT:
            raise scope.mistake("Can't find a field retval", span)
        kinds.append(UINT64 if given is None else given[RESULT].native)
    scope.needs_each = scope.needs_each or len(set(kinds)) > 1
    return tree.Argument(kinds[0], scope.at(span), RESULT)


RESULT = 1
"""Its place behind where the function has returned from."""


def _elapsed(span: SourceSpan, scope: BtScope) -> Expr:
    scope.needs_start = True
    at = scope.at(span)
    start = tree.Var(UINT64, at, scope.hidden("start", UINT64))
    return tree.Binary(UINT64, at, "-", tree.Builtin(UINT64, at, "timestamp"), start)


def _curtask(span: SourceSpan, scope: BtScope) -> Expr:
    found = scope.types.tagged_type("struct", "task_struct")
    return tree.Builtin(Pointer(found or VOID), scope.at(span), "curthread")


def _probe(span: SourceSpan, scope: BtScope) -> Expr:
    if len(set(scope.texts.values())) > 1:
        is_open = any(isinstance(probe.firing, StaticPattern) for probe in scope.attached.probes)
        # Another clause may have found the same probe by another name.
        if is_open or any(scope.probe_texts.get(key, text) != text for key, text in scope.texts.items()):
            scope.needs_each = True
        else:
            scope.probe_texts |= scope.texts
            return tree.Builtin(STRING, scope.at(span), "probetext")
    return tree.StringConst(STRING, scope.at(span), scope.attached.text.encode(errors="surrogateescape"))


def _probetype(span: SourceSpan, scope: BtScope) -> Expr:
    return tree.StringConst(STRING, scope.at(span), scope.attached.kind.encode())


def _func(span: SourceSpan, scope: BtScope) -> Expr:
    if scope.attached.kind in _WITHOUT_FUNCTION:
        raise scope.mistake(f"The func builtin can not be used with '{_provider(scope)}' probes", span)
    scope.known.asks_function = True
    if scope.known.functions_are_symbols:
        return stacks.of_probe(span, scope)
    return tree.Builtin(STRING, scope.at(span), "probefunc")


_WITHOUT_FUNCTION = (
    "special",
    "interval",
    "profile",
    "tracepoint",
    "rawtracepoint",
    "hardware",
    "software",
    "watchpoint",
    "iter",
)


def _provider(scope: BtScope) -> str:
    """What the description calls its kind of probe."""
    return scope.attached.point.text.partition(":")[0].lower()


def _context(span: SourceSpan, scope: BtScope) -> Expr:
    kind = scope.attached.kind
    if kind == "tracepoint":
        raise scope.mistake("Use args instead of ctx in tracepoint", span)
    if kind in SAMPLED:
        # The kernel has it otherwise than programs see it, so its members are not known here.
        return tree.Builtin(Pointer(VOID), scope.at(span), "__context")
    if kind == "iter":
        of_iterator = scope.types.tagged_type("struct", f"bpf_iter__{scope.attached.probes[0].name}")
        return tree.Builtin(Pointer(of_iterator or VOID), scope.at(span), "__context")
    if kind not in _WITH_REGISTERS:
        raise scope.mistake(f"The ctx builtin can not be used with '{_provider(scope)}' probes", span)
    found = scope.types.tagged_type("struct", "pt_regs")
    return tree.Builtin(Pointer(found or VOID), scope.at(span), "__context")


_WITH_REGISTERS = ("kprobe", "kretprobe", "uprobe", "uretprobe", "usdt")


def _rand(span: SourceSpan, scope: BtScope) -> Expr:
    return tree.Call(UINT32, scope.at(span), "rand", ())


def _kstack(span: SourceSpan, scope: BtScope) -> Expr:
    return stacks.bare("kstack", span, scope)


def _ustack(span: SourceSpan, scope: BtScope) -> Expr:
    return stacks.bare("ustack", span, scope)


_MADE: dict[str, Callable[[SourceSpan, BtScope], Expr]] = {
    "retval": _retval, "elapsed": _elapsed, "curtask": _curtask, "probe": _probe, "probetype": _probetype,
    "jiffies": numbers.of_machine("jiffies", UINT64), "numaid": numbers.of_machine("numa_node", UINT32),
    "cpid": numbers.of_machine("$target", UINT32), "usermode": numbers.usermode,
    "username": lambda span, scope: shown_numbers.username(span, scope),
    "func": _func, "kstack": _kstack, "ustack": _ustack,
    "rand": _rand,
    "ctx": _context,
}  # fmt: skip


CALL_NUMBER = "__syscall_nr"
"""The first field of a system call's tracepoints, which is no argument of the call."""
_COMMON = ("common_type", "common_flags", "common_preempt_count", "common_pid")
"""Fields of every tracepoint (include/trace/stages/stage4_event_fields.h), which programs are not given."""
WITHOUT_NAMES = ("special", "interval", "profile", "hardware", "software", "watchpoint")


def argument(name: str, span: SourceSpan, scope: BtScope) -> Expr:
    """`args.name`: an argument of the probe by its name."""
    probes = scope.attached.probes
    if scope.attached.kind in WITHOUT_NAMES:
        text = "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and uprobe probes"
        raise scope.mistake(f"{text} ({_provider(scope)} used here)", span)
    if name == CALL_NUMBER and (calls := {each.firing.number for each in probes if isinstance(each.firing, Syscall)}):
        scope.needs_each = scope.needs_each or len(calls) > 1
        return tree.Const(INT32, scope.at(span), min(calls))
    number: int | None = None
    kinds: list[Type] = []
    for probe in probes:
        if isinstance(probe.firing, Uprobe):
            return _located(name, span, scope)
        given, names = scope.catalog.argument_names(called(probe)) or (), argument_names(probe, scope)
        if name in names and name not in given:
            return call_arguments(span, scope) if name == CALL_ARGUMENTS else _call_of_return(span, scope)
        if name == "ret" and isinstance(probe.firing, Syscall) and probe.firing.is_return:
            found, kind = 0, INT64
        elif name in names:
            found = given.index(name)
            arguments = scope.catalog.arguments(called(probe))
            assert arguments is not None
            kind = arguments[found].native  # type: ignore[assignment]
            found += tree.ENTERED if called(probe) is not probe else 0
        else:
            if name in _COMMON and scope.attached.kind == "tracepoint":
                raise scope.mistake("BPF does not support accessing common tracepoint fields", span)
            of = scope.texts.get(probe.id, scope.attached.text)
            raise scope.mistake(f"Struct/union of type '{of}' does not contain a field named '{name}'", span)
        if number is not None and number != found:
            scope.needs_each = True
        number = found
        kinds.append(kind)
    assert number is not None
    if len(set(kinds)) > 1:
        scope.needs_each = True
    return tree.Argument(kinds[0], scope.at(span), number)


RAW_REGISTERS = "regs"
"""An argument of raw tracepoints that the trace event of the same name does not have."""


def argument_names(probe: Probe, scope: BtScope) -> tuple[str, ...]:
    """The names of the probe's arguments, as its description's type has them."""
    names = scope.catalog.argument_names(called(probe)) or ()
    return event_names(names) if scope.attached.kind == "tracepoint" else names


def called(probe: Probe) -> Probe:
    """Whose arguments the probe has: at a return from a function of the kernel those of its entry."""
    firing = probe.firing
    if not isinstance(firing, KernelFunction) or not firing.is_return:
        return probe
    return probe._replace(name="entry", firing=firing._replace(is_return=False))


def event_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a trace event's fields, which a raw tracepoint may stand for: both ends of calls tell their
    number, and the entry what is given to the call."""
    if RAW_REGISTERS not in names:
        return names
    rest = tuple(each for each in names if each not in (RAW_REGISTERS, "id"))
    return ("id", *(rest or (CALL_ARGUMENTS,)))


CALL_ARGUMENTS = "args"
CALL_ARGUMENTS_TYPE = Array(ULONG, len(registers.CALL_ARGUMENT_MEMBERS))


def call_arguments(span: SourceSpan, scope: BtScope) -> Expr:
    """What is given to a system call, of which the raw tracepoint tells the registers."""
    at, names = scope.at(span), registers.CALL_ARGUMENT_MEMBERS
    values = tuple(tree.Cast(ULONG, at, _register_of_call(each, span, scope)) for each in names)
    made = structure_of("tuple", tuple(map(str, range(len(names)))), (ULONG,) * len(names))
    member = Member("0", CALL_ARGUMENTS_TYPE, 0)
    return tree.MemberOf(CALL_ARGUMENTS_TYPE, at, tree.Compose(made, at, values), member)


def composed_elements(array: Expr, kind: Array) -> tuple[Expr, ...]:
    """What an array is made of where it is made for this alone, as that of a call's arguments; else ()."""
    if not isinstance(array, tree.MemberOf) or not isinstance(array.object, tree.Compose):
        return ()
    values = array.object.values
    return values if len(values) == kind.length and all(each.type == kind.of for each in values) else ()


def _register_of_call(name: str, span: SourceSpan, scope: BtScope) -> Expr:
    found = scope.types.tagged_type("struct", "pt_regs")
    return numbers.member_of(tree.Argument(Pointer(found or VOID), scope.at(span), 0), name, span, scope)


def _call_of_return(span: SourceSpan, scope: BtScope) -> Expr:
    """The number of a system call at its return, of which the raw tracepoint tells the registers."""
    return tree.Cast(INT64, scope.at(span), _register_of_call(registers.CALL_NUMBER_MEMBER, span, scope))


def _located(name: str, span: SourceSpan, scope: BtScope) -> Expr:
    try:
        found = [scope.catalog.variable(probe, "args", name) for probe in scope.attached.probes]
    except SourceError as error:
        raise scope.mistake(error.text, span, error.hint) from None
    if any(each != found[0] for each in found):
        scope.needs_each = True
    return tree.ProbeVariable(found[0].type, scope.at(span), f"args.{name}", found[0].pieces, found[0].is_user)
