"""The scripts in examples/ on probes that follow from the kernel's tracepoints."""

import re
import subprocess

import pytest
from support.command.command import sonde
from support.command.example_run import EXAMPLES, rows, run
from support.machine import compilers

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


@pytest.mark.long
def test_connections(tmp_path):
    """Each from both ends."""
    output = run("connections.d", TALK, tmp_path)
    made = re.findall(r"^made (\d+) (\d+)$", output, re.MULTILINE)
    assert len(made) == 5
    for client, server in made:
        assert re.search(rf"^connected 127.0.0.1:{client} +127.0.0.1:{server}$", output, re.MULTILINE)
        assert re.search(rf"^accepted +127.0.0.1:{server} +127.0.0.1:{client}$", output, re.MULTILINE)


@pytest.mark.long
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


@pytest.mark.long
def test_disk(tmp_path):
    """Without a block device in use it ends quietly; its table is of what the devices did meanwhile."""
    output = run("disk.d", "os.sync()", tmp_path)
    assert all(re.match(r"^( .*)?$", line) for line in output.splitlines())


THROWS = """
#include <stdexcept>
__attribute__((noipa)) int check(int n) { if (n > 2) throw std::runtime_error("large"); return n; }
int main() {
    for (int n = 0; n < 6; n++)
        try { check(n); } catch (const std::exception &) { }
    return 0;
}
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_exceptions(engine):
    """Three of six numbers are too large; the way there is known though nothing keeps frame pointers."""
    program = compilers.built("throws.cc", THROWS, "g++", "-O2")
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in libraries.splitlines() if "libstdc++" in line)
    if "libstdcxx" not in subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout:
        pytest.skip("libstdc++ is built without probes")
    output = sonde("--engine", engine, "-s", str(EXAMPLES / "exceptions.d"), "-c", program).stdout
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    assert lines[0] == "St13runtime_error"
    assert lines[-1] == "3"
    functions = [line.partition("`")[2].partition("(")[0].partition("+")[0] for line in lines[1:-1]]
    assert functions[:3] == ["__cxa_throw", "check", "main"], output
