"""The example on packets: of a file, and of a device."""

import subprocess

import pytest
from support.command.command import SONDE, environment, sonde
from support.command.example_run import EXAMPLES
from support.files.capture_files import Pcapng
from support.packets.frames import FRAMES
from support.packets.network import network
from support.packets.packets import await_links

MILLISECOND = 10**6


def rows(output):
    return sorted(line.split() for line in output.splitlines()[1:] if line)


@pytest.mark.long
def test_conversations_of_a_file(tmp_path):
    path, file = tmp_path / "trace.pcapng", Pcapng().interface("eth0", resolution=9)
    for number in range(31):
        file.packet(FRAMES["udp"], time=10**18 + number * MILLISECOND * (1 if number < 30 else 5))
    path.write_bytes(file.packet(FRAMES["tcp"]).packet(FRAMES["arp"]).data)
    output = sonde("-s", EXAMPLES / "conversations.d", "--packets", path).stdout
    sizes = len(FRAMES["udp"]), len(FRAMES["tcp"])
    assert rows(output) == [
        ["192.0.2.7", "198.51.100.9", "17", "31", str(31 * sizes[0]), "121"],
        ["192.0.2.7", "198.51.100.9", "6", "1", str(sizes[1]), "0"],
    ]


def test_conversations_of_a_device():
    with network("ec") as net:
        words = ["ip", "netns", "exec", net.right, SONDE, "-s", EXAMPLES / "conversations.d"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as process:
            await_links(process, 2)
            net.datagrams(4, 7413, 101)
            process.terminate()
            output = process.communicate()[0]
    assert [row[3:5] for row in rows(output) if row[:3] == ["10.77.0.1", "10.77.0.2", "17"]] == [
        ["101", str(sum(42 + 10 + number for number in range(101)))]
    ]
