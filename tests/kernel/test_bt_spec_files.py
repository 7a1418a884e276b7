"""--aot: a compiled program shows what its source shows, with bpftrace's functions, texts, series and messages."""

import json
import re

import pytest
from support.command.command import sonde

PROGRAM = r"""
config = { max_strlen = 16; str_trunc_trailer = "~"; unstable_tseries = enable }
begin {
    @h = hist(5); @h = hist(70); @l["x"] = lhist(3, 0, 10, 2); @s = stats(7); @c[comm] = count();
    @t = tseries(5, 1s, 3); @pair = (1, "abc"); print((1, "two")); printf("%s|%r\n", str("abc"), buf("x\x01", 2));
}
tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @opened[str(args.filename)] = count(); }
end { warnf("warned of %d", 3); $zero = 0; print(5 / $zero); time("at %%\n"); }
"""
COMMAND = ("-c", "/bin/cat /dev/null")
MOMENTS = re.compile(r"^.*hh:mm.*\n|^\d\d:.*\n", re.MULTILINE)


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_saved_program_shows_what_its_source_shows(tmp_path, engine):
    source, saved = tmp_path / "shown.bt", tmp_path / "shown.spec"
    source.write_text(PROGRAM)
    chosen = ("--engine", engine)
    sonde("bt", *chosen, "--aot", saved, source)
    own, other = (sonde("bt", *chosen, *COMMAND, each) for each in (source, saved))
    assert MOMENTS.sub("", own.stdout) == MOMENTS.sub("", other.stdout)
    assert own.stderr == other.stderr
    assert "@opened[/dev/null]: 1" in other.stdout
    assert "WARNING: warned of 3" in other.stderr
    objects = sonde("bt", "-q", "-f", "json", *chosen, *COMMAND, saved).stdout.splitlines()
    assert {json.loads(each)["type"] for each in objects} >= {"value", "printf", "map", "hist", "stats", "tseries"}


def test_what_cannot_be_saved_or_run_is_told(tmp_path):
    saved = tmp_path / "saved"
    for words in (("-c", "true"), ("-p", "1"), ("-k",), ("--test",)):
        assert "with --aot" in sonde("bt", "--aot", saved, *words, "-e", "begin { }", status=1).stderr
    told = sonde("bt", "--aot", saved, "-e", "uprobe:/bin/sh:0x0 { }", status=1).stderr
    assert "ERROR" in told
    sonde("bt", "--aot", saved, "-e", "begin { print(7); }")
    assert sonde("--spec", saved).stdout == sonde("bt", "-q", saved).stdout == "7\n\n\n"
    content = json.loads(saved.read_text())
    damaged = tmp_path / "damaged"
    damaged.write_text(json.dumps(content | {"texts": "[]"}))
    assert "its checksum is wrong" in sonde("bt", damaged, status=1).stderr
    sonde("-q", "-n", "BEGIN { exit(0); }", "--save", saved)
    assert "run it with sonde --spec" in sonde("bt", saved, status=1).stderr


def test_what_does_more_than_look_needs_leave(tmp_path):
    saved = tmp_path / "acting"
    sonde("bt", "--unsafe", "--aot", saved, "-e", 'begin { system("echo done"); }')
    assert "Destructive actions not allowed" in sonde("bt", saved, status=1).stderr
    assert sonde("bt", "-q", "--unsafe", saved).stdout.strip() == "done"
