"""The files around a picture: an HTML page and an SVG that both stand alone. Nothing is loaded from elsewhere.

All text that is not sonde's own is hostile: names of functions and processes. It stands in the page as JSON whose `<`,
`>` and `&` are escapes, or as deflated JSON in base 64, and as escaped text of the SVG's static view. A policy allows
the page the one script and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Mapping
from html import escape

from sonde.model.units import SECOND
from sonde.resources import text as resource
from sonde.typed import Any, NamedTuple

_PLAIN = 128 << 10
"""Data that are longer, in bytes, are deflated."""

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Static(NamedTuple):
    """What an SVG shows where no script runs: its size in pixels and its elements."""

    width: int
    height: int
    content: str


def packaged(name: str) -> str:
    """A file of page/."""
    return resource("pictures", "page", name)


def data_element(data: Mapping[str, Any]) -> str:
    """The data of the page's script."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    if len(text) <= _PLAIN:
        return f'<script id="data" type="application/json">{text.translate(_ESCAPES)}</script>'
    packed = base64.b64encode(zlib.compress(text.encode(errors="replace"), 9)).decode()
    return f'<script id="data" type="application/x-deflate">{packed}</script>'


def html_page(title: str, data: Mapping[str, Any], script: str, style: str) -> str:
    """A page for any browser; `script` is the name of a file of page/."""
    code = packaged("common.js") + packaged(script)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{xml_text(title)}</title>\n<style>\n{packaged('page.css')}{style}</style>\n</head>\n<body>\n"
        '<main id="picture"><noscript>This picture is drawn by its script.</noscript></main>\n'
        f"{data_element(data)}\n<script>{code}</script>\n</body>\n</html>\n"
    )


def svg_file(title: str, data: Mapping[str, Any], script: str, style: str, static: Static) -> str:
    """A picture that is a page of its own in a browser, and its static view in an <img> and elsewhere."""
    code = packaged("common.js") + packaged(script)
    width, height = static.width, static.height
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"<title>{xml_text(title)}</title>\n"
        f"<style><![CDATA[\n{packaged('page.css')}{style}]]></style>\n"
        f'<g id="static">\n<rect width="{width}" height="{height}" fill="#fdfcfa" style="fill: var(--paper)"/>\n'
        f"{static.content}</g>\n{data_element(data)}\n<script><![CDATA[\n{code}]]></script>\n</svg>\n"
    )


def when(began: int, duration: int) -> str:
    """The time that a picture is of; from `began`, in ns since 1970, and so many ns long."""
    return f"{duration / SECOND:.3g} s from {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(began / SECOND))}"


def xml_text(text: str) -> str:
    """Escaped for HTML and XML, in text and in attributes."""
    return escape(text)


def text_element(x: float, y: float, text: str, more: str = "") -> str:
    """A line of text of a static view; `more` are further attributes."""
    return f'<text x="{x:g}" y="{y:g}" font-family="monospace" font-size="12"{more}>{xml_text(text)}</text>\n'
