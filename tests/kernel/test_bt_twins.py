"""Programs written in D and in bpftrace's language count the same of one run: bt_twins.py has them."""

import json
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from support.bpftrace.bt_twins import TWINS
from support.command.command import SONDE, build, sonde

WORK = Path(__file__).parents[1] / "programs" / "counted_twice.c"
ITEM = """struct item { int id; short kind; unsigned char flags; char name[16]; struct item *next; long sum; };
"""


class Twin(NamedTuple):
    """One program in each language."""

    d: str
    bt: str


def twins(path):
    found = []
    for number, part in enumerate(TWINS.strip().split("\n\n")):
        named = part.replace("NN", str(number)).replace("WORK", "work").replace("PATH", path)
        d, _, bt = named.partition("\n..\n")
        found.append(Twin(d, bt))
    return found


def buckets(rows):
    return tuple((row.get("low", row.get("min")), row["count"]) for row in rows)


def plain(value):
    """A value of either, averages without their fractions."""
    return buckets(value) if isinstance(value, list) else int(value)


def of_d(output):
    found = {}
    for line in output.splitlines():
        said = json.loads(line)
        if said["type"] == "aggregation":
            for row in said["rows"]:
                found[said["names"][0], ",".join(map(str, row["key"]))] = plain(row["values"][0])
    return found


def of_bt(output):
    found = {}
    for line in output.splitlines():
        said = json.loads(line) if line.startswith("{") else {"type": ""}
        for name, value in said["data"].items() if said["type"] in ("map", "hist", "stats") else ():
            for key, one in value.items() if isinstance(value, dict) else (("", value),):
                found[name[1:], key] = plain(one)
    return {place: value for place, value in found.items() if place[0].startswith("r")}


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """What the programs in D and in bpftrace's language have counted in one run, and how many there are."""
    place = tmp_path_factory.mktemp("twins")
    path = build(place, "work", WORK.read_text())
    pairs = twins(path)
    d, bt, output = place / "all.d", place / "all.bt", place / "d.json"
    d.write_text(ITEM + "\n".join(twin.d for twin in pairs))
    bt.write_text(ITEM + "\n".join(twin.bt for twin in pairs))
    words = [SONDE, "-q", "-x", "format=json", "-x", "evaltime=exec", "-o", output, "-C", "-s", d, "-c", path]
    inner = shlex.join(map(str, words))
    done = sonde("bt", "-q", "-f", "json", str(bt), "-c", inner)
    return of_d(output.read_text()), of_bt(done.stdout), len(pairs)


@pytest.mark.long
def test_both_count_the_same(counted):
    of_d, of_bt, programs = counted
    assert programs >= 60
    assert {name for name, _ in of_d} == {f"r{number}" for number in range(programs)}
    different = {place for place in {*of_d, *of_bt} if of_d.get(place) != of_bt.get(place)}
    assert not different, {place: (of_d.get(place), of_bt.get(place)) for place in sorted(different)[:20]}


NETWORK = """
struct both { uint8_t bytes[16]; uint8_t last[4]; }
uprobe:PATH:visit /@n++ == 5/ {
    $both = (struct both *)arg1; $own = $both.bytes; $four = pid > 0 ? 2 : 10;
    let $either; if (pid > 0) { $either = ntop($both.bytes); } else { $either = ntop(5); }
    printf("%s %s %s %s", $either, ntop($four, $both.bytes), ntop(2, $both.last), ntop($own));
    exit();
}
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_addresses_of_networks_are_read_where_they_are(engine, tmp_path):
    path = build(tmp_path, "work", WORK.read_text())
    program = NETWORK.replace("PATH", path)
    done = sonde("bt", "-q", "--engine", engine, "-e", program, "-c", path)
    # What the sixth call has: four integers, of which the last is negative.
    six, four, last, own = done.stdout.splitlines()[0].split()
    assert six == own == "500:0:a00:0:f00:0:fbff:ffff"
    assert four == "5.0.0.0"
    assert last.count(".") == 3
