"""skboutput() of bpftrace's language: packets in files, as tshark reads them."""

import re

import pytest
from support.command.command import build, sonde
from test_pcap import DATAGRAMS, read

DATA = bytes(range(100))
PAYLOADS = [DATA[: 5 * number].hex() for number in range(1, 14)]
HEADERS = 28
"""Bytes of the headers of IP and UDP."""


def traced(tmp_path, *clauses, words=()):
    program = build(tmp_path, "datagrams", DATAGRAMS)
    text = " ".join(f"{probe} /pid == cpid/ {{ {body} }}" for probe, body in clauses)
    return sonde("bt", "-q", *words, "-c", program, "-e", text)


@pytest.mark.long
def test_files_have_the_packets_from_the_header_of_ip_on(tmp_path):
    """On their way out with the link's header, which the offset leaves out, on their way in without."""
    out, in_ = tmp_path / "out.pcap", tmp_path / "with space.pcap"
    done = traced(
        tmp_path,
        ("rawtracepoint:net_dev_queue", f'$r = skboutput("{out}", args.skb, args.skb.len, 14); @ = sum($r);'),
        ("rawtracepoint:netif_receive_skb", f'$r = skboutput("{in_}", args.skb, args.skb.len, 0);'),
    )
    assert "@: 0" in done.stdout
    fields = ("udp.dstport", "udp.payload", "frame.encap_type")
    assert read(out, *fields) == read(in_, *fields)
    assert [(port, payload) for port, payload, _ in read(out, *fields)] == [("9100", each) for each in PAYLOADS]
    assert out.read_bytes()[20:24] == (101).to_bytes(4, "little")


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("probe", "packet"),
    [
        ("rawtracepoint:netif_receive_skb", "args.skb"),
        ("tracepoint:net:netif_receive_skb", "(struct sk_buff *)args.skbaddr"),
    ],
)  # fmt: skip
def test_no_more_is_kept_than_is_wanted(tmp_path, probe, packet):
    path = tmp_path / "some.pcap"
    traced(tmp_path, (probe, f'$r = skboutput("{path}", {packet}, {HEADERS + 20}, 0);'))
    found = [tuple(map(int, each)) for each in read(path, "frame.cap_len", "frame.len")]
    assert found == [(HEADERS + min(20, 5 * number), HEADERS + 5 * number) for number in range(1, 14)]


@pytest.mark.long
def test_one_firing_writes_into_several_files_and_not_what_ends_before_the_offset(tmp_path):
    one, other, none = tmp_path / "one.pcap", tmp_path / "other.pcap", tmp_path / "none.pcap"
    body = " ".join(
        f'if (args.skb.len {test}) {{ $r = skboutput("{path}", args.skb, args.skb.len, {offset}); }}'
        for path, test, offset in ((one, "> 60", 0), (other, "<= 60", 0), (none, "> 0", 5000))
    )
    traced(tmp_path, ("rawtracepoint:netif_receive_skb", body))
    is_long = [HEADERS + len(payload) // 2 > 60 for payload in PAYLOADS]
    assert [payload for (payload,) in read(one, "udp.payload")] == [
        each for each, long in zip(PAYLOADS, is_long, strict=True) if long
    ]
    assert len(read(other, "udp.payload")) == is_long.count(False)
    assert read(none, "udp.payload") == []


def test_a_file_is_made_though_nothing_comes(tmp_path):
    path = tmp_path / "empty.pcap"
    program = f'rawtracepoint:net_dev_queue /pid == 1/ {{ $r = skboutput("{path}", args.skb, 1, 0); }}'
    sonde("bt", "-q", "-c", "true", "-e", program)
    assert read(path, "udp.payload") == []


def test_a_file_that_cannot_be_made_is_told(tmp_path):
    path = tmp_path / "nowhere" / "x.pcap"
    program = f'rawtracepoint:net_dev_queue {{ $r = skboutput("{path}", args.skb, 1, 0); }}'
    told = sonde("bt", "-q", "-c", "true", "-e", program, status=1).stderr
    assert re.search(rf"ERROR: .*{path}.*No such file", told) or "No such file or directory" in told
    assert "Traceback" not in told
