"""An option that would have no effect is a mistake that says why."""

import pytest

from sonde.cli.main import main

D = ("-n", "BEGIN { exit(0); }", "--engine", "embedded")
CASES = {
    ("-l", "-o", "x", *D): "-o has no effect here: -l lists probes",
    ("-l", "--raw", "x", *D): "--raw has no effect here: -l lists probes",
    ("-l", "--flame", "x", *D): "--flame has no effect here: -l lists probes",
    ("-l", "--object", "x"): "--object has no effect here: -l lists probes",
    ("-l", "--spec", "x"): "--spec has no effect here: -l lists probes",
    ("-l", "--disasm", *D): "--disasm has no effect here: -l lists probes",
    ("--dump", *D): "--dump has no effect here: a program is traced",
    ("--dump", "--spec", "x"): "--dump has no effect here: --spec runs a program that is compiled already",
    ("-S", "--spec", "x"): "-S has no effect here: --spec runs a program that is compiled already",
    ("-S", "--object", "x"): "-S has no effect here: --object runs programs that are compiled already",
    ("verify", "-o", "x", *D): "-o has no effect here: verify runs nothing",
    ("verify", "--raw", "x", *D): "--raw has no effect here: verify runs nothing",
    ("verify", "--dump", *D): "--dump has no effect here: verify runs nothing",
    ("verify", "--flame", "x", *D): "--flame has no effect here: verify runs nothing",
    ("verify", "--spec", "y", *D): "--spec has no effect here: verify runs nothing",
}


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_the_reason_is_told(tmp_path, monkeypatch, capfd, words):
    monkeypatch.chdir(tmp_path)
    assert main(["sonde", *words]) == 2
    assert CASES[words] in " ".join(capfd.readouterr().err.split())
    assert not [*tmp_path.iterdir()]
