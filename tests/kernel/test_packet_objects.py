"""Programs of objects that packets are given to, on both engines: sections, devices, records and capture files."""

import subprocess
import time

import pytest
from support.bpf.bpf_objects import BOTH, HEADERS, compiled
from support.command.command import SONDE, environment, sonde, unwrapped
from support.files import pcapng_reader as reader
from support.files.capture_files import Pcapng
from support.machine import packages
from support.packets.frames import FRAMES
from support.packets.network import DATAGRAMS, network
from support.packets.packets import await_links
from support.packets.replayed_packets import Object, compare

import sonde as library

CAPTURES = (HEADERS / "captures.c").read_text().replace('char LICENSE[] SEC("license") = "GPL";', "")

ALL = """
struct packet { u32 len, more[18], data, data_end; };
struct buffer { u32 data, data_end; };
struct head { u32 length; u32 captured; };
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } heads SEC(".maps");
HELPER(188, u64, bpf_xdp_get_buff_len, void *context);
static inline __attribute__((always_inline)) void take(void *context, u32 length)
{
        struct head head = {length, length % 3 ? length : 14 + length % 200};
        if (head.captured > length)
                head.captured = length;
        if (head.captured > 65400)
                head.captured = 65400;
        bpf_perf_event_output(context, &heads, (u64)head.captured << 32 | 0xffffffffULL, &head, sizeof head);
}
SEC("?tc") int at_tc(struct packet *packet) { take(packet, packet->len); return -1; }
SEC("?xdp.frags") int at_xdp(struct buffer *buffer) { take(buffer, bpf_xdp_get_buff_len(buffer)); return 2; }
SEC("?socket") int at_socket(struct packet *packet) { take(packet, packet->len); return 0; }
"""
"""Each takes packets whole or in part, as their length says."""

DECIDING = """
struct any { u32 len; };
struct { __uint(type, 2); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } seen SEC(".maps");
static inline __attribute__((always_inline)) void count(void)
{
        u32 zero = 0;
        u64 *value = bpf_map_lookup_elem(&seen, &zero);
        if (value)
                __sync_fetch_and_add(value, 1);
}
SEC("?xdp") int drops(struct any *any) { return 1; }
SEC("?tc") int passes(struct any *any) { return 0; }
SEC("tcx/ingress") int counts(struct any *any) { count(); return -1; }
"""


def made(source):
    """The object of a source, by whichever compiler there is."""
    if not packages.missing("bpf-gcc"):
        return compiled(source, "gcc")
    packages.require("clang")
    return compiled(source, "clang")


@pytest.fixture(scope="module")
def net():
    with network("po") as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "direction", "options"),
    [
        ("at_tc", "ingress", ()),
        ("at_tc", "egress", ()),
        ("at_xdp", "ingress", ()),
        ("at_xdp", "ingress", ("-xxdp=generic",)),
        ("at_socket", "ingress", ()),
    ],
    ids=str,
)
def test_both_engines_capture_the_same_of_the_same_packets(net, tmp_path, program, direction, options):
    path = made(ALL)
    place = "{}" if program != "at_tc" else f"{{}}/{direction}"
    job = Object(path, "--program", f"{program}=on", "--attach", f"{program}={place}", "--record", "heads=head")
    seen, fed, different = compare(net, tmp_path, 401, 11, direction, *options, job=job)
    assert (seen, different) == (fed, [])
    assert 380 < seen <= 401


@pytest.mark.long
@pytest.mark.parametrize("compiler", BOTH)
def test_the_example_shows_head_and_packet_or_writes_them_to_a_file(net, tmp_path, compiler):
    """Live, with both directions of a device; 41 datagrams of 53 bytes and one more each, of which 96 are taken."""
    path, file = compiled(CAPTURES, compiler), tmp_path / "out.pcapng"
    inside = ["ip", "netns", "exec", net.right]
    words = [*inside, SONDE, "--object", path, "--device", net.right]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment()}
    with subprocess.Popen(words, **pipes) as shown, subprocess.Popen([*words, "-o", file], **pipes) as written:
        await_links(shown, 2)
        await_links(written, 2)
        net.run(net.left, DATAGRAMS, "10.77.0.2", 7411, 41, 53 - 42)
        time.sleep(0.5)
        for each in (shown, written):
            each.terminate()
        output, errors = shown.communicate()
        assert (written.communicate(), errors) == (("", ""), "")
        assert (shown.returncode, written.returncode) == (0, 0)
    packets = [each for each in reader.packets(file.read_bytes()) if each.data[36:38] == (7411).to_bytes(2, "big")]
    assert [(each.length, len(each.data)) for each in packets] == [(53 + n, min(53 + n, 96)) for n in range(41)]
    heads = [f".length = {53 + n}, .captured = {min(53 + n, 96)}, .leaves = 0}}" for n in range(41)]
    assert [each.options[1].decode().partition(", ")[2] for each in packets] == heads
    lines = [line for line in output.splitlines() if any(head in line for head in heads)]
    assert [line.rpartition("}, ")[2] for line in lines] == [f"{min(53 + n, 96)} of {53 + n} bytes" for n in range(41)]
    assert b"".join(b"%02x " % byte for byte in packets[0].data[:16]).decode().strip() in output
    ((name, *_),) = [tuple(each[2][2].decode().split()) for each in reader.interfaces(file.read_bytes())]
    assert name == net.right


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_the_example_takes_packets_of_a_file(tmp_path, compiler):
    given, out = tmp_path / "given", tmp_path / "out.pcapng"
    file = Pcapng("<").interface("wire", resolution=9)
    for number, frame in enumerate(FRAMES.values()):
        file.packet(frame + bytes(100), time=10**18 + number, flags=2)
    given.write_bytes(file.data)
    sonde("--object", compiled(CAPTURES, compiler), "--packets", given, "-o", out)
    udp = [(n, frame) for n, frame in enumerate(FRAMES.values()) if frame[12:14] == b"\x08\0" and frame[23] == 17]
    found = reader.packets(out.read_bytes())
    assert [(each.time, each.length, each.data) for each in found] == [
        (10**18 + number, len(frame) + 100, (frame + bytes(100))[:96]) for number, frame in udp
    ]
    # Which of the two programs has written a record, it does not say.
    assert not any(2 in each.options for each in found)
    assert reader.interfaces(out.read_bytes())[0][2][2] == b"wire"


