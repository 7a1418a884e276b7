#!/usr/bin/env python3
"""Real programs, traced and alone: each says and ends the same. `real_programs.py [--only NAME] [--way WAY] ...`

Each script of tools/real_programs runs some programs and is the same every time: it is run alone, and then traced on
the embedded engine in each of the ways of real_programs_ways.py. Its output and status have to be the same each time,
sonde has to end as documented and to count something, and nothing may be left running. Scripts whose programs are not
installed are named. The status is 1 if anything differs.
"""

import argparse
import collections
import concurrent.futures
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools")]

import real_programs_ways as ways  # noqa: E402 - of this directory

SCRIPTS = ROOT / "tools" / "real_programs"
LONGEST = 100
"""Seconds that a script may take."""

UNCOUNTED = ("alone", "killed", "server-killed", "server-profile")
"""Ways in which there need not be any result: sonde is killed before it writes one; or a server's processes run for
less than a millisecond in their own code until it is ended."""

HEADER = re.compile(r"^# (needs|user|outside): (.*)$", re.MULTILINE)


SHARE = ("c-build", "filtered", "job-control", "lighttpd", "spawn", "sqlite")
SHARED_WAYS = ("count", "contained", "profile", "shell-profile", "killed", "server")
"""What tests do of all this, in less than a minute."""


class Script:
    """One program's script and what its first lines say of it.

    `needs`: programs and files, `a|b` where either will do; `user`: root, or an ordinary one, where only that can run
    it; `outside`: container, where its profile does not let it work.
    """

    def __init__(self, path):
        self.name = path.stem
        told = dict(HEADER.findall(path.read_text()))
        self.needs = told.get("needs", "").split()
        self.user = told.get("user", "")
        self.outside = told.get("outside", "")
        self.has_server = bool(re.search(r"^ready ", path.read_text(), re.MULTILINE))

    def lacking(self, user):
        """Why it cannot be run, "" if it can."""
        missing = [need for need in self.needs if not any(map(is_there, need.split("|")))]
        if missing:
            return f"{', '.join(missing)} not installed"
        if self.user and (self.user == "root") != (user == 0):
            return f"it takes {'root' if self.user == 'root' else 'an ordinary user'}"
        return ""

    def ways(self):
        return [
            way
            for way in ways.WAYS
            if (self.has_server or way not in ways.OF_SERVERS) and not (self.outside and way in ways.IN_PROFILE)
        ]


def is_there(name):
    return os.path.exists(name) or bool(
        shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin:" + os.environ.get("PATH", os.defpath))
    )


