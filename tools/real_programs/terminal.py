"""A program in a terminal, used as standard input says; which of the expected texts came. `terminal.py PROGRAM ...`

> TEXT      type the text and Return          ^ X         type Ctrl-X; ^ [ is Escape
: TEXT      type the text                     @ R C       make the terminal R rows of C columns
< TEXT      wait for the text                 ~ S         wait for so many seconds
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

PATIENCE = 30
"""Seconds in which an expected text has to come."""


class Terminal:
    def __init__(self, words):
        self.pid, self.end = pty.fork()
        if not self.pid:
            os.execvp(words[0], words)
        self.text = ""

    def read(self, seconds, expected=None):
        """What comes for so long, or up to the expected text; whether that came."""
        limit = time.monotonic() + seconds
        while expected is None or expected not in self.text:
            left = limit - time.monotonic()
            if left <= 0 or not select.select([self.end], [], [], left)[0]:
                return False
            try:
                self.text += os.read(self.end, 65536).decode(errors="replace")
            except OSError:
                return expected is not None and expected in self.text
        self.text = self.text.partition(expected)[2]
        return True

    def do(self, kind, text):
        """One line of what is to be done."""
        if kind == "<":
            found = self.read(PATIENCE, text)
            print("found" if found else "missing", text, "" if found else repr(self.text[-300:]))
        elif kind == "~":
            self.read(float(text))
        elif kind == "@":
            fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("4H", *map(int, text.split()), 0, 0))
        else:
            typed = {">": text + "\n", ":": text, "^": chr(ord(text[:1] or "@") & 0x1F)}[kind]
            os.write(self.end, typed.encode())

    def status(self):
        """Of the program, which has to end; SIGHUP comes where it does not."""
        self.read(3)
        os.close(self.end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main(words):
    lines = sys.stdin.read().splitlines()
    terminal = Terminal(words)
    fcntl.ioctl(terminal.end, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    for line in lines:
        terminal.do(line[0], line[2:])
    return terminal.status()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
