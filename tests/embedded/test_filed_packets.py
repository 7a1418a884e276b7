"""`--packets`: packets of a file fire packet probes of the embedded engine, as those of devices do in the kernel."""

import json
import shlex
import sys

import pytest
from support.command.unprivileged import sonde
from support.files import pcapng_reader as reader
from support.files.capture_files import RAW_IP, Pcapng, pcap
from support.packets.frames import FRAMES, NUMBERS, TEXTS, Reading

import sonde as library

IN, OUT = 1, 2
LONG = FRAMES["udp"] + bytes(range(256)) * 254


def fed(tmp_path, data, text, *options, status=0):
    path = tmp_path / "given"
    path.write_bytes(data)
    return sonde("--packets", str(path), "-qn", text, *options, status=status)


def captured(tmp_path, data, text, *options):
    """The packets that a program writes to a file."""
    path = tmp_path / "out.pcapng"
    done = fed(tmp_path, data, text, "-o", str(path), *options)
    assert (done.stdout.strip(), done.stderr) == ("", "")
    return reader.packets(path.read_bytes())


@pytest.mark.share(0, 2)
@pytest.mark.parametrize("direction", ["egress", "ingress"])
@pytest.mark.parametrize("names", [NUMBERS, TEXTS])
def test_headers_of_frames_that_end_anywhere(tmp_path, direction, names):
    """In tcx where they leave, in XDP where they arrive: neither takes a tag away. A frame that is
    cut here is as long as it is then. At each length in tcx, and at some in XDP, which reads headers alike."""
    step = 7 if names is TEXTS else {"egress": 1, "ingress": 5}[direction]
    file, expected = Pcapng().interface("eth0"), []
    for frame in FRAMES.values():
        for size in range(14, len(frame) + 1, step):
            file.packet(frame[:size], flags=OUT if direction == "egress" else IN)
            expected.append([str(Reading(frame[:size])[name]) for name in names])
    forms = " ".join("%d" if names is NUMBERS else "%s" for _ in names)
    text = f'packet:eth0:{direction}: {{ printf("{forms}\\n", {", ".join(f"args[0]->{name}" for name in names)}); }}'
    done = fed(tmp_path, file.data, text, *(["-xxdp=native"] if direction == "ingress" else []))
    assert [line.split() for line in done.stdout.strip().splitlines()] == expected


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [(), ("-xxdp=native",)])
def test_packets_in_any_number_of_pieces_are_captured_whole_with_their_times(tmp_path, options):
    """From none but the head to some that do not fit one packet's pages; a record has 64 KiB."""
    sizes = (14, 127, 128, 129, 2047, 2176, 2177, 34943, 34944, 34945, 36000, 65000, len(LONG))
    file = Pcapng().interface("eth0", resolution=9)
    for number, size in enumerate(sizes):
        file.packet(LONG[:size], time=10**18 + number, flags=IN)
    found = captured(tmp_path, file.data, "packet:eth0:ingress: { capture(); }", *options)
    assert [(each.time, each.length, each.data) for each in found] == [
        (10**18 + number, size, LONG[:size]) for number, size in enumerate(sizes)
    ]


def test_of_a_packet_that_the_file_has_in_part_the_length_is_the_whole_ones(tmp_path):
    file = Pcapng().interface("eth0").packet(LONG[:60], length=1500).packet(LONG[:60])
    found = captured(tmp_path, file.data, "packet:eth0:ingress: { trace(pktlen); trace(args[0]->len); capture(80); }")
    assert [(each.length, each.data, each.options[1].split()) for each in found] == [
        (1500, LONG[:60], [b"1500", b"1500"]), (60, LONG[:60], [b"60", b"60"]),
    ]  # fmt: skip


