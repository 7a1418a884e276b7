"""Files that a process may come to load are found where its dynamic linker looks, and where it says itself."""

import shutil
import subprocess

import pytest
from support.machine import compilers
from support.symbols.compiled_objects import needs_gcc

from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.library_search import in_directories, needed, of_process, run_paths, spellings

pytestmark = needs_gcc


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("libc.so.6", {"libc.so.6", "libc.so", "libc"}),
        ("libplain.so", {"libplain.so", "libplain"}),
        ("_json.cpython-311.so", {"_json.cpython-311.so", "_json.cpython-311"}),
        ("program", {"program"}),
    ],
)
def test_what_a_file_may_be_called(name, called):
    assert set(spellings(name)) == called


@pytest.fixture
def process(tmp_path):
    """A directory as /proc, in which process 7 has a program, its words and its directory."""
    program = tmp_path / "root" / "bin" / "program"
    program.parent.mkdir(parents=True)
    source = (
        'const char *all[] = {"/opt/in-text/libx.so", "plugins/libx.so.2", "%s/own/libx.so"}; int main() { return 0; }'
    )
    flags = ["-Wl,-rpath,$ORIGIN/../run:/far", "-Wl,--enable-new-dtags"]
    shutil.copy2(compilers.built("program.c", source, "gcc", *flags), program)
    directory = tmp_path / "proc" / "7"
    directory.mkdir(parents=True)
    (directory / "cwd").symlink_to("/place")
    (directory / "environ").write_bytes(b"A=1\0LD_LIBRARY_PATH=/by/variable:relative\0PLUGIN=/by/value/libx.so.3\0")
    (directory / "cmdline").write_bytes(b"program\0/by/argument\0--load\0./libx.so.4\0")
    return tmp_path, program


PLACES = ("bin", "run", "far", "by/variable", "place/relative", "place", "usr/lib", "by/argument")


def test_all_places(process):
    """Directories hold libraries of the name and others; paths of files are taken as they are written."""
    base, program = process
    root = base / "root"
    for place in PLACES:
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / "libx.so.1").touch()
        (root / place / "libxy.so").touch()
        (root / place / "x").touch()
    mapped = [("/bin/program", ElfFile.open(str(program)))]
    found = of_process("libx", 7, str(root), mapped, str(base / "proc"))
    places = {each.removeprefix(str(root)).replace("/bin/../", "/") for each in found}
    assert places >= {f"/{place}/libx.so.1" for place in PLACES}
    assert places - {f"/{place}/libx.so.1" for place in PLACES} == {
        "/opt/in-text/libx.so", "/place/plugins/libx.so.2", "/bin/plugins/libx.so.2", "/place/own/libx.so",
        "/bin/own/libx.so", "/by/value/libx.so.3", "/place/libx.so.4", "/bin/libx.so.4",
    }  # fmt: skip
    assert not [each for each in found if "libxy" in each or each.endswith("/x")]


def test_an_exact_name_is_that_file_only(process):
    base, _ = process
    (base / "root/far").mkdir(parents=True)
    for name in ("libx.so.1", "libx.so.2"):
        (base / "root/far" / name).touch()
    assert list(in_directories("libx.so.2", str(base / "root"), ["/far"])) == [f"{base}/root/far/libx.so.2"]


def test_run_paths(process):
    assert run_paths(ElfFile.open(str(process[1]))) == ["$ORIGIN/../run", "/far"]


def test_a_process_that_is_gone(tmp_path):
    """What cannot be read says nothing; the usual directories are left."""
    assert of_process("libnone", 8, str(tmp_path), [], str(tmp_path / "proc")) == []


def test_what_a_program_needs(tmp_path):
    """And what that needs, from where the linker takes it first: the file's own paths, the environment's, the usual."""
    root, source = tmp_path / "root", tmp_path / "empty.c"
    source.write_text("int f(void) { return 0; } int main() { return f(); }")
    for place in ("bin", "own", "by/variable", "usr/lib"):
        (root / place).mkdir(parents=True)

    def build(path, *flags):
        subprocess.run(["gcc", "-nostdlib", "-w", "-o", root / path, source, *flags], check=True)

    shared = ["-shared", "-fPIC"]
    build("usr/lib/libc1.so", *shared)
    build("usr/lib/libd1.so", *shared)
    build("by/variable/libd1.so", *shared)
    no_need = "-Wl,--no-as-needed"
    build("own/liba1.so", *shared, no_need, root / "usr/lib/libc1.so", "-Wl,-soname,liba1.so")
    for name in ("libc1.so", "libd1.so"):
        build(f"usr/lib/{name}", *shared, f"-Wl,-soname,{name}")
    build("own/liba1.so", *shared, no_need, root / "usr/lib/libc1.so", "-Wl,-soname,liba1.so")
    absent = tmp_path / "libgone.so"
    subprocess.run(["gcc", "-nostdlib", "-w", "-o", absent, source, *shared, "-Wl,-soname,libgone.so"], check=True)
    build("bin/program", no_need, root / "own/liba1.so", root / "usr/lib/libd1.so", absent, "-e", "main",
          "-Wl,-rpath,$ORIGIN/../own", f"-Wl,-rpath-link,{root}/usr/lib")  # fmt: skip
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "7" / "environ").write_bytes(b"LD_LIBRARY_PATH=/by/variable:\0")
    found = needed("/bin/program", 7, str(root), str(tmp_path / "proc"))
    assert {each.removeprefix(str(root)).replace("/bin/../", "/") for each in found} == {
        "/own/liba1.so", "/by/variable/libd1.so", "/usr/lib/libc1.so"
    }  # fmt: skip
    assert needed("/bin/none", 7, str(root), str(tmp_path / "proc")) == []
