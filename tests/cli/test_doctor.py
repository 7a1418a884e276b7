"""`sonde doctor`: what can be done first, true causes, and no more than a screen."""

import re

import other_user
import pytest
from access import needs
from running import environment, run

from sonde.cli.doctor import ABILITIES, doctor
from sonde.engines.embedded import survey as embedded
from sonde.engines.kernel.survey import Row, survey


def as_nobody(*capabilities, words=()):
    return other_user.run("doctor", *words, capabilities=capabilities, environment=environment())


def rows_of(text):
    """{name: state} of the lines that begin with both."""
    return dict(re.findall(r"^(\S.{25})(yes|no|refused)\b", text, re.MULTILINE))


def test_what_can_be_done_stands_first():
    done = run("doctor")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Linux ")
    assert all(len(line) < 80 for line in lines)
    assert [name.strip() for name in rows_of(done.stdout)][: len(ABILITIES)] == [each.name for each in ABILITIES]
    assert len(lines) <= 50


def test_all_there_is_with_v():
    done = run("doctor", "-v")
    for row in (*survey(), *embedded.survey()):
        assert re.search(f"^{re.escape(row.name)} +{row.state} ", done.stdout, re.MULTILINE), row
    assert all(len(line) < 80 for line in done.stdout.splitlines())


def test_abilities_are_made_of_rows():
    names = {row.name for row in (*survey(), *embedded.survey())}
    assert {name for each in ABILITIES for group in each.needed for name in group} <= names


@needs("CAP_SETUID")
@pytest.mark.parametrize("words", [(), ("-v",)])
def test_without_privilege_the_cause_is_the_privilege(words):
    """What could not be tried says so; no newer kernel would help."""
    done = as_nobody(words=words)
    assert done.returncode == 1
    assert "newer kernel" not in done.stdout
    assert "CONFIG_DEBUG_INFO_BTF" not in done.stdout
    assert "CAP_BPF and CAP_PERFMON" in " ".join(done.stdout.split())
    states = {name.strip(): state for name, state in rows_of(done.stdout).items()}
    assert states["whole system"] == states["timers"] == "refused"
    assert states["without privilege"] == "yes"
    if not words:
        assert len(done.stdout.splitlines()) <= 45
        assert done.stdout.count("run as root, or with CAP_BPF and") == 1


@needs("CAP_SETUID")
def test_one_capability_alone_is_not_enough_and_says_which():
    text = " ".join(as_nobody("bpf").stdout.split())
    assert "not tried without CAP_PERFMON" in text
    assert "newer kernel" not in text


@needs("CAP_SETUID")
def test_with_two_capabilities_the_whole_system_is_traced():
    done = as_nobody("bpf", "perfmon")
    assert done.returncode == 0
    states = {name.strip(): state for name, state in rows_of(done.stdout).items()}
    assert states["whole system"] == states["timers"] == "yes"


def test_a_remedy_is_told_once(monkeypatch, capfd):
    rows = [Row(name, "refused", "purpose", "cause", "one remedy") for name in names_of_abilities()]
    rows += [Row("kernel", "yes", "Linux"), Row("other", "no", "purpose", "cause", "none needed: it does without")]
    monkeypatch.setattr("sonde.cli.doctor.survey", lambda: rows)
    monkeypatch.setattr("sonde.cli.doctor.embedded.survey", list)
    assert doctor([]) == 1
    text = capfd.readouterr().out
    assert text.count("one remedy") == 1
    assert "other" not in text


def names_of_abilities():
    return sorted({name for each in ABILITIES for group in each.needed for name in group})
