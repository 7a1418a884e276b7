"""The memories of all traced threads, and what is to be in them."""

from __future__ import annotations

import errno
import os
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress

from sonde import others
from sonde.engines.embedded.tracer import copied_memory, shared_memory
from sonde.engines.embedded.tracer.code_space import CodeSpace, initial_trap_action
from sonde.engines.embedded.tracer.sites import BreakpointSite, FileSites
from sonde.engines.embedded.tracer.stops import UNCOUNTED, UNREAD, UNWRITTEN
from sonde.machine import proc
from sonde.symbols.mappings import Mapping
from sonde.untrusted import kernel_text

_REMEMBERED = 16


class Losses:
    """`found`: how many, by process, kind and errno, until somebody takes them."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int, int], int] = {}

    def add(self, tid: int, kind: int, error: OSError | None = None, count: int = 1) -> None:
        """Of the memory that a thread has; nothing is lost where that is gone."""
        if has_memory(tid):
            key = tid, kind, (error.errno or 0) if error is not None else 0
            self.found[key] = self.found.get(key, 0) + count


def has_memory(tid: int) -> bool:
    """Whether the thread has not ended, and is not about to."""
    try:
        return bool(kernel_text(f"/proc/{tid}/maps"))
    except OSError as error:
        # Then nothing says that it is gone.
        return error.errno in (errno.EMFILE, errno.ENFILE)


class CodeSpaces:
    """Those of all traced threads, by thread, and what is to be in them."""

    def __init__(self) -> None:
        self.by_tid: dict[int, CodeSpace] = {}
        self._gone: deque[CodeSpace] = deque(maxlen=_REMEMBERED)
        """Those that were forgotten last: what was forked of them may not have been heard of yet."""
        self._files: dict[tuple[int, int], FileSites] = {}
        self._inodes: set[int] = set()
        self.are_for_all = False
        """Whether any site is for all processes."""
        self.losses = Losses()
        self._is_asked = False

    @property
    def are_any(self) -> bool:
        """Whether there is or was any."""
        return bool(self.by_tid or self._gone)

    @property
    def wanted(self) -> bool:
        return self._is_asked

    def want(self, files: Sequence[FileSites]) -> None:
        """From here on these sites are wanted, if any yet."""
        self._is_asked = True
        self._files = {(each.device, each.inode): each for each in files}
        self._inodes = {each.inode for each in files}
        self.are_for_all = any(not site.pid for each in files for site in each.sites)

    def find(self, tids: Sequence[int]) -> None:
        """These threads were there before sites were wanted: each has the memory of its process's others, and may have
        that of another process (vfork, CLONE_VM)."""
        found = [tid for tid in tids if tid not in self.by_tid and self._found(tid)]
        for tid in found:
            self.look(tid, self.by_tid[tid].pid)

    def _found(self, tid: int) -> bool:
        """Whether the thread's memory was not known yet."""
        try:
            pid = int(proc.status(tid)["Tgid"])
            known = next((space for space in self.all() if pid in space.pids), None)
            if known is None:
                # A thread that has ended has no memory, which would be that of others that have ended.
                made = CodeSpace(pid, tid)
                made.trap_action = initial_trap_action(tid)
                known = self._shared(tid, made)
        except OSError as error:
            self.losses.add(tid, UNREAD, error)
            return False
        is_new = not any(each is known for each in self.by_tid.values())
        self.by_tid[tid] = known
        return is_new

    def _shared(self, tid: int, made: CodeSpace) -> CodeSpace:
        """The memory of a thread as it is known by another process, else `made`."""
        other = next((other for other in self.by_tid if shared_memory.have_one(other, tid)), None)
        if other is None:
            return made
        made.close()
        known = self.by_tid[other]
        known.pids.add(made.pid)
        return known

    def look_again(self) -> None:
        """More is wanted than before."""
        for space in self.all():
            tid = next(tid for tid, each in self.by_tid.items() if each is space)
            self.look(tid, space.pid)

    def look(self, tid: int, pid: int) -> None:
        """The thread has a memory that is not known, or has changed: put in what is wanted there."""
        space = self.by_tid.get(tid)
        try:
            if space is None:
                space = self.by_tid[tid] = CodeSpace(pid, tid)
                space.trap_action = initial_trap_action(tid)
            counters: dict[BreakpointSite, tuple[int, Mapping]] = {}
            for mapping in space.mappings(tid):
                self._fill(tid, mapping, counters)
        except OSError as error:
            self.losses.add(tid, UNREAD, error)
            return
        for (at, mapping), sites in Counter(counters.values()).items():
            if at not in space.semaphores:
                try:
                    space.count(at, sites, mapping)
                except OSError as error:
                    self.losses.add(tid, UNCOUNTED, error, sites)

    def _fill(self, tid: int, mapping: Mapping, counters: dict[BreakpointSite, tuple[int, Mapping]]) -> None:
        """Put in what is wanted of a mapping, and note where its semaphores are: of two mappings that have the same
        part of a file the data segment's is the higher one."""
        if mapping.inode not in self._inodes or not mapping.path.startswith("/"):
            return
        file = self._file(tid, mapping)
        if file is None:
            return
        space, by_address = self.by_tid[tid], dict[int, list[BreakpointSite]]()
        for site in file.sites:
            if site.pid and site.pid not in space.pids:
                continue
            at = _address(mapping, site.offset)
            if mapping.executable and at is not None:
                by_address.setdefault(at, []).append(site)
            at = _address(mapping, site.semaphore) if site.semaphore else None
            # As the kernel has it (valid_ref_ctr_vma, kernel/events/uprobes.c).
            if at is not None and mapping.start in space.written:
                counters[site] = at, mapping
        for address, sites in by_address.items():
            try:
                space.tell(space.put(address, mapping), sites)
            except OSError as error:
                if address not in space.refused:
                    self.losses.add(tid, UNWRITTEN, error)
                space.refused.add(address)

    def _file(self, tid: int, mapping: Mapping) -> FileSites | None:
        """The wanted file that is mapped there. File systems may show other device numbers in the list of mappings."""
        major, _, minor = mapping.device.partition(":")
        found = self._files.get((os.makedev(int(major, 16), int(minor, 16)), mapping.inode))
        if found is not None:
            return found
        for path in (f"/proc/{tid}/map_files/{mapping.start:x}-{mapping.end:x}", f"/proc/{tid}/root{mapping.path}"):
            with suppress(OSError):
                status = others.stat(path)
                return self._files.get((status.st_dev, status.st_ino))
        return None

    def forked(self, tid: int, made: int, is_shared: bool) -> None:
        """`made` has the memory of `tid`, or a copy of it: where nothing is wanted of it, it is taken out."""
        space = self.by_tid.get(tid)
        if space is None or made in self.by_tid:
            return
        if is_shared:
            self.by_tid[made] = space
        else:
            self._copied(space, made)

    def _copied(self, space: CodeSpace, made: int) -> None:
        try:
            copy = space.copy(made)
            copied_memory.agree(copy, space)
        except OSError as error:
            self.losses.add(made, UNREAD, error)
            return
        self.by_tid[made] = copy
        _keep_for(copy, made, self.are_for_all)

    def adopted(self, tid: int, is_thread: bool, maker: int, is_shared: bool) -> None:
        """Nobody tells of `tid`, which has stopped for the first time: it is a thread, or has the memory of process
        `maker`, or a copy of that; or, as that has ended and its children have got another parent, of any that has."""
        if is_thread:
            self.find([tid])
        elif maker in self.by_tid:
            self.forked(maker, tid, is_shared)
        elif tid not in self.by_tid:
            for space in reversed(self._gone):
                if copied_memory.is_copy(tid, space):
                    self._copied(space, tid)
                    return
            self.find([tid])

    def executed(self, tid: int, former: int) -> None:
        """The thread `former` has another program, and the number `tid`."""
        for each in {tid, former}:
            self.forget(each)

    def forget(self, tid: int) -> None:
        """The thread is gone, or has another memory."""
        space = self.by_tid.pop(tid, None)
        if space is None:
            return
        other = next((other for other, each in self.by_tid.items() if each is space), None)
        if other is None:
            space.close()
            self._gone.append(space)
        elif tid == space.pid:
            # Its number may be another's, or have another program; a first thread that has ended is there to the end.
            with suppress(OSError):
                space.stand_for(int(proc.status(other)["Tgid"]), other)

    def all(self) -> list[CodeSpace]:
        return list({id(each): each for each in self.by_tid.values()}.values())


def _keep_for(copy: CodeSpace, pid: int, returns: bool) -> None:
    """Of a copied memory only what is for that process stays, and, if `returns`, where functions return to that it was
    made in."""
    for address, each in list(copy.breakpoints.items()):
        copy.tell(each, [site for site in each.sites if site.pid in (0, pid)])
        if not each.sites and not (returns and each.returns):
            copy.remove(address)


def _address(mapping: Mapping, offset: int) -> int | None:
    """Where a byte of the file is mapped, None if not there."""
    at = mapping.start + offset - mapping.offset
    return at if mapping.start <= at < mapping.end else None
