"""What is lost under load is told in DTrace's words, with the tags of the option droptags."""

import re

import pytest
from support.command.command import build, sonde

WRITES = """
#include <fcntl.h>
#include <unistd.h>
int main(void) { int f = open("/dev/null", O_WRONLY); for (int i = 0; i < 3000; i++) write(f, "x", 1); }
"""
MINE = "syscall::write:entry /pid == $target/"
ON_CPU = r" on CPU \d+"


@pytest.fixture(scope="module")
def writes(tmp_path_factory):
    return build(tmp_path_factory.mktemp("load"), "writes", WRITES)


KINDS = {
    "PRINCIPAL": (("-b4k", "-xswitchrate=100ms"), f"{MINE} {{ trace(timestamp); }}", f"drops?{ON_CPU}"),
    "AGGREGATION": (("-xaggsize=1k",), f"{MINE} {{ @[n++] = count(); }}", f"aggregation drops?{ON_CPU}"),
    "DYNAMIC": (("-xdynvarsize=1k",), f"{MINE} {{ a[n++] = 1; }}", "dynamic variable drops?"),
    "SPECUNAVAIL": (
        (), f"{MINE} {{ s = speculation(); }}", r"failed speculations? \(no speculative buffer available\)",
    ),
    "SPEC": (
        ("-xspecsize=64", "-xswitchrate=100ms"),
        f"BEGIN {{ s = speculation(); }} {MINE} {{ speculate(s); trace(timestamp); }}",
        "speculative drops?",
    ),
    "DBLERROR": (
        (), f"{MINE} {{ trace(*(int *)0); }} ERROR {{ trace(*(int *)8); }}", "errors? in ERROR probe enabling",
    ),
}  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("tag", KINDS)
def test_messages_with_and_without_tags(tag, writes):
    options, text, message = KINDS[tag]
    for words, before in (((), ""), (("-xdroptags",), rf"\[DTRACEDROP_{tag}\] ")):
        errors = sonde(*options, *words, "-qn", text, "-c", writes).stderr
        lines = [line for line in errors.splitlines() if "drop" in line or "speculation" in line or "ERROR" in line]
        told = [line for line in lines if re.fullmatch(f"sonde: {before}[1-9]\\d* {message}", line)]
        assert told, errors[-2000:]
        # Nothing of the kind is told in other words.
        assert told == [line for line in lines if "dt_clause" not in line]
