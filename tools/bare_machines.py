#!/usr/bin/env python3
"""Run the README's two commands on bare machines: Debian roots that have Python, venv and git, and nothing else.

    tools/bare_machines.py [--keep DIRECTORY] [--release NAME ...] [--user root|ordinary ...] [--command run|test ...]
                           [--times COUNT] [--idle]

Makes a root for each release with debootstrap, from the source that apt is configured with here, clones what is
committed of this checkout to below a directory that nobody else can enter, and runs each command there as root and as
an ordinary user, with the kernel's file systems and pip's settings of this machine. Beside it run two busy loops and a
compiler, unless --idle is given. Needs root, debootstrap and network; a root takes 300 MB, the test command ten
minutes beside the load. The status is 0 if that of every command is.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ("bookworm", "trixie")
PACKAGES = "python3,python3-venv,git"
HOMES = {"root": "/root", "ordinary": "/home/ordinary"}
"""Directories of mode 0700; the checkout is in CHECKOUT below, whose name has a space."""
CHECKOUT = "a place/sonde"

KERNEL = ("/proc", "/sys", "/dev")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
TAIL = 30
"""Lines of a command's output that are shown; all are in its log."""

BUSY_LOOPS = 2
BUSY = "while True: pass"
COMPILING = """
import subprocess, sys
one = "double f{}(double a, int b) {{ for (int i = 0; i < b; i++) a = a * i + 1; return a; }}"
source = "".join(map(one.format, range(3000)))
while True:
    subprocess.run(["gcc", "-O2", "-x", "c", "-S", "-o", "/dev/null", "-"], input=source, text=True, check=True)
"""
"""Programs of this machine's Python."""


class Settings(NamedTuple):
    environment: dict[str, str]
    paths: list[str]
    """Files and directories of this machine that the settings name; they are there in each root, too."""


