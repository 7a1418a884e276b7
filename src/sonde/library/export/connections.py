"""The connections of scrapers: bounded in number, in all and of one address, and in time.

Who opens many connections and is slow is not to keep others from scraping. So a new connection takes the place of
another one where there is no room: of one that has its answer, else of the one that has been slow for longest, of the
address that has most. What has asked and waits for sonde alone is given up for nobody.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus

from sonde.library.export.requests import MOST_BYTES, PATH, PLAIN, RefusedRequest, ScrapeRequest, head, parsed

MOST, MOST_OF_ADDRESS = 64, 32
"""Connections, in all and of one address."""

HEAD_SECONDS, ANSWER_SECONDS, REST_SECONDS = 5.0, 10.0, 1.0
"""For a whole head to come, for a whole answer to be taken, and for the other side to close behind it."""

MOST_HELD = 64 << 20
"""Bytes of all different answers that have not been taken as a whole."""

_PIECE = 1 << 16

ASKING, WAITING, ANSWERED, RESTING = range(4)
"""A head has to come; sonde has to answer; the answer has to be taken; the other side has to close."""


class Connection:
    """One of an `address`; `due` is when it is closed, whatever it has come to."""

    def __init__(self, channel: socket.socket, address: str, now: float) -> None:
        channel.setblocking(False)
        self.channel, self.address = channel, address
        self.state, self.since, self.due = ASKING, now, now + HEAD_SECONDS
        self.hears = True
        """Whether anything may come yet."""
        self.request = ScrapeRequest("", True)
        self.body = b""
        self._head = bytearray()
        self._parts: list[memoryview] = []

    def read(self, now: float) -> bool:
        """Take what has come; whether the connection goes on."""
        try:
            data = self.channel.recv(_PIECE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.hears = bool(data)
        if self.state != ASKING:
            # Whatever follows a request is not looked at, but has to be taken: what is left makes close(2) a reset, by
            # which the answer may be lost.
            return self.hears or self.state != RESTING
        self._head += data[: MOST_BYTES + 1]
        found = parsed(bytes(self._head))
        if isinstance(found, RefusedRequest):
            self.answer(found.status, PLAIN, f"{found.status.phrase}\n".encode(), now)
        elif found is not None:
            self._asked(found, now)
        return self.hears or self.state != ASKING

    def _asked(self, request: ScrapeRequest, now: float) -> None:
        self.request = request
        if request.path == PATH:
            self.state, self.due = WAITING, float("inf")
        elif request.path == "/":
            self.answer(HTTPStatus.OK, PLAIN, f"sonde: what is counted is at {PATH}\n".encode(), now)
        else:
            self.answer(HTTPStatus.NOT_FOUND, PLAIN, f"there is {PATH}\n".encode(), now)

    def answer(self, status: HTTPStatus, kind: str, body: bytes, now: float) -> None:
        """Have the answer written."""
        self.body = body if self.request.has_body else b""
        self._parts = [memoryview(each) for each in (head(status, kind, len(body)), self.body) if each]
        self.state, self.since, self.due = ANSWERED, now, now + ANSWER_SECONDS

    def write(self, now: float) -> bool:
        """Write what the other side takes; whether the connection goes on."""
        try:
            while self._parts:
                sent = self.channel.send(self._parts[0], socket.MSG_NOSIGNAL)
                self._parts[0] = self._parts[0][sent:]
                if not self._parts[0]:
                    del self._parts[0]
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.body = b""
        self.state, self.due = RESTING, now + REST_SECONDS
        try:
            self.channel.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        return self.hears

    def close(self) -> None:
        self._parts, self.body = [], b""
        self.channel.close()


class Connections:
    """All that there are, the oldest first."""

    def __init__(self) -> None:
        self._open: list[Connection] = []

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._open))

    def __len__(self) -> int:
        return len(self._open)

    @property
    def have_room(self) -> bool:
        """Whether one more can be taken, if need be in the place of another one."""
        return len(self._open) < MOST or any(each.state != WAITING for each in self._open)

    def admit(self, connection: Connection, now: float) -> Connection | None:
        """Take a new one; the one that is given up for it. Where all others of its address wait for sonde it is told to
        come later."""
        counts = Counter(each.address for each in self._open)
        is_one_of_many = counts[connection.address] >= MOST_OF_ADDRESS
        among = [each for each in self._open if not is_one_of_many or each.address == connection.address]
        slow = [each for each in among if each.state != WAITING]
        self._open.append(connection)
        if not is_one_of_many and len(self._open) <= MOST:
            return None
        if not slow:
            connection.answer(HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, b"there are too many at once\n", now)
            return None
        victim = min(slow, key=lambda each: (each.state != RESTING, -counts[each.address], each.since))
        self.drop(victim)
        return victim

    def expired(self, now: float) -> list[Connection]:
        """Those whose time is over, and those that hold too much that they do not take; they are no longer here."""
        gone = [each for each in self._open if each.due <= now]
        bodies: dict[int, int] = {}
        for each in sorted(self._open, key=lambda one: -one.since):
            if each.body and each not in gone:
                bodies[id(each.body)] = len(each.body)
                if len(bodies) > 1 and sum(bodies.values()) > MOST_HELD:
                    gone.append(each)
        for each in gone:
            self.drop(each)
        return gone

    def drop(self, connection: Connection) -> None:
        """It is over."""
        self._open.remove(connection)
        connection.close()

    def due(self) -> float:
        """When to look for those whose time is over."""
        return min((each.due for each in self._open), default=float("inf"))
