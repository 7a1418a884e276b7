"""Files that the process of -p has at a path, `uprobe:` and `usdt:`, in D and in bpftrace's language."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.command.command import sonde, start
from support.machine import compilers, packages
from support.machine.access import needs

from sonde import others

pytestmark = [needs("CAP_SYS_ADMIN"), packages.needs("unshare", "gcc")]

PROGRAM = r"""
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("probed: nop" : : "D"(n)); return n + 1; }
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n993: .8byte probed\n.8byte 0\n.8byte 0\n.asciz \"inner\"\n.asciz \"tick\"\n.asciz \"4@%edi\"\n"
        "994: .balign 4\n.popsection\n");
int main(void)
{
    char byte;
    write(1, "R", 1);
    read(0, &byte, 1);
    for (int i = 0; i < 101; i++)
        work(i);
    return 0;
}
"""
PATHS = ["/absolute", "/up/inner_program", "/bin/inner_*", "inner_program", "./bin/inner_program"]
ENGINES = ["kernel", "embedded"]
WAYS = {
    "chroot": ["chroot", "{root}"],
    "mounts": ["unshare", "-m", "chroot", "{root}"],
    "pivot": ["unshare", "-mpf", "sh", "-c", "mount --bind {root} {root} && cd {root} && mkdir -p old && "
              "pivot_root . old && exec \"$@\"", "sh"],
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root directory with a program in it, links to that, and none of a library. Outside is another program under the
    same path."""
    made = tmp_path_factory.mktemp("files_of_processes")
    program = compilers.kept(["gcc", "-O1", "-static", "-o", "program", "program.c"], {"program.c": PROGRAM}, "program")
    other = compilers.kept(["gcc", "-o", "other", "other.c"], {"other.c": "int main(void) { return 0; }\n"}, "other")
    for folder in ("bin", str(made)[1:]):
        (made / folder).mkdir(parents=True)
        shutil.copy2(program, made / folder / "inner_program")
    shutil.copy2(other, made / "inner_program")
    (made / "absolute").symlink_to("/bin/inner_program")
    (made / "up").symlink_to("../../../bin")
    return made


@contextlib.contextmanager
def running(root, way, program):
    """A process that waits, and its number; it makes its calls when it is let go, and ends."""
    words = [each.replace("{root}", str(root)) for each in WAYS[way]]
    process = subprocess.Popen([*words, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.read(1) == b"R"
        yield process, innermost(process.pid)
    finally:
        process.communicate()


def innermost(pid):
    """What a process has started, and that, and so on to the last."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return innermost(int(children[0])) if children else pid


def traced(root, *words, way="chroot", program="/bin/inner_program", cwd=None):
    """What is printed of a process that makes its calls while it is traced."""
    with running(root, way, program) as (process, pid), start(*words, "-p", str(pid), cwd=cwd) as tracer:
        assert tracer.stdout.readline() == b"on\n", tracer.stderr.read()
        process.communicate(b"x")
        out, errors = tracer.communicate()
        assert tracer.returncode == 0, errors
        return out.decode().split()


def in_bt(engine, point):
    shown = f'printf("%d %s", (int64)@, "{point}"); clear(@);'
    text = f'begin {{ printf("on\\n"); }} {point} {{ @ = count(); }} end {{ {shown} }}'
    return "bt", "-q", "--engine", engine, "-e", text


def in_d(engine, description):
    text = f'BEGIN {{ printf("on\\n"); }} {description} /pid == $target/ {{ @[probemod] = count(); }}'
    return "-q", "--engine", engine, "-n", text + ' END { printa("%@d %s", @); }'


@pytest.mark.share(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", WAYS)
def test_a_path_is_one_of_the_process(root, engine, way):
    point = "uprobe:/bin/inner_program:work"
    assert traced(root, *in_bt(engine, point), way=way) == ["101", point]
    assert traced(root, *in_d(engine, f"{point}:entry"), way=way) == ["101", "/bin/inner_program"]


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_static_probes_of_a_path(root, engine):
    assert traced(root, *in_bt(engine, "usdt:/bin/inner_program:inner:tick"))[0] == "101"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "path", ["/absolute", "/up/inner_program", "/bin/inner_*", "inner_program", "./bin/inner_program"]
)
def test_links_patterns_and_names_within_the_root(root, path):
    """Neither an absolute link nor one that leads above the root leads out of it."""
    assert traced(root, *in_bt("kernel", f"uprobe:{path}:work"), cwd="/")[0] == "101"


def test_a_path_that_is_on_both_sides_is_one_of_the_process(root):
    """The file at this path outside has no such function."""
    path = f"{root}/inner_program"
    assert traced(root, *in_bt("kernel", f"uprobe:{path}:work"), program=path)[0] == "101"
    # A relative one is that of who writes it.
    with running(root, "chroot", path) as (_, pid):
        error = sonde("bt", "-p", str(pid), "-e", f"uprobe:{os.path.relpath(path)}:work {{}}", status=1).stderr
    assert "No matches for uprobe" in error


def test_a_path_of_the_outside_alone(root):
    """What the process does not have is that of who writes it, as with probes of other processes."""
    path = os.path.realpath("/proc/self/exe")
    with running(root, "chroot", "/bin/inner_program") as (_, pid):
        listed = sonde("-l", "-p", str(pid), "-n", f"uprobe:{path}:main:entry").stdout
    assert path in listed


def test_links_that_go_round(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("/one")
    with pytest.raises(OSError, match="symbolic links"):
        others.real_path("/one/x", str(tmp_path))
    assert others.real_path("/a/../../b/./c", str(tmp_path)) == f"{tmp_path}/b/c"
