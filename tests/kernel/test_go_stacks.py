"""Stacks of Go across its switches to threads' stacks: by default as by frame pointers, and never less."""

import re
from collections import Counter

import pytest
from support.command.command import sonde
from support.machine import compilers

SOURCE = """
package main

import (
	"os"
	"runtime/debug"
	"time"
)

type node struct {
	left, right *node
	words       [4]int
}

//go:noinline
func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: build(depth - 1), right: build(depth - 1)}
}

//go:noinline
func poll(n int) (sum int64) {
	for i := 0; i < n; i++ {
		sum += time.Now().UnixNano()
	}
	return
}

//go:noinline
func free() { debug.FreeOSMemory() }

func main() {
	if len(os.Args) > 1 {
		for i := 0; i < 8; i++ {
			poll(500000)
			for j := 0; j < 40; j++ {
				build(12)
			}
		}
	}
	build(14)
	free()
}
"""

ROOTS = ("runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_amd64_linux")


STRIPPED = "-ldflags=-s -w"


def program(*options):
    files = {"switches.go": SOURCE, "go.mod": "module switches\n\ngo 1.19\n"}
    return str(compilers.kept(["go", "build", "-o", "switches", *options], files, "switches"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "options"),
    [("kernel", ()), ("embedded", ()), ("kernel", (STRIPPED,)), ("embedded", (STRIPPED, "-buildmode=pie"))],
)
def test_a_call_on_a_threads_stack_has_the_goroutine_below(engine, options):
    """What gives memory back to the kernel runs on the thread's stack, for who has asked for it."""
    text = "syscall::madvise:entry /pid == $target/ { @[ustack(60)] = count(); }"
    shown = sonde("--engine", engine, "-q", "-c", program(*options), "-n", text).stdout
    stacks = [re.findall(r"`([^\s+]+)", each) for each in shown.split("\n\n")]
    asked = [each for each in stacks if "main.free" in each]
    assert any({"runtime.systemstack.abi0", "runtime.systemstack"} & {*each} for each in asked), shown
    for each in asked:
        assert each[-1].startswith("runtime.goexit"), each
        assert each[each.index("main.free") + 1] == "main.main"


@pytest.mark.long
def test_samples_have_the_roots_of_goroutines_and_threads(tmp_path):
    """Those within the vdso, too, which is called on the thread's stack."""
    text, path = "profile-997 /pid == $target && arg1/ { @[ustack(100)] = count(); }", tmp_path / "folded"
    sonde("-q", "-xustackframes=100", "-c", f"{program()} busy", "-n", text, "--folded", path)
    roots, polling = Counter(), Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        names = [each.rpartition("`")[2] for each in stack.split(";")]
        roots[names[0].removesuffix(".abi0")] += int(count)
        if "vdso" in names[-1]:
            polling["main.poll" in names and names[0].startswith("runtime.goexit")] += int(count)
    known = sum(number for name, number in roots.items() if name in ROOTS or name.startswith("[callers are missing"))
    assert roots.total() > 100
    assert known > 0.97 * roots.total(), roots
    assert polling[True] > 0.97 * polling.total(), polling
