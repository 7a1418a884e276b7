"""The function that fetches the variables of a probe line where a program calls `bpf_fetch_variables()`.

    long bpf_fetch_variables(void *context, void *place, u64 size)

fills `size` bytes at a place of the program's: the variables of its probe line as the structure that `sonde vars
--struct` declares, and zeros behind it. It gives 0, or the error of the first variable that cannot be read, which is
zeros then. In the kernel it is a function of the program itself, which the verifier follows at each call, with what the
caller gives it: so the verifier proves that the place has room. On the embedded engine it is a helper
(`helpers.FETCH_VARIABLES`), which takes the same steps (`spec.Fetch`).
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction
from sonde.model.spec import Fetch, FetchStep
from sonde.typed import NamedTuple

NAME = "bpf_fetch_variables"
"""What programs call."""

_WORD = 8
_CONTEXT, _PLACE, _NUMBER, _ERROR = i.R6, i.R7, i.R8, i.R9
_NO_MEMORY = {"probe_read_user": -4096, "probe_read_kernel": 0}
"""An address that each helper refuses without looking: it leaves zeros."""


class VariableLayout(NamedTuple):
    """Where variables are in a buffer: what fetches them, how many bytes they take, and what their start is a multiple
    of. `is_user`: their memory is the process's, else the kernel's."""

    fetches: tuple[Fetch, ...]
    size: int
    alignment: int
    is_user: bool


def fetching_code(layout: VariableLayout, too_small: int) -> list[Instruction]:
    """The function. A way on which less room is given than the variables take calls helper `too_small`, which there is
    not, so that the verifier refuses the program that may come there."""
    return _Writer(layout).function(too_small)


class _Writer:
    """Collects code. The word at r10 - 8 is where numbers are loaded to."""

    def __init__(self, layout: VariableLayout) -> None:
        self._layout = layout
        self._code: list[Instruction] = []
        self._reader = "probe_read_user" if layout.is_user else "probe_read_kernel"

    def function(self, too_small: int) -> list[Instruction]:
        if self._layout.size:
            self._add(i.jump_imm(i.JGE, i.R3, self._layout.size, 1), i.call(too_small))
        self._add(i.mov_reg(_CONTEXT, i.R1), i.mov_reg(_PLACE, i.R2))
        self._add(i.mov_reg(i.R1, i.R2), i.mov_reg(i.R2, i.R3), i.mov_imm(i.R3, _NO_MEMORY[self._reader]))
        self._add(i.call(NUMBERS[self._reader]), i.mov_imm(_ERROR, 0))
        if any(each.operation == "dereference" for fetch in self._layout.fetches for each in fetch.steps):
            self._add(i.store_imm(_WORD, i.R10, -_WORD, 0))
        for each in map(shortest, self._layout.fetches):
            self._fetch(each)
        self._add(i.mov_reg(i.R0, _ERROR), i.exit_())
        return self._code

    def _fetch(self, fetch: Fetch) -> None:
        """One variable, or a piece of one, to its place; failures jump behind it."""
        failed: list[int] = []
        if not fetch.steps or fetch.steps[0].operation not in ("register", "constant"):
            self._add(i.mov_imm(_NUMBER, 0))
        for step in fetch.steps:
            self._step(step, failed)
        if fetch.kind == "value":
            self._store(fetch.offset, fetch.size)
        else:
            self._add(i.mov_reg(i.R1, _PLACE), i.alu64_imm(i.ADD, i.R1, fetch.offset))
            self._load(fetch.size, failed)
        if not failed:
            return
        behind = len(self._code)
        self._add(i.jump(0))
        for each in failed:
            self._code[each] = self._code[each]._replace(offset=len(self._code) - each - 1)
        self._add(i.jump_imm(i.JNE, _ERROR, 0, 1), i.mov_reg(_ERROR, i.R0))
        self._code[behind] = i.jump(len(self._code) - behind - 1)

    def _step(self, step: FetchStep, failed: list[int]) -> None:
        match step.operation:
            case "register":
                self._add(i.load(8, _NUMBER, _CONTEXT, step.operand))
            case "constant":
                self._add(*i.ld_imm64(_NUMBER, step.operand))
            case "offset" if -(1 << 31) <= step.operand < 1 << 31:
                self._add(i.alu64_imm(i.ADD, _NUMBER, step.operand))
            case "offset":
                self._add(*i.ld_imm64(i.R1, step.operand & (1 << 64) - 1), i.alu64_reg(i.ADD, _NUMBER, i.R1))
            case "dereference":
                self._add(i.mov_reg(i.R1, i.R10), i.alu64_imm(i.ADD, i.R1, -_WORD))
                self._load(step.operand, failed)
                self._add(i.load(step.operand, _NUMBER, i.R10, -_WORD))
            case "shift":
                self._add(i.alu64_imm(i.RSH, _NUMBER, step.operand))
            case "extend":
                bits = 64 - 8 * step.operand
                self._add(i.alu64_imm(i.LSH, _NUMBER, bits), i.alu64_imm(i.ARSH, _NUMBER, bits))
            case _:
                raise AssertionError(step)

    def _store(self, offset: int, size: int) -> None:
        """The number's lowest bytes, in as many at a time as the place is aligned for: on stacks the verifier wants
        it so."""
        while size:
            width = next(
                each for each in (8, 4, 2, 1) if each <= min(size, self._layout.alignment) and not offset % each
            )
            self._add(i.store_reg(width, _PLACE, offset, _NUMBER))
            offset, size = offset + width, size - width
            if size:
                self._add(i.alu64_imm(i.RSH, _NUMBER, 8 * width))

    def _load(self, size: int, failed: list[int]) -> None:
        """So many bytes at the number, to where r1 points."""
        self._add(i.mov_imm(i.R2, size), i.mov_reg(i.R3, _NUMBER), i.call(NUMBERS[self._reader]))
        failed.append(len(self._code))
        self._add(i.jump_imm(i.JNE, i.R0, 0, 0))

    def _add(self, *instructions: Instruction) -> None:
        self._code.extend(instructions)


def shortest(fetch: Fetch) -> Fetch:
    """The same without the steps that bytes of memory do not need on their way to a place of their size."""
    steps = fetch.steps
    if fetch.kind == "value" and steps and steps[-1] == FetchStep("extend", fetch.size):
        steps = steps[:-1]
    if fetch.kind == "value" and steps and steps[-1] == FetchStep("dereference", fetch.size):
        return fetch._replace(kind="memory", steps=steps[:-1])
    return fetch._replace(steps=steps)