def readme_commands() -> dict[str, str]:
    run, test = re.findall(r"^    (python3 -m venv .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    return {"run": run, "test": test}


def debian_source() -> str:
    """Where apt gets this machine's own release from."""
    targets = ["apt-get", "indextargets", "--format", "$(LABEL) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
    for line in subprocess.run(targets, check=True, capture_output=True, text=True).stdout.splitlines():
        label, component, address = line.split(maxsplit=2)
        if (label, component) == ("Debian", "main"):
            return address
    raise SystemExit("bare_machines: apt has no source of Debian's packages; run apt-get update")


def pip_settings() -> Settings:
    """What pip is configured with here, as its variables of the environment."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r"^(?:global|:env:)\.([\w-]+)='(.*)'$", listed, re.MULTILINE)
    environment = {f"PIP_{name.upper().replace('-', '_')}": value for name, value in found}
    environment |= {name: os.environ[name] for name in (*CERTIFICATES, *PROXIES) if name in os.environ}
    words = " ".join(environment.values()).split()
    paths = {word for word in words if word.startswith("/")}
    # An index of files has the packages themselves beside it.
    paths |= {
        os.path.dirname(word.removeprefix("file://").rstrip("/")) for word in words if word.startswith("file:///")
    }
    there = {os.path.abspath(path) for path in paths if os.path.exists(path)}
    outermost = [path for path in there if not any(str(above) in there for above in Path(path).parents)]
    return Settings({"PIP_CONFIG_FILE": os.devnull, **environment}, sorted(outermost))


def make_root(directory: Path, release: str, source: str) -> Path:
    """A root of the release; one that is there is used again."""
    place = directory / release
    if (place / "made").exists():
        return place
    words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", release, str(place), source]
    with (directory / f"{release}.log").open("wb") as log:
        if subprocess.run(words, stdout=log, stderr=log).returncode:
            raise SystemExit(f"bare_machines: debootstrap failed; see {log.name}")
    subprocess.run(["chroot", place, "useradd", "--home-dir", HOMES["ordinary"], "ordinary"], check=True)
    (place / "made").touch()
    return place


def put_checkout(root: Path, user: str) -> None:
    """A fresh clone; what is not committed is not in it."""
    home = root / HOMES[user].lstrip("/")
    place = home / CHECKOUT
    subprocess.run(["rm", "-rf", "--one-file-system", home], check=True)
    place.parent.mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, place], check=True)
    home.chmod(0o700)
    if user != "root":
        subprocess.run(["chroot", root, "chown", "-R", f"{user}:{user}", HOMES[user]], check=True)


def script(root: Path, user: str, command: str, settings: Settings) -> str:
    """Of a shell in a mount namespace of its own: the command in the root, as that user."""
    # A root that is a mount, as every machine's is: unshare(1) changes how it propagates.
    lines = ["set -e", f"mount --bind {root} {root}"]
    lines += [f"mount --rbind {path} {root}{path}" for path in KERNEL]
    for path in [*settings.paths, "/etc/resolv.conf", "/etc/hosts"]:
        inside = f"{root}{path}"
        make = f"mkdir -p {inside}" if os.path.isdir(path) else f"mkdir -p {os.path.dirname(inside)}; touch {inside}"
        lines += [make, f"mount --bind -o ro {path} {inside}"]
    variables = {
        "HOME": HOMES[user], "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        **settings.environment,
    }  # fmt: skip
    words = [f"{name}={value}" for name, value in variables.items()]
    inside = f"cd {shlex.quote(f'{HOMES[user]}/{CHECKOUT}')} && {command}"
    who = "root" if user == "root" else user
    return "\n".join([*lines, shlex.join(["exec", "chroot", f"--userspec={who}", str(root), "env", "-i", *words,
                                          "sh", "-c", inside])])  # fmt: skip


@contextmanager
def load() -> Iterator[None]:
    """Busy loops and a compiler, which end with the block."""
    words = [[sys.executable, "-S", "-c", each] for each in [BUSY] * BUSY_LOOPS + [COMPILING]]
    running = [subprocess.Popen(each, process_group=0) for each in words]
    try:
        yield
        ended = [each.args for each in running if each.poll() is not None]
        if ended:
            raise SystemExit(f"bare_machines: a part of the load has ended: {ended[0]}")
    finally:
        for each in running:
            with suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def run(root: Path, user: str, name: str, command: str, settings: Settings) -> bool:
    """Run a command, show the end of its output. True if its status is 0."""
    count = len(list(root.parent.glob(f"{root.name}-{user}-{name}-*.log"))) + 1
    log = root.parent / f"{root.name}-{user}-{name}-{count}.log"
    words = ["unshare", "--mount", "sh", "-c", script(root, user, command, settings)]
    begin = time.monotonic()
    with log.open("wb") as file:
        status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT).returncode
    print(f"=== {root.name}, {user}, {name}: status {status}, {time.monotonic() - begin:.0f} s, {log}")
    print("\n".join(log.read_text(errors="replace").splitlines()[-TAIL:]), flush=True)
    return status == 0


@contextmanager
def kept_or_temporary(directory: Path | None) -> Iterator[Path]:
    if directory:
        directory.mkdir(parents=True, exist_ok=True)
        yield directory.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="bare-machines-") as made:
        yield Path(made)


def main() -> int:
    commands = readme_commands()
    parser = argparse.ArgumentParser(description="Run the README's commands on bare Debian machines.")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="for the roots and logs; made if need be")
    parser.add_argument("--release", nargs="+", default=RELEASES, help="Debian releases (bookworm trixie)")
    parser.add_argument("--user", nargs="+", choices=tuple(HOMES), default=tuple(HOMES))
    parser.add_argument("--command", nargs="+", choices=tuple(commands), default=tuple(commands))
    parser.add_argument("--times", type=int, default=1, metavar="COUNT", help="of each command (1)")
    parser.add_argument("--idle", action="store_true", help="without other load")
    arguments = parser.parse_args()
    source, settings = debian_source(), pip_settings()
    passed = []
    with kept_or_temporary(arguments.keep) as directory:
        roots = [make_root(directory, release, source) for release in arguments.release]
        with nullcontext() if arguments.idle else load():
            for _, root, user in itertools.product(range(arguments.times), roots, arguments.user):
                put_checkout(root, user)
                passed += [run(root, user, name, commands[name], settings) for name in arguments.command]
    print(f"{sum(passed)} of {len(passed)} commands ended with status 0")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
