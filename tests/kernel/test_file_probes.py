"""Probes in files, whatever process runs them."""

import os
import re
import subprocess

import pytest
from support.command.command import build, sonde, start, table, unwrapped

PROGRAM = r"""
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n)
{
    asm volatile("" : "+r"(n));
    return n + 1;
}
int main(int count, char **words)
{
    work(count);
    if (!fork())
        _exit(work(40) != 41);
    wait(0);
    if (count == 1)
        execl(words[0], words[0], "again", (char *)0);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("files"), "worker", PROGRAM, "-g")


def run_traced(text, *commands):
    """What sonde prints while the commands run, which begin when it is ready."""
    text = f'BEGIN {{ printf("on\\n"); }} {text}'
    with start("-q", "-n", text) as tracer:
        assert tracer.stdout.readline() == b"on\n"
        pids = []
        for command in commands:
            process = subprocess.Popen(command)
            assert process.wait(20) == 0
            pids.append(process.pid)
        tracer.terminate()
        out, errors = tracer.communicate()
        assert tracer.returncode == 0, errors
    return out.decode(), pids


def test_every_process_of_a_file(program):
    """Children, the same process after exec, and others: each under its own number and name."""
    other = f"{program}-linked"
    if not os.path.exists(other):
        os.link(program, other)
    text = f"uprobe:{program}:work:entry {{ @[pid, execname, arg0] = count(); }}"
    out, (first, second) = run_traced(text, [program], [other])
    counts = table(out)
    assert counts[str(first), "worker", "1"] == counts[str(first), "worker", "2"] == 1
    assert counts[str(second), "worker-linked", "1"] == counts[str(second), "worker-linked", "2"] == 1
    children = {key: value for key, value in counts.items() if key[2] == "40"}
    assert len(children) == 4
    assert set(children.values()) == {1}
    assert not {key[0] for key in children} & {str(first), str(second)}


def test_all_kinds_of_probes(program):
    """Names of a probe's fields: the module is the file."""
    kinds = f"uprobe:{program}:work:return, uprobe:{program}:work:0, uprobe:{program}:worker.c@7:"
    out, _ = run_traced(f"{kinds} {{ @[probeprov, probemod, probefunc, probename] = count(); }}", [program])
    counts = table(out)
    assert {key[:2] for key in counts} == {("uprobe", program)}
    assert counts["uprobe", program, "work", "return"] == counts["uprobe", program, "work", "0"] == 4
    assert sum(count for key, count in counts.items() if key[2] == "worker.c@7") == 4


def test_a_relative_path_and_a_program_of_the_path(program, monkeypatch):
    monkeypatch.chdir(os.path.dirname(program))
    monkeypatch.setenv("PATH", os.path.dirname(program), prepend=os.pathsep)
    for name in ("./worker", "worker", "$1"):
        listed = sonde("-l", "-n", f"uprobe:{name}:work:entry", *(["./worker"] if name == "$1" else [])).stdout
        assert re.search(rf"uprobe +{re.escape(program)} +work entry", listed)


def test_functions_of_the_c_library():
    """By the short name; one that the dynamic linker chooses too."""
    listed = sonde("-l", "-n", "uprobe:libc:getenv:entry, uprobe:libc.so.6:strlen:entry").stdout
    assert len(re.findall(r"uprobe +/\S*libc\.so\.6 +(?:getenv|strlen) entry", listed)) == 2


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("uprobe:/nowhere:work:entry", r"there is no /nowhere"),
        ("uprobe:nowhere:work:entry", r"there is no nowhere in PATH"),
        ("uprobe:/etc/passwd:work:entry", r"/etc/passwd is no program or library"),
        ("uprobe:bash:readline", r"has four fields: uprobe:bash:readline:entry"),
        ("uprobe::work:entry", r"\[D_PROC_LIB\].*needs that file's name"),
        ("uprobe:{}:wrok:entry", r"(?s)\[D_PROC_FUNC\].*did you mean work\?"),
        ("uprobe:{}:work:fff", r"\[D_PROC_OFF\]"),
        ("uprobe:{}:work:nothing", r"\[D_PROC_NAME\] 'nothing' is an invalid probe name"),
        ("uprobe:{}:-:", r"\[D_PROC_NAME\]"),
        ("uprobe:{}:worker.c@1000:", r"\[D_PROC_FUNC\]"),
    ],
)
def test_refused(program, description, message):
    refused = sonde("-xerrtags", "-n", description.format(program), status=1).stderr
    assert re.search(message, unwrapped(refused))
