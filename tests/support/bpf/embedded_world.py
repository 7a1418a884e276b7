"""A small world for maps and helpers: Memory, a map table, a task, and a stack to put keys and values on."""

import errno

from sonde.bpf.helpers import NUMBERS
from sonde.model.spec import MapSpec
from sonde.runtime.environment import Environment
from sonde.runtime.helpers.table import make_helpers
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create


class FakeTask:
    """A thread whose memory is `pages`: bytes by page number."""

    tid, pid, uid, gid = 1235, 1234, 1000, 100
    comm = b"a-long-comm-nam"
    address = registers = 0
    stack = ()

    def __init__(self):
        self.pages = {}

    def put(self, address, data):
        for at, byte in enumerate(data, address):
            self.pages.setdefault(at >> 12, bytearray(4096))[at & 4095] = byte

    def read_memory(self, address, size):
        try:
            return bytes(self.pages[at >> 12][at & 4095] for at in range(address, address + size))
        except KeyError:
            raise OSError(errno.EFAULT, "Bad address") from None

    def write_memory(self, address, data):
        self.read_memory(address, len(data))
        self.put(address, data)

    def user_stack(self, depth):
        return self.stack[:depth]


class World:
    """`helper.NAME(...)` calls a helper; `place(data)` puts bytes into Memory and gives their address."""

    def __init__(self, addresses=None):
        self.memory = MachineMemory()
        self.table = MapTable()
        self.task = FakeTask()
        self.environment = Environment(self.memory, self.table, self.task, addresses)

    def map(self, kind, key_size, value_size, max_entries, flags=0, **others):
        spec = MapSpec("a_map", kind, key_size, value_size, max_entries, flags, **others)
        return create(spec, self.memory, self.table)

    def place(self, data):
        return self.memory.add(bytearray(data))

    def call(self, name, *arguments):
        return make_helpers([NUMBERS[name]], self.environment)[NUMBERS[name]](*arguments)
