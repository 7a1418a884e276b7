"""Requests of scrapers: the head of one as it comes in, and the heads of what is answered (RFC 9112).

Each connection gets one answer and is closed, as in HTTP/1.0: scrapes are seconds apart. So requests that follow at
once are not looked at, nor is a body.
"""

from __future__ import annotations

from http import HTTPStatus

from sonde.typed import NamedTuple

PATH = "/metrics"

MOST_BYTES = 16 << 10
"""Of a head; those of scrapers have some hundred."""

PLAIN = "text/plain; charset=utf-8"

_METHODS = "GET", "HEAD"


class ScrapeRequest(NamedTuple):
    """What is asked for: a path without a query; `has_body`: not the head of the answer alone."""

    path: str
    has_body: bool


class RefusedRequest(NamedTuple):
    """Why there is no answer."""

    status: HTTPStatus
    text: str = ""


def parsed(data: bytes) -> ScrapeRequest | RefusedRequest | None:
    """The request that begins with these bytes, None if more have to come. Of the fields behind its first line none
    matters."""
    is_full = len(data) > MOST_BYTES
    data = data.lstrip(b"\r\n")
    end = min((at for at in (data.find(b"\r\n\r\n"), data.find(b"\n\n")) if at >= 0), default=-1)
    if end < 0:
        return RefusedRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) if is_full else None
    words = data[:end].partition(b"\n")[0].decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        return RefusedRequest(HTTPStatus.BAD_REQUEST)
    method, target, version = words
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        return RefusedRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    if method not in _METHODS:
        return RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED)
    return ScrapeRequest(target.partition("?")[0], method == "GET")


def head(status: HTTPStatus, kind: str, size: int) -> bytes:
    """What stands before a body of that size."""
    fields = [
        f"HTTP/1.0 {status.value} {status.phrase}",
        "Server: sonde",
        f"Content-Type: {kind}",
        f"Content-Length: {size}",
        "Connection: close",
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        fields.append(f"Allow: {', '.join(_METHODS)}")
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        fields.append("Retry-After: 1")
    return "\r\n".join([*fields, "", ""]).encode()
