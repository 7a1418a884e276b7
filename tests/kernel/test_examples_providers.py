"""The scripts in examples/ on probes that follow from the kernel's tracepoints."""

import re
import subprocess

import packages
import pytest
from command import build, sonde
from example_run import EXAMPLES, NAME, buckets, rows, run

FORKS = """
for n in range(7):
    child = os.fork()
    if not child:
        time.sleep(0.07)
        os._exit(n == 3)
    os.waitpid(child, 0)
"""


def test_execs(tmp_path):
    """What was executed with its arguments, and what could not be."""
    workload = """
subprocess.run(["/bin/echo", "one", "two words"])
try: os.execv("/nonexistent/program", ["program"])
except OSError: pass
"""
    output = run("execs.d", workload, tmp_path)
    assert re.search(r"^ *\d+ +\d+ +0 /bin/echo one two words *$", output, re.MULTILINE)
    assert re.search(r"^ *\d+ +\d+ +0 /nonexistent/program: error 2$", output, re.MULTILINE)


def test_writers(tmp_path):
    """Bytes by file, names from the descriptors."""
    workload = f"""
target = os.open("{tmp_path}/target", os.O_WRONLY | os.O_CREAT)
for n in range(11): os.write(target, bytes(9973))
"""
    output = run("writers.d", workload, tmp_path)
    assert [f"{tmp_path}/target", str(11 * 9973)] in rows(output)


def test_lifetimes(tmp_path):
    """Seven children slept 70 ms each."""
    output = run("lifetimes.d", FORKS, tmp_path)
    found = buckets(output, NAME)
    assert sum(found.values()) >= 7
    assert sum(count for value, count in found.items() if value >= 64) >= 7


