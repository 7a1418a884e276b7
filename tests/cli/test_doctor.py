"""`sonde doctor`: what can be done first, true causes, and no more than a screen."""

import re

import pytest
from support.command import other_user
from support.command.running import environment, run
from support.machine.access import needs

import sonde
from sonde.cli.doctor import doctor
from sonde.model.capability import Capability


@pytest.fixture(scope="module")
def found():
    return sonde.capabilities()


@pytest.fixture(scope="module")
def needed(found):
    """The capabilities that abilities are made of."""
    return sorted({name for each in sonde.abilities(found).values() for group in each.needed for name in group})


def as_nobody(*capabilities, words=()):
    return other_user.run("doctor", *words, capabilities=capabilities, environment=environment())


def rows_of(text):
    """{name: state} of the lines that begin with both."""
    return dict(re.findall(r"^(\S.{25})(yes|no|refused)\b", text, re.MULTILINE))


def test_what_can_be_done_stands_first(found):
    done = run("doctor")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Linux ")
    assert all(len(line) < 80 for line in lines)
    can = sonde.abilities(found)
    assert [name.strip() for name in rows_of(done.stdout)][: len(can)] == [*can]
    assert len(lines) <= 50


def test_all_there_is_with_v(found):
    done = run("doctor", "-v")
    for row in found.values():
        assert re.search(f"^{re.escape(row.name)} +{row.state} ", done.stdout, re.MULTILINE), row
    assert all(len(line) < 80 for line in done.stdout.splitlines())


def test_abilities_are_made_of_capabilities(found, needed):
    assert set(needed) <= set(found)


def test_an_ability_lacks_the_first_of_a_group_of_which_there_is_none(found):
    there = {name: each._replace(state="yes") for name, each in found.items()}
    assert all(sonde.abilities(there).values())
    there["fentry"] = there["kprobe_multi"] = there["fentry"]._replace(state="no")
    assert sonde.abilities(there)["kernel functions"]
    there["kprobe"] = there["kprobe"]._replace(state="no")
    functions = sonde.abilities(there)["kernel functions"]
    assert not functions
    assert functions.missing == there["fentry"]


@pytest.mark.share(1)
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


def test_a_remedy_is_told_once(monkeypatch, capfd, needed):
    rows = [Capability(name, "refused", "purpose", "cause", "one remedy") for name in needed]
    rows += [
        Capability("kernel", "yes", "Linux"),
        Capability("other", "no", "purpose", "cause", "none needed: it does without"),
    ]
    monkeypatch.setattr("sonde.engines.kernel.survey.survey", lambda: rows)
    monkeypatch.setattr("sonde.engines.embedded.survey.survey", list)
    assert doctor([]) == 1
    text = capfd.readouterr().out
    assert text.count("one remedy") == 1
    assert "other" not in text
