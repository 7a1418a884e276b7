"""The server of metrics answers whoever asks, however slow, many or odd others are."""

import socket
import threading
from contextlib import ExitStack
from http import HTTPStatus

import pytest

from sonde.library.export import connections as bounds
from sonde.library.export.connections import ANSWERED, ASKING, RESTING, WAITING, Connection, Connections
from sonde.library.export.requests import MOST_BYTES, RefusedRequest, ScrapeRequest, head, parsed
from sonde.library.export.server import MetricServer
from sonde.library.export.wanted import ListenAddress

GET = b"GET /metrics HTTP/1.1\r\nHost: me\r\n\r\n"
PATIENCE = 30.0


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", None),
        (b"GET /metrics HTTP/1.1\r\nHost: me\r\n", None),
        (GET, ScrapeRequest("/metrics", True)),
        (b"\r\n" + GET, ScrapeRequest("/metrics", True)),
        (b"GET /metrics?x=1 HTTP/1.0\n\nGET / HTTP/1.1\r\n\r\n", ScrapeRequest("/metrics", True)),
        (b"HEAD / HTTP/1.1\r\n\r\n", ScrapeRequest("/", False)),
        (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
        (b"get /metrics HTTP/1.1\r\n\r\n", 405),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"GET /metrics\r\n\r\n", 400),
        (b"\x16\x03\x01\r\n\r\n", 400),
        (b"GET /" + b"x" * MOST_BYTES, 431),
        (b"\r\n" * MOST_BYTES, 431),
    ],
)
def test_a_request_is_its_first_line(data, expected):
    found = parsed(data)
    assert (found.status if isinstance(found, RefusedRequest) else found) == expected


def test_a_refused_method_is_told_which_there_are():
    assert b"\r\nAllow: GET, HEAD\r\n" in head(parsed(b"PUT / HTTP/1.1\r\n\r\n").status, "text/plain", 0)


@pytest.fixture
def pair():
    """Makes connections of addresses at times; theirs are the other ends."""
    with ExitStack() as stack:

        def made(address, now):
            ours, theirs = socket.socketpair()
            stack.callback(ours.close)
            stack.callback(theirs.close)
            return Connection(ours, address, now), theirs

        yield made


def admitted(known, pair, address, now, sent=b"G"):
    connection, theirs = pair(address, now)
    theirs.send(sent)
    victim = known.admit(connection, now)
    assert connection.read(now)
    return connection, victim, theirs


def test_the_slowest_of_the_address_with_most_goes_for_another(pair):
    known = Connections()
    slow = [admitted(known, pair, f"slow{n % 2}", float(n))[0] for n in range(bounds.MOST)]
    genuine, victim, _ = admitted(known, pair, "scraper", 100.0, GET)
    assert victim is slow[0]
    assert genuine.state == WAITING
    assert len(known) == bounds.MOST
    # One that waits for sonde is given up for nobody.
    victims = [admitted(known, pair, f"slow{n % 2}", 101.0 + n)[1] for n in range(bounds.MOST)]
    assert genuine not in victims
    assert genuine in known


def test_of_one_address_the_slowest_goes(pair):
    known = Connections()
    slow = [admitted(known, pair, "same", float(n))[0] for n in range(bounds.MOST_OF_ADDRESS)]
    assert admitted(known, pair, "same", 100.0, GET)[1] is slow[0]
    assert len(known) == bounds.MOST_OF_ADDRESS


def test_what_has_its_answer_goes_first(pair):
    known = Connections()
    for n in range(bounds.MOST_OF_ADDRESS - 1):
        admitted(known, pair, "same", float(n))
    answered, _, _ = admitted(known, pair, "same", 50.0, b"GET / HTTP/1.1\r\n\r\n")
    assert answered.write(50.0)
    assert answered.state == RESTING
    assert admitted(known, pair, "same", 51.0)[1] is answered


def test_one_more_is_told_to_come_later_where_all_wait_for_sonde(pair):
    known = Connections()
    for n in range(bounds.MOST_OF_ADDRESS):
        admitted(known, pair, "same", float(n), GET)
    late, victim, theirs = admitted(known, pair, "same", 100.0, GET)
    assert victim is None
    assert late.write(100.0)
    assert theirs.recv(4096).startswith(b"HTTP/1.0 503 ")


