"""Probes looked up by words: what a provider refuses is an error of the library, and one message of the command."""

import pytest

import sonde
from sonde.cli.main import main

REFUSED = [
    "pid1:a.out:f*@12:entry",
    "pid999999:a.out:main:entry",
    "pid$target:a.out:main:entry",
    "usdt:::",
]


@pytest.mark.parametrize("description", REFUSED)
def test_a_refused_description_is_an_error(description):
    with pytest.raises(sonde.Error) as refused:
        sonde.probes(description, engine="kernel")
    assert refused.value.text.startswith(f"failed to match {description}: ".replace("$target", "0"))


@pytest.mark.parametrize("description", REFUSED)
def test_the_command_tells_it_and_goes_on(description, capfd):
    status = main(["sonde", "--engine", "kernel", "-l", description, "dtrace:::BEGIN"])
    captured = capfd.readouterr()
    assert status == 1
    assert captured.err.startswith(f"sonde: failed to match {description}: ".replace("$target", "0"))
    assert "BEGIN" in captured.out
