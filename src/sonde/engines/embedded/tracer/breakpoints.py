"""Breakpoints that threads run onto: what is told of them, and how the threads go on.

The return of a function is told by a breakpoint at its return address, and by the stack pointer, which tells whose
return it is: the thread's stack stays as it is, so exceptions, longjmp and unwinders find what they expect.
"""

from __future__ import annotations

import ctypes
import signal
from contextlib import suppress
from mmap import mmap

from sonde.arch import convention, instructions, registers
from sonde.engines.embedded.tracer import injection, long_jumps, ptrace, return_places, stops
from sonde.engines.embedded.tracer.awaited_returns import AwaitedReturn, AwaitedReturns, returned_in_any
from sonde.engines.embedded.tracer.code_space import Breakpoint, CodeSpace
from sonde.engines.embedded.tracer.sites import CATCHES, HIT, HOLD_HIT, HOLD_RETURN, JUMPS, RETURN, THROWS
from sonde.engines.embedded.tracer.stops import PASSABLE, TAKEN_OUT, UNCALLED, UNRETURNED
from sonde.engines.embedded.tracer.threads import HeldThread, TracedThreads
from sonde.engines.embedded.tracer.trap_action import TrapMender
from sonde.machine.system import monotonic_ns

_COUNTER, _STACK = registers.PROGRAM_COUNTER // 8, registers.STACK_POINTER // 8
_U32 = 0xFFFF_FFFF
_LEAVING = JUMPS | THROWS | CATCHES