def test_who_is_slow_has_a_time_for_the_whole(pair):
    known = Connections()
    asking, _, slow = admitted(known, pair, "one", 0.0)
    for now in (1.0, 2.0, 3.0, 4.0):
        slow.send(b"E")
        assert asking.read(now)
        assert not known.expired(now)
    assert known.due() == bounds.HEAD_SECONDS
    assert known.expired(bounds.HEAD_SECONDS) == [asking]
    assert not len(known)


def test_who_does_not_take_the_answer_has_a_time_for_the_whole(pair):
    known = Connections()
    reading, _, theirs = admitted(known, pair, "one", 0.0, GET)
    assert not known.expired(1e9)
    reading.answer(HTTPStatus.OK, "text/plain", bytes(8 << 20), 20.0)
    for now in (20.0, 24.0, 28.0):
        assert reading.write(now)
        assert theirs.recv(1000)
        assert not known.expired(now)
    assert reading.state == ANSWERED
    assert known.expired(20.0 + bounds.ANSWER_SECONDS) == [reading]


def test_answers_that_nobody_takes_are_bounded(pair, monkeypatch):
    monkeypatch.setattr(bounds, "MOST_HELD", 10_000)
    known = Connections()
    taking = [admitted(known, pair, "one", float(n), GET)[0] for n in range(4)]
    same = bytes(4000)
    for n, each in enumerate(taking):
        each.answer(HTTPStatus.OK, "text/plain", same if n % 2 else bytes([n]) * 4000, float(n))
    assert known.expired(5.0) == [taking[0]]


def test_a_request_that_is_cut_off_is_over(pair):
    asking, theirs = pair("one", 0.0)
    theirs.send(b"GET /met")
    theirs.shutdown(socket.SHUT_WR)
    assert asking.read(0.0)
    assert asking.state == ASKING
    assert not asking.read(0.0)


@pytest.fixture
def server():
    body = b"# TYPE a counter\n" * 20_000
    made = MetricServer(ListenAddress("127.0.0.1", 0), lambda: (body, "text/plain"))
    made.start()
    port = int(made.url.rpartition(":")[2].partition("/")[0])
    with ExitStack() as opened:

        def connect(data=b""):
            channel = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            channel.sendall(data)
            return channel

        connect.body = body
        yield connect
    before = threading.active_count()
    made.close()
    assert threading.active_count() < before


def whole(channel):
    parts = []
    while data := channel.recv(1 << 16):
        parts.append(data)
    before, _, body = b"".join(parts).partition(b"\r\n\r\n")
    return int(before.split()[1]), body


def test_slow_connections_of_the_same_address_do_not_blind_it(server):
    slow = [server(GET[:n]) for n in range(1, 31) for _ in range(5)]
    for _ in range(5):
        assert whole(server(GET)) == (200, server.body)
    assert len(slow) == 150


def test_who_reads_nothing_does_not_blind_it(server):
    lazy = [server(GET) for _ in range(100)]
    # While as many as there may be have not had their turn, others are to come later.
    while (found := whole(server(GET)))[0] == HTTPStatus.SERVICE_UNAVAILABLE:
        pass
    assert found == (200, server.body)
    assert len(lazy) == 100


def test_all_who_ask_at_once_are_answered(server):
    asking = [server(GET) for _ in range(20)]
    assert {whole(each)[0] for each in asking} == {200}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (GET + GET * 50, 200),
        (b"GET /metrics HTTP/1.0\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", 200),
        (b"GET /else HTTP/1.1\r\n\r\n", 404),
        (b"DELETE /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 405),
        (b"GET /" + b"x" * 40_000, 431),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_each_connection_gets_one_answer(server, data, status):
    assert whole(server(data))[0] == status


def test_only_the_head_is_sent_where_it_is_asked_for(server):
    assert whole(server(b"HEAD /metrics HTTP/1.1\r\n\r\n")) == (200, b"")


def test_who_has_ended_its_side_is_answered(server):
    channel = server(GET)
    channel.shutdown(socket.SHUT_WR)
    assert whole(channel) == (200, server.body)


def test_a_defect_of_what_is_answered_is_told(capfd):
    def answer():
        raise ArithmeticError("none")

    made = MetricServer(ListenAddress("127.0.0.1", 0), answer)
    made.start()
    port = int(made.url.rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as channel:
        channel.sendall(GET)
        assert whole(channel)[0] == 500
    made.close()
    assert "ArithmeticError: none" in capfd.readouterr().err
