"""What this machine can do: found out without traces, and not less than its kernel's version promises."""

import importlib
import os
import time

import pytest
from support.bpf.handwritten import COUNT_BY_COOKIE, COUNT_ZERO, counts, program, raw_tracepoint, tracing_spec
from support.machine.access import needs, require

from sonde.bpf import programs
from sonde.engines.kernel import commands
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.features import FEATURES, FOR_PROGRAMS, detect
from sonde.engines.kernel.survey import survey
from sonde.machine.system import current_target, parse_cpus, pid_namespace
from sonde.model.errors import EngineError
from sonde.model.probe import RawTracepoint, Timer
from sonde.model.spec import Stamp

UNCONDITIONAL = {
    *FOR_PROGRAMS, "bpf", "perf_event", "ringbuf", "task_storage", "bpf_strncmp", "get_ns_current_pid_tgid",
    "ringbuf_dynptr", "sign_extension",
}  # fmt: skip
"""Features that no kernel's configuration can leave out once there is bpf(2)."""


@pytest.mark.parametrize(
    "feature", [feature for feature in FEATURES if feature.name in UNCONDITIONAL], ids=lambda feature: feature.name
)
def test_kernels_have_what_their_version_promises(feature):
    require(feature.name)


def test_detecting_is_by_name():
    assert detect(["bpf", "ringbuf"]) == {"bpf", "ringbuf"}
    assert detect([]) == frozenset()
    with pytest.raises(ValueError, match="no such features: teleport"):
        detect(["bpf", "teleport"])


def test_the_survey_has_a_row_for_every_feature():
    rows = {row.name: row for row in survey()}
    assert {feature.name for feature in FEATURES} <= set(rows)
    assert {row.state for row in rows.values()} <= {"yes", "no", "refused"}
    assert all(row.purpose for row in rows.values())
    assert rows["bpf"].state == "yes"


def test_the_target_is_this_machine():
    target = current_target(frozenset({"x"}))
    assert target.release == os.uname().release
    assert target.features == {"x"}
    assert target.initial_namespace == (pid_namespace() is None)


def test_lists_of_cpus():
    assert parse_cpus("0\n") == (0,)
    assert parse_cpus("0-2,5,7-8\n") == (0, 1, 2, 5, 7, 8)


def refuse(*_):
    raise OSError(22, "Invalid argument")


def test_kernels_without_perf_links_attach_the_old_way(monkeypatch):
    monkeypatch.setattr(commands, "link_perf_event", refuse)
    text = COUNT_BY_COOKIE.replace("call bpf_get_attach_cookie", "r0 = 0x0 ll")
    probes = [(Timer(5_000_000, every_cpu=False), 5), (Timer(5_000_000, every_cpu=False), 6)]
    tracing = KernelEngine().load(
        tracing_spec(program("timer", programs.PERF_EVENT, text, probes, stamps=(Stamp(0, "cookie"),)))
    )
    try:
        tracing.attach()
        patience = time.monotonic() + 20
        while set(counts(tracing)) != {5, 6} and time.monotonic() < patience:
            tracing.wait(0.01)
        assert set(counts(tracing)) == {5, 6}
    finally:
        tracing.close()


def test_kernels_without_raw_tracepoint_cookies_attach_without(monkeypatch):
    real = commands.open_raw_tracepoint
    monkeypatch.setattr(
        commands,
        "open_raw_tracepoint",
        lambda descriptor, name, cookie=0: (refuse if cookie else real)(descriptor, name),
    )
    tracing = KernelEngine().load(tracing_spec(raw_tracepoint("raw", COUNT_ZERO, [(RawTracepoint("sys_enter"), 3)])))
    try:
        tracing.attach()
        assert counts(tracing)[0] > 0
    finally:
        tracing.close()


def as_nobody(action):
    """What `action` returns, as text, in a child without any privilege."""
    # Modules that are imported late must be there before root is given up.
    for module in ("resource", "sonde.engines.kernel.btf_ids"):
        importlib.import_module(module)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            text = action()
        except BaseException as error:
            text = repr(error)
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


@needs("CAP_SETUID")
def test_users_without_privilege_are_told_what_to_do():
    def load():
        try:
            KernelEngine().load(tracing_spec())
        except EngineError as error:
            return error.text
        return "loaded"

    message = as_nobody(load)
    assert message.startswith("cannot create map counts: not permitted")
    assert message.endswith("run sonde as root, or give it the capabilities CAP_BPF and CAP_PERFMON")


@needs("CAP_SETUID")
def test_users_without_privilege_have_no_features():
    assert as_nobody(lambda: str(sorted(detect()))) == "[]"
    states = as_nobody(lambda: str([row.state for row in survey() if row.name in ("bpf", "perf_event", "tp_btf")]))
    assert states == "['refused', 'refused', 'refused']"
