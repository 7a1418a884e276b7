"""Everything that is true of one processor is in its folder of arch/, and nothing outside names a register of it."""

import ast
import importlib
import io
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from support.source.parsed import nodes

import sonde
from sonde import arch
from sonde.arch import call_numbers

ROOT = Path(sonde.__file__).parent

REGISTER = re.compile(
    r"[re][abcd]x|[re][sd]i|[re][sb]p|[re]ip|[abcd]x|bp|r1[1-5][dwb]?|[re]flags|orig_[re]?ax|[xyz]mm\d*|[fg]s_?base",
    re.IGNORECASE,
)
"""x86's registers but those of one byte. BPF has r0 to r10; sp and ip are what samples of perf call the stack pointer
and the program counter of any processor, ip is a protocol besides, and si_ begins the members of siginfo_t."""

WHOLE = re.compile(r"[sd]i")

PROCESSOR = re.compile(r"x86|amd64|\bx64|_x64|i[3-6]86|ia32|aarch64|arm64|riscv|AUDIT_ARCH_|endbr", re.IGNORECASE)

OTHERS = {
    ("providers/derived/io.py", "bp"): "an argument of XFS's tracepoints",
    ("providers/derived/sysinfo.py", "cx"): "part of a pattern of names",
    ("symbols/source_names/rust_legacy.py", "BP"): "an escape in names of Rust's compiler",
}

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def modules():
    return [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] != "arch"]


def words_of(text):
    """The words of identifiers and texts: R_RBP is also RBP."""
    for word in WORD.findall(text):
        yield from (word, *word.split("_"))


def named(path, root=ROOT):
    """Where a module names a register or a processor, in code, texts or comments."""
    source, where = path.read_text(), str(path.relative_to(root))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (tokenize.NAME, tokenize.STRING, tokenize.COMMENT):
            continue
        found = [word for word in words_of(token.string) if REGISTER.fullmatch(word)]
        found += [word for word in WORD.findall(token.string) if WHOLE.fullmatch(word)]
        found += PROCESSOR.findall(token.string)
        found = [word for word in found if (where, word) not in OTHERS]
        if found:
            yield f"{where}:{token.start[0]}: {', '.join(found)}"


@pytest.mark.long
def test_nothing_outside_its_folder_names_a_register_or_a_processor():
    found = [each for path in modules() for each in named(path)]
    assert not found, found


@pytest.mark.parametrize("path", sorted((ROOT / "frontends" / "d" / "library").glob("*.d")), ids=lambda path: path.name)
def test_other_libraries_of_d_name_none(path):
    """ESP is a protocol there."""
    text = re.sub(r"\b0x[0-9a-f]+", "", path.read_text())
    assert {word for word in words_of(text) if REGISTER.fullmatch(word)} <= {"ESP"}
    assert not PROCESSOR.search(text)


def test_the_exceptions_are_needed():
    for path, word in OTHERS:
        assert re.search(rf"\b{word}\b", (ROOT / path).read_text())


@pytest.mark.parametrize(
    "text", ["R_RBP", "at = _RSP", '"orig_ax"', "# push %rbp", "r12", '"%xmm0"', '"x86_64"', "__x64_sys_"]
)
def test_registers_are_found_in_code_texts_and_comments(text, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(f"{text}\n")
    assert list(named(path, tmp_path))


@pytest.mark.parametrize("text", ["r0 = r10", "packet_ip", '"si_signo"', "stack_pointer", "six"])
def test_other_words_are_none(text, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(f"{text}\n")
    assert not list(named(path, tmp_path))


def files(folder):
    return {path.stem for path in (ROOT / "arch" / folder).glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("folder", sorted(set(arch.FOLDERS.values())))
def test_each_processor_has_all_subjects(folder):
    assert files(folder) == set(arch.SUBJECTS)
    assert {path.name for path in (ROOT / "arch" / folder / "library").iterdir()} == {"regs.d", "sample.d"}


def test_the_recipe_for_a_processor_names_every_file():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    recipe = text.partition("### an architecture")[2].partition("###")[0]
    names = set(re.findall(r"`([\w.]+)`", recipe))
    assert {f"{each}.py" for each in arch.SUBJECTS} <= names


def test_the_page_about_processors_names_every_subject():
    text = (Path(__file__).parents[2] / "docs" / "design" / "arch.md").read_text()
    table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    assert set(arch.SUBJECTS) <= set(re.findall(r"`(\w+)`", table))


def test_the_subjects_that_a_type_checker_sees_are_all():
    tree = ast.parse((ROOT / "arch" / "__init__.py").read_text())
    seen = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [each.name for each in seen if each.asname] == list(arch.SUBJECTS)


@pytest.mark.parametrize("subject", arch.SUBJECTS)
def test_a_subject_is_that_of_this_machine(subject):
    assert getattr(arch, subject) is importlib.import_module(f"sonde.arch.{arch.folder()}.{subject}")


def test_there_are_no_others():
    with pytest.raises(AttributeError):
        _ = arch.vectors


def unknown(monkeypatch, machine):
    system = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*system[:4], machine)))


def test_a_machine_of_another_kind_is_refused_by_name(monkeypatch):
    unknown(monkeypatch, "s390x")
    with pytest.raises(arch.UnsupportedMachineError, match="s390x"):
        arch.folder()


def test_a_32_bit_python_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "maxsize", (1 << 31) - 1)
    with pytest.raises(arch.UnsupportedMachineError, match="64-bit"):
        arch.folder()


def test_the_command_says_so_in_one_line():
    code = (
        "import os, sys; system = os.uname(); os.uname = lambda: os.uname_result((*system[:4], 's390x'));"
        "from sonde.cli.main import main; sys.exit(main(['sonde', '-n', 'BEGIN { exit(0) }']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "this machine says that it is s390x" in " ".join(done.stderr.split())


def called_by_name():
    """The names in calls of native() and compat(), by which."""
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                which = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                if which in ("native", "compat") or (path.stem == "fsinfo" and which in ("_path", "_open_file")):
                    names = [each.value for each in node.args if isinstance(each, ast.Constant)]
                    yield from ((which, name) for name in names if isinstance(name, str))


def test_every_call_that_is_named_has_a_number():
    named = set(called_by_name())
    assert len(named) > 100
    for which, name in named:
        assert (call_numbers.compat if which == "compat" else call_numbers.native)(name), name


SINGLE = {
    "SIGRETURN": "rt_sigreturn", "SIGQUEUE": "rt_sigqueueinfo", "TGSIGQUEUE": "rt_tgsigqueueinfo",
    "RESTART": "restart_syscall",
}  # fmt: skip
CALLS = (
    "WRITE", "SIGRETURN", "IOCTL", "WRITEV", "CLONE", "KILL", "SIGQUEUE", "PRCTL", "TKILL", "RESTART", "TGKILL",
    "TGSIGQUEUE", "PERF_EVENT_OPEN", "SCHED_SETATTR", "SECCOMP", "BPF", "PIDFD_GETFD",
)  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_single_numbers_are_those_of_the_table(name):
    assert call_numbers.native(SINGLE.get(name, name.lower())) == (getattr(arch.system_calls, name),)
