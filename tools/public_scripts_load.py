"""A little of everything, for public_scripts.py: files, a child, a pipe, memory, TCP and UDP over loopback.

Once, or with any argument until it is ended: ten rounds a second.
"""

from __future__ import annotations

import mmap
import os
import socket
import subprocess
import sys
import tempfile
import time


def files(directory: str) -> None:
    path = os.path.join(directory, "file")
    with open(path, "w+b") as file:
        file.write(b"x" * 8192)
        os.fsync(file.fileno())
        file.seek(0)
        file.read()
    os.rename(path, path + "2")
    os.stat(path + "2")
    os.listdir(directory)
    os.unlink(path + "2")


def memory() -> None:
    with mmap.mmap(-1, 16 * mmap.PAGESIZE) as area:
        for page in range(16):
            area[page * mmap.PAGESIZE] = 1


def packets() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
        client.sendall(b"hello")
        peer.recv(16)
        client.close()
        peer.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.sendto(b"hello", receiver.getsockname())
        receiver.recv(16)


def once(directory: str) -> None:
    files(directory)
    memory()
    packets()
    subprocess.run(["/bin/true"], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        once(directory)
        while len(sys.argv) > 1:
            time.sleep(0.1)
            once(directory)


if __name__ == "__main__":
    main()
