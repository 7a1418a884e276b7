"""An HTTP server that answers scrapes, each in a thread of its own; few at once, and none for long."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sonde.library.errors import Error
from sonde.library.export.wanted import ListenAddress
from sonde.typed import Any

PATH = "/metrics"

_AT_ONCE = 16
"""Scrapes; more are told to come later."""
_PATIENCE = 5.0
"""Seconds without a byte read or written that end a connection."""

Answer = Callable[[], tuple[bytes, str]]
"""The text of the metrics, and its type."""


class _Handler(BaseHTTPRequestHandler):
    server: MetricServer
    timeout = _PATIENCE
    server_version = "sonde"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def _answer(self, has_body: bool) -> None:
        path = self.path.partition("?")[0]
        status, kind = HTTPStatus.OK, "text/plain; charset=utf-8"
        if path == PATH:
            body, kind = self.server.answer()
        elif path == "/":
            body = f"sonde: what is counted is at {PATH}\n".encode()
        else:
            status, body = HTTPStatus.NOT_FOUND, f"there is {PATH}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if has_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Scrapes come all the time."""


class MetricServer(ThreadingHTTPServer):
    """Listens at an address and answers in threads. Raises Error where it cannot."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, address: ListenAddress, answer: Answer) -> None:
        self.answer = answer
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        try:
            families = socket.getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICHOST
            )
            self.address_family = families[0][0]
            super().__init__(families[0][4][:2], _Handler)  # type: ignore[arg-type]
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", "") or str(error)
            text = f"cannot listen at {address}: {reason}"
            raise Error(text, "--listen takes the address of a network device of this machine, and a port") from None
        self._thread = threading.Thread(target=self._serve, name="sonde-export", daemon=True)

    @property
    def url(self) -> str:
        """What to have scraped."""
        host, port = self.server_address[:2]
        return f"http://{ListenAddress(str(host), int(port))}{PATH}"

    def start(self) -> None:
        self._thread.start()

    def _serve(self) -> None:
        # The command ends where nobody reads its output; a client that goes away is another matter. The threads of
        # answers have this mask, too.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
        self.serve_forever()

    def close(self) -> None:
        """Answer no more."""
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            request.setblocking(False)
            self._refuse(request)
            return
        super().process_request(request, client_address)

    def _refuse(self, request: Any) -> None:
        try:
            request.send(b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
        except OSError:
            """Who does not listen is not told."""
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or took too long, is no matter of the trace."""
        import sys
        import traceback

        error = sys.exception()
        if not isinstance(error, OSError):
            traceback.print_exc()
