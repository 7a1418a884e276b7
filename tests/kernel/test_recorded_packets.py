"""`--record` and `--replay` of packets: what a session has shown of them is what its replay shows, and other scripts
find in the recording what they found live, or are told by name what it does not hold."""

import re
import signal
import subprocess
import tempfile

import pytest
from support.command.command import SONDE, build, environment, sonde, unwrapped
from support.files.capture_files import RAW_IP, Pcapng
from support.packets.frames import FRAMES
from support.packets.network import ADDRESSES, network
from support.packets.packets import UNMERGED
from test_pcap import DATAGRAMS, read

PORT, STREAM = 7311, 7313
OURS = f"(args[0]->udp_dport == {PORT} || args[0]->tcp_dport == {STREAM} || args[0]->tcp_sport == {STREAM})"
"""What is sent here alone: the namespaces look for neighbours at any time."""

SHOWN = ("len", "eth_type", "vlan_id", "ip_protocol", "tcp_seq", "udp_length")
"""Few, as those of all frames are compared elsewhere, and the embedded engine takes its time to compile them."""

FORMS = " ".join("%d" for _ in SHOWN)
FIELDS = ", ".join(f"args[0]->{name}" for name in SHOWN)

OTHERS = {
    "fields": f'packet:r*:: /{OURS}/ {{ printf("{FORMS}\\n", {FIELDS}); }}',
    "whole packets": f"packet:r*:ingress: /{OURS}/ {{ capture(); }}",
    "beginnings": f"packet:r*:egress: /{OURS}/ {{ trace(pktlen); capture(pktlen / 2); }}",
    "who and where": f"""
        packet:r*:: /{OURS}/ {{
            @[probemod, probefunc, ifindex, args[0]->if_name, args[0]->if_index, uid, gid] = sum(pktlen); }}
        packet:r*:egress: /args[0]->udp_dport == {PORT}/ {{ @p[execname] = count(); }}""",
    "conversations": f"""
        packet:r*:: /{OURS}/ {{
            self->n++; @[args[0]->ip_saddr, args[0]->ip_daddr] = count(); @q = quantize(pktlen); }}""",
}
"""Scripts that find all they ask for in the recording."""

RECORDED = f"packet:r*:: /{OURS}/ {{ @[probefunc] = count(); }}"


@pytest.fixture(scope="module")
def net():
    with network("rp") as found:
        found.run(found.right, UNMERGED, found.right)
        yield found


BEGUN = ' BEGIN { printf("begun\\n"); }'


class Running:
    """sonde in a namespace, which has said that all its probes are attached."""

    def __init__(self, name, script, *options):
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it is read when the process has ended
        words = ["ip", "netns", "exec", name, SONDE, "-q", *options, "-n", script + BEGUN]
        pipes = {"stdout": subprocess.PIPE, "stderr": self._errors, "text": True, "env": environment()}
        self.process = subprocess.Popen(words, **pipes)

    def await_beginning(self):
        assert self.process.stdout.readline() == "begun\n", self._complaint()

    def end(self):
        """What it has shown since."""
        self.process.send_signal(signal.SIGINT)
        shown = self.process.stdout.read()
        assert (self.process.wait(), self._complaint()) == (0, "")
        return shown.strip()

    def _complaint(self):
        self._errors.seek(0)
        return self._errors.read()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self._errors.close()


def recorded_with(net, path, scripts, *options):
    """Record RECORDED and have scripts look at the same traffic; what each has shown, that of the recorder first."""
    runs = [Running(net.right, RECORDED, "--record", path, *options)]
    runs += [Running(net.right, script, *options) for script in scripts]
    try:
        for each in runs:
            each.await_beginning()
        net.datagrams(4, PORT, 3, 1)
        net.datagrams(6, PORT, 3, 2000)
        net.datagrams(6, PORT, 1, 4000)
        net.connections(4, STREAM, 1, 150_000)
        net.connections(6, STREAM, 2, 10)
        return [each.end() for each in runs]
    finally:
        for each in runs:
            each.close()


