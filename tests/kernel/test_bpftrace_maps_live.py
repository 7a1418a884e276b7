"""Maps of bpftrace's language in programs: loops over them, and what they have counted, on both engines."""

import re

import pytest
from support.command.command import sonde

ENGINES = ("kernel", "embedded")

VALUES = (-29, 3, 17, 3, -5, 101, 7)


def run(engine, program):
    done = sonde("bt", "--engine", engine, "-e", program, "-c", "true")
    assert done.stderr == "Attached 1 probe\n"
    printed, _, maps = done.stdout.partition("\n\n\n")
    return printed.splitlines(), maps.splitlines()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_aggregations_have_come_to(engine):
    counted = "".join(
        f"@n[{v}, 1] = count(); @s = sum({v}); @least = min({v}); @most = max({v}); @mean = avg({v});" for v in VALUES
    )
    program = f"""begin {{ {counted}
        printf("%d %d %d %d %d %d\\n", @n[3, 1], @n[4, 1], @s, @least, @most, @mean);
        print((@s, (uint8)@n[3, 1], len(@n), @s > 0 ? "up" : "down"));
        print(has_key(@n, (17, 1))); print(delete(@n, (17, 1))); print(has_key(@n[17, 1])); print(len(@n));
        print(@n[17, 1]); print(find(@n, (3, 1), $x)); print($x); print(find(@n, (4, 1), $x)); print($x);
        if (@least == -29 && @mean < 14) {{ @right = @s * 2; }}
        clear(@n); clear(@s); clear(@least); zero(@most); clear(@mean);
    }}"""
    printed, maps = run(engine, program)
    mean = int(sum(VALUES) / len(VALUES))
    kinds = len(set(VALUES))
    assert printed == [
        f"2 0 {sum(VALUES)} {min(VALUES)} {max(VALUES)} {mean}",
        f"({sum(VALUES)}, 2, {kinds}, up)",
        "true", "true", "false", str(kinds - 1), "0", "true", "2", "false", "2",
    ]  # fmt: skip
    assert maps == ["@most: 0", f"@right: {2 * sum(VALUES)}"]


