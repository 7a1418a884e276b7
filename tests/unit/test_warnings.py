"""Warnings about programs that compile: each where it is right, with a remedy that holds, and none elsewhere."""

from __future__ import annotations

import pytest
from support.d.catalog import FakeCatalog
from support.d.d_checking import DEFAULTS

from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.source import ProgramSource
from sonde.frontends.d.warnings.warning import Warning

READ, RETURN, WRITE, TICK = "syscall::read:entry", "syscall::read:return", "syscall::write:entry", "tick-1"


def warnings(text: str) -> list[Warning]:
    checker = Checker(FakeCatalog(), DEFAULTS)
    checker.add_text(ProgramSource(text))
    return checker.warnings()


def at(text: str, warning: Warning) -> str:
    """What stands where the warning is."""
    return text.split("\n")[warning.position.line - 1][warning.position.column - 1 :]


def only(text: str) -> Warning:
    (found,) = warnings(text)
    return found


# Narrow variables and keys

NAMES = ["x", "self->x", "this->x", "x[1]", "self->x[pid]"]


@pytest.mark.share(66)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", ["0", "pid", "'a'", "-1", "(char)1"])
@pytest.mark.parametrize("value", ["timestamp", "timestamp - 5", "arg0", "(timestamp, walltimestamp)"])
def test_what_a_first_assignment_is_too_narrow_for_is_told_with_its_place_and_a_declaration(
    name: str, first: str, value: str
) -> None:
    text = f"{TICK} {{ {name} = {first}; {name} = {value}; }}"
    warning = only(text)
    assert at(text, warning).startswith(name.replace("[", "[")) or at(text, warning).startswith("[")
    assert f"since 1:{text.index(name) + 1 + (name.index('[') if '[' in name else 0)}" in warning.text
    declared = warning.remedy.removeprefix("declare it before the clauses: ")
    assert warnings(f"{declared} {text}") == []


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "|=", "^="])
def test_compound_assignments_are_too_wide_like_others(operator: str) -> None:
    assert "x keeps 32 bits" in only(f"{TICK} {{ x = 0; x {operator} timestamp; }}").text


