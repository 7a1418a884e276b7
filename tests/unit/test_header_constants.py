"""Constants of the kernel's headers, which programs include and which need not be installed."""

import errno
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.bpftrace import bt_compiling
from support.machine import packages

from sonde.frontends.bpftrace.check.header_constants import header_constants

GENERATOR = Path(__file__).parents[2] / "tools" / "make_header_constants.py"
MODULES = (errno, os, resource, signal, socket, stat)
OF_LIBRARY = ("AF_MAX", "SIGRTMIN", "SIGRTMAX", "NSIG", "O_LARGEFILE")
"""What the C library has otherwise than the kernel."""


@pytest.fixture(scope="module")
def machine():
    return bt_compiling.registry()


def test_constants_are_those_that_python_was_built_with():
    known = header_constants()
    checked = 0
    for module in MODULES:
        for name, value in vars(module).items():
            if name in known and isinstance(value, int) and name not in OF_LIBRARY:
                assert (name, known[name]) == (name, int(value))
                checked += 1
    assert checked > 500


@pytest.mark.long
def test_the_table_is_what_the_installed_headers_say(tmp_path):
    """Newer headers have more names, never other numbers but of what counts others."""
    packages.require("gcc")
    made = tmp_path / "constants.txt"
    subprocess.run([sys.executable, GENERATOR, made], check=True)
    words = (word.split("=") for line in made.read_text().splitlines()[1:] for word in line.split())
    found = {name: int(value, 0) for name, value in words}
    known = header_constants()
    same = {name for name in known if found.get(name) == known[name]}
    others = {name for name in set(known) & set(found) - same if not name.strip("_").endswith(("MAX", "LAST", "ALL"))}
    assert not others
    assert len(same) >= 0.9 * len(known)


HEADERS = ("net/sock.h", "linux/sched.h", "linux/fs.h", "linux/socket.h", "net/no/such.h", "uapi/linux/in.h")
NAMES = ("AF_INET", "EPERM", "TASK_RUNNING", "DT_REG", "S_IFREG", "IPPROTO_TCP", "O_CREAT", "ICMPV6_ECHO_REQUEST",
         "MINORBITS", "ERESTARTSYS", "S_IRUGO")  # fmt: skip


@pytest.mark.parametrize("header", HEADERS)
def test_a_program_that_includes_a_header_has_them(header, machine):
    if not machine.tagged_type("struct", "task_struct"):
        pytest.skip("needs BTF")
    uses = " ".join(f"if ({name} != {header_constants()[name]}) {{ @bad = 1; }}" for name in NAMES)
    text = f"#include <{header}>\nstruct of_constants {{ int a[IFNAMSIZ]; }};\n#define FAMILY AF_INET\n"
    checks = 'static_assert(sizeof(struct of_constants) == 64, "size"); static_assert(FAMILY == 2, "value");'
    assert bt_compiling.told(f"{text}begin {{ {checks} {uses} }}", machine) == ""


def test_without_a_header_they_are_unknown(machine):
    assert (
        bt_compiling.told("begin { print(AF_INET); }", machine) == "stdin:1:15-22: ERROR: Unknown identifier: 'AF_INET'"
    )


def test_what_a_header_says_comes_first(machine, tmp_path):
    (tmp_path / "own.h").write_text("#define AF_INET 77\nenum { EPERM = 78 };\n")
    text = f'#include "{tmp_path}/own.h"\n'
    text += 'begin { static_assert(AF_INET == 77, "macro"); static_assert((int64)EPERM == 78, "enumerator"); }'
    assert bt_compiling.told(text, machine) == ""