def replayed(path, script, *options):
    done = sonde("-q", "--replay", path, *options, "-n", script + BEGUN)
    assert not done.stderr
    return done.stdout.removeprefix("begun\n").strip()


@pytest.fixture(scope="module")
def recorded(net, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("recorded") / "it.rec")
    own, *shown = recorded_with(net, path, OTHERS.values())
    return path, own, dict(zip(OTHERS, shown, strict=True))


@pytest.mark.long
def test_a_replay_shows_what_the_session_has_shown(recorded):
    path, own, _ = recorded
    assert replayed(path, RECORDED) == own
    assert own


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_another_script_gives_what_it_gave_live(recorded, name):
    path, _, shown = recorded
    assert replayed(path, OTHERS[name]) == shown[name]
    assert shown[name]


@pytest.mark.long
def test_whole_segments_are_kept(recorded):
    """What the device is given before it is cut into packets has more than any packet."""
    script = f"packet:r*:egress: /{OURS}/ {{ @ = max(pktlen); }} packet:r*:ingress: /{OURS}/ {{ @ = max(pktlen); }}"
    assert int(replayed(recorded[0], script)) > 5000


@pytest.mark.long
@pytest.mark.parametrize("hook", ["-xxdp=native", "-xxdp=generic"])
def test_packets_that_xdp_met(net, tmp_path, hook):
    """One program at a time can be there, so the script itself is recorded, and other ones see the same later."""
    path = str(tmp_path / "it.rec")
    script = f'packet:r*:ingress: /{OURS}/ {{ printf("{FORMS}\\n", {FIELDS}); capture(100); }}'
    run = Running(net.right, script, "--record", path, hook)
    try:
        run.await_beginning()
        net.datagrams(4, PORT, 3, 1)
        net.connections(6, STREAM, 1, 3000)
        shown = run.end()
    finally:
        run.close()
    assert len(shown) > 1000
    assert replayed(path, script, hook) == replayed(path, script) == shown


@pytest.mark.long
def test_of_a_snapped_packet_a_replay_names_what_is_missing(net, tmp_path):
    path = str(tmp_path / "it.rec")
    recorded_with(net, path, (), "-xpcapsize=80")
    ports = f"packet:r*:ingress: /{OURS}/ {{ @[args[0]->udp_dport, pktlen] = count(); capture(80); }}"
    assert replayed(path, ports)
    done = sonde("-q", "--replay", path, "-n", f"packet:r*:ingress: /{OURS}/ {{ capture(); }}")
    told = r"does not hold the packet behind its first 80 bytes of \d+ firings of packet:\w+:ingress:"
    assert re.search(told, unwrapped(done.stderr)), done.stderr
    assert "greater -xpcapsize" in unwrapped(done.stderr)


@pytest.mark.long
def test_devices_that_were_not_recorded_are_named(recorded):
    done = sonde("--replay", recorded[0], "-n", "packet:none:ingress: { trace(pktlen); }", status=1)
    assert "packet:none:ingress: does not match any probes" in unwrapped(done.stderr)


@pytest.mark.long
def test_a_file_of_packets_of_a_replay_is_that_of_the_session(net, tmp_path):
    path, live, again = (str(tmp_path / name) for name in ("it.rec", "live.pcapng", "again.pcapng"))
    script = f"packet:r*:: /{OURS}/ {{ trace(pktlen); capture(); }}"
    run = Running(net.right, script, "--record", path, "-o", live)
    try:
        run.await_beginning()
        net.datagrams(6, PORT, 3, 2000)
        run.end()
    finally:
        run.close()
    assert replayed(path, script, "-o", again) == ""
    fields = ("frame.time_epoch", "frame.len", "frame.comment", "frame.interface_name", "udp.payload")
    assert read(again, *fields) == read(live, *fields) != []


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("-xxdp=native",)])
def test_the_embedded_engine_records_packets_of_a_file(tmp_path, options):
    given, path = tmp_path / "given.pcapng", str(tmp_path / "it.rec")
    file = Pcapng().interface("eth0").interface("tun0", RAW_IP)
    for number, frame in enumerate(FRAMES.values()):
        file.packet(frame, 0, time=number, flags=1).packet(frame, 0, time=number, flags=2)
        file.packet(frame[:40], 0, time=number, length=len(frame)).packet(frame[14:], 1, time=number)
    given.write_bytes(file.data)
    script = f'packet::: {{ printf("%s %d {FORMS}\\n", probemod, walltimestamp, {FIELDS}); capture(); }}'
    other = "packet::: { @[probefunc, args[0]->ip_saddr] = sum(pktlen); capture(30); }"
    source = ("-q", "--packets", str(given), *options)
    live = sonde(*source, "--record", path, "-n", script + BEGUN)
    assert (live.stderr, replayed(path, script, *options)) == ("", live.stdout.removeprefix("begun\n").strip())
    assert replayed(path, other, *options) == sonde(*source, "-n", other + BEGUN).stdout.removeprefix("begun\n").strip()


