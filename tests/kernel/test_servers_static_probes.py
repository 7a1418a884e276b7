"""Static probes of a Java machine and of PostgreSQL, as distributions build them, by a glob for the provider: work of a
known size, of a process that runs before sonde and one that starts while it traces, is counted once."""

import glob
import os
import shutil
import subprocess

import pytest
from support.command.other_user import NOBODY
from support.machine import packages
from test_static_probes_everywhere import Held, Tracer

JAVA = """
public class Work {
    static int called(int n) { return n; }
    public static void main(String[] words) throws Exception {
        if (words.length > 1) { System.out.println("here"); System.in.read(); }
        for (int n = 0; n < Integer.parseInt(words[0]); n++) { called(n); if (n % 25 == 0) System.gc(); }
        if (words.length > 1) { System.out.println("done"); System.in.read(); }
    }
}
"""

OPTIONS = ("-Xshare:auto", "-XX:+UseSerialGC", "-XX:+ExtendedDTraceProbes")


def has_probes(file, provider):
    packages.require("readelf")
    return f"Provider: {provider}" in subprocess.run(["readelf", "-n", file], capture_output=True, text=True).stdout


@pytest.mark.long
def test_java(tmp_path):
    packages.require("javac")
    homes = [
        each.removesuffix("/lib/server/libjvm.so") for each in sorted(glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so"))
    ]
    home = next((each for each in homes if has_probes(f"{each}/lib/server/libjvm.so", "hotspot")), None)
    if home is None:
        pytest.skip("no Java here is built with probes")
    (tmp_path / "Work.java").write_text(JAVA)
    subprocess.run([f"{home}/bin/javac", "-d", tmp_path, tmp_path / "Work.java"], check=True)
    java = (f"{home}/bin/java", *OPTIONS, "-cp", str(tmp_path))
    text = (
        'hotspot*:::method-entry /copyinstr(arg3, arg4 + 1) == "called"/ { @[probeprov, "called"] = count(); }'
        'hotspot*:::gc-begin { @[probeprov, "collected"] = count(); }'
    )
    with Held("Work", 101, *java) as before, Tracer(text) as tracer:
        after = subprocess.Popen([*java, "Work", "53"])
        before.work()
        assert after.wait(60) == 0
    wanted = {(f"hotspot{each.pid}", name): n
              for each, sizes in ((before, (101, 5)), (after, (53, 3)))
              for name, n in zip(("called", "collected"), sizes, strict=True)}  # fmt: skip
    assert {key: n for key, n in tracer.counts.items() if key in wanted} == wanted


class Server:
    """PostgreSQL with one user, who types queries."""

    def __init__(self, directory, data):
        self.process = subprocess.Popen(
            [f"{directory}/postgres", "--single", "-D", data, "template1"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, user=NOBODY, group=NOBODY, extra_groups=[],
        )  # fmt: skip
        self.pid = self.process.pid
        self.process.stdout.readline()  # it waits for the first query

    def ask(self, times):
        self.process.communicate("select 1;\n" * times)
        assert self.process.returncode == 0


@pytest.mark.long
def test_postgresql(tmp_path_factory):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        pytest.skip("needs package postgresql")
    if os.geteuid() or not has_probes(f"{found[-1]}/postgres", "postgresql"):
        pytest.skip("no PostgreSQL here that is built with probes and that root may start as another user")
    place = tmp_path_factory.mktemp("server")
    one, two = place / "one", place / "two"
    # pytest's own directories are closed to other users.
    place.chmod(0o755)
    for parent in place.parents[:3]:
        if parent.stat().st_mode & 0o111 != 0o111:
            parent.chmod(parent.stat().st_mode | 0o111)
    one.mkdir()
    os.chown(one, NOBODY, NOBODY)
    subprocess.run([f"{found[-1]}/initdb", "-D", one, "-N", "-A", "trust", "--no-locale"], check=True, cwd="/",
                   stdout=subprocess.DEVNULL, user=NOBODY, group=NOBODY, extra_groups=[])  # fmt: skip
    shutil.copytree(one, two)
    for path in (two, *two.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    before = Server(found[-1], one)
    with Tracer("postgresql*:::query-start { @[probeprov] = count(); }") as tracer:
        after = Server(found[-1], two)
        before.ask(7)
        after.ask(101)
    mine = (f"postgresql{before.pid}",), (f"postgresql{after.pid}",)
    assert {key: n for key, n in tracer.counts.items() if key in mine} == dict(zip(mine, (7, 101), strict=True))
