"""An HTTP server that answers scrapes: one thread looks after all connections, one asks for what is to be answered."""

from __future__ import annotations

import contextlib
import ipaddress
import selectors
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from http import HTTPStatus

from sonde.library.errors import Error
from sonde.library.export.connections import ANSWERED, WAITING, Connection, Connections
from sonde.library.export.requests import PATH, PLAIN
from sonde.library.export.wanted import ListenAddress
from sonde.typed import NamedTuple

_AT_ONCE = 16
"""Connections that are taken before those that there are are looked at again."""
_WAITING_TO_BE_TAKEN = 128
_PAUSE = 0.1
"""Seconds without new connections where there is no descriptor for one."""
_NETWORK = 4
"""Groups of a number of IPv6 that are of one network (RFC 4291): any host has all numbers of its own."""

Answer = Callable[[], tuple[bytes, str]]
"""The text of the metrics, and its type."""


class _Answered(NamedTuple):
    """What those get who have asked by the time that it was asked for."""

    asking: list[Connection]
    status: HTTPStatus
    kind: str
    body: bytes


class MetricServer:
    """Listens at an address. Raises Error where it cannot."""

    def __init__(self, address: ListenAddress, answer: Answer) -> None:
        self._answer = answer
        try:
            self._listener = _listening(address)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", "") or str(error)
            text = f"cannot listen at {address}: {reason}"
            raise Error(text, "--listen takes the address of a network device of this machine, and a port") from None
        self._connections = Connections()
        self._selector = selectors.DefaultSelector()
        self._woken, self._waking = socket.socketpair()
        self._woken.setblocking(False)
        self._changed = threading.Condition()
        self._asking: list[Connection] = []
        self._answered: list[_Answered] = []
        self._is_over = False
        self._next_accept = 0.0
        self._threads = [
            threading.Thread(target=each, name="sonde-export", daemon=True) for each in (self._serve, self._ask)
        ]

    @property
    def url(self) -> str:
        """What to have scraped."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{ListenAddress(str(host), int(port))}{PATH}"

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def close(self) -> None:
        """Answer no more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._waking.send(b"\0")
        if self._threads[0].is_alive():
            self._threads[0].join()
        for each in self._connections:
            self._connections.drop(each)
        self._selector.close()
        for channel in (self._listener, self._woken, self._waking):
            channel.close()

    # In the thread that asks.

    def _ask(self) -> None:
        """Whoever has asked until now gets one answer."""
        _leave_signals_to_others()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asking or self._is_over)
                if self._is_over:
                    return
                asking, self._asking = self._asking, []
            try:
                body, kind = self._answer()
                found = _Answered(asking, HTTPStatus.OK, kind, body)
            except Exception:
                # It is a defect, and no reason to leave those who scrape without an answer.

                traceback.print_exc()
                found = _Answered(asking, HTTPStatus.INTERNAL_SERVER_ERROR, PLAIN, b"there is no answer\n")
            with self._changed:
                if self._is_over:
                    return
                self._answered.append(found)
                self._waking.send(b"\0")

    # In the thread that serves.

    def _serve(self) -> None:
        _leave_signals_to_others()
        self._selector.register(self._woken, selectors.EVENT_READ)
        while not self._is_over:
            now = time.monotonic()
            self._listen(now)
            ready = self._selector.select(self._patience(now))
            now = time.monotonic()
            are_coming = False
            for key, _ in ready:
                if key.fileobj is self._woken:
                    self._woken.recv(4096)
                elif key.fileobj is self._listener:
                    are_coming = True
                else:
                    self._go_on(key.data, now)
            self._hand_out(now)
            for each in self._connections.expired(now):
                self._forget(each)
            # Behind all else: those who have sent their request by now are not given up for others.
            if are_coming:
                self._take(now)

    def _patience(self, now: float) -> float | None:
        due = min(self._connections.due(), self._next_accept if self._next_accept > now else float("inf"))
        return None if due == float("inf") else max(due - now, 0.0)

    def _listen(self, now: float) -> None:
        """Look for new connections only where one can be taken: others wait for their turn in the kernel."""
        wanted = self._connections.have_room and now >= self._next_accept
        is_watched = self._listener in self._selector.get_map()
        if wanted and not is_watched:
            self._selector.register(self._listener, selectors.EVENT_READ)
        elif is_watched and not wanted:
            self._selector.unregister(self._listener)

    def _take(self, now: float) -> None:
        for _ in range(_AT_ONCE):
            if not self._connections.have_room:
                return
            try:
                channel, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:
                # It is gone already, or there are no more descriptors.
                self._next_accept = now + _PAUSE
                return
            connection = Connection(channel, _network(str(address[0])), now)
            victim = self._connections.admit(connection, now)
            if victim is not None:
                self._forget(victim)
            self._go_on(connection, now)

    def _go_on(self, connection: Connection, now: float) -> None:
        """Read and write what can be, unless it was given up meanwhile."""
        if connection.channel.fileno() < 0:
            return
        before = connection.state
        goes_on = not connection.hears or connection.read(now)
        if goes_on and connection.state == ANSWERED:
            goes_on = connection.write(now)
        if not goes_on:
            self._connections.drop(connection)
            self._forget(connection)
            return
        if connection.state == WAITING and before != WAITING:
            with self._changed:
                self._asking.append(connection)
                self._changed.notify_all()
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        events = selectors.EVENT_READ if connection.hears else 0
        events |= selectors.EVENT_WRITE if connection.state == ANSWERED else 0
        is_watched = connection.channel in self._selector.get_map()
        if events and is_watched:
            self._selector.modify(connection.channel, events, connection)
        elif events:
            self._selector.register(connection.channel, events, connection)
        elif is_watched:
            # It has ended its side, and waits.
            self._selector.unregister(connection.channel)

    def _hand_out(self, now: float) -> None:
        with self._changed:
            answered, self._answered = self._answered, []
        for asking, status, kind, body in answered:
            for each in asking:
                if each.channel.fileno() >= 0:
                    each.answer(status, kind, body, now)
                self._go_on(each, now)

    def _forget(self, connection: Connection) -> None:
        """It has been closed."""
        known = [key.fd for key in self._selector.get_map().values() if key.data is connection]
        for each in known:
            with contextlib.suppress(KeyError, OSError):
                self._selector.unregister(each)


def _listening(address: ListenAddress) -> socket.socket:
    """Raises OSError and OverflowError."""
    flags = socket.AI_PASSIVE | socket.AI_NUMERICHOST
    family, kind, protocol, _, place = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=flags
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Who connects and says nothing does not come up here for some seconds (tcp(7)).
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        made.bind(place)
        made.listen(_WAITING_TO_BE_TAKEN)
    except BaseException:
        made.close()
        raise
    return made


def _network(host: str) -> str:
    """Whose connections are counted together."""
    if ":" not in host or "." in host:
        return host

    groups = ipaddress.IPv6Address(host.partition("%")[0]).exploded.split(":")
    return ":".join(groups[:_NETWORK])


def _leave_signals_to_others() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