class Bench:
    """Where scripts run: a directory of its own for each run, below one that is reached by the user."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.shared = self.directory / "shared"
        self.shared.mkdir(exist_ok=True)
        self.runs = 0
        self.is_ending = False

    def environment(self, script, number, home):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "SHELL", "JAVA_HOME")}
        kept["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + kept.get("PATH", "")
        rustup = os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
        return {
            **kept, "RUSTUP_HOME": rustup, "HOME": str(home), "TMPDIR": str(home), "LC_ALL": "C.UTF-8",
            "REAL": str(SCRIPTS),
            "PYTHON": sys.executable, "TERM": "xterm",
            "PORT": str(21000 + (os.getpid() * 37 + number * 3) % 9000), "SHARED": str(self.shared / script.name),
            "SONDE_REAL_RUN": f"{os.getpid()}-{number}", "PYTHONPATH": str(ROOT / "src"),
            "XDG_CACHE_HOME": str(self.directory / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def prepare(self, script):
        """What all runs of the script share is made by itself; what it said if that failed."""
        place = self.shared / script.name
        place.mkdir()
        words = ["bash", str(SCRIPTS / "prelude.sh"), script.name, "prepare"]
        if not re.search(r"\$1. = prepare", (SCRIPTS / f"{script.name}.sh").read_text()):
            return ""
        done = subprocess.run(
            words, cwd=place, env=self.environment(script, 0, place), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False, timeout=LONGEST,
        )  # fmt: skip
        return done.stdout + done.stderr if done.returncode else ""

    def run(self, script, name, way, usual=1.0):
        """(what the script said and its status, problems, what sonde said, seconds)."""
        self.runs += 1
        number = self.runs
        place = self.directory / f"{script.name}-{name}-{number}"
        home = place / "home"
        home.mkdir(parents=True)
        environment = self.environment(script, number, home)
        words = ["bash", str(SCRIPTS / "prelude.sh"), script.name]
        traced = ways.Traced(words, environment, home, usual)
        begun = time.monotonic()
        try:
            status = way(traced, LONGEST)
        except OSError as error:
            traced.problems.append(repr(error))
            status = None
        seconds = time.monotonic() - begun
        traced.problems += leftovers(environment["SONDE_REAL_RUN"])
        traced.output.close()
        output = (place / "output").read_text(errors="replace").replace(str(home), "HOME")
        output = output.replace(environment["PORT"], "PORT")
        if "Traceback" in traced.said:
            traced.problems.append("a traceback")
        if name not in UNCOUNTED and not has_counted(traced.trace):
            traced.problems.append("sonde counted nothing")
        shutil.rmtree(home, ignore_errors=True)
        return (output, status), traced.problems, traced.said, seconds


def has_counted(trace):
    try:
        return bool(re.search(r"[1-9]", trace.read_text(errors="replace").replace("begun", "")))
    except OSError:
        return False


def leftovers(mark):
    """Processes of the run that are still there after a moment; they are ended."""
    found = []
    for _ in range(50):
        found = list(marked(mark))
        if not found:
            return []
        time.sleep(0.05)
    kill(found)
    return [f"left running: {', '.join(name for _, name in found)}"]


def kill(found):
    for pid, _ in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def marked(mark, end="\0"):
    """(pid, name) of the processes with that mark in their environment, or with a longer one if `end` is empty."""
    wanted = f"SONDE_REAL_RUN={mark}{end}".encode()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (each / "environ").read_bytes() + b"\0" and "\nState:\tZ" not in (each / "status").read_text():
                yield int(each.name), (each / "comm").read_text().strip()
        except OSError:
            continue


def difference(expected, found):
    """What is not the same, in a few lines."""
    if expected[1] != found[1]:
        yield f"status {found[1]}, alone {expected[1]}"
    before, after = collections.Counter(expected[0].splitlines()), collections.Counter(found[0].splitlines())
    yield from (f"- {line}" for line in list((before - after).elements())[:5])
    yield from (f"+ {line}" for line in list((after - before).elements())[:8])
    if before == after and expected[0] != found[0]:
        yield "its lines come in another order"


def examine(bench, script, chosen):
    """All of the chosen ways of a script: (way, what is wrong, seconds)."""
    problem = bench.prepare(script)
    if problem:
        yield "prepare", [problem[-500:]], 0
        return
    alone = {}
    for profile in {name in ways.IN_PROFILE for name in script.ways() if name in chosen}:
        way = ways.alone if not profile else ways.alone_in_profile
        expected, problems, _, usual = bench.run(script, "alone", way)
        again, more, _, _ = bench.run(script, "alone", way)
        alone[profile] = expected, usual
        wrong = [*problems, *more, *[f"not the same twice: {each}" for each in difference(expected, again)]]
        yield "alone" + (" in the profile" if profile else ""), wrong, usual
    for name in script.ways():
        if name in chosen and not bench.is_ending:
            expected, usual = alone[name in ways.IN_PROFILE]
            found, problems, said, seconds = bench.run(script, name, ways.WAYS[name], usual)
            wrong = [*difference(expected, found), *problems]
            yield name, wrong + ([f"sonde: {said[-1500:]}"] if wrong and said else []), seconds


def show(script, results, verbose):
    wrong = [(name, problems) for name, problems, _ in results if problems]
    alone = results[0][2]
    print(f"{script.name:18} {alone:5.1f} s alone, {len(results):2} runs, {len(wrong)} differ")
    for name, problems in wrong:
        print(f"    {name}:")
        for each in problems:
            print("\n".join(f"        {line}" for line in each.splitlines()))
    if verbose:
        print("    " + " ".join(f"{name} {seconds:.1f}" for name, _, seconds in results))
    sys.stdout.flush()
    return len(wrong)


def as_user(name):
    """Run this as that user, from a copy that he can read, by an interpreter that he can run. Does not return."""
    user = pwd.getpwnam(name)
    place = tempfile.mkdtemp(prefix="sonde-real-")
    os.chmod(place, 0o755)
    for each in ("src", "tools"):
        shutil.copytree(ROOT / each, f"{place}/{each}")
    shutil.copytree(ROOT / "tests/programs", f"{place}/tests/programs", ignore=shutil.ignore_patterns("__pycache__"))
    change = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    python = next(
        each
        for each in (sys.executable, "/usr/bin/python3")
        # setpriv itself may still be allowed to.
        if not subprocess.run([*change, "sh", "-c", f"{each} -c ''"], capture_output=True, check=False).returncode
    )
    words = [word for word in sys.argv[1:] if word != f"--user={name}"]
    try:
        # The user cannot write there: each start would compile everything.
        subprocess.run([python, "-m", "compileall", "-q", f"{place}/src"], check=True)
        with subprocess.Popen([*change, python, f"{place}/tools/real_programs.py", *words], cwd=place) as running:
            try:
                status = running.wait()
            except SystemExit:
                running.terminate()
                raise
    finally:
        shutil.rmtree(place, ignore_errors=True)
    sys.exit(status)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="scripts with this in their names")
    parser.add_argument("--way", action="append", default=[], choices=list(ways.WAYS), help="only these ways")
    parser.add_argument("--user", help="as root: run all as this user; write --user=NAME")
    parser.add_argument("--jobs", type=int, default=2, help="scripts at once")
    parser.add_argument("--share", action="store_true", help="what the tests do")
    parser.add_argument("-v", action="store_true", help="how long each way took")
    return parser.parse_args()


def main():
    asked = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if asked.user:
        as_user(asked.user)
    scripts = [Script(path) for path in sorted(SCRIPTS.glob("*.sh")) if path.stem != "prelude"]
    scripts = [one for one in scripts if not asked.only or any(word in one.name for word in asked.only)]
    if asked.share:
        scripts = [one for one in scripts if one.name in SHARE]
    chosen = asked.way or (SHARED_WAYS if asked.share else list(ways.WAYS))
    with tempfile.TemporaryDirectory(prefix="sonde-real-") as directory:
        bench, able = Bench(directory), []
        for script in scripts:
            if reason := script.lacking(os.getuid()):
                print(f"{script.name:18} left out: {reason}")
            else:
                able.append(script)
        return run_all(bench, able, chosen, asked)


def run_all(bench, able, chosen, asked):
    """Whether anything differs."""
    differing = total = 0
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        todo = {pool.submit(lambda script: list(examine(bench, script, chosen)), script): script for script in able}
        try:
            for done in concurrent.futures.as_completed(todo):
                results = done.result()
                total += len(results)
                differing += show(todo[done], results, asked.v)
        except (KeyboardInterrupt, SystemExit):
            bench.is_ending = True
            pool.shutdown(wait=False, cancel_futures=True)
            kill(marked(f"{os.getpid()}-", end=""))
            raise
    print(f"{len(able)} scripts, {total} runs, {differing} differ")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