def test_exits(tmp_path):
    """By exit and by signal."""
    workload = (
        FORKS
        + """
for n in range(3):
    child = os.fork()
    if not child: signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
    )
    output = run("exits.d", workload, tmp_path)
    assert ["killed", "3"] in rows(output)
    assert ["exited", "7"] in rows(output) or ["exited", "8"] in rows(output)


TALK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
for n in range(5):
    client = socket.create_connection(server.getsockname())
    peer, address = server.accept()
    client.sendall(bytes(1000)); peer.recv(1000)
    print("made", client.getsockname()[1], server.getsockname()[1], flush=True)
    client.close(); peer.close()
"""


def test_connections(tmp_path):
    """Each from both ends."""
    output = run("connections.d", TALK, tmp_path)
    made = re.findall(r"^made (\d+) (\d+)$", output, re.MULTILINE)
    assert len(made) == 5
    for client, server in made:
        assert re.search(rf"^connected 127.0.0.1:{client} +127.0.0.1:{server}$", output, re.MULTILINE)
        assert re.search(rf"^accepted +127.0.0.1:{server} +127.0.0.1:{client}$", output, re.MULTILINE)


def test_packets(tmp_path):
    """Datagrams of known length over loopback are sent and received."""
    workload = """
import socket
one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for n in range(2))
two.bind(("127.7.7.7", 0))
for n in range(50):
    one.sendto(bytes(100), two.getsockname()); two.recv(200)
"""
    output = run("packets.d", workload, tmp_path)
    assert ["127.7.7.7", "50", str(50 * 108)] in rows(output, "sent")
    assert re.search(r"^received +127\.0\.0\.1 +\d+ +\d+$", output, re.MULTILINE)


def test_failed_opens(tmp_path):
    """What failed is told with what came before it, what succeeded is not."""
    (tmp_path / "there").touch()
    workload = f"""
for n in range(6):
    os.close(os.open("{tmp_path}/there", os.O_RDONLY))
    try: os.open("{tmp_path}/absent", os.O_RDONLY)
    except OSError: pass
"""
    output = run("failed-opens.d", workload, tmp_path)
    failed = re.findall(rf"^began to open\n(?:  off the CPU.*\n)*  {NAME}: (.*): error 2 ", output, re.MULTILINE)
    assert failed.count(f"{tmp_path}/absent") == 6
    assert "there" not in output


def test_locks(tmp_path):
    """Threads that write to one pipe at once wait for its lock."""
    workload = """
import threading
source, target = os.pipe()
def write():
    for n in range(20000): os.write(target, b"x")
def read():
    left = 80000
    while left: left -= len(os.read(source, 1))
children = []
for job in (write, write, write, write, read):
    child = os.fork()
    if not child:
        job(); os._exit(0)
    children.append(child)
for child in children: os.waitpid(child, 0)
"""
    output = run("locks.d", workload, tmp_path)
    waits = [line.split() for line in output.splitlines() if re.match(r"^[a-z]+-[a-z]+ +\d+ +\d+$", line)]
    assert sum(int(words[1]) for words in waits) > 0
    assert "The longest waits began at" in output


def test_disk(tmp_path):
    """Without a block device in use it ends quietly; its table is of what the devices did meanwhile."""
    output = run("disk.d", "os.sync()", tmp_path)
    assert all(re.match(r"^( .*)?$", line) for line in output.splitlines())


def test_cputime(tmp_path):
    """Sleeping takes time and no CPU."""
    output = run("cputime.d", "for n in range(5): time.sleep(0.03)", tmp_path)
    count, elapsed, used = map(int, rows(output, "clock_nanosleep")[0])
    assert count == 5
    assert elapsed >= 150_000
    assert used < elapsed / 5


def test_pagefaults(tmp_path):
    """Each page of an area touched for the first time is a fault."""
    workload = """
area = mmap.mmap(-1, 4096 * 2000, flags=mmap.MAP_PRIVATE)
for n in range(2000): area[n * 4096] = 1
"""
    output = run("pagefaults.d", workload, tmp_path)
    assert sum(int(words[-1]) for words in rows(output)) > 1500


def test_wakeups(tmp_path):
    """Two processes that hand a byte to and fro wake each other, as each has fallen asleep when the other writes."""
    workload = """
a, b = os.pipe(), os.pipe()
if not os.fork():
    ctypes.CDLL(None).prctl(15, b"other", 0, 0, 0)
    for n in range(300): os.read(a[0], 1); time.sleep(0.001); os.write(b[1], b"x")
    os._exit(0)
for n in range(300): time.sleep(0.001); os.write(a[1], b"x"); os.read(b[0], 1)
os.wait()
"""
    output = run("wakeups.d", workload, tmp_path)
    assert [words for words in rows(output) if words[0] == "other" and int(words[1]) > 100]


def test_function_times(tmp_path):
    """Calls of a function of the C library, one of which takes its time."""
    workload = """
libc = ctypes.CDLL(None)
for n in range(7): libc.toupper(97 + n)
libc.usleep(20000)
"""
    output = run("function-times.d", workload, tmp_path, "libc", "[tu][os][ul][pe]*")
    assert rows(output, "toupper")[0][0] == "7"
    ((calls, total, longest),) = rows(output, "usleep")
    assert calls == "1"
    assert int(total) == int(longest) >= 20000


LOOP = """
int main(void)
{
        for (volatile int n = 0; n < 20; n++)
                n = n;
        return 0;
}
"""


def test_line_values(tmp_path):
    """Twenty rounds of a loop, each with another number."""
    program = build(tmp_path, "loop", LOOP, "-g", "-O0")
    output = sonde("-s", str(EXAMPLES / "line-values.d"), "-c", program, "loop.c@5", "n").stdout
    assert buckets(f"every round\n{output}", "every round") == {0: 1, 1: 1, 2: 2, 4: 4, 8: 8, 16: 4}


THROWS = """
#include <stdexcept>
__attribute__((noipa)) int check(int n) { if (n > 2) throw std::runtime_error("large"); return n; }
int main() {
    for (int n = 0; n < 6; n++)
        try { check(n); } catch (const std::exception &) { }
    return 0;
}
"""


def test_exceptions(tmp_path):
    """Three of six numbers are too large; the way there is known though nothing keeps frame pointers."""
    packages.require("g++")
    (tmp_path / "throws.cc").write_text(THROWS)
    program = tmp_path / "throws"
    subprocess.run(["g++", "-O2", "-o", program, tmp_path / "throws.cc"], check=True)
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in libraries.splitlines() if "libstdc++" in line)
    if "libstdcxx" not in subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout:
        pytest.skip("libstdc++ is built without probes")
    output = sonde("-s", str(EXAMPLES / "exceptions.d"), "-c", str(program)).stdout
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    assert lines[0] == "St13runtime_error"
    assert lines[-1] == "3"
    functions = [line.partition("`")[2].partition("(")[0].partition("+")[0] for line in lines[1:-1]]
    assert functions[:3] == ["__cxa_throw", "check", "main"]
