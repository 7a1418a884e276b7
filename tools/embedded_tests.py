"""Choose the tests of DTrace's suite that the embedded engine is measured with.

    python3 tools/embedded_tests.py CHECKOUT LIST > tools/embedded_tests.txt

CHECKOUT is the suite's, LIST names the tests, one a line; those with the word `vacuous` behind a `#` are left out. A
test is chosen if nothing that it names is the kernel's alone: the rule is `reason`. What is written is the names of the
chosen tests and, as comments, how many are left out for which reason.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

from suite_programs import Names, names_of, programs

from sonde.frontends.d.check.libraries import declared_names
from sonde.model.types import BUILTIN_TYPEDEFS

KERNEL_PROVIDERS = (
    "cpc", "fbt", "io", "ip", "lockstat", "perf", "rawfbt", "rawtp", "sched", "sdt", "tcp", "udp", "vmlinux",
)  # fmt: skip
"""Providers whose probes are places in the kernel."""

SWITCHES_HERE = ("on-cpu", "off-cpu", "preempt", "dequeue", "surrender")
"""The probes of `sched` that fire for a traced thread."""

KERNEL_TYPES_HERE = {"task_struct"}
"""What the embedded engine declares as the kernel does."""

KERNEL_VARIABLES = frozenset({"caller", "curcpu", "curthread", "stackdepth"})
KERNEL_FUNCTIONS = frozenset((
    "func", "mod", "mutex_owned", "mutex_owner", "mutex_type_adaptive", "mutex_type_spin", "pcap", "rw_iswriter",
    "rw_read_held", "rw_write_held", "stack", "sym",
))  # fmt: skip
"""What only addresses, stacks, locks and packets of the kernel can be given to."""

SYMBOLS = "names the kernel's data or functions"
USER_FUNCTIONS = "probes in the functions of user processes, which only the kernel engine has"


class SuiteTest:
    """One test: its text, what its D programs name, and the options it is run with."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.text = (root / name).read_text(errors="replace")
        self.names = functools.reduce(Names.__or__, map(names_of, programs(name, self.text)), Names())
        self.options = " ".join(re.findall(r"@@runtest-opts:(.*)", self.text))
        self.has_trigger = re.search(r"@@trigger:\s*(?!none)\S", self.text) is not None
        timing = re.search(r"@@trigger-timing:\s*(\w+)", self.text)
        self.is_command = self.has_trigger and (timing is None or timing[1] == "synchro")
        self.includes = "#include" in self.text

    @property
    def must_not_compile(self) -> bool:
        """The test is that the compiler refuses it."""
        return Path(self.name).name.startswith("err.D_")

    @property
    def only_compiles(self) -> bool:
        """It is not run: by its options, or by its name, unless a process is given."""
        if Path(self.name).name.partition(".")[0] not in ("tst", "err", "drp") and not self.has_trigger:
            return True
        commands = re.findall(r"^\s*\$dtrace .*", self.shell, re.MULTILINE)
        if commands and all(re.search(r"\s-\w*l", each) for each in commands):
            return True
        return re.search(r"(^|\s)-\w*[elGhV]\b", self.options) is not None

    @property
    def has_process(self) -> bool:
        """A command or a process is given to what it runs."""
        return self.is_command or re.search(r"(^|\s)-\w*[cp](\s|$)", self.options + " " + self.shell) is not None

    @property
    def shell(self) -> str:
        """The commands of a shell script, "" for other tests."""
        return self.text.replace("mkdir -p", "mkdir") if self.name.endswith(".sh") else ""


@functools.cache
def known_types() -> frozenset[str]:
    """The types that the language and its library have."""
    library = Path(__file__).parent.parent / "src" / "sonde" / "frontends" / "d" / "library"
    texts = [path.read_text() for path in library.glob("*.d")]
    return frozenset(BUILTIN_TYPEDEFS).union(*map(declared_names, texts), {"_Bool", "stack"})


def kernel_probe(fields: tuple[str, str, str, str]) -> str:
    """Whose probe of the kernel a description is for, "" if it is for none."""
    provider, _, _, name = fields
    if not any(fields) or provider == "*":
        return "every provider"
    if provider == "sched" and name in SWITCHES_HERE:
        return ""
    return next((f"provider {each}" for each in KERNEL_PROVIDERS if fnmatchcase(each, provider)), "")


def fires_for_processes(fields: tuple[str, str, str, str]) -> bool:
    """The probe is something that a process does."""
    provider, _, function, name = fields
    if fnmatchcase(name, "profile-*") or (provider == "profile" and not name):
        return True
    return provider in ("syscall", "proc", "sched") or (not provider and bool(function))


def reason(test: SuiteTest) -> str:
    """Why a test is none for the embedded engine, "" if it is."""
    names = test.names
    if found := sorted(filter(None, map(kernel_probe, names.probes))):
        return f"probes of {found[0]}"
    if any(re.fullmatch(r"pid(\d+|\$\w+|\*)?", provider) for provider, *_ in names.probes):
        return USER_FUNCTIONS
    if found := sorted(names.identifiers & KERNEL_VARIABLES | names.functions & KERNEL_FUNCTIONS):
        return f"{found[0]}: stacks, addresses, threads, locks or packets of the kernel"
    if names.symbols:
        return SYMBOLS
    if not test.includes and not test.must_not_compile and names.types - known_types() - KERNEL_TYPES_HERE:
        return "types that only the kernel declares"
    if re.search(r"-xcpu=\S", test.text):
        return "one CPU of several, by -xcpu"
    if test.must_not_compile or test.only_compiles or test.has_process:
        return ""
    if any(map(fires_for_processes, names.probes)):
        return "probes of the whole system: no command or process is given"
    return ""


def tests_of(path: str) -> list[str]:
    lines = [line.partition("#") for line in Path(path).read_text().splitlines()]
    return [name.strip() for name, _, remark in lines if name.strip() and "vacuous" not in remark.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description="Tests of DTrace's suite for the embedded engine")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("list")
    parser.add_argument("--reasons", action="store_true", help="show the tests left out, and why")
    arguments = parser.parse_args()
    reasons = {name: reason(SuiteTest(arguments.checkout, name)) for name in tests_of(arguments.list)}
    if arguments.reasons:
        for name, why in reasons.items():
            if why:
                print(f"{name}: {why}")
        return
    chosen = [name for name, why in reasons.items() if not why]
    left_out = Counter(why for why in reasons.values() if why)
    print("# Tests of DTrace's suite for the embedded engine, chosen by tools/embedded_tests.py")
    print(f"# {len(chosen)} of {len(reasons)} are chosen, {len(reasons) - len(chosen)} left out:")
    for why, count in left_out.most_common():
        print(f"# {count:4} {why}")
    print("\n".join(chosen))


if __name__ == "__main__":
    main()