@pytest.mark.parametrize("engine", ENGINES)
def test_maps_are_emptied_and_full_ones_are_told(engine):
    program = """
        let @few = percpuhash(3); let @last = percpulruhash(1);
        begin {
            @one = 5; @m["a"] = (1, "b"); @m["c"] = (2, "d"); @z[1, 7] = -3; @s[1] = "text"; @n[5] = count();
            for ($i : 0..7) { @few[$i] = count(); @last[$i] = max($i); }
            print(@m); print(@n); clear(@m); clear(@one); clear(@n); zero(@z); zero(@s);
        }
    """
    done = sonde("bt", "--engine", engine, "-e", program, "-c", "true")
    printed, _, maps = done.stdout.partition("\n\n\n")
    assert printed.splitlines() == ["@m[a]: (1, b)", "@m[c]: (2, d)", "@n[5]: 1"]
    assert maps.splitlines() == [
        "@few[0]: 1", "@few[1]: 1", "@few[2]: 1", "@last[6]: 6", "@s[1]: ", "@z[1, 7]: 0",
    ]  # fmt: skip
    assert "Map full; can't update element: 4 updates" in done.stderr
    declared = sonde("bt", "-e", "let @m = hash(5); begin { @m[1] = count(); }", "--dry-run", status=1)
    assert "Type from declaration: hash. Type from value/key type: percpuhash" in declared.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_loops_over_maps(engine):
    filled = "".join(f'@m[{v}, comm] = {v * v}; @n[{v}] = count(); @t[{v}] = ({v}, "x");' for v in VALUES)
    program = f"""begin {{ {filled}
        $sum = 0; $turns = 0; $last = "none";
        for ($kv : @m) {{ $sum += $kv.1; $last = $kv.0.1; @copy[$kv.0] = $kv.0.0; }}
        for ($kv : @n) {{
            if ($kv.0 == 3) {{ print($kv); continue; }}
            if ($kv.0 < 0) {{ delete(@n, $kv.0); }}
            for ($of : @t) {{ if ($of.0 == 101) {{ $turns++; break; }} }}
        }}
        printf("%d %d %s\\n", $sum, $turns, $last);
        for ($kv : @copy) {{ if ($kv.1 != $kv.0.0) {{ print("wrong"); }} }}
        for ($kv : @t) {{ if ($kv.0 == 101) {{ print($kv); return; }} }}
        print("not here");
    }}"""
    printed, maps = run(engine, program)
    values = sorted(set(VALUES))
    squares = sum(v * v for v in values)
    assert printed == ["(3, 2)", f"{squares} {len(values) - 1} bpftrace", "(101, (101, x))"]
    assert [row for row in maps if row.startswith("@copy")] == [f"@copy[{v}, bpftrace]: {v}" for v in values]
    assert sorted(row for row in maps if row.startswith("@n")) == sorted(
        f"@n[{v}]: {VALUES.count(v)}" for v in values if v >= 0
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_powers_of_two_are_divided_by_the_bits_of_hist(engine):
    values = [-7, *range(0, 301, 7), (1 << 62) + 5]
    program = "begin { print(0); " + "".join(f"@ = hist({value}, 3);" for value in values) + " }"
    _, maps = run(engine, program)
    shown = {}
    for line in filter(None, maps[1:]):
        label, count = line.split("|")[0].strip().rsplit(None, 1)
        if int(count):
            shown[label] = int(count)
    expected = {}
    for value in values:
        step = 1 if value < 8 else 1 << value.bit_length() - 4
        low = value & -step
        ends = f"[{low}]" if step == 1 else f"[{low}, {low + step})"
        ends = "(..., 0)" if value < 0 else "[4E, 4608P)" if value > 301 else ends
        expected[ends] = expected.get(ends, 0) + 1
    assert shown == expected


SHOWN = {
    "int": "-5", "byte": "(uint8)200", "truth": "true", "text": '"text"', "long": f'"{"x" * 100}"', "pair": '(1, "b")',
    "record": '(a=1, b="c")', "pointer": "(int8*)5", "bytes": "(uint8[4])1", "read": 'buf("ab", 2)', "command": "comm",
    "counted": "count()", "summed": "sum(5)", "mean": "avg(5)", "least": "min(5)", "both": "stats(5)",
    "powers": "hist(5)", "steps": "lhist(5, 0, 10, 1)", "task": "curtask", "address": "ntop(0x0100007f)",
    "symbol": "ksym(1)", "frames": "kstack(2)",
}  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("engine", ENGINES)
def test_print_shows_maps_as_they_are_shown_at_the_end(engine, form):
    """With its name, where a map has no keys, too, and with what it has when it is printed."""
    wanted = {name: value for name, value in sorted(SHOWN.items()) if engine == "kernel" or name not in ("frames",)}
    given = "".join(f"@{name} = {value}; @{name}_k[1] = {value};" for name, value in wanted.items())
    shown = "".join(f"print(@{name}); print(@{name}_k);" for name in wanted)
    done = sonde("bt", "-q", "-f", form, "--engine", engine, "-c", "true", "-e", f"begin {{ {given} {shown} }}")
    lines = done.stdout.replace("\n\n\n", "\n").splitlines()
    half = len(lines) // 2
    assert len(lines) > 2 * len(wanted)
    assert lines[:half] == lines[half:]
    turns = "begin { print(@n); for ($i : 0..3) { @n = $i; print(@n); } @n = 7; }"
    done = sonde("bt", "-q", "--engine", engine, "-c", "true", "-e", turns)
    assert done.stdout.split("\n\n\n") == ["@n: 0\n@n: 0\n@n: 1\n@n: 2", "@n: 7\n"]


@pytest.mark.parametrize("engine", ENGINES)
def test_loops_take_as_many_turns_as_programs_of_bpftrace_need(engine):
    """Over all elements of a full map, over ranges within others, and until a condition holds."""
    turns = 30000 if engine == "kernel" else 5000
    program = f"""begin {{
        for ($i : 0..4096) {{ @m[$i] = $i; }}
        for ($kv : @m) {{ @s += $kv.1; @n++; }}
        $k = 0; while ($k < {turns}) {{ $k++; if ($k == {turns - 7}) {{ break; }} }}
        for ($i : 0..{turns // 100}) {{ for ($j : 0..100) {{ @inner++; }} }}
        printf("%d %d\\n", $k, len(@m)); clear(@m);
    }}"""
    done = sonde("bt", "-q", "--no-warnings", "--engine", engine, "-c", "true", "-e", program)
    assert done.stderr == ""
    assert done.stdout == f"{turns - 7} 4096\n\n\n@inner: {turns}\n@n: 4096\n@s: {4096 * 4095 // 2}\n"


UNKNOWN_AT_FIRST = [
    ("@m[has_key(@m, 1) ? 1 : 2] = 5; $v = (@m[2], 6); print($v.0);", ["5"], ["@m[2]: 5"]),
    ("@m[1] = has_key(@m, 1) ? 1 : 2; $v = @m[1]; if (has_key(@m, 1)) { print($v); }", ["2"], ["@m[1]: 2"]),
    ("$d = delete(@m, 1); @m[1] = $d ? 1 : 2; @m[2] = has_key(@m, 1) ? @m[1] : 7; print($d);", ["false"],
     ["@m[1]: 2", "@m[2]: 2"]),
    ("$k = has_key(@m, 5); $r = $k ? 3 : 4; @m[len(@m)] = $r; if (has_key(@m, 0)) { print(@m[0]); }", ["4"],
     ["@m[0]: 4"]),
    ("let $x : int16 = (int16)@m[3]; $y = has_key(@m, $x); print($y); @m[$x] = $y ? 8 : 9;", ["false"], ["@m[0]: 9"]),
]  # fmt: skip
"""Programs that ask for elements of a map before anything is assigned to it, and the values depend on that."""


@pytest.mark.share(1)
@pytest.mark.parametrize(("program", "lines", "maps"), UNKNOWN_AT_FIRST, ids=[each[0] for each in UNKNOWN_AT_FIRST])
def test_a_map_may_be_asked_before_it_is_known(program, lines, maps):
    assert run("embedded", f"begin {{ {program} }}") == (lines, maps)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_divided_histogram_are_all_shown(engine):
    program = """
        begin { @h = hist(100); unroll(25) { @h = hist(1000); } print(@h, 0, 10); @l = lhist(5, 0, 10, 1);
                print(@l, 0, 10); @few[1] = hist(3); print(@few, 0, 7); clear(@h); clear(@l); clear(@few);
                @s = avg(70); @s = avg(1); print(@s, 0, 7); clear(@s); }
    """
    bar = "@" * 52
    rows = [
        "@h:", f"[64, 128)              0 |{'':52}|", f"[128, 256)             0 |{'':52}|",
        f"[256, 512)             0 |{'':52}|", f"[512, 1K)              2 |{bar}|", "",
        "@l:", f"[5, 6)                 1 |{bar}|", "", "@few[1]:", f"[2, 4)                 0 |{'':52}|", "",
        "@s: 5",
    ]  # fmt: skip
    assert run(engine, program)[0] == rows


@pytest.mark.share(1)
@pytest.mark.parametrize("form", ["text", "json"])
def test_elements_are_divided_as_in_c(form):
    values = (-7, -6, 0, 5, 7, -(1 << 40))
    body = "".join(f"@i[{at}] = {v}; @s[{at}] = sum({v});" for at, v in enumerate(values))
    done = sonde(
        "bt", "-q", "-f", form, "-e", f"begin {{ {body} print(@i, 0, 2); print(@s, 0, 2); clear(@i); clear(@s); }}"
    )
    shown = sorted(int(each) for each in re.findall(r"(?:\]|\d\"): (-?\d+)", done.stdout))
    assert shown == sorted(2 * [int(v / 2) for v in values])