@pytest.mark.parametrize(
    "value",
    [
        "5", "pid", "timestamp & 0xff", "timestamp % 10", "(timestamp - 5) / 1000000", "(int)timestamp", "!timestamp",
        "timestamp > 5", "strlen(execname)", "n + 1", "timestamp >> 40", "timestamp ? 1 : 2", "n * n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_what_fits_is_not_told(name: str, value: str) -> None:
    assert warnings(f"{TICK} {{ n = 0; {name} = 0; {name} = {value}; {name}++; {name} += 2; }}") == []


@pytest.mark.parametrize("declared", ["int x;", "self int x;", "this int x;", "int x[int];"])
def test_who_has_declared_a_variable_wants_its_type(declared: str) -> None:
    name = {"s": "self->x", "t": "this->x"}.get(declared[0], "x[1]" if "[" in declared else "x")
    assert warnings(f"{declared} {TICK} {{ {name} = timestamp; }}") == []


def test_returned_values_are_no_larger_than_int_but_addresses_are() -> None:
    assert warnings(f"{RETURN} {{ x = 0; x = arg0; y = -1; y = arg1; }}") == []
    assert warnings(f"{READ} {{ x = 0; x = arg0; }}") == []
    assert "y keeps 32 bits" in only(f"{READ} {{ y = 0; y = arg1; }}").text


@pytest.mark.parametrize("name", ["@", "@a", "x", "self->x"])
def test_keys_are_cut_to_the_type_of_the_first(name: str) -> None:
    put = "= count()" if "@" in name else "= 1"
    text = f'{TICK} {{ {name}["", 1] {put}; {name}["", timestamp] {put}; }}'
    warning = only(text)
    assert at(text, warning).startswith("timestamp")
    assert warning.text.startswith("key 2 of ")
    assert warnings(text.replace("timestamp", "(int)timestamp")) == []


# Values of other firings


def test_a_clause_variable_does_not_reach_another_probe() -> None:
    text = f"{READ} {{ this->t = timestamp; }}\n{RETURN} /this->t/ {{ trace(timestamp - this->t); }}"
    warning = only(text)
    assert (warning.position.line, "self->t" in warning.remedy) == (2, True)
    assert warnings(text.replace("this->", "self->")) == []


@pytest.mark.parametrize(
    "text",
    [
        f"{READ} {{ this->t = 1; }} {READ} {{ trace(this->t); }}",
        f"{READ} {{ this->t = 1; }} {RETURN} {{ this->t = 2; trace(this->t); }}",
        f"syscall::: {{ this->t = 1; }} {RETURN} {{ trace(this->t); }}",
        f"{READ}, {RETURN} {{ this->t = 1; }} {RETURN} {{ trace(this->t); }}",
        f"{READ} {{ this->t = 1; }} {READ}, {RETURN} {{ trace(this->t); }}",
        "BEGIN { this->t = 1; } BEGIN, END { trace(this->t); }",
        f"{READ} {{ this->t = 1; }} ERROR {{ trace(this->t); }}",
        f"this int t; {READ} {{ trace(this->t); }}",
        f"{READ} {{ trace(this->t++); }} {READ} {{ trace(this->t); }}",
    ],
)
def test_clauses_of_one_firing_share_their_variables(text: str) -> None:
    assert warnings(text) == []


STARTED = f"{READ} {{ self->t = timestamp; }}\n{RETURN} %s {{ @ = sum(%s); self->t = 0; }}"


@pytest.mark.parametrize("predicate", ["", "/arg0 > 0/", '/execname == "cat"/', "/1/"])
@pytest.mark.parametrize("value", ["timestamp - self->t", "(timestamp - self->t) / 1000"])
def test_a_time_without_a_start_is_asked_for(predicate: str, value: str) -> None:
    warning = only(STARTED % (predicate, value))
    assert (warning.position.line, warning.remedy) == (2, "ask for it in the predicate: /self->t/")
    assert warnings(STARTED % ("/self->t/", value)) == []


@pytest.mark.parametrize(("value", "empty"), [("execname", "empty"), ("pid", "0")])
def test_a_key_that_may_not_be_there_is_asked_for(value: str, empty: str) -> None:
    text = f"{READ} {{ self->k = {value}; }}\n{RETURN} %s {{ @[probefunc, self->k] = count(); }}"
    assert only(text % "").text.endswith(f"the key is then {empty}")
    assert warnings(text % "/self->k != 0/".replace("0", '""' if empty == "empty" else "0")) == []


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN { self->in = 1; } " + STARTED % ("/self->in/", "timestamp - self->t"),
        STARTED % ("/pid == 5/", "timestamp - self->t"),
        STARTED % ("/progenyof(5)/", "timestamp - self->t"),
        STARTED % ("", "self->t ? timestamp - self->t : 0"),
        STARTED % ("", "timestamp"),
        f"{RETURN} /!self->t/ {{ self->t = timestamp; }} {RETURN} {{ trace(timestamp - self->t); }}",
        "BEGIN { self->t = timestamp; } END { trace(timestamp - self->t); }",
        "pid7:a.out:first:entry { self->t = timestamp; } pid7:a.out:second:entry { trace(timestamp - self->t); }",
    ],
)
def test_a_start_that_is_asked_for_or_there_is_not(text: str) -> None:
    assert warnings(text) == []


# Addresses


@pytest.mark.parametrize("call", ["copyinstr(arg1)", "copyinstr(arg1, 10)", "copyin(arg1, 8)"])
def test_what_a_call_has_not_yet_written_is_not_read_at_its_entry(call: str) -> None:
    assert "read() has not yet written to arg1" in only(f"{READ} {{ trace({call}); }}").text
    for text in (f"{WRITE} {{ trace({call}); }}", f"{READ}, {WRITE} {{ @ = count(); }}"):
        assert warnings(text) == []


def test_what_a_call_returns_is_no_address() -> None:
    assert "no address" in only(f"{RETURN} {{ trace(copyinstr(arg0)); }}").text
    assert warnings(f"{READ} {{ self->b = arg1; }} {RETURN} {{ trace(copyinstr(self->b)); }}") == []


@pytest.mark.parametrize("text", ["stringof(arg1)", "(string)arg1", "stringof((char *)arg1)"])
def test_an_address_of_the_process_is_not_read_from_the_kernel(text: str) -> None:
    warning = only(f"{WRITE} {{ trace({text}); }}")
    assert warning.remedy == "write copyinstr(arg1)"
    assert warnings(f"{TICK} {{ trace({text}); }}") == []
    assert warnings(f"{WRITE} {{ trace(copyinstr(arg1)); }}") == []