@pytest.mark.long
def test_devices_are_the_interfaces_and_directions_those_of_the_file(tmp_path):
    """What tells no direction has arrived; a link that sonde does not know has bytes, and no headers."""
    frame, ip = FRAMES["udp"], FRAMES["udp"][14:]
    file = Pcapng(">").interface("eth0").interface("tun0", RAW_IP).interface("", 147)
    file.packet(frame, 0, flags=IN).packet(frame, 0, flags=OUT).packet(frame, 0).packet(ip, 1, flags=OUT)
    file.packet(b"\0\4" + frame, 2)
    values = "probemod, probefunc, args[0]->if_name, ifindex, args[0]->ip_saddr, args[0]->udp_dport"
    path = tmp_path / "out.pcapng"
    done = fed(
        tmp_path, file.data, f'packet::: {{ printf("%s %s %s %d %s %d", {values}); capture(); }}', "-o", str(path)
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
    source, rows = Reading(frame)["ip_saddr"], reader.packets(path.read_bytes())
    assert [each.options[1].decode().split() for each in rows] == [
        ["eth0", "ingress", "eth0", "1", source, "53"],
        ["eth0", "egress", "eth0", "1", source, "53"],
        ["eth0", "ingress", "eth0", "1", source, "53"],
        ["tun0", "egress", "tun0", "2", source, "53"],
        ["if2", "ingress", "if2", "3", "<unknown>", "0"],
    ]
    interfaces = reader.interfaces(path.read_bytes())
    assert {each[2][2].decode(): each[0] for each in interfaces} == {"eth0": 1, "tun0": RAW_IP, "if2": 147}
    listed = sonde("--packets", str(tmp_path / "given"), "-l", "packet:::")
    assert [line.split()[1:] for line in listed.stdout.splitlines()[1:]] == [
        ["packet", name, way] for name in ("eth0", "tun0", "if2") for way in ("ingress", "egress")
    ]


@pytest.mark.long
def test_a_tag_is_taken_out_where_a_packet_arrives_unless_the_file_is_of_sonde(tmp_path):
    """As the kernel does before tcx; what sonde has captured there has been through that."""
    frame = FRAMES["in two"]
    text = "packet:eth0:ingress: { trace(args[0]->vlan_id); capture(); }"
    for application, data in (("", frame[:12] + frame[16:]), ("sonde 1.0", frame)):
        (found,) = captured(tmp_path, Pcapng("<", application).interface("eth0").packet(frame).data, text)
        assert (found.options[1], found.data, found.length) == (b"1110", data, len(data))


def test_a_pcap_file_is_taken_too(tmp_path):
    data = pcap([(1000, 5, FRAMES["icmp"], 900), (1001, 6, FRAMES["arp"], 42)], ">", 0xA1B23C4D)
    text = 'packet:if0:ingress: { printf("%d %d %x\\n", walltimestamp, pktlen, args[0]->eth_type); }'
    assert fed(tmp_path, data, text).stdout.strip() == "1000000000005 900 800\n1001000000006 42 806"


def test_exit_ends_before_the_file_does_and_processes_are_traced_beside(tmp_path):
    file = Pcapng().interface("eth0")
    for _ in range(1009):
        file.packet(LONG[:90])
    done = fed(tmp_path, file.data, "packet::ingress: /++n == 101/ { exit(3); } END { trace(n); }", status=3)
    assert done.stdout.split() == ["101"]
    text = "packet::ingress: { @[probefunc] = count(); } syscall::getpgid:entry { @[probefunc] = count(); }"
    command = shlex.join([sys.executable, "-c", "import os; [os.getpgid(0) for _ in range(307)]"])
    done = fed(tmp_path, file.data, text, "-c", command)
    assert sorted(line.split() for line in done.stdout.splitlines() if line) == [
        ["getpgid", "307"],
        ["ingress", "1009"],
    ]


def test_a_recording_of_them_shows_the_same_packets(tmp_path):
    file = Pcapng().interface("wire", RAW_IP).packet(FRAMES["tcp"][14:], time=10**15, length=2000)
    raw, again = tmp_path / "raw", tmp_path / "again.pcapng"
    text = "packet:wire:ingress: { trace(args[0]->tcp_dport); capture(); }"
    first = captured(tmp_path, file.data, text, "--raw", str(raw))
    sonde("raw", str(raw), "-q", "-o", str(again))
    assert reader.packets(again.read_bytes()) == first
    assert reader.interfaces(again.read_bytes())[0][0] == RAW_IP


def test_values_of_a_script_reach_python(tmp_path):
    path = tmp_path / "given"
    path.write_bytes(Pcapng().interface("eth0").packet(FRAMES["udp"], time=7).packet(FRAMES["tcp"], time=8).data)
    text = "packet:eth0:ingress: { trace(args[0]->ip_protocol); }"
    with library.compile(text, options={"packets": str(path)}).run() as run:
        found = [event.values[0] for event in run if isinstance(event, library.Record)]
    assert found == [17, 6]


def test_what_stands_behind_damage_is_told_as_not_seen(tmp_path):
    file = Pcapng().interface("eth0").packet(LONG[:500]).packet(LONG[:500])
    done = fed(tmp_path, file.data[:-1], "packet::ingress: { @ = count(); }", status=1)
    assert done.stdout.split() == ["1"]
    assert "ends within a block or packet" in done.stderr
    assert "the packet before it was used" in " ".join(done.stderr.split())


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--packets", "/nowhere/file", "-n", "BEGIN"), "failed to open packets '/nowhere/file'"),
        (("--packets", __file__, "-n", "BEGIN"), "neither as a pcapng file nor as a pcap file"),
        (("--packets", "/dev/null", "-n", "BEGIN"), "it is a device"),
        (("--packets", "/", "-n", "BEGIN"), "it is a directory"),
        (("--engine", "kernel", "--packets", "x", "-n", "BEGIN"), "--packets is for the embedded engine"),
        (("--engine", "embedded", "-n", "packet:::"), "has the packets of a file: --packets FILE.pcapng"),
        (("--packets",), "option requires an argument"),
    ],
)
def test_mistakes_are_one_message(words, text):
    status = 2 if words == ("--packets",) else 1
    message = sonde(*words, status=status).stderr
    assert text in " ".join(message.split())
    assert "Traceback" not in message


def test_a_spec_file_carries_no_file_of_packets(tmp_path):
    """Whoever runs it names one: a spec file from elsewhere opens nothing."""
    path = tmp_path / "given"
    path.write_bytes(Pcapng().interface("eth0").packet(FRAMES["udp"]).data)
    spec = tmp_path / "spec"
    sonde("--packets", str(path), "-qn", "packet:eth0:ingress: { trace(pktlen); }", "--save", str(spec))
    assert str(path) not in json.dumps(json.loads(spec.read_text()))
    done = sonde("--spec", str(spec), status=1)
    assert "name one with --packets FILE.pcapng" in " ".join(done.stderr.split())
    assert sonde("--spec", str(spec), "-q", "--packets", str(path)).stdout.split() == [str(len(FRAMES["udp"]))]
