"""Every command that the README, the tutorial and the page of scripts show, typed as a reader would: it does what the
document says, and no message comes that the document does not have."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command.command import environment
from support.command.shown_commands import scripts, shown_commands
from support.machine import packages
from support.machine.access import needs

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["README.md", "docs/tutorial.md", "docs/scripts.md"]
CASES = [(name, each) for name in DOCUMENTS for each in shown_commands(ROOT / name)]

PATIENCE = 1
"""Seconds until ^C for what does not end by itself."""

SERVER = """
struct header { char name[16]; };
struct request { struct header headers[3]; };
#line 117 "serve.c"
static int handle(struct request *request)
{
        static volatile int served;
        return request->headers[2].name[0] + served++;
}
int main(void)
{
        struct request request = { { { "Host" }, { "Accept" }, { "Cookie" } } };
        return handle(&request) == 0;
}
"""

THROWS = """
#include <stdexcept>
#include <cstdlib>
static void check(int n) { if (n % 2) throw std::runtime_error("odd"); }
int main() { for (int n = 0; n < 7; n++) try { check(n + rand() * 0); } catch (std::exception &) { } }
"""

BUILT = {"./server": ("serve.c", "gcc"), "./fib": ("fib.c", "gcc"), "./throws": ("throws.cc", "g++")}
"""Programs that the documents trace, their source and what compiles them."""

EXPECTED = {"sonde: description", "sonde: script"}
"""How messages begin that any command may have."""

OTHER_USER = "sonde: using the embedded engine"
"""What is shown as somebody else than root sees it, who runs the tests."""

FUNCTIONS = Path("/sys/kernel/tracing/available_filter_functions")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A directory with what the documents speak of, as far as this machine can make it."""
    place = tmp_path_factory.mktemp("reader")
    for path in (ROOT / "examples").iterdir():
        if path.is_file():
            shutil.copy(path, place)
    shutil.copytree(ROOT / "examples", place / "examples")
    for name, text in scripts(ROOT / "docs" / "tutorial.md").items():
        (place / name).write_text(text)
    tutorial = (ROOT / "docs" / "tutorial.md").read_text()
    fib = tutorial[tutorial.index("    #include <stdio.h>") : tutorial.index("\nHow often, and with what")]
    (place / "fib.c").write_text("\n".join(line.removeprefix("    ") for line in fib.splitlines()))
    (place / "serve.c").write_text(SERVER)
    (place / "throws.cc").write_text(THROWS)
    (place / "words").write_text("b\na\n")
    (place / "manual.txt").write_text("text " * 20_000)
    (place / "random").write_bytes(os.urandom(1 << 18))
    (place / "Makefile").write_text("all:\n\tsleep 0.1\n")
    for program, (source, compiler) in BUILT.items():
        if not packages.missing(compiler):
            subprocess.run([compiler, "-g", "-O0", "-o", program, source], cwd=place, check=True)
    if not packages.missing("bpf-gcc"):
        subprocess.run(["bpf-gcc", "-O2", "-gbtf", "-c", "examples/reads.c"], cwd=place, check=True)
    return place


def missing(command, place):
    """What this machine lacks for the command, "" if nothing."""
    words = set(re.findall(r"\./\w+", command)) & set(BUILT)
    tools = [BUILT[word][1] for word in words]
    tools += [tool for tool in ("bpf-gcc", "gcc") if tool in command.split()] + ["bpf-gcc"] * ("reads.o" in command)
    tools += [tool for tool in ("find", "gzip", "make", "tar") if re.search(rf"(-- |-c '?){tool}\b", command)]
    if packages.missing(*tools):
        return packages.missing(*tools)
    if re.search(r"\bfbt::|file-bytes", command) and not readable(FUNCTIONS):
        return "the kernel does not let its functions be probed"
    if "python$target" in command and not python_has_probes():
        return "this Python has no static probes"
    if command.startswith("apt "):
        return "packages are not installed by tests"
    return ""


def readable(path):
    try:
        path.open().close()
    except OSError:
        return False
    return True


def python_has_probes():
    found = shutil.which("python3")
    return bool(found) and b"stapsdt" in Path(found).resolve().read_bytes()


def ends_by_itself(command):
    return not re.match(r"sonde\b", command) or bool(
        re.search(r" -\w*c |exit\(|\s-l|--object|^sonde (doctor|vars|raw|read|record)\b|argo0|opne", command)
    )


def normal(text):
    """Words and signs with all numbers alike, wherever lines are broken."""
    return re.sub(r"\d+", "N", " ".join(text.split()))


@pytest.mark.long
@needs("CAP_SYS_ADMIN")
@pytest.mark.parametrize(("document", "shown"), CASES, ids=[f"{Path(name).name}:{shown.line}" for name, shown in CASES])
def test_what_is_shown_works(document, shown, workplace):
    command = shown.command.replace("/tmp/", f"{workplace}/").replace("eth0", "lo")
    if missing(command, workplace):
        pytest.skip(missing(command, workplace))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=workplace, env={**environment(), "PATH": path}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    output, errors = "", ""
    try:
        output, errors = process.communicate(timeout=None if ends_by_itself(command) else PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate()
        # A shell that is interrupted says so itself.
        process.returncode = max(process.returncode, 0)
    check(shown, process.returncode, output, errors)


def check(shown, status, output, errors):
    said = normal("\n".join(shown.output))
    refusal = re.search(r"invalid probe specifier|not allowed", said)
    assert (status != 0) == bool(refusal or "exit(3)" in shown.command), (status, errors)
    if refusal and "..." not in said:
        assert normal(errors) in said
    for line in errors.splitlines():
        if line.startswith("sonde: ") and not any(map(line.startswith, EXPECTED)):
            assert is_usual(line) or normal(line)[:60] in said, line
    for line in shown.output:
        if line.startswith("sonde: ") and OTHER_USER not in line:
            assert normal(line) in normal(errors), (line, errors)


def is_usual(line):
    """What a flame graph or a recording has, how a command has ended that is meant to fail, and what a busy machine
    has lost."""
    return bool(
        re.match(
            r"sonde: (flame graph: |heat map: |perf\.data: |pid \d+ exited|\d+ [\w ]+ (drops?|stacks?)\b)",
            line,
        )
    )


@pytest.mark.long
def test_the_tutorials_list_of_providers_is_that_of_this_machine():
    """As far as it is shown, each with a number of probes."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    shown = set(re.findall(r"^    (\w+) \d+$", text[text.index("## 3.") : text.index("## 4.")], re.MULTILINE))
    assert len(shown) >= 8
    sonde = str(Path(sys.executable).parent / "sonde")
    listed = subprocess.run([sonde, "-l"], capture_output=True, text=True, check=True).stdout
    assert shown <= {line.split()[1] for line in listed.splitlines()[1:]}
