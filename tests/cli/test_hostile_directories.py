"""Every option that names a file to write, as root gives it, where an ordinary user has put a link to a file of root's.

What the functions below the options do in other prepared directories is in `tests/unit/test_hostile_outputs.py`.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from support.command.running import run
from support.files.hostile_directories import ATTACKER, Victim
from support.machine import packages
from support.machine.access import needs

from sonde.cli.manual.commands import ALL

EMBEDDED = ("--engine", "embedded", "-c", "true")
TRACED = (*EMBEDDED, "-qn", "BEGIN { trace(1); @[ustack()] = count(); exit(0); }")
KEYED = (*EMBEDDED, "-qn", "syscall:::entry { @[ustack()] = count(); }")
SIZES = (*EMBEDDED, "-qn", "syscall:::entry { @ = quantize(arg0); }")
BT = ("bt", "-q", "--engine", "embedded", "-c", "true")
PROBES = "provider p { probe one(int); };"

WRITTEN = {
    ("", "-o"): [
        (*TRACED, "-o", "{directory}/file"), (*TRACED, "-f", "json", "-o", "{directory}/file"),
        (*TRACED, "-o", "{directory}/file.arrow"), (*TRACED, "-o", "{directory}/file.parquet"),
        (*TRACED, "-o", "{directory}/file.parquet/"),
        ("-qn", "packet:lo:ingress: { capture(); } BEGIN { exit(0); }", "-o", "{directory}/file.pcapng"),
    ],
    ("", "--record"): [(*TRACED, "--record", "{directory}/file")],
    ("", "--raw"): [(*TRACED, "--raw", "{directory}/file")],
    ("", "--flame"): [(*KEYED, "--flame", "{directory}/file.svg")],
    ("", "--heatmap"): [(*SIZES, "--heatmap", "{directory}/file.html")],
    ("", "--folded"): [(*KEYED, "--folded", "{directory}/file")],
    ("", "--speedscope"): [(*KEYED, "--speedscope", "{directory}/file")],
    ("", "--pprof"): [(*KEYED, "--pprof", "{directory}/file")],
    ("", "--save"): [("--engine", "embedded", "-en", "BEGIN { exit(0); }", "--save", "{directory}/file")],
    ("bt", "-o"): [
        (*BT, "-e", "BEGIN { print(1); exit(); }", "-o", "{directory}/file"),
        (*BT, "-e", "BEGIN { print(1); exit(); }", "-o", "{directory}/file.parquet/"),
    ],
    ("bt", "--aot"): [("bt", "--engine", "embedded", "--aot", "{directory}/file", "-e", "BEGIN { exit(); }")],
    ("raw", "-o"): [("raw", "{raw}", "-o", "{directory}/file")],
    ("read", "-o"): [("read", "{recording}", "-o", "{directory}/file")],
    ("record", "-o"): [("record", "-q", "-o", "{directory}/file", "-n", "BEGIN { trace(1); exit(0); }")],
}  # fmt: skip
"""By command and option: words, with {directory} where the directory is."""

OTHERS = {
    "freopen": (*EMBEDDED, "-wqn", 'BEGIN { freopen("{directory}/file"); trace(1); exit(0); }'),
    "ctypes": ("--engine", "embedded", "-en", "BEGIN { }", "-xctypes={directory}/file"),
    "dtypes": ("--engine", "embedded", "-en", "BEGIN { }", "-xdtypes={directory}/file"),
    "-h": ("-h", "-s", "{probes}", "-o", "{directory}/file"),
    "-G": ("-G", "-s", "{probes}", "-o", "{directory}/file"),
    "skboutput": (
        "bt", "-q", "-e",
        'tracepoint:net:net_dev_queue { $r = skboutput("{directory}/file", (struct sk_buff *)args.skbaddr, 9, 0); } '
        "BEGIN { exit(); }",
    ),
}  # fmt: skip
"""What names a file in another way."""

READ = {
    ("", "-s"), ("", "--packets"), ("", "--replay"), ("", "--flame-diff"), ("", "-k"), ("", "--spec"), ("", "--object"),
    ("bt", "-I"), ("bt", "--include"), ("vars", "-k"),
}  # fmt: skip


def options_with_files():
    return {
        (command.name, option.names[0])
        for command in ALL
        for section in command.sections
        for option in section.options
        if "file" in option.choices
    }


def test_there_is_a_row_for_each_option_that_names_a_file():
    assert options_with_files() == WRITTEN.keys() | READ


@pytest.fixture
def place():
    """A directory that anybody may enter, and nobody else may write to."""
    with tempfile.TemporaryDirectory(prefix="sonde-hostile-") as path:
        os.chmod(path, 0o711)
        yield Path(path)


def prepared(place, names):
    """A directory of an ordinary user, who has put links to root's file there under these names."""
    victim = Victim(place / "victim")
    folder = place / "directory"
    folder.mkdir()
    os.chown(folder, ATTACKER, ATTACKER)
    for each in names:
        words = ["setpriv", f"--reuid={ATTACKER}", f"--regid={ATTACKER}", "--clear-groups", "--"]
        subprocess.run([*words, "ln", "-s", victim.file, folder / each], check=True)
    return folder, victim


def filled(word, given):
    for name, path in given.items():
        word = word.replace(f"{{{name}}}", str(path))
    return word


CASES = [
    *((f"{command} {option}".strip(), words) for (command, option), several in WRITTEN.items() for words in several),
    *OTHERS.items(),
]


@pytest.mark.long
@needs("CAP_BPF", "CAP_PERFMON", "CAP_SETUID")
@packages.needs("setpriv")
@pytest.mark.parametrize(("option", "words"), CASES, ids=[f"{n}-{name}" for n, (name, _) in enumerate(CASES)])
def test_a_link_of_somebody_else_is_refused(place, option, words):
    names = ["file", "file.arrow", "file.parquet", "file.pcapng", "file.svg", "file.html"]
    folder, victim = prepared(place, names)
    (place / "probes.d").write_text(PROBES)
    if option == "raw -o":
        run(*TRACED, "--raw", place / "raw")
    if option == "read -o":
        run("record", "-q", "-o", place / "recording", "-n", "BEGIN { trace(1); exit(0); }")
    given = {"directory": folder, "raw": place / "raw", "recording": place / "recording", "probes": place / "probes.d"}
    done = run(*(filled(each, given) for each in words))
    victim.require_unharmed()
    assert "a symbolic link that somebody else has made: file" in done.stderr, done
    assert done.returncode or option == "freopen"
