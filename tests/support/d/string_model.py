"""What D's string subroutines give, in Python: strings are bytes without NUL, NULL is None."""

import posixpath
import re
import socket


def index(s, t, start=0):
    return s.find(t, max(start, 0))


def rindex(s, t, start=None):
    if start is not None and start < 0:
        return -1
    return s.rfind(t) if start is None else s.rfind(t, 0, start + len(t))


def strstr(s, t):
    return s[s.find(t) :] if t in s else None


def strchr(s, c):
    return strstr(s + b"\0", bytes([c])) and strstr(s + b"\0", bytes([c]))[:-1]


def strrchr(s, c):
    found = (s + b"\0").rfind(bytes([c]))
    return s[found:] if found >= 0 else None


def tokens(s, *delimiters):
    """The results of strtok(s, d), strtok(NULL, d) ...: each goes on at the delimiter that ended the last."""
    found = []
    for each in delimiters:
        skipped = s.lstrip(each) if each else s
        match = re.match(b"[^" + re.escape(each) + b"]*" if each else b".*", skipped, re.S)
        token = match.group()
        found.append(token or None)
        s = skipped[len(token) :]
    return found


def basename(s):
    if not s.strip(b"/"):
        return b"/" if s else b"."
    return s.rstrip(b"/").rpartition(b"/")[2]


def dirname(s):
    if not s.strip(b"/"):
        return b"/" if s else b"."
    before, slash, _ = s.rstrip(b"/").rpartition(b"/")
    return before.rstrip(b"/") or slash or b"."


def cleanpath(s):
    """posixpath.normpath() keeps two slashes at the beginning, and makes a dot of nothing."""
    return re.sub(b"^//", b"/", posixpath.normpath(s)) if s else b""


def substr(s, start, length=None):
    """The characters from `start` on; where that is before the beginning, a length counts from there nevertheless."""
    first = start + len(s) if start < 0 else start
    if length is None:
        end = len(s)
    elif length >= 0:
        end = first + length
    else:
        end = len(s) + length if first >= 0 else 0
    return bytes(c for place, c in enumerate(s) if first <= place < end)


def copyinstr(s, size):
    """The size counts the NUL and is at least 1."""
    return s[: max(size, 1) - 1]


def inet_ntoa6(address, strict):
    text = socket.inet_ntop(socket.AF_INET6, address)
    embedded = text.rpartition(":")[2]
    return embedded if "." in embedded and not strict else text


def link_ntop(address):
    return ":".join(f"{byte:02x}" for byte in address)
