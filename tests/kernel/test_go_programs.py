"""A program that Go has built: stacks to the bottom of the runtime, arguments and variables, returns without root."""

import os
import re
import subprocess

import pytest
from support.command.command import sonde, unwrapped
from support.machine import packages

PROGRAM = """package main

import "fmt"

type Server struct {
	Name  string
	Count int
}

//go:noinline
func (s *Server) Serve(n int, path string) int {
	s.Count += n + len(path)
	return s.Count
}

//go:noinline
func Each[T any](every []T, f func(T) T) {
	for i, one := range every {
		every[i] = f(one)
	}
}

func main() {
	s := &Server{Name: "first"}
	for i := 0; i < 50; i++ {
		s.Serve(i, "/a/b")
		Each([]int{1, 2, 3}, func(n int) int { return n + i })
	}
	fmt.Println(s.Count)
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    packages.require("go")
    directory = tmp_path_factory.mktemp("go")
    (directory / "server.go").write_text(PROGRAM)
    environment = {**os.environ, "GOCACHE": str(directory / "cache"), "GOFLAGS": "-mod=mod", "HOME": str(directory)}
    subprocess.run(["go", "build", "-o", "server", "server.go"], cwd=directory, env=environment, check=True)
    return str(directory / "server")


def test_arguments_of_a_method(program):
    """Go passes them in registers of its own; a function whose stack grows is entered twice."""
    text = "pid$target:a.out:main.??Server?.Serve:entry { @[args->n] = count(); @paths[args->path.len] = count(); }"
    out = sonde("-qn", text, "-c", program).stdout
    pairs = [tuple(map(int, line.split())) for line in out.splitlines() if re.fullmatch(r" +\d+ +\d+", line)]
    *numbers, (length, calls) = pairs
    assert [n for n, _ in sorted(numbers)] == list(range(50))
    assert length == 4
    assert 50 <= sum(count for _, count in numbers) == calls <= 53


def test_members_of_what_a_receiver_leads_to(program):
    text = "pid$target:a.out:main.??Server?.Serve:entry { @ = max(args->s->Count); @n[args->s->Name.len] = count(); }"
    out = sonde("-qn", text, "-c", program).stdout.split()
    # Of 50 calls the last one sees the sum of those before.
    assert str(sum(n + 4 for n in range(49))) in out
    assert "5" in out


def test_stacks_reach_the_runtime_s_bottom(program):
    out = sonde("-qn", "pid$target:a.out:main.main.func1:entry { @[ustack()] = count(); }", "-c", program).stdout
    names = re.findall(r"`([^+\n]+)", out)
    assert names[0] == "main.main.func1"
    assert names[1].startswith("main.Each[")
    assert names[2:5] == ["main.main", "runtime.main", "runtime.goexit.abi0"]


def test_no_return_is_probed_by_the_kernel(program):
    done = sonde("-qn", "pid$target:a.out:main.*:return { }", "-c", program, status=1)
    assert "programs of Go move their stacks" in unwrapped(done.stderr)


def test_returns_are_told_where_return_addresses_stay(program):
    """A function whose stack grows is entered twice; calls that are on a stack when it moves may not be told."""
    text = "pid$target:a.out:main.*:return { @[probefunc] = count(); }"
    done = sonde("--engine", "embedded", "-n", text, "-c", program)
    counts = dict(re.findall(r"^ +(main\S+) +(\d+)$", done.stdout, re.MULTILINE))
    assert "1425" in done.stdout.split()
    assert 45 <= int(counts["main.(*Server).Serve"]) <= 50
    assert "the returns of calls that are on a stack then are not told" in unwrapped(done.stderr)
