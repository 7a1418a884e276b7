"""Headers and objects for programs with static probes, made by the library as the command makes them."""

import pytest
from support.symbols.listed_symbols import symbols

import sonde
from sonde.cli.main import main
from sonde.symbols.elf.file import ElfFile

PROVIDERS = """
typedef int number_t;
enum colour { RED, GREEN };
provider store { probe start(); probe many(char c, number_t i, const char *t, enum colour e, double d); };
provider other { probe look__up(long key); };
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store.d").write_text(PROVIDERS)
    return tmp_path / "store.d"


def test_the_header_is_that_of_the_command(script):
    assert main(["sonde", "-h", "-s", str(script)]) == 0
    assert sonde.provider_header(PROVIDERS) == (script.parent / "store.h").read_text()


def test_the_object_is_that_of_the_command_and_has_a_counter_for_each_probe(script):
    assert main(["sonde", "-G", "-s", str(script)]) == 0
    made = sonde.provider_object(PROVIDERS)
    assert made == (script.parent / "store.o").read_bytes()
    names = {each.name for each in symbols(ElfFile(made)) if each.name}
    assert names == {"store_start_semaphore", "store_many_semaphore", "other_look__up_semaphore"}


@pytest.mark.parametrize("make", [sonde.provider_header, sonde.provider_object])
def test_mistakes_are_errors(make):
    with pytest.raises(sonde.Error, match="define no providers"):
        make("BEGIN { exit(0); }")
    with pytest.raises(sonde.Error, match="a parameter cannot be of type struct s"):
        make("struct s { int a; }; provider p { probe a(struct s); };")
    with pytest.raises(sonde.Error, match="more than 30 parameters"):
        make(f"provider p {{ probe a({', '.join(['int'] * 31)}); }};")
    with pytest.raises(sonde.CompileError) as wrong:
        make("provider p {\n probe a(;\n};")
    assert (wrong.value.tag, wrong.value.line) == ("D_SYNTAX", 2)