@pytest.mark.long
def test_a_tag_that_the_kernel_took_is_where_xdp_would_see_it(tmp_path):
    given, path = tmp_path / "given.pcapng", str(tmp_path / "it.rec")
    given.write_bytes(Pcapng().interface("eth0").packet(FRAMES["in a vlan"]).packet(FRAMES["in two"]).data)
    script = "packet::: { trace(pktlen); trace(args[0]->vlan_id); capture(); }"
    sonde("-q", "--packets", str(given), "--record", path, "-n", "packet::: { @ = count(); }")
    for options in ((), ("-xxdp=native",)):
        live = sonde("-q", "--packets", str(given), *options, "-n", script + BEGUN).stdout
        assert replayed(path, script, *options) == live.removeprefix("begun\n").strip()


@pytest.mark.long
@pytest.mark.parametrize(("probe", "link"), [("net_dev_queue", "PCAP_ETHER"), ("netif_receive_skb", "PCAP_IP")])
def test_packets_of_pcap_are_in_the_recording(tmp_path, probe, link):
    program, path = build(tmp_path, "datagrams", DATAGRAMS), str(tmp_path / "it.rec")
    live, again = tmp_path / "live.pcapng", tmp_path / "again.pcapng"
    script = f"rawtp:::{probe} /pid == $target/ {{ trace(args[0]->len); pcap(args[0], {link}); }}"
    sonde("-qc", program, "--record", path, "-n", script, "-o", live)
    assert replayed(path, script, "-o", again) == ""
    fields = ("frame.time_epoch", "frame.comment", "udp.dstport", "udp.payload")
    assert read(again, *fields) == read(live, *fields)
    data = bytes(range(100))
    assert [payload for *_, payload in read(again, *fields)] == [data[: 5 * number].hex() for number in range(1, 14)]


def test_a_packet_that_nobody_recorded_is_missing(tmp_path):
    program, path = build(tmp_path, "datagrams", DATAGRAMS), str(tmp_path / "it.rec")
    sonde("-qc", program, "--record", path, "-n", "rawtp:::net_dev_queue /pid == $target/ { trace(args[0]->len); }")
    script = "rawtp:::net_dev_queue /pid == $target/ { pcap(args[0], PCAP_ETHER); }"
    done = sonde("-q", "--replay", path, "-n", script)
    assert "does not hold the packet of 13 firings of rawtp:net::net_dev_queue" in unwrapped(done.stderr)


@pytest.mark.long
def test_addresses_have_pseudonyms(net, tmp_path):
    """One for each, so that a replay tells apart what the session told apart."""
    path = str(tmp_path / "it.rec")
    recorded_with(net, path, (), "--anonymise", "addresses")
    script = f'packet:r*:: /{OURS}/ {{ printf("%s %s %s %s %s\\n", args[0]->ip_saddr, args[0]->ip_daddr, %s); }}'
    script = script.replace("%s);", "args[0]->eth_src, args[0]->eth_dst, probefunc);")
    rows = [line.split() for line in replayed(path, script).splitlines() if line]
    hosts = {each for row in rows for each in row[:2]}
    assert len(hosts) == 4
    assert not hosts & {each for pair in ADDRESSES.values() for each in pair}
    assert len({each for row in rows for each in row[2:4]}) == 2