class Breakpoints:
    """`hit(tid)` handles the stop of a thread that got SIGTRAP, and says whether it was for a breakpoint."""

    def __init__(self, threads: TracedThreads, memory: mmap) -> None:
        self._threads = threads
        self._words = threads.writer.words
        self._bytes = memoryview(memory)
        self._places = len(memory) - stops.PLACES * stops.PLACE
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + self._places
        self._pointer = ctypes.c_void_p()
        self._mender = TrapMender()
        self.calls: dict[int, AwaitedReturns] = threads.calls

    def hit(self, tid: int) -> bool:
        threads, writer = self._threads, self._threads.writer
        space = threads.spaces.by_tid.get(tid)
        if space is None:
            return False
        if writer.head >= writer.full:
            writer.wait_for_room()
        place = writer.head % stops.PLACES
        self._pointer.value = self._start + place * stops.PLACE
        if threads.ptrace(ptrace.GETREGS, tid, 0, self._pointer) < 0:
            return True
        at = (self._places + place * stops.PLACE) // 8
        address = self._words[at + _COUNTER] - instructions.BREAKPOINT_SIZE
        found = space.breakpoints.get(address)
        if found is None:
            return self._was_removed(tid, space, address)
        self._words[at + _COUNTER] = address
        try:
            if found.is_own:
                return self._handle_own(tid, space, found, place, self._words[at + _STACK])
            self._handle(tid, space, found, place, self._words[at + _STACK])
        except injection.ThreadEndedError as error:
            threads.ended_early.append((tid, error.args[0]))
        except ProcessLookupError:
            # It was killed: its end is told next.
            return True
        except OSError as error:
            self._give_up(tid, space, found, error)
        return True

    def _give_up(self, tid: int, space: CodeSpace, found: Breakpoint, error: OSError) -> None:
        """The thread cannot go on as it should: the breakpoint is taken out, and it goes on without."""
        self._threads.spaces.losses.add(tid, TAKEN_OUT, error)
        with suppress(OSError):
            ptrace.call(ptrace.POKEUSER, tid, registers.PROGRAM_COUNTER, found.address)
        if found.address in space.breakpoints:
            space.remove(found.address)
        self._threads.proceed(tid)

    def _was_removed(self, tid: int, space: CodeSpace, address: int) -> bool:
        if address not in space.former or space.is_own(address):
            return False
        space.put_back(address)
        with suppress(OSError):
            ptrace.call(ptrace.POKEUSER, tid, registers.PROGRAM_COUNTER, address)
        self._threads.proceed(tid)
        return True

    def _reached(
        self, tid: int, space: CodeSpace, found: Breakpoint, stack: int, place: int
    ) -> list[tuple[int, int, int]]:
        """What is to be told of a thread there: kind, number, and whether it is held."""
        told: list[tuple[int, int, int]] = []
        if found.returns and self._has_come_back(tid, found, stack):
            returned = self._returned(tid, space, found.address, stack)
            told += [(stops.FUNCTION_RETURN, each.number, each.held) for each in returned]
        wanted = found.wanted if self._threads.tracing else 0
        if wanted & _LEAVING and self.calls:
            self._leave(tid, space, wanted, stack, place)
        if wanted & RETURN:
            self._expect(tid, space, found, stack)
        if wanted & HIT:
            told.append((stops.HIT, found.number, wanted & HOLD_HIT))
        return told

    def _handle_own(self, tid: int, space: CodeSpace, found: Breakpoint, place: int, stack: int) -> bool:
        """The process has an instruction of that kind there itself: the signal is its own. Whether it waits."""
        told = self._reached(tid, space, found, stack, place)
        if not told or not self._threads.tracing:
            return False
        return self._tell(tid, told, place, signal.SIGTRAP)

    def _handle(self, tid: int, space: CodeSpace, found: Breakpoint, place: int, stack: int) -> None:
        threads = self._threads
        told = self._reached(tid, space, found, stack, place)
        slot, caused = found.slot or space.slot_for(tid, found), 0
        self._mender.mend(tid, space)
        if slot is None:
            caused = self._step_in_place(tid, space, found)
        else:
            threads.ptrace(ptrace.POKEUSER, tid, registers.PROGRAM_COUNTER, slot)
        if not told or not threads.tracing or not self._tell(tid, told, place, caused):
            threads.proceed(tid, caused)

    def _tell(self, tid: int, told: list[tuple[int, int, int]], place: int, deliver: int = 0) -> bool:
        """Write the records: the thread goes on, or is held by the last. Whether it is or has: not so where it is not
        held and has a signal of its own to `deliver`."""
        threads, writer = self._threads, self._threads.writer
        when = monotonic_ns()
        start = self._places + place * stops.PLACE
        kept = bytes(self._bytes[start : start + registers.USER_SIZE]) if len(told) > 1 else b""
        is_held = any(held for _, _, held in told)
        for number, (kind, site, _) in enumerate(told):
            is_last = number == len(told) - 1
            if number:
                place = writer.next_place()
                start = self._places + place * stops.PLACE
                self._bytes[start : start + len(kept)] = kept
            if is_last and is_held:
                threads.forget_hold(tid)
                threads.held[tid] = HeldThread(writer.head, deliver, 0)
                writer.write(kind, stops.HELD, tid, when, site, place, 0)
                writer.ring()
                return True
            lengths = 0
            if kind == stops.HIT and threads.site_fetcher is not None:
                lengths = threads.site_fetcher.fetch_at_site(site, tid, place)
            writer.write(kind, 0, tid, when, site, place, lengths)
        if not deliver:
            threads.proceed(tid)
        if writer.words[stops.REST]:
            writer.wake()
        return not deliver

    def _has_come_back(self, tid: int, found: Breakpoint, stack: int) -> bool:
        """Whether the thread has come there by a return, which leaves the address below the stack pointer: behind a
        call that an exception has left, its handler may jump there, and has called something else meanwhile."""
        if not self.calls:
            return False
        word = ctypes.c_void_p(stack - convention.STACK_ARGUMENTS)
        return not (self._threads.ptrace(ptrace.PEEKDATA, tid, word, 0) ^ found.address) & _U32

    def _returned(self, tid: int, space: CodeSpace, address: int, stack: int) -> list[AwaitedReturn]:
        own = self.calls.get(tid)
        if own is not None and (found := own.returned(address, stack)):
            return found
        return returned_in_any(self._of(space), address, stack)

    def _of(self, space: CodeSpace) -> list[AwaitedReturns]:
        """Of all threads that have this memory."""
        spaces = self._threads.spaces.by_tid
        return [each for tid, each in self.calls.items() if spaces.get(tid) is space]

    def _leave(self, tid: int, space: CodeSpace, wanted: int, stack: int, place: int) -> None:
        """The thread leaves functions that will not return."""
        if wanted & THROWS:
            self._threads.thrown[tid] = stack
        elif wanted & CATCHES:
            thrown = self._threads.thrown.pop(tid, 0)
            for each in self._of(space) if thrown else ():
                each.forget_between(thrown, stack + convention.STACK_ARGUMENTS)
        else:
            at = (self._places + place * stops.PLACE) // 8
            buffer, thread = (
                self._words[at + each // 8] for each in (registers.ARGUMENTS[0], registers.THREAD_POINTER)
            )
            # It is for the process to find out that there is no such memory.
            with suppress(OSError):
                long_jumps.left(space, tid, self._of(space), buffer, thread, stack)

    def _expect(self, tid: int, space: CodeSpace, found: Breakpoint, stack: int) -> None:
        """Wait for the return of the function that is entered."""
        try:
            data = space.read(stack, 8)
        except OSError:
            data = b""
        if len(data) < 8:
            # The stack pointer points nowhere: it is not to return.
            return
        address = int.from_bytes(data, "little")
        back = stack + convention.STACK_ARGUMENTS
        there = space.breakpoints.get(address)
        if there is None or not there.returns:
            there = self._return_breakpoint(tid, space, address)
            if there is None:
                return
        call = AwaitedReturn(address, back, found.number, found.wanted & HOLD_RETURN)
        calls = self.calls.get(tid)
        if calls is None:
            calls = self.calls[tid] = AwaitedReturns()
        calls.add(call, space.read)

    def _return_breakpoint(self, tid: int, space: CodeSpace, address: int) -> Breakpoint | None:
        """The breakpoint where a function returns to; None where there is none: its return is lost, if it can return
        there. What a program begins with has a number in that place."""
        losses = self._threads.spaces.losses
        try:
            found = return_places.found(space, tid, address)
            if found.kind == return_places.RETURNED_TO:
                there = space.put(address, found.mapping)
                there.returns = True
                return there
        except OSError as error:
            losses.add(tid, UNRETURNED, error)
            return None
        if found.kind == return_places.UNCALLED:
            losses.add(tid, UNCALLED)
        return None

    def _step_in_place(self, tid: int, space: CodeSpace, found: Breakpoint) -> int:
        """Where an instruction cannot run elsewhere: the breakpoint is taken out for as long as it takes. 0, or the
        signal that it has caused."""
        if any(each is space for other, each in self._threads.spaces.by_tid.items() if other != tid):
            self._threads.spaces.losses.add(tid, PASSABLE)
        ptrace.call(ptrace.POKEUSER, tid, registers.PROGRAM_COUNTER, found.address)
        space.write(found.address, bytes((found.byte,)))
        try:
            return injection.step(tid)
        finally:
            space.write(found.address, bytes((instructions.BREAKPOINT,)))
