"""The open files and directories of the thread that fires, as structures in Memory: made when a program asks for them.

A struct file and what it points to lie together in a slot, which stays as it is until another firing. Paths are told as
text (the helper path_text), so a struct path has but an address: that of a file made here, or that of a process's root
or working directory.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from errno import EFAULT

from sonde.machine.mounts import Mounts
from sonde.machine.open_files import OpenFile, directory, open_file
from sonde.runtime.environment import Environment, Task
from sonde.runtime.kernel_types import layout
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.slots import Slots
from sonde.runtime.standing import require_standing

_FILE = layout("struct file")
_PATH = layout("struct path")
_DENTRY = layout("struct dentry")
_MOUNT = layout("struct vfsmount")
_SUPER = layout("struct super_block")
_TYPE = layout("struct file_system_type")
_FS = layout("struct fs_struct")
_FS_POINTER = layout("struct task_struct").offsets["fs"]

_PATH_AT = _FILE.offsets["f_path"]
_DENTRY_AT = _FILE.size
_MOUNT_AT = _DENTRY_AT + _DENTRY.size
_SUPER_AT = _MOUNT_AT + _MOUNT.size
_TYPE_AT = _SUPER_AT + _SUPER.size
_KIND_AT = _TYPE_AT + _TYPE.size
_KIND_SIZE = 64
_NAME_AT = _KIND_AT + _KIND_SIZE
_NAME_SIZE = 264
"""A name has at most 255 bytes (NAME_MAX)."""

_SIZE = _NAME_AT + _NAME_SIZE
_PER_REGION = 64

_WORD = struct.Struct("=Q")
_HALF = struct.Struct("=I")
_NUMBER = struct.Struct("=q")


PATH_OF_FILE = _PATH_AT
"""Where a struct file of this engine's has its path."""


def directories_of(task: Task, memory: MachineMemory) -> Iterator[tuple[int, str]]:
    """Where a thread has its struct paths of its root and its working directory, and what /proc/PID calls these."""
    (structure,) = _WORD.unpack(memory.read(task.address + _FS_POINTER, _WORD.size))
    yield structure + _FS.offsets["root"], "root"
    yield structure + _FS.offsets["pwd"], "cwd"


class FilesOfTasks:
    """What the helpers open_file and path_text ask."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._slots = Slots(environment.memory, _SIZE, _PER_REGION, is_read_only=True)
        self._mounts = Mounts()
        self._firing = (0, 0)
        self._made: dict[int, int] = {}
        """Addresses by descriptor, of this firing, where that has a time to know it by."""
        self._taken: list[int] = []
        self._paths: dict[int, bytes] = {}
        """By the address of a struct path in a slot."""

    def open(self, descriptor: int) -> int:
        """The address of the struct file, 0 where the thread has no such file. Raises OSError."""
        task, now = self._environment.task, self._environment.now
        if descriptor < 0:
            return 0
        if now and self._firing != (task.tid, now):
            self._forget()
            require_standing(task.tid)
            self._firing = (task.tid, now)
        address = self._made.get(descriptor) if now else None
        if address is None:
            found = open_file(task.tid, descriptor, self._mounts)
            address = self._made[descriptor] = self._write(found) if found else 0
        return address

    def path(self, address: int) -> bytes:
        """The text of the struct path at an address. Raises OSError."""
        text = self._paths.get(address)
        if text is not None:
            return text
        task = self._environment.task
        for place, name in directories_of(task, self._environment.memory):
            if address == place:
                require_standing(task.tid)
                return directory(task.tid, name)
        raise OSError(EFAULT, os.strerror(EFAULT))

    def _forget(self) -> None:
        for address in self._taken:
            self._slots.give_back(address)
        self._made, self._taken, self._paths = {}, [], {}

    def _write(self, found: OpenFile) -> int:
        address = self._slots.take()
        self._taken.append(address)
        slot = bytearray(_SIZE)
        _HALF.pack_into(slot, _FILE.offsets["f_flags"], found.flags)
        _NUMBER.pack_into(slot, _FILE.offsets["f_pos"], found.offset)
        pointers = {
            _PATH_AT + _PATH.offsets["mnt"]: _MOUNT_AT,
            _PATH_AT + _PATH.offsets["dentry"]: _DENTRY_AT,
            _MOUNT_AT + _MOUNT.offsets["mnt_sb"]: _SUPER_AT,
            _SUPER_AT + _SUPER.offsets["s_type"]: _TYPE_AT,
        }
        # Of what nobody knows the pointer stays NULL, and who follows it has a fault.
        for place, target, text, size in (
            (_DENTRY_AT + _DENTRY.offsets["d_name"], _NAME_AT, found.name, _NAME_SIZE),
            (_TYPE_AT + _TYPE.offsets["name"], _KIND_AT, found.filesystem, _KIND_SIZE),
        ):
            if text is not None:
                pointers[place] = target
                slot[target : target + size] = text[: size - 1].ljust(size, b"\0")
        for place, target in pointers.items():
            _WORD.pack_into(slot, place, address + target)
        self._slots.write(address, bytes(slot))
        self._paths[address + _PATH_AT] = found.path
        return address

    def close(self) -> None:
        self._slots.close()
        self._mounts.close()
