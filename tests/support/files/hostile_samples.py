"""The files that make sense of which hostile ones are made, in a directory for the worker (`hostile_run`)."""

import contextlib
import io
import json
import os
import shutil
import subprocess
from pathlib import Path

from sonde.cli.main import main
from sonde.symbols.elf.file import ElfFile
from support.files import perf_files
from support.symbols.compiled_objects import compiled

FUNCTION = "main"
PROGRAM = 'BEGIN { @a["key"] = count(); @b = quantize(7); printf("%d %s\\n", pid, execname); trace(1); exit(0); }'


def make(directory):
    """Fill a directory: samples of all kinds of files, and a program whose names must never be lost."""
    samples = Path(directory, "samples")
    samples.mkdir(parents=True)
    objects(samples)
    recorded(samples)
    texts(samples)
    good = str(Path(directory, "good"))
    shutil.copy(compiled("-O0"), good)
    (symbol,) = ElfFile.open(good).find(FUNCTION)
    facts = {"good": good, "function": FUNCTION, "address": symbol.address + 1}
    Path(directory, "facts.json").write_text(json.dumps(facts))


def objects(samples):
    linked = samples / "a-object"
    shutil.copy(compiled("-O2"), linked)
    debug = samples / "debug"
    subprocess.run(["objcopy", "--only-keep-debug", linked, debug], check=True)
    with_links = ["objcopy", f"--add-gnu-debuglink={debug}"]
    for name in (".gnu_debugdata", ".gnu_debugaltlink", ".note.stapsdt"):
        content = samples / f"{name[1:]}"
        content.write_bytes(b"other\0" + bytes(20) if "alt" in name else NOTE if "sdt" in name else bytes(64))
        with_links += ["--add-section", f"{name}={content}"]
    subprocess.run([*with_links, linked], check=True, capture_output=True)
    for name in (".gnu_debugdata", ".gnu_debugaltlink", ".note.stapsdt"):
        (samples / name[1:]).unlink()
    shutil.copy(compiled("-O2", "-gz=zlib"), samples / "compressed")
    shutil.copy(compiled("-O2", "-gdwarf-4", "-fdebug-types-section", language="c++"), samples / "cxx")


NOTE = bytes.fromhex("08000000240000000300000073746170736474003911000000000000") + bytes(16) + b"a\0b\0-4@%edi\0\0"


def recorded(samples):
    run("-xengine=embedded", "-q", "--raw", str(samples / "raw"), "-n", PROGRAM)
    run("-xengine=embedded", "-q", "--save", str(samples / "spec"), "-n", PROGRAM)


def run(*words):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = main(["sonde", *words])
    assert status == 0, said.getvalue()


def texts(samples):
    maps = Path("/proc/self/maps").read_bytes()
    (samples / "maps").write_bytes(maps)
    (samples / "perf-map").write_bytes(b"".join(b"%x 40 function%d\n" % (0x1000 + 64 * n, n) for n in range(1001)))
    (samples / "folded").write_bytes(b"main;work;leaf 97\nmain;other 101\n" * 100)
    (samples / "script").write_text(PROGRAM)
    (samples / "perf-data").write_bytes(perf_files.file(perf_files.session()))
    (samples / "perf-data-pipe").write_bytes(perf_files.pipe(perf_files.session()))
    btf = Path("/sys/kernel/btf")
    if os.access(btf / "sunrpc", os.R_OK):
        (samples / "btf").write_bytes((btf / "sunrpc").read_bytes())
