"""What reading an object may cost can be spent at any step: whoever looks for functions in it says so."""

import itertools
import subprocess
import sys

import pytest
from support.machine import compilers
from test_object_choices import chosen, written

from sonde.model.errors import SourceError
from sonde.objects.errors import ObjectError
from sonde.providers.pattern import Pattern
from sonde.providers.user_functions import UserFunctions
from sonde.symbols.elf.costs import Costs

SOURCE = """namespace inner { struct Thing { int number; int method(int more) { return number + more; } }; }
extern "C" __attribute__((noinline)) int plain(int n) { if (n > 2) throw n; return n * 2; }
template <typename T> __attribute__((noinline)) T twice(T value) { return value + value; }
int main(int count, char **) { inner::Thing thing = {count}; return thing.method(plain(count)) + twice(count); }
"""
SPENT = "reading it takes more than 2 seconds"


@pytest.fixture(scope="module")
def program():
    return compilers.built("program.cc", SOURCE, "g++", "-g", "-O0")


def at_each_step(monkeypatch, do):
    """Whatever happens where all is spent at the first question whether it is, at the second and so on, later in
    longer steps; what is done at last."""
    check, most = Costs.check, -1
    while True:
        most = max(most + 1, int(most * 1.4))
        left = itertools.count(most, -1)

        def spent(costs, left=left):
            if next(left) <= 0:
                costs.refuse(SPENT)
            check(costs)

        monkeypatch.setattr(Costs, "check", spent)
        try:
            yield None, do()
        except (SourceError, ObjectError) as error:
            yield error.text, None
        if next(left) >= 0:
            return


@pytest.mark.share(12)
@pytest.mark.parametrize(
    "description",
    [
        "plain:entry", "plain:return", "plain:1", "plain:", "pl*:entry", "*:return", ":", "absent:entry",
        "inner::Thing::method:entry", "inner::*:entry", "twice:entry", "twice<int>:return", "program.cc@2:", "method:",
        "-:1139",
    ],
)  # fmt: skip
def test_descriptions_of_functions_say_so(description, program, monkeypatch):
    function, _, name = description.rpartition(":")
    pattern = Pattern("uprobe", program, function, name)

    def look():
        functions = UserFunctions()
        return functions.match(pattern) or functions.mismatch(pattern)

    texts = [text for text, _ in at_each_step(monkeypatch, look) if text]
    assert sum(SPENT in text for text in texts) > 0
    assert {text for text in texts if SPENT not in text} <= {texts[-1]}


def test_descriptions_in_a_process_say_so(monkeypatch):
    words = [sys.executable, "-c", "print(1, flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"1\n"
        pattern = Pattern(f"pid{process.pid}", "libc", "getenv", "return")
        *spent, (text, found) = at_each_step(monkeypatch, lambda: UserFunctions().match(pattern))
        process.stdin.write(b"\n")
        process.stdin.close()
    # Separate debug information may be done without.
    assert [each for each, _ in spent if each and SPENT not in each] == []
    assert any(each and SPENT in each for each, _ in spent)
    assert (text, len(found)) == (None, 1)


@pytest.mark.parametrize("section", ["uprobe/{}:plain", "uretprobe/{}:plain", "uprobe/{}:plain+1", "uprobe.multi/{}:*"])
def test_programs_of_objects_say_so(section, program, monkeypatch):
    data = written(section.format(program))
    *spent, (text, made) = at_each_step(monkeypatch, lambda: chosen(data))
    assert spent
    assert all(SPENT in each for each, _ in spent)
    assert (text, len(made.requests)) == (None, 1)
