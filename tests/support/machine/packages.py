"""What tests need beside Python: programs and headers, and the Debian package that has each.

A test whose package is not installed is left out; left_out.py tells of it in one line for each package. A test asks
by `needs` or `require`. One that starts a program of the table without asking is left out as well.
"""

import functools
import os
import shutil

import pytest

PACKAGES = {
    "ab": "apache2-utils",
    "addr2line": "binutils",
    "as": "binutils",
    "bpf-gcc": "gcc-bpf",
    "bpf/usdt.bpf.h": "libbpf-dev",
    "bpftool": "bpftool",
    "bpftrace": "bpftrace",
    "cc": "gcc",
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "clang": "clang",
    "clang++": "clang",
    "cpp": "cpp",
    "dwp": "binutils",
    "dwz": "dwz",
    "file": "file",
    "find": "findutils",
    "flock": "util-linux",
    "g++": "g++",
    "gawk": "gawk",
    "gcc": "gcc",
    "gdb": "gdb",
    "gdb-add-index": "gdb",
    "getcap": "libcap2-bin",
    "git": "git",
    "go": "golang-go",
    "groff": "groff-base",
    "gzip": "gzip",
    "ip": "iproute2",
    "javac": "openjdk-17-jdk-headless",
    "ld": "binutils",
    "ldconfig": "libc-bin",
    "lighttpd": "lighttpd",
    "llvm-dwp": "llvm",
    "losetup": "mount",
    "make": "make",
    "man": "man-db",
    "mandoc": "mandoc",
    "nm": "binutils",
    "nohup": "coreutils",
    "objcopy": "binutils",
    "objdump": "binutils",
    "perf": "linux-perf",
    "php": "php-cli",
    "prometheus": "prometheus",
    "protoc": "protobuf-compiler",
    "python3.11": "python3.11",
    "readelf": "binutils",
    "rustc": "rustc",
    "setarch": "util-linux",
    "setpriv": "util-linux",
    "sort": "coreutils",
    "sqlite3": "sqlite3",
    "start-stop-daemon": "dpkg",
    "stdio.h": "libc6-dev",
    "strace": "strace",
    "strip": "binutils",
    "tar": "tar",
    "timeout": "coreutils",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "unshare": "util-linux",
    "xargs": "findutils",
}
"""By the name of a program, or of a header as a C program includes it."""

HEADERS = ("/usr/include", "/usr/include/x86_64-linux-gnu")

IMPLIED = {"gcc": ("stdio.h",), "g++": ("stdio.h",)}
"""What a program is of no use to tests without."""


def missing(*names):
    """Why tests cannot use these, "" if they can: a program or header that is not installed. Raises KeyError for what
    is not in the table."""
    of = {name: PACKAGES[name] for each in names for name in (each, *IMPLIED.get(each, ()))}
    lacking = [name for name in names if not _is_there(name)]
    # A compiler's package brings these along, unless it was told not to.
    lacking = lacking or [each for name in names for each in IMPLIED.get(name, ()) if not _is_there(each)]
    return " and ".join(f"needs package {package}" for package in dict.fromkeys(of[name] for name in lacking))


def needs(*names):
    """Leave the decorated test out where any of these is missing."""
    reason = missing(*names)
    return pytest.mark.skipif(bool(reason), reason=reason or "all is there")


def require(*names):
    """Leave the running test out where any of these is missing."""
    reason = missing(*names)
    if reason:
        pytest.skip(reason)


@functools.cache
def _is_there(name):
    if name.endswith(".h"):
        return any(os.path.exists(f"{directory}/{name}") for directory in HEADERS)
    return shutil.which(name) is not None


def _left_out_without_its_program():
    """A wrapper around a part of a test: where a program of the table could not be started because it is not
    installed, the test is left out."""
    try:
        return (yield)
    except FileNotFoundError as error:
        name = os.path.basename(os.fsdecode(error.filename or ""))
        if name in PACKAGES and missing(name):
            pytest.skip(missing(name))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _left_out_without_its_program())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _left_out_without_its_program())
