"""A file system that a process of a test serves (linux/fuse.h): one directory, whose files answer or do not.

Run as a program: `served_files.py MOUNTPOINT NAME=PATH ...`. It prints a line once it is mounted. Of a file `NAME` the
first `ANSWERED` bytes, by default none, are read; nothing else of it is ever answered, and no write. With
`NAME:stat=PATH` not even its attributes are. It ends when its input does, which has all who wait fail.
"""

import ctypes
import os
import stat
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

INIT, LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, RELEASE = 26, 1, 2, 3, 4, 14, 15, 16, 18
FLUSH, OPENDIR, RELEASEDIR, READDIR = 25, 27, 29, 28
BATCH_FORGET, INTERRUPT, STATFS, GETXATTR, ACCESS = 42, 36, 17, 22, 34
_IN, _OUT = struct.Struct("=IIQQIIIHH"), struct.Struct("=IiQ")
_ATTRIBUTES = struct.Struct("=QQQQQQIIIIIIIIII")
_WITHOUT_REPLY = (FORGET, BATCH_FORGET, INTERRUPT)
_KEEP_CACHE = 2
_LONG = 3600
"""Seconds for which the kernel may keep what it knows."""


class Server:
    def __init__(self, point, files, answered):
        self.files = [(name.partition(":"), Path(path).read_bytes()) for name, path in files]
        self.answered = answered
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if ctypes.CDLL(None, use_errno=True).mount(b"served", point.encode(), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError:
                return
            _, code, unique, node, *_ = _IN.unpack_from(request)
            if code in _WITHOUT_REPLY:
                continue
            answer = self.answer(code, node, request[_IN.size :])
            if answer is None:
                continue
            error, data = (answer, b"") if isinstance(answer, int) else (0, answer)
            try:
                os.write(self.device, _OUT.pack(_OUT.size + len(data), -error, unique) + data)
            except OSError:
                continue  # an interrupted one

    def answer(self, code, node, body):
        """The bytes of the answer, an errno, or None for no answer at all."""
        if code == INIT:
            return struct.pack("=IIIIHHIII", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 0) + bytes(32)
        if code == LOOKUP:
            name = body.rstrip(b"\0").decode()
            for number, ((each, _, kind), _) in enumerate(self.files):
                if each == name:
                    if kind == "stat":
                        return None
                    return struct.pack("=QQQQII", number + 2, 0, _LONG, _LONG, 0, 0) + self.attributes(number + 2)
            return 2
        if code == WRITE:
            return None
        if code in (GETATTR, SETATTR):
            return struct.pack("=QII", _LONG, 0, 0) + self.attributes(node)
        if code in (OPEN, OPENDIR):
            return struct.pack("=QII", node, _KEEP_CACHE, 0)
        if code == READ:
            offset, size = struct.unpack_from("=QI", body, 8)
            data = self.files[node - 2][1]
            return data[offset : offset + size] if offset + size <= self.answered else None
        if code in (RELEASE, FLUSH, RELEASEDIR):
            return b""
        return 38

    def attributes(self, node):
        if node == 1:
            return _ATTRIBUTES.pack(1, 0, 0, 0, 0, 0, 0, 0, 0, stat.S_IFDIR | 0o755, 2, 0, 0, 0, 4096, 0)
        size = len(self.files[node - 2][1])
        return _ATTRIBUTES.pack(
            node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, stat.S_IFREG | 0o755, 1, 0, 0, 0, 4096, 0
        )


@contextmanager
def serving(point, answered, **files):
    """The files, served at a mount point, of which nothing behind the bytes `answered` is ever read."""
    point.mkdir()
    words = [f"{name.replace('__', ':')}={path}" for name, path in files.items()]
    with subprocess.Popen(
        [sys.executable, __file__, point, str(answered), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout.readline() == b"mounted\n"
        try:
            yield point
        finally:
            # All who wait fail now.
            server.stdin.close()
            server.wait()
            ctypes.CDLL(None).umount2(os.fsencode(point), 2)


if __name__ == "__main__":
    point, answered, *words = sys.argv[1:]
    server = Server(point, [word.split("=", 1) for word in words], int(answered))
    threading.Thread(target=server.serve, daemon=True).start()
    print("mounted", flush=True)
    sys.stdin.read()
    os._exit(0)