@pytest.mark.long
def test_results_act_where_they_are_allowed(net):
    """XDP that drops keeps packets from tcx, and TC_ACT_OK keeps them from the programs behind."""
    path = made(DECIDING)
    for program, text in (("drops", "its result is not always 2 (XDP_PASS)"), ("passes", "not always -1 (TCX_NEXT)")):
        done = sonde("--object", path, "--device", "lo", "--program", f"{program}=on", status=1)
        assert text in unwrapped(done.stderr)
        assert "allow them with -w" in unwrapped(done.stderr)
    seen = {}
    for program in ("none", "drops", "passes"):
        words = ["ip", "netns", "exec", net.right, SONDE, "-w", "--dump", "--object", path, "--device", net.right]
        words += ["-xxdp=generic", *(["--program", f"{program}=on"] if program != "none" else [])]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as process:
            await_links(process, 1 if program == "none" else 2)
            net.run(net.left, DATAGRAMS, "10.77.0.2", 7412, 101, 20)
            time.sleep(0.3)
            process.terminate()
            seen[program] = int(process.communicate()[0].split()[-1])
    assert seen.pop("none") >= 101
    assert seen == {"drops": 0, "passes": 0}


def test_results_of_xdp_end_a_packets_way_on_the_embedded_engine(tmp_path):
    path = made(DECIDING)
    given = tmp_path / "given"
    file = Pcapng().interface("eth0")
    for frame in FRAMES.values():
        file.packet(frame)
    given.write_bytes(file.data)
    found = {}
    for program in ("drops=off", "drops=on"):
        words = ("--object", path, "--packets", given, "-w", "--dump", "--program", program)
        found[program] = int(sonde(*words).stdout.split()[-1])
    assert found == {"drops=off": len(FRAMES), "drops=on": 0}


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "attach one by --device DEVICE, or --attach at_tc=DEVICE"),
        (("--device", "nosuch0"), "there is no network device nosuch0"),
        (("--attach", "at_tc=lo/sideways"), "lo/sideways: a device is wanted, and maybe a direction"),
        (("--engine", "embedded", "--device", "lo"), "--packets FILE.pcapng names one"),
        (("--packets", "/nowhere"), "failed to open packets '/nowhere'"),
        (("--device", "lo", "-o", "/tmp/x.pcapng", "--record", "heads=nobody"), "structure nobody"),
    ],
    ids=str,
)
def test_mistakes_are_one_message(options, text):
    path = made(ALL)
    done = sonde("--object", path, "--program", "at_tc=on", *options, status=1)
    assert text in unwrapped(done.stderr)
    assert "Traceback" not in done.stderr


def test_a_device_is_for_programs_for_packets():
    source = 'SEC("raw_tp/sys_enter") int entered(void *context) { return 0; }'
    path = made(source)
    done = sonde("--object", path, "--device", "lo", status=1)
    assert "--device lo: none of its programs is for packets" in unwrapped(done.stderr)
    done = sonde("--object", path, "-o", "/tmp/none.pcapng", status=1)
    assert "no program for packets writes to an array of perf events" in unwrapped(done.stderr)


def test_the_library_gives_an_object_packets_of_a_file(tmp_path):
    given = tmp_path / "given"
    given.write_bytes(Pcapng().interface("wire").packet(FRAMES["udp"], flags=2).data)
    script = library.load_object(made(CAPTURES), options={"packets": str(given)}, devices="wire")
    with script.run() as run:
        text = b"".join(event.text for event in run if isinstance(event, library.Text))
    size = len(FRAMES["udp"])
    assert f".length = {size}, .captured = {size}, .leaves = 1}}, {size} of {size} bytes".encode() in text
