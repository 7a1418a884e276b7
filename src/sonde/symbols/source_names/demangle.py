"""Names of C++ and Rust as the source has them."""

from __future__ import annotations

import os
import sys
from signal import SIGINT

from sonde import children
from sonde.resources import text as resource
from sonde.symbols.source_names.rust_names import demangle as rust_name

_LONGEST = 2048
"""Longer names are left as they are; compilers write such ones for deeply nested templates."""

_PLT = "@plt"
"""What the entry of a procedure linkage table has behind the symbol's name."""

NO_LIBRARY = 3
"""The worker's exit code where it finds no C++ library."""

_STARTS = 4
"""The worker is started at most so often: a name that it does not survive is left as it is."""


class Demangler:
    """C++ names are asked of a process of its own, which is started for the first one."""

    def __init__(self) -> None:
        self._worker: _Worker | None = None
        self._starts_left = _STARTS
        self.missing = ""
        """Why C++ names are not known, "" if they are, or if nobody has asked for one."""

    def name(self, symbol: str) -> str:
        """What a symbol's name means, itself if it is no mangled one."""
        if not symbol.startswith(("_Z", "_R", "__Z", "__R")) or len(symbol) > _LONGEST:
            return symbol
        symbol, of_table, _ = symbol.partition(_PLT)
        found = rust_name(symbol)
        if found is None and symbol.startswith("_Z") and symbol.isascii() and symbol.isprintable():
            found = self._cxx_name(symbol)
        return (found or symbol) + of_table

    def _cxx_name(self, symbol: str) -> str | None:
        if self._worker is None:
            if not self._starts_left:
                return None
            self._starts_left -= 1
            try:
                self._worker = _Worker()
            except OSError as error:
                self._give_up(f"cannot execute {sys.executable}: {error.strerror}")
                return None
        found = self._worker.ask(symbol)
        if found is None and self._end_worker() == NO_LIBRARY:
            self._give_up("there is neither libstdc++.so.6 nor libc++abi.so.1; install one of them")
        return found

    def _give_up(self, why: str) -> None:
        self._starts_left, self.missing = 0, why

    def _end_worker(self) -> int | None:
        """Its exit code, None if there is none or it is not known."""
        worker, self._worker = self._worker, None
        return worker.close() if worker is not None else None

    def close(self) -> None:
        """End the process."""
        self._end_worker()


class _Worker:
    def __init__(self) -> None:
        """Raises OSError."""
        # As text: in a zip file it is no file that Python could run.
        script = resource("symbols", "source_names", "cxx_worker.py")
        theirs_in, self._requests = os.pipe2(os.O_CLOEXEC)
        self._answers, theirs_out = os.pipe2(os.O_CLOEXEC)
        self._rest = b""
        try:
            actions = (
                (os.POSIX_SPAWN_DUP2, theirs_in, 0),
                (os.POSIX_SPAWN_DUP2, theirs_out, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            )
            words = [sys.executable, "-I", "-S", "-c", script]
            # An interrupt is for whoever asks.
            self._pid = os.posix_spawn(sys.executable, words, {}, file_actions=actions, setsigmask=[SIGINT])
        except OSError:
            os.close(self._requests)
            os.close(self._answers)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def ask(self, symbol: str) -> str | None:
        """What it means, "" if nothing; None if the process has not survived the question."""
        try:
            os.write(self._requests, symbol.encode() + b"\n")
            while b"\n" not in self._rest:
                data = os.read(self._answers, 1 << 16)
                if not data:
                    return None
                self._rest += data
        except OSError:
            return None
        answer, _, self._rest = self._rest.partition(b"\n")
        return answer.decode(errors="replace")

    def close(self) -> int | None:
        """It ends when its input does; its exit code, None if that is not known."""
        os.close(self._requests)
        os.close(self._answers)
        return children.wait_for(self._pid)