# Tests


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ('execname == "systemd-journald"', "execname is never this"),
        ('"systemd-journald" != execname', "execname is never this"),
        ("uid == -1", "always false"),
        ("-1 != uid", "always true"),
        ("uid < 0", "always false"),
        ("timestamp >= 0", "always true"),
        ("curthread->comm[0] == 200", "always false"),
        ("pid == 3000000000", "always false"),
        ("0 < pid < 10", "0 or 1"),
        ("pid & 1 == 0", "write (a & b) == c"),
        ("x = 5", "to compare, write =="),
        ("pid && x = 5", "to compare, write =="),
        ("pid * (1 / 3)", "multiply first"),
    ],
)
def test_tests_that_are_settled(test: str, words: str) -> None:
    if "x = 5" in test:
        test = test.replace("x = 5", "(x = 5)")
    for text in (f"BEGIN /{test}/ {{ }}", f"BEGIN {{ if ({test}) trace(1); }}"):
        warning = only(text)
        assert words in f"{warning.text} {warning.remedy}", text


@pytest.mark.parametrize(
    "test",
    [
        'execname == "systemd-journal"', "uid == 0", "uid > 0", "pid == -1", "errno < 0", "arg0 == -1", "arg0 < 0",
        "uid == 4294967295", "curthread->comm[0] == 'a'", "(pid & 1) == 0", "pid == 1 & uid == 0", "x++ < 5",
        "(this->t = timestamp)", "timestamp > 0", "1", "0", "2 == 2", "pid * 1 / 3", "(pid > 1) == 1", "x == y++",
    ],
)  # fmt: skip
def test_tests_that_are_not(test: str) -> None:
    for text in (f"BEGIN /{test}/ {{ x = 1; }}", f"BEGIN {{ x = 1; if ({test}) trace(1); }}"):
        assert warnings(text) == [], text


TEXTS = """
struct made { char text[8]; };
translator struct made < struct task_struct *T > { text = execname; };
inline struct made *m = xlate <struct made *> (curthread);
"""


@pytest.mark.parametrize("name", NAMES)
def test_addresses_of_texts_last_one_firing(name: str) -> None:
    """Arrays that translators give are strings here."""
    text = f"{TEXTS}BEGIN {{ {name} = (char *)m->text; }}"
    if name.startswith("this"):
        assert warnings(text) == []
    else:
        assert at(text, only(text)).startswith("(char *)")
        assert only(text).remedy == "keep the text: leave the cast out"
    assert warnings(text.replace("(char *)", "")) == []


def test_each_is_told_once() -> None:
    text = f"{READ}, {RETURN}, {WRITE} /uid == -1/ {{ x = 0; x = timestamp; }}"
    assert [each.position.column for each in warnings(text)] == [text.index("==") + 1, text.index("x = t") + 1]
    assert len(warnings("BEGIN /uid == -1/ { trace(y); } BEGIN { y = 1; }".replace("trace(y); ", ""))) == 1


@pytest.mark.long
def test_what_libraries_do_is_nobodys_to_change() -> None:
    checker = Checker(FakeCatalog(), DEFAULTS)
    checker.use_libraries(lambda: (ProgramSource("inline int never = uid == -1;", "lib.d"),))
    checker.add_text(ProgramSource("BEGIN /never/ { }"))
    assert checker.warnings() == []


@pytest.mark.parametrize("name", ["self->f", "f", "f[pid]"])
def test_a_kept_probefunc_is_not_the_own_name_of_some_calls(name: str) -> None:
    kept = f"{READ} {{ {name} = probefunc; }} {RETURN}"
    warning = only(f'{kept} /{name} == "uname"/ {{ }}')
    assert (warning.text, warning.remedy) == ("probefunc of uname(2) is newuname", 'compare with "newuname"')
    assert "newstat" in only(f'{kept} /"stat" != {name}/ {{ }}').remedy
    for test in (f'{name} == "newuname"', f'{name} == "read"', 'probefunc == "uname"', 'execname == "uname"'):
        assert warnings(f"{kept} /{test}/ {{ }}") == []
