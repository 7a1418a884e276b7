"""Files that programs of bpftrace's language import."""

import pytest
from support.command.command import sonde

HELPERS = """\
let @kept = hash(7);
macro greet(x) { printf("hello %d\\n", x); }
begin { print("helpers"); }
"""


@pytest.fixture
def folder(tmp_path):
    """A program that imports a script twice, and a folder with a header and a script that imports the first."""
    tmp_path.chmod(0o755)
    library = tmp_path / "lib"
    library.mkdir(mode=0o755)
    (tmp_path / "helpers.bt").write_text(HELPERS)
    (library / "types.h").write_text("struct foo { int a; char b; };\ntypedef struct { struct foo z[2]; } bar;\n")
    (library / "last.bt").write_text('import "../helpers.bt";\nend { printf("%d\\n", 1 / (uint64)$1); }\n')
    (tmp_path / "main.bt").write_text(
        'import "helpers.bt"; import "lib"; import "helpers.bt"; import "stdlib/base";\n'
        "begin { greet(8); print(sizeof(bar)); @kept[1] = 2; exit(); }\n"
    )
    return tmp_path


def test_scripts_headers_and_folders_are_a_part_of_the_program(folder):
    done = sonde("bt", "-q", folder / "main.bt", "0")
    assert done.stdout.split("\n") == ["helpers", "hello 8", "16", "1", "", "", "@kept[1]: 2", ""]
    assert f"{folder}/lib/last.bt:2:22-36: WARNING: Divide or modulo by 0" in done.stderr
    assert "\nend { printf(" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("helpers.bt", HELPERS + "macro z(y) { y + ; }\n", "helpers.bt:4:18-19: ERROR: syntax: expected expression"),
        ("lib/last.bt", "end { print($not_there); }\n", "lib/last.bt:1:13-23: ERROR: Undefined or undeclared variable"),
        ("lib/last.bt", "config = { max_map_keys = 7 }\nend { }\n", "last.bt:1:12-28: ERROR: Imported scripts"),
        ("lib/more.bpf.c", "int f(void) { return 1; }", "functions in C are not supported"),
        ("main.bt", 'import "none.bt";\nbegin { }', "main.bt:1:1-18: ERROR: Failed to import"),
        ("main.bt", 'import "notes.txt";\nbegin { }', "main.bt:1:1-20: ERROR: Unknown file type of import"),
        ("helpers.bt", "", "main.bt:2:9-17: ERROR: Unknown function"),
    ],
)
def test_mistakes_are_told_in_their_file(folder, file, text, told):
    (folder / file).write_text(text)
    done = sonde("bt", folder / "main.bt", "0", status=1)
    assert told in done.stderr


def test_nothing_is_imported_that_anybody_may_have_put_there(folder):
    (folder / "lib").chmod(0o777)
    done = sonde("bt", folder / "main.bt", "0", status=1)
    assert "Refusing to import from the world-writable folder" in done.stderr
